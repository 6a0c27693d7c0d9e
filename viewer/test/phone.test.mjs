// On a phone: the title is there, a tap brings details into view, two fingers zoom. And on paper.
import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, page, text } from "./harness.mjs";
import { drawn, placeOf, settled, SHOTS, state } from "./pages.mjs";

const PHONE = { width: 400, height: 800, touch: true };

/** Whether an element is inside the window and nothing covers its middle. */
const inSight = (selector) =>
  page.evaluate((selector) => {
    const element = document.querySelector(selector);
    const { x, y, width, height } = element.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + Math.min(height / 2, 20));
    return width > 0 && height > 0 && x >= 0 && y >= 0 && x + width <= innerWidth + 1 && y + Math.min(height, 40) <= innerHeight && (element.contains(top) || top.contains(element));
  }, selector);

for (const name of ["shapes", "hostile", "path", "table"]) {
  test(`the title of ${name} is in sight, and nothing is wider than the screen`, async () => {
    await opened(name, PHONE);
    assert.ok(await inSight("h1"));
    assert.ok(await inSight(".gm-title p"));
    const box = await page.locator(".gm-map canvas").boundingBox();
    assert.ok(box.height > 280, `the map is ${box.height} high`);
    assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollHeight <= innerHeight]), [true, true]);
    await page.screenshot({ path: `${SHOTS}phone-${name}.png` });
  });
}

test("a tap on a prototype brings its details into view, and they can be put away", async () => {
  await opened("shapes", PHONE);
  assert.equal(await inSight(".gm-side-inside"), false);
  const place = await placeOf(page, 3);
  await page.touchscreen.tap(place.x, place.y);
  await page.waitForFunction(() => getComputedStyle(document.querySelector(".gm-side")).transform === "none");
  assert.equal(await text(".gm-side h2"), "Prototype 3");
  assert.ok(await inSight(".gm-side h2"));
  await page.screenshot({ path: `${SHOTS}phone-sheet.png` });
  // What was tapped stays in sight above the sheet, wherever it was.
  for (const k of [0, 5, 11, 20, 31]) {
    await page.evaluate((k) => gromap.viewer.update({ view: null, selected: [], tab: "overview" }), k);
    await page.keyboard.press("Escape");
    await page.waitForTimeout(260);
    const before = await placeOf(page, k);
    await page.touchscreen.tap(before.x, before.y);
    await page.waitForFunction(() => getComputedStyle(document.querySelector(".gm-side")).transform === "none");
    await settled(page);
    const [selected] = (await state(page)).selected;
    const after = await placeOf(page, selected);
    const sheet = await page.locator(".gm-side").boundingBox();
    assert.ok(after.y < sheet.y && after.y > 0, `${after.y} above ${sheet.y}`);
  }
  await page.locator(".gm-sheet").tap();
  await page.waitForTimeout(300);
  assert.equal(await inSight(".gm-side h2"), false);
  await page.locator('[data-tab="list"]').tap();
  await page.waitForTimeout(300);
  assert.ok(await inSight(".gm-list tbody tr"));
});

test("two fingers zoom, one finger moves", async () => {
  await opened("shapes", PHONE);
  const box = await page.locator(".gm-map canvas").boundingBox();
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const session = await page.context().newCDPSession(page);
  const touch = (type, apart) =>
    session.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: type === "touchEnd" ? [] : [-1, 1].map((side, id) => ({ x: middle.x + side * apart, y: middle.y, id })),
    });
  await touch("touchStart", 30);
  for (const apart of [45, 60, 75, 90]) await touch("touchMove", apart);
  await touch("touchEnd");
  await settled(page);
  const { zoom } = (await state(page)).view;
  assert.ok(zoom > 2 && zoom < 4, `${zoom}`);
  const before = await page.evaluate(() => gromap.viewer.placeOf(0));
  const finger = (type, x) => session.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x, y: middle.y, id: 0 }] });
  await finger("touchStart", middle.x);
  for (const x of [10, 20, 30, 40]) await finger("touchMove", middle.x + x);
  await finger("touchEnd");
  await settled(page);
  const after = await page.evaluate(() => gromap.viewer.placeOf(0));
  assert.ok(Math.abs(after[0] - before[0] - 40) < 2, `${before} ${after}`);
});

test("printed, it is one page with its title, its map and its legend", async () => {
  await opened("shapes", { dark: true });
  const pdf = await page.pdf({ printBackground: true, preferCSSPageSize: true });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g).length;
  assert.equal(pages, 1);
  // What is on it, seen as print sees it.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  const found = await page.evaluate(() => ({
    marks: document.querySelectorAll(".gm-print svg svg image").length,
    text: document.querySelector(".gm-print svg").textContent,
    controls: getComputedStyle(document.querySelector(".gm-body")).display,
    title: document.querySelector("h1").checkVisibility(),
    color: getComputedStyle(document.querySelector("h1")).color,
  }));
  assert.equal(found.marks, 40);
  assert.match(found.text, /disc.*square.*% of weight/s);
  assert.deepEqual([found.controls, found.title, found.color], ["none", true, "rgb(0, 0, 0)"]);
  await page.screenshot({ path: `${SHOTS}print.png` });
});

test("far prototypes do not squeeze the rest, and can be shown", async () => {
  await opened("outliers");
  const spread = () =>
    page.evaluate(() => {
      const box = document.querySelector(".gm-map").getBoundingClientRect();
      const places = Array.from({ length: 40 }, (_, k) => gromap.viewer.placeOf(k));
      const inside = places.filter(([x, y]) => x >= 0 && y >= 0 && x <= box.width && y <= box.height);
      return { inside: inside.length, width: (Math.max(...inside.map(([x]) => x)) - Math.min(...inside.map(([x]) => x))) / box.width };
    });
  const fitted = await spread();
  assert.equal(fitted.inside, 38);
  assert.ok(fitted.width > 0.4, `the others take ${fitted.width} of the window`);
  assert.equal(await text(".gm-outside"), "2 prototypes outside: show all");
  await page.click(".gm-outside");
  await settled(page);
  assert.equal((await spread()).inside, 40);
  assert.equal(await page.locator(".gm-outside").isVisible(), false);
  await page.keyboard.press("0");
  await settled(page);
  assert.equal((await spread()).inside, 38);
  assert.ok((await drawn(page)).count > 5000);
  await page.screenshot({ path: `${SHOTS}outliers.png` });
});

test("without far prototypes nothing is said of them", async () => {
  await opened("shapes");
  assert.equal(await page.locator(".gm-outside").isVisible(), false);
});
