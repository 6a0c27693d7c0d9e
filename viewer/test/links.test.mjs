// Links between prototypes, and facts behind "details": of a graph its edges, of other data an offer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, opened, page, text } from "./harness.mjs";
import { drawn, pixel, settled, SHOTS, state } from "./pages.mjs";

/** Links of the level shown, the strongest first, as the payload has them. */
const links = () =>
  page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const { links } = data.levels[Math.round(gromap.viewer.state.level)];
    return Array.from(links.share, (share, i) => ({ from: links.from[i], to: links.to[i], share })).sort((a, b) => b.share - a.share);
  });

test("a graph shows its edges, and they can be put away", async () => {
  await opened("graph", { hash: "names=false&glyph=disc&size=0.4&spread=false" });
  assert.equal((await state(page)).links, true);
  // Between its ends, where no mark is in the way, the line is there and nothing else.
  const all = await links();
  const places = await page.evaluate(() => Array.from({ length: 24 }, (_, k) => gromap.viewer.placeOf(k)));
  const middle = ({ from, to }) => [0, 1].map((axis) => (places[from][axis] + places[to][axis]) / 2);
  const clear = all.filter((link) => {
    const [x, y] = middle(link);
    return x > 5 && y > 5 && places.every(([u, v]) => Math.hypot(u - x, v - y) > 25);
  });
  assert.ok(clear.length >= 3, `${clear.length} links have a free middle`);
  for (const link of clear.slice(0, 3)) assert.ok((await pixel(page, ...middle(link)))[3] > 60, `${link.from} to ${link.to}`);
  const { count } = await drawn(page);
  await page.click('[data-toggle="links"]');
  await settled(page);
  assert.ok((await drawn(page)).count < count);
  for (const link of clear.slice(0, 3)) assert.equal((await pixel(page, ...middle(link)))[3], 0);
});

test("what is selected has its links in full, the others step back", async () => {
  await opened("graph", { hash: "names=false&glyph=disc&size=0.4&spread=false" });
  const all = await links();
  const places = await page.evaluate(() => Array.from({ length: 24 }, (_, k) => gromap.viewer.placeOf(k)));
  const middle = ({ from, to }) => [0, 1].map((axis) => (places[from][axis] + places[to][axis]) / 2);
  // Links whose middle shows their own line alone: half of its strength, no mark, no other line.
  const alone = [];
  for (const link of all) if (Math.abs((await pixel(page, ...middle(link)))[3] - 128) < 3) alone.push(link);
  const [own, away] = alone.flatMap((own) => alone.filter(({ from, to }) => new Set([own.from, own.to, from, to]).size === 4).map((away) => [own, away]))[0];
  const alphas = async () => [(await pixel(page, ...middle(own)))[3], (await pixel(page, ...middle(away)))[3]];
  const before = await alphas();
  await page.evaluate((selected) => gromap.viewer.update({ selected: [selected] }), own.from);
  await settled(page);
  const after = await alphas();
  assert.ok(after[0] > before[0] && after[1] < before[1], `${before}, then ${after}`);
});

test("links are in the legend, in the panel, in the list and in the words", async () => {
  await opened("graph", { hash: "selected=0&tab=prototype" });
  const all = await links();
  const [, percent] = (await text(".gm-legend-links")).match(/^link: ([\d.]+) % of all edges$/);
  assert.ok(Math.abs(percent - 100 * all[0].share) < 0.1, `${percent} % of ${all[0].share}`);
  const own = all.filter(({ from, to }) => from === 0 || to === 0);
  const tree = await page.locator(".gm-side").ariaSnapshot();
  assert.match(tree, /Links, by share of all edges/);
  for (const { from, to } of own) assert.match(tree, new RegExp(`#${from === 0 ? to : from} .*%`));
  await page.click('[data-tab="list"]');
  assert.match(await text(".gm-list thead"), /strongest link/);
  assert.match(await text(".gm-list tbody"), /#\d+, [\d.]+ %/);
  await page.keyboard.press("?");
  assert.match(await text(".gm-help"), /the larger its share of all edges.*made of\s+a graph.*coreset\s+480 of 12,000 people/s);
  await page.screenshot({ path: `${SHOTS}graph.png` });
});

test("what is known of the fit is among the first facts: the coreset of a part, the weights of views", async () => {
  await opened("graph");
  assert.match(await text(".gm-overview"), /nodes\s+480.*made of\s+a graph.*strongest link\s+[\d.]+ % of all edges.*coreset\s+480 of 12,000 people/s);
  await page.locator('.gm-overview .gm-term:text-is("coreset")').click();
  assert.match(await text(".gm-live"), /part of the data/);
  await opened("views");
  assert.match(await text(".gm-overview"), /weights of views\s+25\.0 %, 75\.0 %/);
});

test("a link in the panel leads to the other end", async () => {
  await opened("graph", { hash: "selected=0&tab=prototype" });
  const [first] = (await links()).filter(({ from, to }) => from === 0 || to === 0);
  await page.click('.gm-side h3:has-text("Links") + .gm-chips button >> nth=0');
  assert.deepEqual((await state(page)).selected, [first.from === 0 ? first.to : first.from]);
});

test("exports have the links and their legend", async () => {
  await opened("graph");
  const { content } = await exported("SVG");
  const found = await page.evaluate((svg) => {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    return { lines: parsed.querySelectorAll("svg > svg line").length, legend: parsed.documentElement.textContent };
  }, content.toString());
  assert.equal(found.lines, (await links()).length);
  assert.match(found.legend, /link: [\d.]+ % of all edges/);
});

test("other maps offer links, and begin without", async () => {
  await opened("text");
  assert.equal((await state(page)).links, false);
  const before = await drawn(page);
  await page.click('[data-toggle="links"]');
  await settled(page);
  assert.ok((await drawn(page)).count > before.count);
  assert.match(await text(".gm-legend-links"), /of all similarity/);
  await opened("crowd");
  assert.equal(await page.locator('[data-toggle="links"]').count(), 0);
});
