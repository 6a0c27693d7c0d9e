// Builds the page's script and styles into the crate that embeds them. With --check it writes nothing and fails when
// what is committed is not what the sources give.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const check = process.argv.includes("--check");
const folder = fileURLToPath(new URL("../crates/gromap-report/assets/", import.meta.url));

/** Licences under which code may go into a page that people send. */
const ALLOWED = ["ISC", "BSD-3-Clause", "MIT"];

const result = await build({
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  entryPoints: { viewer: "src/main.ts" },
  bundle: true,
  minify: true,
  // A name for pages of one's own: gromap.mount(element, data).
  format: "iife",
  globalName: "gromap",
  target: ["es2022"],
  // Plain ASCII; esbuild also keeps "</script" out of strings.
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
  outdir: folder,
});

/** The licences of what is bundled, as they ask: with every copy. Packages of one text are named together. */
async function notices() {
  const packages = new Map();
  for (const input of Object.keys(result.metafile.inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
    if (name && !packages.has(name)) packages.set(name, await licence(name));
  }
  const byText = new Map();
  for (const [name, { owner, text }] of packages) byText.set(text, [...(byText.get(text) ?? []), `${name}: ${owner}`]);
  return [...byText].map(([text, names]) => `/* ${names.join("\n   ")}\n\n${text} */\n`).join("");
}

/** Who owns a package, and the text without that line, which is the same for many. */
async function licence(name) {
  const root = new URL(`node_modules/${name}/`, import.meta.url);
  const { license } = JSON.parse(await readFile(new URL("package.json", root), "utf8"));
  if (!ALLOWED.includes(license)) throw new Error(`${name} has the licence ${license}`);
  const text = (await readFile(new URL("LICENSE", root), "utf8")).replaceAll("*/", "* /");
  const owner = /^Copyright.*$/m.exec(text)?.[0];
  if (!owner) throw new Error(`the licence of ${name} names no owner`);
  const words = text.replace(owner, "").replace(/^ISC License$/m, "").trim().split(/\s+/).join(" ");
  return { owner: owner.trim(), text: words };
}

const banner = await notices();
let stale = false;
for (const { path, text } of result.outputFiles) {
  const content = basename(path).endsWith(".js") ? banner + text : text;
  if (!check) await writeFile(path, content);
  else if ((await readFile(path, "utf8").catch(() => "")) !== content) {
    console.error(`${basename(dirname(path))}/${basename(path)} is stale: run npm run build in viewer/ and commit it`);
    stale = true;
  }
  console.log(`${basename(path)}: ${content.length} bytes, ${gzipSync(content, { level: 9 }).length} gzipped`);
}
process.exitCode = stale ? 1 : 0;
