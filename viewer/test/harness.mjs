// What every test of the page shares: one browser for a file of tests, one page for a test, and no test that ends with a
// request or a message of the console.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before } from "node:test";
import { close, open, show } from "./pages.mjs";

before(open);
after(close);

/** The page of the test that runs. */
export let page;

export const opened = async (...given) => (page = await show(...given));

afterEach(async () => {
  const problems = page?.problems ?? [];
  await page?.context().close();
  page = undefined;
  assert.deepEqual(problems, []);
});

export const text = (selector) => page.locator(selector).innerText();

/** The data of the page, read again: an oracle for what is shown. */
export const facts = (k) =>
  page.evaluate(async (k) => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const level = data.levels[Math.round(gromap.viewer.state.level)];
    const members = [...level.members.subarray(level.offsets[k], level.offsets[k + 1])];
    const ids = members.map((sample) => (data.ids ? data.ids[sample] : String(sample)));
    return { weight: level.weights[k], members, ids, prototypes: level.prototypes, weights: [...level.weights] };
  }, k);

/** A file that the page hands over. */
export async function saved(act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

/** A file from the menu. */
export async function exported(name) {
  await page.click(".gm-export summary");
  return saved(() => page.click(`.gm-export button:text-is("${name}")`));
}
