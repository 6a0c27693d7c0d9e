// On a phone: the title is there, a tap brings details into view, two fingers zoom. And on paper.
import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, page, text } from "./harness.mjs";
import { drawn, placeOf, settled, SHOTS, state } from "./pages.mjs";

const PHONE = { width: 400, height: 800, touch: true };
const PHONES = [PHONE, { width: 390, height: 844, touch: true }];

/** Whether an element is inside the window and nothing covers its middle. */
const inSight = (selector) =>
  page.evaluate((selector) => {
    const element = document.querySelector(selector);
    const { x, y, width, height } = element.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + Math.min(height / 2, 20));
    return width > 0 && height > 0 && x >= 0 && y >= 0 && x + width <= innerWidth + 1 && y + Math.min(height, 40) <= innerHeight && (element.contains(top) || top.contains(element));
  }, selector);

for (const name of ["shapes", "hostile", "path", "table", "text", "graph", "foreign"]) {
  for (const phone of PHONES) {
    test(`on ${phone.width}×${phone.height} the title of ${name} is in sight, and nothing is wider than the screen`, async () => {
      await opened(name, phone);
      assert.ok(await inSight("h1"));
      assert.ok(await inSight(".gm-title p"));
      const box = await page.locator(".gm-map > canvas").boundingBox();
      assert.ok(box.height > 280, `the map is ${box.height} high`);
      assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollHeight <= innerHeight]), [true, true]);
      await page.screenshot({ path: `${SHOTS}phone-${name}-${phone.width}.png` });
    });
  }
}

for (const phone of PHONES) {
  test(`on ${phone.width}×${phone.height} a tapped prototype is ringed above its details, and the next one takes its place`, async () => {
    await opened("shapes", phone);
    const shot = async () => (await page.screenshot()).toString("base64");
    const before = await shot();
    const first = await placeOf(page, 3);
    await page.touchscreen.tap(first.x, first.y);
    await page.waitForFunction(() => getComputedStyle(document.querySelector(".gm-side")).transform === "none");
    assert.equal(await text(".gm-side h2"), "Prototype 3");
    assert.ok(await inSight(".gm-side h2"));
    assert.notEqual(await shot(), before);
    // Another one that is in sight above the sheet.
    const sheet = await page.locator(".gm-side").boundingBox();
    const map = await page.locator(".gm-map > canvas").boundingBox();
    const places = await Promise.all(Array.from({ length: 40 }, (_, k) => placeOf(page, k)));
    const next = places.findIndex(({ y }, k) => k !== 3 && y > map.y + 30 && y < sheet.y - 30);
    await page.touchscreen.tap(places[next].x, places[next].y);
    await settled(page);
    assert.deepEqual((await state(page)).selected, [next]);
    assert.equal(await text(".gm-side h2"), `Prototype ${next}`);
    // Its ring is drawn, and not that of the first.
    const ringed = (k) =>
      page.evaluate((k) => {
        const { data, at } = readMap();
        const [x, y] = gromap.viewer.placeOf(k);
        const dark = [];
        for (let step = 0; step < 60; step++) {
          const from = at(x + step, y);
          if (data[from + 3] > 200 && data[from] < 60 && data[from + 1] < 60 && data[from + 2] < 66) dark.push(step);
        }
        return dark.length;
      }, k);
    await page.click('[data-glyph="disc"]');
    await settled(page);
    assert.ok((await ringed(next)) > 0 && (await ringed(3)) === 0, `${await ringed(next)} and ${await ringed(3)}`);
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

const pagesOf = (pdf) => pdf.toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g).length;

for (const name of ["shapes", "text", "table", "graph", "path", "motley", "hostile"]) {
  for (const format of ["A4", "Letter"]) {
    test(`printed on ${format}, ${name} is one page`, async () => {
      await opened(name, { dark: true });
      assert.equal(pagesOf(await page.pdf({ format, landscape: true, printBackground: true, preferCSSPageSize: false, margin: { top: "12mm", bottom: "12mm", left: "12mm", right: "12mm" } })), 1);
    });
  }
}

/** The page as print sees it. */
async function onPaper() {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
}

for (const options of [{ dark: true }, PHONE]) {
  test(`printed from a ${options.touch ? "phone" : "dark window"}, it has its title, a map that fills it, and its legend`, async () => {
    await opened("shapes", options);
    await onPaper();
    await page.setViewportSize({ width: 1031, height: 703 });
    const found = await page.evaluate(() => {
      const marks = [...document.querySelectorAll(".gm-print svg svg image")].map((mark) => mark.getBoundingClientRect());
      const [left, right] = [Math.min(...marks.map(({ left }) => left)), Math.max(...marks.map(({ right }) => right))];
      const [top, bottom] = [Math.min(...marks.map(({ top }) => top)), Math.max(...marks.map(({ bottom }) => bottom))];
      return {
        marks: marks.length,
        fill: Math.max((right - left) / innerWidth, (bottom - top) / 500),
        middle: (left + right) / 2 / innerWidth,
        text: document.querySelector(".gm-print svg").textContent,
        shown: [".gm-body", ".gm-search", ".gm-footer", "h1", ".gm-title p"].filter((part) => document.querySelector(part).checkVisibility()),
        color: getComputedStyle(document.querySelector("h1")).color,
        end: document.querySelector(".gm-footer").getBoundingClientRect().bottom,
      };
    });
    assert.equal(found.marks, 40);
    assert.ok(found.fill > 0.8 && Math.abs(found.middle - 0.5) < 0.03 && found.end <= 703, `${found.fill} of the sheet around ${found.middle}, down to ${found.end}`);
    assert.match(found.text, /disc.*square.*% of weight/s);
    assert.deepEqual(found.shown, [".gm-footer", "h1", ".gm-title p"]);
    assert.equal(found.color, "rgb(0, 0, 0)");
    await page.screenshot({ path: `${SHOTS}print.png` });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await page.emulateMedia({ media: "screen" });
    assert.equal(await page.locator(".gm-print").count(), 0);
  });
}

test("the figure alone is printed on a page of its own size, as vectors and text", async () => {
  await opened("table");
  await page.evaluate(() => {
    // What the browser does, but for its dialog.
    window.print = () => dispatchEvent(new Event("beforeprint"));
  });
  const { width, height } = await page.evaluate(() => document.querySelector(".gm-map").getBoundingClientRect().toJSON());
  await page.click(".gm-export summary");
  await page.click('.gm-export button:text-is("PDF, by printing")');
  await page.emulateMedia({ media: "print" });
  assert.deepEqual(await page.evaluate(() => [".gm-header", ".gm-body", ".gm-footer", ".gm-print"].map((part) => document.querySelector(part).checkVisibility())), [false, false, false, true]);
  const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
  assert.equal(pagesOf(pdf), 1);
  const [, right, top] = /\/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/.exec(pdf.toString("latin1")).map(Number);
  assert.ok(Math.abs(right / 0.75 - width) < 2 && top / 0.75 > height && top / 0.75 < height + 120, `${right}×${top} points for ${width}×${height} pixels`);
  assert.match(pdf.toString("latin1"), /\/Type\s*\/Font/);
  assert.doesNotMatch(pdf.toString("latin1"), /\/Subtype\s*\/Image/);
  assert.equal(await page.locator(".gm-alone, .gm-print").count(), 0);
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
