// Takes pictures of every kind of map, to be looked at: npm run look [-- OUT [NAME]], NAME being part of
// what pictures are called. Wide in light and dark, on a phone, on paper, and as
// colour-blind eyes see it. The maps are those of `cargo run -p gromap-report --example maps -- target/maps`.
import { mkdirSync } from "node:fs";
import { close, MAPS, open, settled, show } from "./test/pages.mjs";

const [out = `${MAPS}/look`, only = ""] = process.argv.slice(2);
mkdirSync(out, { recursive: true });

/** Name of the picture, of the map, and what it shows. */
const KINDS = [
  ["image", "shapes", ""],
  ["text", "text", ""],
  ["table", "table", ""],
  ["graph", "graph", ""],
  ["path-few", "path", "level=0"],
  ["path-many", "path", "level=7"],
];
/** What else a page can be asked for, wide and light. */
const VIEWS = [
  ["image-prototype", "shapes", "selected=3&tab=prototype"],
  ["image-samples", "shapes", "samples=true"],
  ["text-groups", "text", "tab=groups&selected=0,1"],
  ["table-list", "table", "tab=list"],
  ["graph-prototype", "graph", "selected=0&tab=prototype"],
  ["outliers", "outliers", ""],
  ["stability", "named", "color=number%3Astability"],
  ["one", "one", ""],
  ["two", "two", ""],
  ["foreign", "foreign", ""],
  ["motley", "motley", ""],
  ["bare", "bare", ""],
  ["hostile", "hostile", ""],
];
const EYES = ["protanopia", "deuteranopia", "tritanopia", "achromatopsia"];

/** Opens a map, prepares the page and takes its picture. */
async function take(name, map, hash, options = {}, prepare = async () => {}) {
  if (!name.includes(only)) return;
  const page = await show(map, { hash, width: 1400, height: 900, ...options });
  await prepare(page);
  await settled(page);
  await page.screenshot({ path: `${out}/${name}.png` });
  if (page.problems.length) throw new Error(`${name}: ${page.problems.join("\n")}`);
  await page.context().close();
  console.log(`${name}.png`);
}

/** A page of A4 across, as it is printed. */
async function onPaper(page) {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
}

const seenBy = (type) => async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setEmulatedVisionDeficiency", { type });
};

await open();
for (const [name, map, hash] of KINDS) {
  await take(`${name}-light`, map, hash);
  await take(`${name}-dark`, map, hash, { dark: true });
  await take(`${name}-phone`, map, hash, { width: 390, height: 844, touch: true, scale: 2 });
  await take(`${name}-print`, map, hash, { width: 1031, height: 703 }, onPaper);
}
for (const [name, map, hash] of VIEWS) await take(name, map, hash);
await take("image-phone-tapped", "shapes", "selected=3&tab=prototype", { width: 390, height: 844, touch: true, scale: 2 }, (page) => page.click('[data-tab="prototype"]'));
for (const eyes of EYES) await take(`palette-${eyes}`, "mixed", "glyph=disc", {}, seenBy(eyes));
await close();
