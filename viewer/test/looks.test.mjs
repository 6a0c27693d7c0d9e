// How a map looks: marks, colours, themes, plots, and the way from level to level.
import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, page, text } from "./harness.mjs";
import { drawn, settled, SHOTS, state } from "./pages.mjs";

test("marks and colours can be chosen, and look different", async () => {
  await opened("shapes");
  const seen = [];
  for (const glyph of ["mean", "medoid", "pie", "disc"]) {
    await page.click(`[data-glyph="${glyph}"]`);
    await settled(page);
    seen.push((await drawn(page)).mark);
  }
  for (const color of ["purity", "column:size", "plain"]) {
    await page.selectOption('[aria-label="Colour"]', color);
    await settled(page);
    seen.push((await drawn(page)).mark);
  }
  assert.equal(new Set(seen).size, 7);
  await page.selectOption('[aria-label="Colour"]', "column:size");
  assert.match(await text(".gm-legend-colors"), /mean size\s+0\.4\d*\s+0\.7\d*/);
});

for (const [name, kind] of [["shapes", "dots"], ["soft", "dots between prototypes"], ["crowd", "density"]]) {
  test(`the faint layer of ${name} shows its samples: ${kind}`, async () => {
    await opened(name, { hash: "glyph=disc" });
    // Small marks, where they belong: with the samples nothing but these is added.
    await page.evaluate(() => gromap.viewer.update({ samples: true, size: 0.4, names: false }));
    await settled(page);
    const { mark, count } = await drawn(page);
    assert.ok(count > 5000);
    // Every second sample is faint now.
    await page.fill('input[type="search"]', name === "crowd" ? "class=a" : "class=ring");
    await settled(page);
    assert.notEqual((await drawn(page)).mark, mark);
    await page.fill('input[type="search"]', "");
    await page.click('[data-toggle="samples"]');
    await settled(page);
    assert.notEqual((await drawn(page)).mark, mark);
  });
}

test("spreading parts marks and keeps neighbours", async () => {
  await opened("shapes", { hash: "spread=false" });
  const places = () => page.evaluate(() => Array.from({ length: 40 }, (_, k) => gromap.viewer.placeOf(k)));
  const distances = (points) => points.map(([x, y]) => points.map(([u, v]) => Math.hypot(x - u, y - v)));
  const apart = distances(await places());
  await page.click('[data-toggle="spread"]');
  await settled(page);
  const spread = distances(await places());
  const least = (table) => Math.min(...table.flatMap((row, i) => row.filter((_, j) => i !== j)));
  assert.ok(least(spread) > 2 * least(apart), `${least(apart)} to ${least(spread)}`);
  const nearest = (row, k) => row.map((distance, j) => [distance, j]).filter(([, j]) => j !== k).sort((a, b) => a[0] - b[0]).slice(0, 5).map(([, j]) => j);
  const kept = apart.flatMap((row, k) => nearest(row, k).filter((j) => nearest(spread[k], k).includes(j))).length / (5 * 40);
  assert.ok(kept > 0.7, `${kept} of the neighbours stay`);
});

test("names of classes are drawn on the map", async () => {
  await opened("shapes");
  const before = await drawn(page);
  await page.click('[data-toggle="names"]');
  await settled(page);
  assert.notEqual((await drawn(page)).mark, before.mark);
});

test("the theme follows the system, and can be switched", async () => {
  await opened("shapes", { dark: true });
  const ground = () => page.evaluate(() => getComputedStyle(document.querySelector(".gm")).backgroundColor);
  assert.equal(await ground(), "rgb(20, 22, 26)");
  await page.screenshot({ path: `${SHOTS}dark.png` });
  await page.click(".gm-theme");
  assert.equal(await ground(), "rgb(250, 249, 246)");
  await page.emulateMedia({ colorScheme: "light" });
  assert.equal((await state(page)).theme, "light");
});

test("the slider goes through eight levels, and marks move between them", async () => {
  await opened("path", { hash: "level=0" });
  assert.equal(await text(".gm-title b"), "3 prototypes of 1,200 samples");
  assert.deepEqual(await page.locator(".gm-ticks button").allInnerTexts(), ["3", "5", "8", "13", "21", "34", "55", "89"]);
  assert.match(await text(".gm-path-key"), /loss.*silhouette.*homogeneity/s);
  assert.equal(await page.locator(".gm-path-chart path").count(), 3);
  const pictures = [await drawn(page)];
  for (const level of [0.25, 0.5, 0.75, 1]) {
    await page.evaluate((level) => gromap.viewer.update({ level }), level);
    await settled(page);
    pictures.push(await drawn(page));
  }
  assert.equal(new Set(pictures.map(({ mark }) => mark)).size, 5);
  assert.equal(await text(".gm-n"), "5 prototypes");
  await page.locator(".gm-track input").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => gromap.viewer.state.level === 2);
  assert.equal(await text(".gm-n"), "8 prototypes");
  await page.click('.gm-ticks button:text-is("89")');
  await page.waitForFunction(() => gromap.viewer.state.level === 7, undefined, { timeout: 15_000 });
  assert.equal(await text(".gm-title b"), "89 prototypes of 1,200 samples");
  await page.screenshot({ path: `${SHOTS}path.png` });
});

test("between levels marks begin and end as the levels are", async () => {
  await opened("path", { hash: "level=3" });
  const at = async (level) => {
    await page.evaluate((level) => gromap.viewer.update({ level }), level);
    await settled(page);
    return (await drawn(page)).count;
  };
  // Just after a level, and just before the next, about as much is drawn as at them: nothing appears from nowhere.
  const [here, after, before, there] = [await at(3), await at(3.03), await at(3.97), await at(4)];
  assert.ok(Math.abs(after / here - 1) < 0.06, `${here} and ${after}`);
  assert.ok(Math.abs(before / there - 1) < 0.06, `${before} and ${there}`);
});

test("plots beside the map: loss, weights, classes", async () => {
  await opened("shapes");
  const side = await text(".gm-side");
  assert.match(side, /LOSS BY ROUND.*start:.*round \d+:.*stopped: .*WEIGHTS OF PROTOTYPES.*%.*PROTOTYPES AND CLASSES/s);
  await page.locator(".gm-confusion").hover({ position: { x: 10, y: 10 } });
  assert.match(await text(".gm-overview"), /#\d+: [\d.]+ % disc/);
  await page.locator(".gm-confusion").click({ position: { x: 10, y: 10 } });
  assert.match(await text(".gm-side h2"), /^Prototype \d+$/);
});
