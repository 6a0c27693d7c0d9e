// The page in a real browser: what a person does, and what the page then shows.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { close, drawn, MAPS, open, pixel, placeOf, settled, SHOTS, show, state } from "./pages.mjs";

before(open);
after(close);

let page;
/** Every test opens its own page, and none may end with a request or a message. */
const opened = async (...given) => (page = await show(...given));
afterEach(async () => {
  const problems = page?.problems ?? [];
  await page?.context().close();
  page = undefined;
  assert.deepEqual(problems, []);
});

const text = (selector) => page.locator(selector).innerText();

/** The data of the page, read again: an oracle for what is shown. */
const facts = (k) =>
  page.evaluate(async (k) => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const level = data.levels[Math.round(gromap.viewer.state.level)];
    const members = [...level.members.subarray(level.offsets[k], level.offsets[k + 1])];
    const ids = members.map((sample) => (data.ids ? data.ids[sample] : String(sample)));
    return { weight: level.weights[k], members, ids, prototypes: level.prototypes, weights: [...level.weights] };
  }, k);

async function saved(act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

async function exported(name) {
  await page.click(".gm-export summary");
  return saved(() => page.click(`.gm-export button:text-is("${name}")`));
}

test("a map opens from a file and shows itself", async () => {
  await opened("shapes");
  assert.equal(await text("h1"), "Shapes");
  assert.equal(await text(".gm-title p"), "40 prototypes of 1,200 samples");
  assert.match(await text(".gm-footer"), /method tsnekhorn.*seed 0.*gromap \d+\.\d+\.\d+.*data 3f9a0c5e/s);
  assert.match(await text(".gm-legend"), /disc.*square.*bar.*cross.*ring.*weight.*%/s);
  assert.ok((await drawn(page)).count > 20_000);
  await page.screenshot({ path: `${SHOTS}shapes.png` });
});

test("pointing at a prototype shows a card", async () => {
  await opened("shapes");
  const place = await placeOf(page, 3);
  await page.mouse.move(place.x, place.y);
  await page.waitForSelector(".gm-card:not([hidden])");
  const { ids, weight } = await facts(3);
  const shown = await text(".gm-card");
  assert.match(shown, /Prototype 3\b/);
  assert.ok(shown.includes(`${Number((100 * weight).toPrecision(3))} %`), shown);
  assert.match(shown, new RegExp(`members\\s+${ids.length}\\b`));
  assert.match(shown, /purity\s+[\d.]+ %/);
  assert.match(shown, /(disc|square|bar|cross|ring)\s+[\d.]+ %/);
  assert.match(shown, /nearest: #\d+ #\d+ #\d+ #\d+/);
  assert.equal(await page.locator(".gm-card canvas").count(), 2);
  await page.mouse.move(5, 5);
  assert.equal(await page.locator(".gm-card").isVisible(), false);
});

test("a click opens the members, the medoid first, page by page", async () => {
  await opened("one");
  const place = await placeOf(page, 0);
  await page.mouse.click(place.x, place.y);
  assert.equal(await text(".gm-side h2"), "Prototype 0");
  const { ids } = await facts(0);
  assert.equal(ids.length, 1200);
  const shown = () => page.locator(".gm-thumb span:last-child").allInnerTexts();
  assert.deepEqual(await shown(), ids.slice(0, 48));
  assert.equal(await text(".gm-pages span"), "1–48 of 1,200");
  await page.click('[aria-label="Next members"]');
  assert.deepEqual(await shown(), ids.slice(48, 96));
  await page.click(".gm-thumb >> nth=2");
  assert.match(await text(".gm-sample"), new RegExp(`${ids[50]}.*note`, "s"));
});

test("members can be copied and downloaded", async () => {
  await opened("shapes", { hash: "selected=5&tab=prototype" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const { ids } = await facts(5);
  await page.click('button:text-is("Copy ids")');
  await page.waitForSelector(".gm-told");
  assert.equal(await text(".gm-live"), `${ids.length} ids copied`);
  assert.deepEqual((await page.evaluate(() => navigator.clipboard.readText())).split("\n"), ids);
  const { name, content } = await saved(() => page.click('button:text-is("Download CSV")'));
  assert.equal(name, "prototype-5.csv");
  const lines = content.toString().trimEnd().split("\r\n");
  assert.equal(lines[0], "prototype,sample,id,class,size,note");
  assert.deepEqual(lines.slice(1).map((line) => line.split(",")[2]), ids);
});

test("a search greys what it does not find", async () => {
  await opened("shapes", { hash: "glyph=disc" });
  await page.fill('input[type="search"]', "RING number");
  await settled(page);
  assert.match(await text(".gm-found"), /^240 samples in \d+ prototypes$/);
  const opacities = await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const [level] = data.levels;
    const rings = (k) => [...level.members.subarray(level.offsets[k], level.offsets[k + 1])].some((sample) => data.classes.of[sample] === 4);
    const { data: pixels, at } = readMap();
    return Array.from({ length: level.prototypes }, (_, k) => [rings(k), pixels[at(...gromap.viewer.placeOf(k)) + 3]]);
  });
  assert.ok(opacities.some(([found]) => found) && opacities.some(([found]) => !found));
  for (const [found, alpha] of opacities) assert.equal(alpha > 128, found, `${found} ${alpha}`);
  await page.fill('input[type="search"]', "#7");
  assert.match(await text(".gm-found"), /in 1 prototype$/);
  await page.click('.gm-legend button:has-text("cross")');
  assert.match(await text(".gm-found"), /^240 samples/);
  await page.keyboard.press("Escape");
  assert.equal(await text(".gm-found"), "");
});

/** Draws around a prototype with the mouse. */
async function lasso(k, radius) {
  const place = await placeOf(page, k);
  for (let i = 0; i <= 12; i++) {
    const angle = (2 * Math.PI * i) / 12;
    await page.mouse.move(place.x + radius * Math.cos(angle), place.y + radius * Math.sin(angle));
    if (i === 0) await page.mouse.down();
  }
  await page.mouse.up();
}

test("a lasso selects what it encloses, and the selection can be saved", async () => {
  await opened("shapes");
  await page.click('[aria-label="Lasso"]');
  await lasso(4, 90);
  const { selected } = await state(page);
  const near = await page.evaluate(() => {
    const [x, y] = gromap.viewer.placeOf(4);
    const inside = (k) => Math.hypot(gromap.viewer.placeOf(k)[0] - x, gromap.viewer.placeOf(k)[1] - y);
    return Array.from({ length: 40 }, (_, k) => inside(k));
  });
  assert.ok(selected.length > 1 && selected.includes(4));
  // The line has twelve corners: inside its inner circle everything is in, outside its outer one nothing.
  near.forEach((distance, k) => {
    if (distance < 86) assert.ok(selected.includes(k), `${k} at ${distance}`);
    if (distance > 91) assert.ok(!selected.includes(k), `${k} at ${distance}`);
  });
  assert.match(await text(".gm-side"), new RegExp(`Selection.*prototypes\\s+${selected.length}\\b`, "s"));
  const { content } = await saved(() => page.click('button:text-is("Download CSV")'));
  const found = new Set(content.toString().trimEnd().split("\r\n").slice(1).map((line) => Number(line.split(",")[0])));
  assert.deepEqual([...found].sort((a, b) => a - b), [...selected].sort((a, b) => a - b));
  await page.keyboard.press("Escape");
  assert.deepEqual((await state(page)).selected, []);
});

test("shift and drag is a lasso too, and no click", async () => {
  await opened("shapes");
  await page.keyboard.down("Shift");
  await lasso(4, 70);
  await page.keyboard.up("Shift");
  assert.ok((await state(page)).selected.length > 1);
});

test("the slider goes through eight levels, and marks move between them", async () => {
  await opened("path", { hash: "level=0" });
  assert.equal(await text(".gm-title p"), "3 prototypes of 1,200 samples");
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
  assert.equal(await text(".gm-title p"), "89 prototypes of 1,200 samples");
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

test("SVG holds every mark as vectors, areas in proportion to weights", async () => {
  await opened("shapes", { hash: "glyph=disc&spread=false" });
  const { name, content } = await exported("SVG");
  assert.equal(name, "map.svg");
  const circles = await page.evaluate((svg) => {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    if (parsed.querySelector("parsererror")) throw new Error(parsed.documentElement.textContent);
    return [...parsed.querySelectorAll("svg > svg circle")].map((circle) => Number(circle.getAttribute("r")));
  }, content.toString());
  const { weights } = await facts(0);
  assert.equal(circles.length, 40);
  // The heaviest is drawn first.
  weights.sort((a, b) => b - a);
  circles.forEach((radius, i) => {
    const ratio = radius ** 2 / circles[0] ** 2 / (weights[i] / weights[0]);
    assert.ok(Math.abs(ratio - 1) < 0.01, `mark ${i}: ${ratio}`);
  });
});

test("SVG of pictures and pies is well-formed", async () => {
  await opened("shapes", { hash: "samples=true&names=true" });
  const count = (svg, selector) =>
    page.evaluate(([svg, selector]) => new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll(selector).length, [svg, selector]);
  const pictures = (await exported("SVG")).content.toString();
  assert.equal(await count(pictures, "image"), 40);
  // A few may lie beyond the window.
  assert.ok((await count(pictures, "circle")) > 1150);
  await page.click('[data-glyph="pie"]');
  const pies = (await exported("SVG, transparent")).content.toString();
  assert.ok((await count(pies, "path")) > 40);
  assert.equal(await count(pies, "parsererror"), 0);
});

/** Width, height and a corner of a PNG, as the browser reads it. */
const decodedPng = (content) =>
  page.evaluate(async (bytes) => {
    const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    const { data } = canvas.getContext("2d").getImageData(0, 0, image.width, image.height);
    let inked = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 0 && data[i] < 250) inked++;
    return { width: image.width, corner: [...data.slice(0, 4)], inked };
  }, [...content]);

test("PNG is twice the size, white or transparent", async () => {
  await opened("shapes");
  const width = await page.evaluate(() => document.querySelector(".gm-map").clientWidth);
  const white = await decodedPng((await exported("PNG, white")).content);
  assert.equal(white.width, 2 * width);
  assert.deepEqual(white.corner, [255, 255, 255, 255]);
  assert.ok(white.inked > 50_000);
  const clear = await decodedPng((await exported("PNG, transparent")).content);
  assert.deepEqual(clear.corner, [0, 0, 0, 0]);
});

test("CSV of all samples has all of them", async () => {
  await opened("shapes");
  const { content } = await exported("CSV of all samples");
  assert.equal(content.toString().trimEnd().split("\r\n").length, 1201);
});

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

test("the faint layer shows every sample", async () => {
  await opened("shapes");
  const before = (await drawn(page)).count;
  await page.click('[data-toggle="samples"]');
  await settled(page);
  assert.ok((await drawn(page)).count > before + 1000);
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

test("the address remembers what is shown", async () => {
  await opened("shapes");
  await page.click('[data-glyph="pie"]');
  await page.fill('input[type="search"]', "ring");
  const place = await placeOf(page, 2);
  await page.mouse.click(place.x, place.y);
  await page.keyboard.press("+");
  await page.waitForFunction(() => location.hash.includes("view="));
  const before = await state(page);
  await page.reload();
  await page.waitForSelector(".gm-map canvas");
  const after = await state(page);
  assert.deepEqual([after.glyph, after.query, after.selected, after.tab], ["pie", "ring", [2], "prototype"]);
  assert.ok(Math.abs(after.view.zoom - before.view.zoom) < 0.01);
});

test("nonsense in the address is ignored", async () => {
  await opened("shapes", { hash: "level=9e9&glyph=toString&color=%22&axes=7,-1&selected=NaN,-4,99999&view=0,0,0&tab=x&size=-1" });
  assert.equal((await state(page)).glyph, "mean");
  assert.ok((await drawn(page)).count > 1000);
});

test("the keyboard moves, zooms, goes through prototypes and searches", async () => {
  await opened("shapes");
  await page.locator(".gm-map canvas").focus();
  const [x] = await page.evaluate(() => gromap.viewer.placeOf(0));
  await page.keyboard.press("ArrowRight");
  assert.ok(Math.abs((await page.evaluate(() => gromap.viewer.placeOf(0)))[0] - x + 60) < 1);
  await page.keyboard.press("+");
  assert.ok((await state(page)).view.zoom > 1.3);
  await page.keyboard.press("0");
  assert.equal((await state(page)).view, null);
  const { weights } = await facts(0);
  await page.keyboard.press("n");
  assert.deepEqual((await state(page)).selected, [weights.indexOf(Math.max(...weights))]);
  await page.keyboard.press("/");
  await page.keyboard.type("bar");
  assert.match(await text(".gm-found"), /240 samples/);
});

test("the wheel zooms and a drag pans", async () => {
  await opened("shapes");
  const box = await page.locator(".gm-map canvas").boundingBox();
  await page.mouse.move(box.x + 300, box.y + 300);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction(() => gromap.viewer.state.view?.zoom > 1.2);
  const before = await page.evaluate(() => gromap.viewer.placeOf(0));
  await page.mouse.down();
  await page.mouse.move(box.x + 340, box.y + 325, { steps: 4 });
  await settled(page);
  const during = await drawn(page);
  await page.mouse.up();
  await settled(page);
  // While it moves it is a picture that is shifted; let go, it is drawn again, and must be the same map.
  assert.ok(Math.abs(during.count / (await drawn(page)).count - 1) < 0.02);
  const after = await page.evaluate(() => gromap.viewer.placeOf(0));
  assert.ok(Math.abs(after[0] - before[0] - 40) < 1.5 && Math.abs(after[1] - before[1] - 25) < 1.5);
  await page.click('[aria-label="Show all"]');
  assert.equal((await state(page)).view, null);
});

test("the list has every prototype as text", async () => {
  await opened("shapes", { hash: "tab=list" });
  assert.equal(await page.locator(".gm-list tbody tr").count(), 40);
  const { weights } = await facts(0);
  const heaviest = weights.indexOf(Math.max(...weights));
  assert.equal(await page.locator(".gm-list tbody button").first().innerText(), `#${heaviest}`);
  await page.click('.gm-list button:text-is("#7")');
  assert.equal(await text(".gm-side h2"), "Prototype 7");
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

for (const [name, prototypes] of [["one", 1], ["bare", 40], ["unlabelled", 40], ["colour", 25], ["table", 20], ["soft", 40], ["three", 40], ["crowd", 60], ["many", 5000]]) {
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

test("a page can be mounted, updated and taken away again", async () => {
  await opened("shapes");
  const found = await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    gromap.viewer.destroy();
    const root = document.getElementById("gromap");
    const empty = root.childNodes.length === 0 && !root.classList.contains("gm");
    const viewer = gromap.mount(root, data, { state: { glyph: "disc" } });
    viewer.update({ query: "ring" });
    const told = document.querySelector(".gm-found").textContent;
    viewer.destroy();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "d" }));
    return { empty, told, left: root.childNodes.length };
  });
  assert.deepEqual([found.empty, found.left], [true, 0]);
  assert.match(found.told, /^240 samples/);
});

test("a pan over 5,000 prototypes with pictures takes less than 50 ms a frame", async () => {
  await opened("many");
  const frames = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const map = document.querySelector(".gm-map canvas");
        const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const box = map.getBoundingClientRect();
        const mouse = (type, target, i) => {
          const place = { clientX: box.x + 300 + 3 * i, clientY: box.y + 250 + 2 * i };
          target.dispatchEvent(new MouseEvent(type, { ...place, view: window, bubbles: true, cancelable: true, buttons: 1 }));
        };
        const found = [];
        let last = performance.now();
        mouse("mousedown", map, 0);
        const tick = () => {
          // Copying the map waits until it is really drawn.
          copy.drawImage(map, 0, 0, 1, 1);
          copy.getImageData(0, 0, 1, 1);
          const now = performance.now();
          found.push({ time: now - last, x: gromap.viewer.placeOf(0)[0] });
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
      }),
  );
  assert.ok(Math.abs(frames.at(-1).x - frames[1].x - 3 * (frames.length - 2)) < 4, "the map moved with the mouse");
  const times = frames.slice(2).map(({ time }) => time).sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)];
  console.log(`pan over 5,000 prototypes: median ${median.toFixed(1)} ms a frame, slowest ${times.at(-1).toFixed(1)} ms`);
  assert.ok(median < 50, `${median} ms`);
});

test("200 prototypes of MNIST with 10,000 members are under 6 MB", { skip: !existsSync(`${MAPS}/mnist.html`) && "there is no MNIST here" }, () => {
  assert.ok(statSync(`${MAPS}/mnist.html`).size < 6e6);
});
