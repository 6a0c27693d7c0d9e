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
