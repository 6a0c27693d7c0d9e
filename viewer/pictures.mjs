// Takes the README's pictures of the maps in the folder that GROMAP_MAPS names: node pictures.mjs OUT. scripts/pictures
// makes the maps first.
import { close, open, settled, show } from "./test/pages.mjs";

const [out] = process.argv.slice(2);
if (!out) throw new Error("usage: node pictures.mjs OUT");

/** Name of the map, what it shows, and whether it is dark. */
const PICTURES = [
  ["mnist", "selected=12&tab=prototype", false],
  ["fashion-mnist", "names=true", true],
  ["coil", "", false],
  ["mnist-path", "level=2", false],
];

await open();
for (const [name, hash, dark] of PICTURES) {
  const page = await show(name, { hash, dark, width: 1280, height: 780, scale: 1.5 });
  await settled(page);
  await page.screenshot({ path: `${out}/map-${name}.jpg`, type: "jpeg", quality: 86 });
  if (page.problems.length) throw new Error(page.problems.join("\n"));
  await page.context().close();
}
await close();
