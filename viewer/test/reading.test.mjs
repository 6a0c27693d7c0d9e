// The page says what it is: title, sentence, words, keys, and what stands for what; to people who see it and to those who do not.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { facts, opened, page, saved, text } from "./harness.mjs";
import { placeOf, settled, SHOTS, state } from "./pages.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("a sentence under the title says what one sees", async () => {
  await opened("shapes");
  assert.match(await text(".gm-title p"), /^40 prototypes of 1,200 samples Each picture stands for samples that are alike: near means similar, large means many\.$/);
  await opened("table");
  assert.match(await text(".gm-title p"), /Each mark stands for/);
});

test("a question mark explains the map and lists its keys, and every key does something", async () => {
  await opened("shapes");
  await page.keyboard.press("?");
  const help = await text(".gm-help");
  assert.match(help, /How to read this.*near each other.*area of a mark.*WORDS.*purity.*loss.*KEYS.*lasso.*HOW THIS MAP WAS MADE.*perplexity\s+20/s);
  await page.keyboard.press("d");
  assert.equal((await state(page)).theme, "auto", "keys belong to the dialog while it is open");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".gm-help").isVisible(), false);
  await page.keyboard.press("s");
  assert.equal((await state(page)).samples, true);
});

test("the footer is one short line, with the rest behind details", async () => {
  await opened("shapes");
  assert.match(await text(".gm-footer"), /^method tsnekhorn\s+seed 0\s+gromap \d+\.\d+\.\d+\s+details$/);
  await page.click('.gm-footer button:text-is("details")');
  assert.match(await text(".gm-help"), /perplexity\s+20.*data\s+3f9a0c5e/s);
  assert.ok(await page.locator(".gm-made").isVisible());
});

test("every figure says what it means, on hover and when it is pressed", async () => {
  await opened("shapes", { hash: "selected=3&tab=prototype" });
  for (const word of ["weight", "members", "purity"]) {
    await page.click(`.gm-side .gm-term:text-is("${word}")`);
    assert.ok((await text(".gm-live")).length > 30, word);
  }
  await page.click('[data-tab="overview"]');
  await page.click('.gm-side .gm-term:text-is("loss")');
  assert.match(await text(".gm-live"), /as small as it can/);
  assert.match(await page.getAttribute('.gm-side .gm-term:text-is("homogeneity")', "title"), /one class each/);
});

test("a prototype goes by its name, its class, its features or its text, whichever there is", async () => {
  const label = async (name, options) => {
    await opened(name, { hash: "selected=0&tab=prototype", ...options });
    return page.locator(".gm-label").innerText({ timeout: 1000 }).catch(() => null);
  };
  assert.equal(await label("named"), "group one");
  assert.match(await label("shapes"), /^(disc|square|bar|cross|ring)( \/ (disc|square))?$/);
  assert.match(await label("text"), /^[a-z]+(, [a-z]+)*$/);
  assert.equal(await label("bare"), null);
});

test("texts are read on hover", async () => {
  await opened("text");
  const place = await placeOf(page, 0);
  await page.mouse.move(place.x, place.y);
  await page.waitForSelector(".gm-card:not([hidden])");
  assert.match(await text(".gm-card .gm-quote"), /^The .* were told of again\.$/);
  assert.match(await text(".gm-card"), /sd\)/);
  await page.screenshot({ path: `${SHOTS}text.png` });
});

test("bars of a profile have names", async () => {
  await opened("table", { hash: "selected=0&tab=prototype" });
  assert.equal(await page.locator(".gm-side .gm-outstanding .gm-diverging").count(), 5);
  assert.match(await text(".gm-side .gm-outstanding"), /(height|width|depth|mass|charge).*\([+−][\d.]+ sd\)/s);
});

for (const [name, hash, dark] of [["shapes", "", false], ["shapes", "selected=3&tab=prototype", true], ["table", "selected=0,1&tab=groups", false], ["text", "tab=groups", true], ["path", "level=2", false], ["text", "tab=list", false]]) {
  test(`axe finds nothing serious in ${name} ${hash} ${dark ? "dark" : "light"}`, async () => {
    await opened(name, { hash, dark });
    await page.evaluate(axe);
    const serious = await page.evaluate(async () => {
      const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
      return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html).join(" ")}`);
    });
    assert.deepEqual(serious, []);
  });
}

for (const dark of [false, true]) {
  test(`text has a contrast of 4.5 to its ground, ${dark ? "dark" : "light"}`, async () => {
    await opened("shapes", { dark, hash: "tab=overview" });
    const found = await page.evaluate(() => {
      const style = getComputedStyle(document.querySelector(".gm"));
      const color = (name) => style.getPropertyValue(`--${name}`).trim();
      const luminance = (hex) => {
        const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (a, b) => {
        const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
        return (high + 0.05) / (low + 0.05);
      };
      return ["ink", "muted", "accent"].flatMap((text) => ["paper", "surface", "hover"].map((ground) => [text, ground, contrast(color(text), color(ground))]));
    });
    for (const [ink, ground, contrast] of found) assert.ok(contrast >= 4.5, `${ink} on ${ground}: ${contrast}`);
  });
}

test("the accessible tree has the tabs, the map, the legend and the facts as words", async () => {
  await opened("shapes", { hash: "selected=3&tab=prototype" });
  const tree = await page.locator("body").ariaSnapshot();
  assert.match(tree, /heading "Shapes" \[level=1\]/);
  assert.match(tree, /tab "Prototype" \[selected\]/);
  assert.match(tree, /img "The map\./);
  assert.match(tree, /heading "Prototype 3"/);
  assert.match(tree, /button "Find disc"|button "disc"/);
  const { ids } = await facts(3);
  assert.ok(tree.includes(ids[0]));
});

test("groups: a heat map of features, and what a selection differs by", async () => {
  await opened("table", { hash: "tab=groups" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  assert.match(await text(".gm-groups"), /Select prototypes on the map/);
  await page.locator(".gm-heat").hover({ position: { x: 200, y: 10 } });
  assert.match(await text(".gm-groups"), /#\d+ (low|middle|high): (height|width|depth|mass|charge|noise) [−\d.]+ \([+−][\d.]+ sd\)/);
  // The oracle: mean mass of classes, from the data of the page.
  const sets = await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    const [level] = data.levels;
    const of = (name) => Array.from({ length: level.prototypes }, (_, k) => k).filter((k) => data.classes.names[level.classes.of[level.classes.offsets[k]]] === name);
    const at = data.telling.columns.indexOf(data.features.indexOf("mass"));
    const mean = (set) => set.reduce((sum, k) => sum + level.weights[k] * level.features[k * data.telling.columns.length + at], 0) / set.reduce((sum, k) => sum + level.weights[k], 0);
    return { low: of("low"), high: of("high"), means: [mean(of("low")), mean(of("high"))] };
  });
  await page.evaluate((selected) => gromap.viewer.update({ selected }), sets.low);
  assert.match(await text(".gm-difference"), /against the rest of the map/);
  await page.click('button:text-is("Keep as A")');
  await page.evaluate((selected) => gromap.viewer.update({ selected }), sets.high);
  const rows = await page.locator(".gm-difference tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const mass = rows.find(([name]) => name === "mass");
  assert.ok(Math.abs(Number(mass[1]) - sets.means[0]) < 0.01 * Math.abs(sets.means[1]), `${mass} ${sets.means}`);
  assert.ok(Math.abs(Number(mass[2]) / sets.means[1] - 1) < 0.01, `${mass} ${sets.means}`);
  assert.ok(rows.slice(0, 5).some(([name]) => name === "mass") && rows.at(-1)[0] === "noise", "what is noise differs the least");
  await page.click('.gm-difference button:text-is("Copy as table")');
  await page.waitForSelector(".gm-told");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.split("\n")[0], "what\tA\tB\tdifference in sd");
  const { name, content } = await saved(() => page.locator('.gm-groups button:text-is("Download CSV")').last().click());
  assert.equal(name, "groups.csv");
  assert.equal(content.toString().trimEnd().split("\r\n").length, 21);
  await page.click('.gm-groups .gm-segments button:text-is("Classes")');
  assert.match(await text(".gm-groups"), /PROTOTYPES BY CLASSES/);
});
