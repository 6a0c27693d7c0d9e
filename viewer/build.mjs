// Builds the page's script and styles into the crate that embeds them. With --check it writes nothing and fails when
// what is committed is not what the sources give.
import { build } from "esbuild";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const check = process.argv.includes("--check");
const folder = fileURLToPath(new URL("../crates/gromap-report/assets/", import.meta.url));

const result = await build({
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  entryPoints: { viewer: "src/main.ts" },
  bundle: true,
  minify: true,
  // A name for pages of one's own: gromap.mount(element, data).
  format: "iife",
  globalName: "gromap",
  target: ["es2022"],
  // Escapes keep the files plain ASCII and "</script" out of strings.
  charset: "ascii",
  legalComments: "none",
  outdir: folder,
  write: !check,
});

let stale = false;
for (const { path, contents, text } of result.outputFiles ?? []) {
  const committed = await readFile(path, "utf8").catch(() => "");
  if (committed !== text) {
    console.error(`${path} is stale: run npm run build in viewer/ and commit it`);
    stale = true;
  }
  console.log(`${path.slice(folder.length)}: ${contents.length} bytes, ${gzipSync(contents, { level: 9 }).length} gzipped`);
}
process.exitCode = stale ? 1 : 0;
