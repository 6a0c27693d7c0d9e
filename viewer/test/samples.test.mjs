// Every sample at its own place: drawn, pointed at, clicked, coloured; and colours by anything.
import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, page, panned, text } from "./harness.mjs";
import { drawn, pixel, placeOf, settled, SHOTS, state } from "./pages.mjs";

/** Where a sample is drawn, from the payload: by the prototypes, whose places on the screen are known. */
const sampleOnScreen = (sample) =>
  page.evaluate(async (sample) => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const [level] = data.levels;
    const own = [0, 1].map((axis) => level.samplePlaces.low[axis] + level.samplePlaces.step[axis] * level.samplePlaces.at[2 * sample + axis]);
    // A map on the screen is turned, mirrored and scaled: three prototypes tell how.
    const [a, b] = [0, 1].map((k) => ({ map: [level.places[2 * k], level.places[2 * k + 1]], screen: gromap.viewer.placeOf(k) }));
    const [ux, uy] = [b.map[0] - a.map[0], -(b.map[1] - a.map[1])];
    const [vx, vy] = [b.screen[0] - a.screen[0], b.screen[1] - a.screen[1]];
    const size = ux * ux + uy * uy;
    const [c, s] = [(ux * vx + uy * vy) / size, (ux * vy - uy * vx) / size];
    const [x, y] = [own[0] - a.map[0], -(own[1] - a.map[1])];
    return [a.screen[0] + c * x - s * y, a.screen[1] + s * x + c * y];
  }, sample);

/** A sample that no other is near, on a part of the map that is magnified around it. */
const loneSample = async () => {
  for (let sample = 0; sample < 60; sample++) {
    await page.evaluate(() => gromap.viewer.update({ view: null }));
    const [x, y] = await sampleOnScreen(sample);
    const box = await page.locator(".gm-map canvas").boundingBox();
    await page.mouse.move(box.x + x, box.y + y);
    await page.mouse.wheel(0, -1100);
    await page.waitForFunction(() => gromap.viewer.state.view?.zoom > 4);
    await settled(page);
    const own = await sampleOnScreen(sample);
    const others = await Promise.all(Array.from({ length: 1200 }, (_, i) => i).filter((i) => i !== sample && i % 7 === 0).map(sampleOnScreen));
    if (others.every(([u, v]) => Math.hypot(u - own[0], v - own[1]) > 6)) return { sample, x: own[0], y: own[1], box };
  }
  throw new Error("no sample is alone");
};

test("samples stand at their own places, are pointed at and opened", async () => {
  await opened("shapes", { hash: "samples=true&glyph=disc&names=false&size=0.4" });
  const { x, y, box } = await loneSample();
  assert.ok((await pixel(page, x, y))[3] > 150, "there is a dot");
  await page.mouse.move(box.x + x, box.y + y);
  await page.waitForSelector(".gm-sample-card");
  const name = (await text(".gm-card strong")).replace("Sample ", "");
  assert.match(name, /^shape-\d{4}$/);
  assert.equal(await page.locator(".gm-card canvas").count(), 1);
  assert.match(await text(".gm-card .gm-quote"), /number \d+$/);
  // It is the one whose place is nearest.
  const pointed = Number(name.slice(6));
  const [u, v] = await sampleOnScreen(pointed);
  assert.ok(Math.hypot(u - x, v - y) < 8, `${pointed} is at ${u}, ${v}, the pointer at ${x}, ${y}`);
  await page.mouse.click(box.x + x, box.y + y);
  const shown = await state(page);
  assert.equal(shown.sample, pointed);
  assert.match(await text(".gm-sample-inside"), new RegExp(name));
  const prototype = await page.evaluate(async (sample) => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const [level] = data.levels;
    return Array.from({ length: 40 }, (_, k) => k).find((k) => level.members.subarray(level.offsets[k], level.offsets[k + 1]).includes(sample));
  }, shown.sample);
  assert.deepEqual(shown.selected, [prototype]);
  await page.screenshot({ path: `${SHOTS}samples.png` });
});

/** The colour of the legend for a number. */
const inLegend = (value) =>
  page.evaluate((value) => {
    const ramp = document.querySelector(".gm-ramp");
    const [low, high] = [ramp.previousSibling, ramp.nextSibling].map((end) => Number(end.textContent.replace(/[≤≥ ]/g, "")));
    const stops = [...ramp.style.background.matchAll(/rgb\((\d+), (\d+), (\d+)\)/g)].map((stop) => stop.slice(1).map(Number));
    const at = Math.min(1, Math.max(0, (value - low) / (high - low))) * (stops.length - 1);
    const [from, to] = [stops[Math.floor(at)], stops[Math.ceil(at)]];
    return from.map((channel, i) => channel + (to[i] - channel) * (at - Math.floor(at)));
  }, value);

const far = (a, b) => Math.hypot(...a.map((channel, i) => channel - b[i]));

test("a sample has the colour of its own value, as the legend tells it, and a search greys what it did not find", async () => {
  await opened("shapes", { hash: "samples=true&glyph=disc&names=false&size=0.4" });
  const { sample, x, y } = await loneSample();
  const own = await page.evaluate(async (sample) => {
    const { classes, columns, palette } = await gromap.decode(document.getElementById("gromap-data").textContent);
    const color = palette[classes.of[sample]];
    return { name: classes.names[classes.of[sample]], color: [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)), size: columns.find(({ name }) => name === "size").numbers[sample] };
  }, sample);
  const seen = () => pixel(page, x, y);
  assert.ok(far((await seen()).slice(0, 3), own.color) < 8, `${await seen()} is not ${own.color}`);
  await page.selectOption('[aria-label="Colour"]', "column:size");
  await settled(page);
  const wanted = await inLegend(own.size);
  assert.ok(far((await seen()).slice(0, 3), wanted) < 16, `${await seen()} is not ${wanted}`);
  await page.fill('input[type="search"]', `class=${own.name}`);
  await settled(page);
  assert.ok((await seen())[3] > 200, "found");
  await page.fill('input[type="search"]', `class=${own.name === "ring" ? "bar" : "ring"}`);
  await settled(page);
  assert.ok((await seen())[3] < 60, "not found");
});

test("colours stand for columns, words and features, the most telling first", async () => {
  await opened("text");
  const choices = await page.locator('[aria-label="Colour"] option').evaluateAll((options) => options.map(({ value, textContent, parentElement }) => [value, textContent, parentElement.label ?? ""]));
  const values = choices.map(([value]) => value);
  assert.ok(values.includes("column:year") && values.includes("column:sent by"));
  assert.ok(!values.includes("column:letter"), "texts that never come again are no colours");
  assert.equal(values.filter((value) => value.startsWith("feature:")).length, 40);
  assert.equal((await state(page)).color, values[0]);
  // The oracle: the share of a word's variance that lies between prototypes.
  const explained = await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    return [...data.telling.explained];
  });
  assert.deepEqual(explained, [...explained].sort((a, b) => b - a));
  await page.selectOption('[aria-label="Colour"]', "column:sent by");
  assert.deepEqual((await page.locator(".gm-legend-colors button").allInnerTexts()).sort(), ["four", "one", "three", "two"]);
  await page.click('.gm-legend-colors button:text-is("two")');
  assert.match(await text(".gm-found"), /^\d+ samples in/);
  await page.keyboard.press("Escape");
  await page.selectOption('[aria-label="Colour"]', values.find((value) => value.startsWith("feature:")));
  assert.match(await text(".gm-legend-colors"), /^mean [a-z]+\s+[\d.]+\s+(≥ )?[\d.]+$/);
});

test("names and numbers of prototypes are shown, coloured by and found in the list", async () => {
  await opened("named", { hash: "tab=list" });
  assert.match(await text(".gm-list thead"), /name/);
  assert.match(await text(".gm-list tbody"), /group seven/);
  await page.selectOption('[aria-label="Colour"]', "number:stability");
  assert.match(await text(".gm-legend-colors"), /stability\s+(≤ )?0(\.\d+)?\s+(≥ )?(0\.\d+|1)\s+unknown/);
  await page.click('.gm-list button:text-is("#4")');
  assert.match(await text(".gm-side .gm-facts"), /stability\s+0\.\d+/);
  await page.selectOption('[aria-label="Colour"]', "name");
  assert.match(await text(".gm-legend-colors"), /group one.*other \(3\)/s);
});

test("names never cover each other, and more of them fit closer by", async () => {
  await opened("named");
  const names = () =>
    page.evaluate(() => {
      const written = [];
      const fill = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        written.push({ text, x, y, half: this.measureText(text).width / 2 });
        return fill.apply(this, arguments);
      };
      return new Promise((resolve) => {
        gromap.viewer.update({ names: false });
        requestAnimationFrame(() => {
          written.length = 0;
          gromap.viewer.update({ names: true });
          requestAnimationFrame(() => {
            CanvasRenderingContext2D.prototype.fillText = fill;
            resolve(written);
          });
        });
      });
    });
  const apart = (placed) => placed.every((a, i) => placed.slice(i + 1).every((b) => Math.abs(a.x - b.x) >= a.half + b.half || Math.abs(a.y - b.y) >= 12));
  const whole = await names();
  assert.ok(whole.length >= 8, `${whole.length} names`);
  assert.ok(apart(whole));
  const [x, y] = await page.evaluate(() => gromap.viewer.placeOf(0));
  for (let i = 0; i < 3; i++) await page.keyboard.press("+");
  await settled(page);
  const near = await names();
  assert.ok(apart(near));
  // In the same part of the map there were fewer before.
  const before = await page.evaluate(async () => Array.from({ length: 40 }, (_, k) => gromap.viewer.placeOf(k)).filter(([u, v]) => u > 0 && v > 0 && u < 900 && v < 600).length);
  assert.ok(near.length / before >= whole.length / 40, `${near.length} of ${before}, then ${whole.length} of 40 at ${x}, ${y}`);
  await page.screenshot({ path: `${SHOTS}names.png` });
});

test("a pan over 5,000 pictures with 100,000 samples takes less than 50 ms a frame", async () => {
  await opened("many");
  await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const [level] = data.levels;
    const samples = 100_000;
    // A payload with ten times the samples, each near its prototype.
    const at = new Uint16Array(2 * samples);
    const range = [0, 1].map((axis) => {
      const values = Array.from({ length: level.prototypes }, (_, k) => level.places[2 * k + axis]);
      return [Math.min(...values), Math.max(...values)];
    });
    const members = new Uint32Array(samples);
    const offsets = Uint32Array.from({ length: level.prototypes + 1 }, (_, k) => 20 * k);
    for (let i = 0; i < samples; i++) {
      const k = Math.floor(i / 20);
      members[i] = i;
      for (const axis of [0, 1]) {
        const place = level.places[2 * k + axis] + 1.2 * Math.sin(i * (axis + 1.3));
        at[2 * i + axis] = Math.min(65535, Math.max(0, (65535 * (place - range[axis][0])) / (range[axis][1] - range[axis][0])));
      }
    }
    const samplePlaces = { low: range.map(([low]) => low), step: range.map(([low, high]) => (high - low) / 65535), at };
    const classes = { ...data.classes, of: Uint32Array.from(members, (i) => i % 5) };
    const large = { ...data, samples, classes, columns: [], ids: null, pictures: { ...data.pictures, of: new Uint32Array([0]) }, levels: [{ ...level, members, offsets, samplePlaces }] };
    gromap.viewer.destroy();
    window.shown = gromap.mount(document.getElementById("gromap"), large, { state: { samples: true } });
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
  // The dots are there.
  assert.ok((await drawn(page)).count > 100_000);
  const times = await panned();
  console.log(`pans over 100,000 samples: ${times}`);
  assert.ok(times.mean < 50, `${times}`);
});
