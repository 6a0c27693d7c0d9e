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

/** Times of the frames of a pan with the mouse, in milliseconds. What else runs on the machine is not the page's: the best of three
 *  pans counts. They are long enough for the map to be drawn anew on the way, and that counts as well. */
export async function panned() {
  const pans = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const frames = await page.evaluate(pan);
    assert.ok(Math.abs(frames.at(-1).x - frames[1].x - 8 * (frames.length - 2)) < 4, "the map moved with the mouse");
    const times = frames.slice(2).map(({ time }) => time).sort((a, b) => a - b);
    const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
    pans.push({ mean, toString: () => `${mean.toFixed(1)} ms a frame in the mean, ${times[Math.floor(times.length / 2)].toFixed(1)} in the middle, ${times.at(-1).toFixed(1)} at most` });
  }
  return pans.sort((a, b) => a.mean - b.mean)[0];
}

function pan() {
  const map = document.querySelector(".gm-map > canvas");
  const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const box = map.getBoundingClientRect();
  const mouse = (type, target, i) => {
    const place = { clientX: box.x + 150 + 8 * i, clientY: box.y + 250 + 2 * i };
    target.dispatchEvent(new MouseEvent(type, { ...place, view: window, bubbles: true, cancelable: true, buttons: 1 }));
  };
  return new Promise((resolve) => {
    const found = [];
    let last = performance.now();
    mouse("mousedown", map, 0);
    const tick = () => {
      // Copying the map waits until it is really drawn.
      copy.drawImage(map, 0, 0, 1, 1);
      copy.getImageData(0, 0, 1, 1);
      const now = performance.now();
      found.push({ time: now - last, x: (window.shown ?? gromap.viewer).placeOf(0)[0] });
      last = now;
      if (found.length > 60) {
        mouse("mouseup", window, found.length);
        resolve(found);
      } else {
        mouse("mousemove", window, found.length);
        requestAnimationFrame(tick);
      }
    };
    requestAnimationFrame(tick);
  });
}
