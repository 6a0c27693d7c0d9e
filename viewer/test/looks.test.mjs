// How a map looks: marks, colours, themes, plots, and the way from level to level.
import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, page, text } from "./harness.mjs";
import { drawn, placeOf, settled, SHOTS, state } from "./pages.mjs";

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

/** The pixel of the map at the place of every sample that has one, its class, and the palette of classes. */
const seenSamples = () =>
  page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const [level] = data.levels;
    // A map on the screen is turned and scaled: two prototypes tell how. Its marks stand where they belong.
    const [a, b] = [0, 1].map((k) => ({ map: [level.places[2 * k], -level.places[2 * k + 1]], screen: gromap.viewer.placeOf(k) }));
    const [ux, uy, vx, vy] = [b.map[0] - a.map[0], b.map[1] - a.map[1], b.screen[0] - a.screen[0], b.screen[1] - a.screen[1]];
    const size = ux * ux + uy * uy;
    const [c, s] = [(ux * vx + uy * vy) / size, (ux * vy - uy * vx) / size];
    const { low, step, at: steps } = level.samplePlaces;
    const { data: pixels, at } = readMap();
    const seen = Array.from(data.classes.of, (of, i) => {
      const [x, y] = [low[0] + step[0] * steps[2 * i] - a.map[0], -(low[1] + step[1] * steps[2 * i + 1]) - a.map[1]];
      const place = { x: a.screen[0] + c * x - s * y, y: a.screen[1] + s * x + c * y };
      const from = at(place.x, place.y);
      return { ...place, of, color: [...pixels.slice(from, from + 3)], alpha: pixels[from + 3] };
    });
    const palette = data.palette.slice(0, data.classes.names.length).map((color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16)));
    return { seen, palette, ring: data.classes.names.indexOf("ring") };
  });

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

for (const name of ["shapes", "soft"]) {
  test(`every sample of ${name} is a dot of its class at its place, faint where a search did not find it`, async () => {
    await opened(name, { hash: "glyph=disc" });
    // Small marks, where they belong: with the samples nothing but these is added.
    await page.evaluate(() => gromap.viewer.update({ samples: true, size: 0.4, names: false }));
    await settled(page);
    const { seen, palette, ring } = await seenSamples();
    const nearest = (color) => palette.map((other) => Math.hypot(...other.map((value, i) => value - color[i]))).reduce((best, distance, i, all) => (distance < all[best] ? i : best), 0);
    // The last dot in a place covers those before it, so some samples of mixed prototypes have the colour of another.
    const right = mean(seen.map(({ of, color, alpha }) => Number(alpha > 200 && nearest(color) === of)));
    assert.ok(right > 0.9, `${right} of the samples have a dot of their class`);
    await page.fill('input[type="search"]', "class=ring");
    await settled(page);
    const found = (await seenSamples()).seen;
    const alphas = (keep) => mean(found.filter(({ of }) => (of === ring) === keep).map(({ alpha }) => alpha));
    assert.ok(alphas(true) > 200 && alphas(false) < 80, `${alphas(true)} found, ${alphas(false)} not`);
  });

  test(`put away, nothing of the samples of ${name} is left`, async () => {
    await opened(name, { hash: "glyph=disc&names=false&size=0.4&spread=false" });
    const before = (await drawn(page)).count;
    await page.click('[data-toggle="samples"]');
    await settled(page);
    assert.notEqual((await drawn(page)).count, before);
    await page.click('[data-toggle="samples"]');
    await settled(page);
    assert.equal((await drawn(page)).count, before, "as many pixels are drawn as before");
    // Close by, marks are small beside the distances between samples: many places are bare without the layer, none with it.
    const { x, y } = await placeOf(page, 0);
    await page.mouse.move(x, y);
    for (let i = 0; i < 20 && ((await state(page)).view?.zoom ?? 1) < 12; i++) {
      await page.mouse.wheel(0, -150);
      await settled(page);
    }
    await page.mouse.move(5, 5);
    await settled(page);
    const bare = async () => {
      const { width, height } = await page.locator(".gm-map").boundingBox();
      const inSight = (await seenSamples()).seen.filter(({ x, y }) => x > 5 && y > 5 && x < width - 5 && y < height - 5);
      assert.ok(inSight.length > 40, `${inSight.length} samples are in sight`);
      return mean(inSight.map(({ alpha }) => Number(alpha === 0)));
    };
    const without = await bare();
    await page.keyboard.press("s");
    await settled(page);
    const covered = await bare();
    assert.ok(covered === 0 && without > 0.2, `${covered} of the places are bare with the layer, ${without} without`);
  });
}

test("a crowd is drawn as density: the more samples, the more ink", async () => {
  await opened("crowd", { hash: "glyph=disc" });
  await page.evaluate(() => gromap.viewer.update({ samples: true, names: false, spread: false }));
  await settled(page);
  /** Ink in a band around every prototype, inside which its samples lie, and how many there are. */
  const ink = () =>
    page.evaluate(async () => {
      const data = await gromap.decode(document.getElementById("gromap-data").textContent);
      const [level] = data.levels;
      const { data: pixels, at } = readMap();
      return Array.from({ length: level.prototypes }, (_, k) => {
        const [x, y] = gromap.viewer.placeOf(k);
        let [sum, seen] = [0, 0];
        for (let turn = 0; turn < 40; turn++) {
          for (const radius of [26, 30, 34]) {
            sum += pixels[at(x + radius * Math.cos(turn), y + radius * Math.sin(turn)) + 3] ?? 0;
            seen++;
          }
        }
        return { members: level.offsets[k + 1] - level.offsets[k], ink: sum / seen };
      }).sort((a, b) => b.members - a.members);
    });
  const bands = await ink();
  const [heavy, light] = [mean(bands.slice(0, 12).map(({ ink }) => ink)), mean(bands.slice(-12).map(({ ink }) => ink))];
  assert.ok(heavy > 1.25 * light, `${heavy} around the heaviest, ${light} around the lightest`);
  const { count } = await drawn(page);
  await page.click('[data-toggle="samples"]');
  await settled(page);
  assert.ok((await drawn(page)).count < 0.9 * count, "without the layer less is drawn");
});

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
