// What a person does with a map, and what the page then shows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { facts, opened, page, saved, text } from "./harness.mjs";
import { drawn, MAPS, placeOf, settled, SHOTS, state } from "./pages.mjs";

test("a map opens from a file and shows itself", async () => {
  await opened("shapes");
  assert.equal(await text("h1"), "Shapes");
  assert.equal(await text(".gm-title b"), "40 prototypes of 1,200 samples");
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
  await page.click('[aria-label="Fit: show all"]');
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

test("a page of others is told what is selected, keeps its keys, and gives the map its height", async () => {
  await opened("shapes");
  const found = await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    gromap.viewer.destroy();
    const root = document.getElementById("gromap");
    root.style.setProperty("--gromap-height", "500px");
    const told = [];
    const viewer = gromap.mount(root, data, { changed: ({ selected }) => told.push(selected.join()) });
    viewer.update({ selected: [4, 2] });
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "d", bubbles: true }));
    return { told, height: root.clientHeight, theme: viewer.state.theme };
  });
  assert.deepEqual(found, { told: ["4,2"], height: 500, theme: "auto" });
});

test("in a narrow part of a wide page, the map has its details as a sheet, and nothing is cut", async () => {
  await opened("shapes", { width: 1400, height: 900 });
  const mounted = (width) =>
    page.evaluate(async (width) => {
      const data = await gromap.decode(document.getElementById("gromap-data").textContent);
      const root = document.getElementById("gromap");
      (window.shown ?? gromap.viewer).destroy();
      root.style.cssText = `--gromap-height:520px;width:${width}px`;
      window.shown = gromap.mount(root, data);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const box = (part) => document.querySelector(part).getBoundingClientRect();
      const parts = [...document.querySelectorAll(".gm-header *, .gm-legend *, .gm-map, .gm-tabs *")].filter((part) => part.checkVisibility() && !part.closest(".gm-legend-colors"));
      return {
        map: box(".gm-map > canvas").width / width,
        outside: parts.filter((part) => part.getBoundingClientRect().right > width + 1 || part.getBoundingClientRect().bottom > 521).map(({ className }) => className),
        beside: box(".gm-side").left > box(".gm-map").right - 2,
      };
    }, width);
  assert.deepEqual(await mounted(640), { map: 1, outside: [], beside: false });
  const wide = await mounted(1100);
  assert.deepEqual([wide.outside, wide.beside], [[], true]);
});

test("the widget of a notebook shows the map and tells Python what is selected", async () => {
  await opened("shapes");
  // The page taken apart as python/gromap/_widget.py does it, and its own code to render.
  const html = readFileSync(`${MAPS}/shapes.html`, "utf8");
  const python = readFileSync(new URL("../../python/gromap/_widget.py", import.meta.url), "utf8");
  const render = /_RENDER = """(.*?)"""/s.exec(python)[1];
  const script = /<script>(.*)<\/script>/s.exec(html)[1];
  const payload = /<script id="gromap-data"[^>]*>(.*?)<\/script>/s.exec(html)[1];
  const notebook = await page.context().newPage();
  await notebook.setContent(`<style>${/<style>(.*?)<\/style>/s.exec(html)[1]}</style><div id="cell"></div>`);
  const found = await notebook.evaluate(
    async ([module, payload]) => {
      const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
      const { default: widget } = await import(url);
      const state = { _payload: payload, height: 420, _wanted: [], _state: null };
      const listeners = {};
      const model = { get: (key) => state[key], set: (key, value) => (state[key] = value), save_changes: () => {}, on: (name, act) => (listeners[name] = act) };
      const end = await widget.render({ model, el: document.getElementById("cell") });
      state._wanted = [7];
      listeners["change:_wanted"]();
      const shown = { height: document.querySelector(".gm").clientHeight, heading: document.querySelector(".gm-side h2").textContent, told: state._state };
      end();
      return { ...shown, left: document.getElementById("cell").childNodes.length };
    },
    [script + render, payload],
  );
  assert.deepEqual(found, { height: 420, heading: "Prototype 7", told: { selected: [7], sample: null, level: 0 }, left: 0 });
});
