// What leaves the page, read as its receivers would.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, facts, opened, page } from "./harness.mjs";

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
  const names = await page.evaluate((svg) => {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    return [...parsed.querySelectorAll("svg > svg text")].map((name) => name.textContent).sort();
  }, pictures);
  for (const name of ["bar", "cross", "ring"]) assert.ok(names.includes(name), `${name} in ${names}`);
  for (const name of names) assert.match(name, /^(bar|cross|disc|ring|square)( \/ (bar|cross|disc|ring|square))?$/);
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

test("the menu closes when something else is pressed, and by Escape, which keeps the selection", async () => {
  await opened("shapes", { hash: "selected=3&tab=prototype" });
  const shown = () => page.locator(".gm-export > div").isVisible();
  await page.click(".gm-export summary");
  assert.equal(await shown(), true);
  await page.keyboard.press("Escape");
  assert.equal(await shown(), false);
  assert.deepEqual(await page.evaluate(() => gromap.viewer.state.selected), [3]);
  await page.click(".gm-export summary");
  await page.click(".gm-footer");
  assert.equal(await shown(), false);
});

test("CSV of all samples has all of them", async () => {
  await opened("shapes");
  const { content } = await exported("CSV of all samples");
  assert.equal(content.toString().trimEnd().split("\r\n").length, 1201);
});

test("CSV has numbers and text, but no formulas", async () => {
  await opened("hostile");
  const { content } = await exported("CSV of all samples");
  const [head, ...lines] = content.toString().trimEnd().split("\r\n");
  assert.match(head, /,'=1\+1,__proto__,/);
  for (const line of lines) assert.match(line, /,'-2\+3,-\d+,/);
});

/** What an exported SVG shows: marks as circles around boxes, names with their boxes, and lines that lead to them. */
const partsOf = (svg) =>
  page.evaluate((svg) => {
    const holder = document.createElement("div");
    holder.append(document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
    document.body.append(holder);
    const map = holder.querySelector("svg > svg");
    const boxes = (selector) => [...map.querySelectorAll(selector)].map((element) => element.getBBox()).map(({ x, y, width, height }) => ({ x, y, width, height }));
    const lines = [...map.querySelectorAll("path[fill=none]")].map((path) => path.getAttribute("d").match(/-?[\d.]+/g).map(Number));
    const parts = { marks: boxes("g > rect, g > circle"), names: boxes("text"), texts: [...map.querySelectorAll("text")].map((name) => name.textContent), lines };
    holder.remove();
    return parts;
  }, svg);

/** Whether a point is well inside a box. */
const inside = ([x, y], box, margin) => x > box.x + margin && y > box.y + margin && x < box.x + box.width - margin && y < box.y + box.height - margin;

for (const [name, options] of [["text", {}], ["text", { width: 390, height: 844, touch: true }], ["named", {}], ["graph", {}], ["path", { hash: "level=7" }], ["path", { hash: "level=0" }]]) {
  test(`names of ${name} ${JSON.stringify(options)} are apart, and their lines cross no mark and no name`, async () => {
    await opened(name, options);
    const { marks, names, texts, lines } = await partsOf((await exported("SVG")).content.toString());
    assert.ok(names.length >= 3, `${names.length} names`);
    names.forEach((a, i) => {
      for (const b of names.slice(i + 1)) {
        const [wide, high] = [Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x), Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y)];
        assert.ok(wide < 1 || high < 2.5, `${texts[i]} lies on another`);
      }
    });
    // A text that comes again stands in another region.
    texts.forEach((text, i) => {
      const again = texts.findIndex((other, j) => j > i && other === text);
      if (again > 0) assert.ok(Math.hypot(names[i].x - names[again].x, names[i].y - names[again].y) > 60, `${text} is said twice`);
    });
    for (const [x, y, u, v] of lines) {
      const points = Array.from({ length: 41 }, (_, i) => [x + ((u - x) * i) / 40, y + ((v - y) * i) / 40]);
      const crossed = marks.filter((mark) => points.slice(2).some((point) => inside(point, mark, 2)));
      const written = names.filter((box) => points.slice(0, -2).some((point) => inside(point, box, 3)));
      assert.deepEqual([crossed, written], [[], []], `the line from ${x}, ${y} to ${u}, ${v}`);
    }
  });
}

test("figures have names, profiles with what their bars are, and a legend whose parts do not touch", async () => {
  await opened("table");
  const { content } = await exported("SVG");
  const found = await page.evaluate((svg) => {
    const holder = document.createElement("div");
    holder.append(document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
    document.body.append(holder);
    const root = holder.firstChild;
    const legend = [...root.children].filter(({ tagName }) => tagName === "text").map((item) => ({ text: item.textContent, box: item.getBBox() }));
    const shapes = [...root.children].filter(({ tagName }, i) => /rect|circle|line/.test(tagName) && i > 1).map((item) => item.getBBox());
    const parts = [...legend.map(({ box }) => box), ...shapes].map(({ x, y, width, height }) => ({ x, y, width, height }));
    const inner = root.querySelector("svg");
    const bars = inner.querySelectorAll("g > path").length;
    const names = [...inner.querySelectorAll("text")].map((name) => name.textContent);
    const result = { texts: legend.map(({ text }) => text), parts, bars, names, top: Number(inner.getAttribute("height")), bottom: Number(root.getAttribute("height")) };
    holder.remove();
    return result;
  }, content.toString());
  assert.equal(found.bars, 20);
  assert.deepEqual([...new Set(found.names)].sort(), ["high", "low", "middle"]);
  assert.deepEqual(found.texts.slice(0, 4), ["low", "middle", "high", "bars: height · width · depth · noise · mass · charge"]);
  assert.match(found.texts.at(-1), /^[\d.]+ % of weight$/);
  found.parts.forEach((a, i) => {
    assert.ok(a.y >= found.top && a.y + a.height <= found.bottom, `${JSON.stringify(a)} is below the map and on the page`);
    for (const b of found.parts.slice(i + 1)) {
      const apart = a.x + a.width <= b.x + 1 || b.x + b.width <= a.x + 1 || a.y + a.height <= b.y + 1 || b.y + b.height <= a.y + 1;
      assert.ok(apart, `${JSON.stringify(a)} and ${JSON.stringify(b)}`);
    }
  });
});
