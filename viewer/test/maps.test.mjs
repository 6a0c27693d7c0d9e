// Maps of every kind: hostile, tiny, huge, without labels, without pictures, in three dimensions.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { exported, opened, page, panned, text } from "./harness.mjs";
import { drawn, MAPS, pixel, placeOf, settled, SHOTS, state } from "./pages.mjs";

for (const [name, prototypes] of [["one", 1], ["bare", 40], ["unlabelled", 40], ["colour", 25], ["table", 20], ["soft", 40], ["three", 40], ["classical", 300], ["crowd", 60], ["many", 5000]]) {
  test(`${name} renders`, async () => {
    await opened(name);
    assert.ok((await text(".gm-title p")).startsWith(`${prototypes.toLocaleString("en")} prototype`));
    assert.ok((await drawn(page)).count > 5000);
    for (const glyph of await page.locator("[data-glyph]").evaluateAll((buttons) => buttons.map((button) => button.dataset.glyph))) {
      await page.click(`[data-glyph="${glyph}"]`);
      await settled(page);
      assert.ok((await drawn(page)).count > 3000, glyph);
    }
    await page.evaluate(() => gromap.viewer.update({ selected: [0], tab: "prototype", samples: true }));
    await settled(page);
    assert.equal(await text(".gm-side h2"), "Prototype 0");
    await page.screenshot({ path: `${SHOTS}${name}.png` });
  });
}

test("hostile and endless text is shown as text, and nothing runs", async () => {
  await opened("hostile");
  assert.match(await text("h1"), /^<\/script><img src=x onerror=/);
  for (const tab of ["prototype", "list", "overview"]) {
    await page.evaluate((tab) => gromap.viewer.update({ tab, selected: [0] }), tab);
    await settled(page);
  }
  const place = await placeOf(page, 1);
  await page.mouse.move(place.x, place.y);
  await page.waitForSelector(".gm-card:not([hidden])");
  assert.match(await text(".gm-legend"), /<\/script><img/);
  for (const color of await page.locator('[aria-label="Colour"] option').evaluateAll((options) => options.map(({ value }) => value))) {
    await page.selectOption('[aria-label="Colour"]', color);
  }
  await page.fill('input[type="search"]', "</script>");
  assert.match(await text(".gm-found"), /^\d+/);
  const found = await page.evaluate(() => ({
    hacked: window.hacked,
    elements: document.querySelectorAll("img, b[onclick], [onerror]").length,
    wide: document.documentElement.scrollWidth > innerWidth,
  }));
  assert.deepEqual(found, { hacked: undefined, elements: 0, wide: false });
  const { content } = await exported("SVG");
  const parsed = await page.evaluate((svg) => new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll("parsererror, script, img").length, content.toString());
  assert.equal(parsed, 0);
});

test("without labels nothing speaks of classes", async () => {
  await opened("bare");
  assert.doesNotMatch(await text(".gm"), /class|purity/i);
});

test("without pictures members are rows, and features have names", async () => {
  await opened("table", { hash: "selected=0&tab=prototype" });
  assert.match(await text(".gm-side"), /STANDS OUT BY\s+(height|width|depth|mass|charge|noise)\s.*sd\)/s);
  assert.match(await text(".gm-table thead"), /id\s+class\s+height/);
});

test("soft plans show shares and hardness", async () => {
  await opened("soft", { hash: "selected=0&tab=prototype&color=hardness" });
  assert.match(await text(".gm-side"), /hardness\s+\d/);
  assert.match(await text(".gm-legend"), /hardness\s+0\s+1/);
});

test("three dimensions show two of them, and which can be chosen", async () => {
  await opened("three");
  const before = (await drawn(page)).mark;
  await page.selectOption('[aria-label="Vertical axis"]', "2");
  await settled(page);
  assert.notEqual((await drawn(page)).mark, before);
  assert.deepEqual((await state(page)).axes, [0, 2]);
});

test("pictures that are not square keep their shape", async () => {
  await opened("colour");
  const svg = (await exported("SVG")).content.toString();
  const [, width, height] = /<image [^>]*width="([\d.]+)" height="([\d.]+)"/.exec(svg);
  assert.ok(Math.abs(width / height - 30 / 18) < 0.12, `${width}×${height}`);
  const { x, y } = await placeOf(page, 0);
  const box = await page.locator(".gm-map canvas").boundingBox();
  const [r, g, b] = await pixel(page, x - box.x, y - box.y);
  assert.ok(Math.max(r, g, b) - Math.min(r, g, b) > 20, `${r} ${g} ${b} is grey`);
});

test("a pan over 5,000 prototypes with pictures takes less than 50 ms a frame", async () => {
  await opened("many");
  const times = await panned();
  console.log(`pans over 5,000 prototypes: ${times}`);
  assert.ok(times.mean < 50, `${times}`);
});

test("the page's own code is under 120 kB gzipped", () => {
  const asset = (name) => readFileSync(new URL(`../../crates/gromap-report/assets/${name}`, import.meta.url));
  const size = ["viewer.js", "viewer.css"].reduce((sum, name) => sum + gzipSync(asset(name), { level: 9 }).length, 0);
  console.log(`the page's own code: ${size} bytes gzipped`);
  assert.ok(size < 120_000, `${size} bytes`);
});

test("200 prototypes of MNIST with 10,000 members are under 6 MB", { skip: !existsSync(`${MAPS}/mnist.html`) && "there is no MNIST here" }, () => {
  assert.ok(statSync(`${MAPS}/mnist.html`).size < 6e6);
});
