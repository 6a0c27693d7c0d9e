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

/** Keys, as the dialog lists them, with what is different after each press. */
const EFFECTS = [
  ["← ↑ → ↓", [["ArrowLeft", "place"], ["ArrowUp", "place"], ["ArrowRight", "place"], ["ArrowDown", "place"]]],
  ["+ −", [["+", "view"], ["-", "view"]]],
  ["0", [["0", "view"]]],
  ["n p", [["n", "selected"], ["n", "selected"], ["p", "selected"]]],
  ["s", [["s", "samples"], ["s", "samples"]]],
  ["l", [["l", "lasso"], ["l", "lasso"]]],
  ["d", [["d", "theme"]]],
  ["?", [["?", "help"], ["Escape", "help"]]],
  ["/", [["/", "focus"]]],
  ["Esc", [["Escape", "selected"]]],
];

test("every key that is listed does what is said", async () => {
  await opened("shapes");
  await page.keyboard.press("?");
  const listed = await page.locator(".gm-help h3:has-text('Keys') + .gm-keys dt").allInnerTexts();
  assert.deepEqual(listed.sort(), EFFECTS.map(([keys]) => keys).sort());
  await page.keyboard.press("Escape");
  await page.locator(".gm-map > canvas").focus();
  const now = () =>
    page.evaluate(() => {
      const { view, selected, samples, theme } = gromap.viewer.state;
      const lasso = document.querySelector('[aria-label="Lasso"]').getAttribute("aria-pressed");
      const help = document.querySelector(".gm-help").open;
      return JSON.parse(JSON.stringify({ view, selected, samples, theme, lasso, help, place: gromap.viewer.placeOf(0), focus: document.activeElement.type ?? "" }));
    });
  for (const [key, effect] of EFFECTS.flatMap(([, presses]) => presses)) {
    const before = await now();
    await page.keyboard.press(key);
    await settled(page);
    assert.notDeepEqual((await now())[effect], before[effect], `${key} changes ${effect}`);
  }
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

for (const [name, hash] of [["shapes", "selected=3"], ["text", "selected=3"], ["table", "selected=3&color=feature%3A0"], ["graph", "selected=3"], ["soft", "selected=3&color=hardness"], ["named", "selected=4&color=number%3Astability"], ["path", "selected=3"]]) {
  test(`no figure of ${name} is without its meaning`, async () => {
    await opened(name, { hash });
    const silent = [];
    for (const tab of ["Overview", "Prototype", "Groups", "List"]) {
      await page.getByRole("tab", { name: tab }).click();
      const found = await page.evaluate(() => {
        const names = [...document.querySelectorAll(".gm-facts dt, .gm-list th, .gm-difference th:last-child, .gm-path-key li, .gm-legend-ramp > span:first-child, .gm-legend-weights, .gm-legend-links")];
        // Samples have columns of the user's own; features that stand out say what sd is beside their number.
        const ours = names.filter((name) => name.checkVisibility() && !name.closest(".gm-sample, .gm-outstanding"));
        const meaning = (name) => (name.querySelector("[data-meaning]")?.dataset.meaning ?? "") || name.title;
        return { all: ours.length, silent: ours.filter((name) => meaning(name).length < 10).map((name) => name.textContent) };
      });
      assert.ok(found.all > 0, tab);
      silent.push(...found.silent.map((name) => `${tab}: ${name}`));
    }
    assert.deepEqual(silent, []);
  });
}

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

/** What axe finds, on the page as it stands. */
async function serious() {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html).join(" ")}`);
  });
}

const KINDS = ["shapes", "text", "table", "graph", "path", "named", "motley", "foreign"];

for (const name of KINDS) {
  test(`axe finds nothing serious in ${name}, on any tab, light and dark`, async () => {
    await opened(name, { hash: "selected=0,1&kept=2" });
    for (const tab of ["overview", "prototype", "groups", "list"]) {
      for (const theme of ["light", "dark"]) {
        await page.evaluate(([tab, theme]) => gromap.viewer.update({ tab, theme }), [tab, theme]);
        await settled(page);
        assert.deepEqual(await serious(), [], `${tab}, ${theme}`);
      }
    }
  });

  test(`axe finds nothing serious in ${name} on a phone, with its sheet down and up`, async () => {
    await opened(name, { width: 390, height: 844, touch: true });
    assert.deepEqual(await serious(), []);
    await page.locator('[data-tab="list"]').tap();
    await page.waitForFunction(() => getComputedStyle(document.querySelector(".gm-side")).transform === "none");
    assert.deepEqual(await serious(), []);
  });
}

test("axe finds nothing serious in the help, in the menu of exports, and beside a member", async () => {
  await opened("shapes", { hash: "selected=3&tab=prototype" });
  await page.click(".gm-thumb >> nth=1");
  await page.click(".gm-export summary");
  assert.deepEqual(await serious(), []);
  await page.click(".gm-about");
  assert.deepEqual(await serious(), []);
});

test("the ramp of colours is apart from the ground at both its ends, light and dark", async () => {
  await opened("text");
  for (const theme of ["light", "dark"]) {
    await page.evaluate((theme) => gromap.viewer.update({ theme }), theme);
    const contrasts = await page.evaluate(() => {
      const numbers = (color) => color.match(/\d+/g).map(Number);
      const luminance = (color) => {
        const [r, g, b] = color.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = luminance(numbers(getComputedStyle(document.querySelector(".gm")).backgroundColor));
      const stops = document.querySelector(".gm-ramp").style.background.match(/rgb\([^)]*\)/g).map((stop) => luminance(numbers(stop)));
      return stops.map((stop) => (Math.max(stop, paper) + 0.05) / (Math.min(stop, paper) + 0.05));
    });
    assert.ok(contrasts.length > 4 && Math.min(...contrasts) >= 2, `${theme}: ${contrasts}`);
  }
});

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

/** Draws around some prototypes with the mouse, as far from their middle as the farthest. */
async function encircle(prototypes) {
  const places = await Promise.all(prototypes.map((k) => placeOf(page, k)));
  const middle = { x: places.reduce((sum, { x }) => sum + x, 0) / places.length, y: places.reduce((sum, { y }) => sum + y, 0) / places.length };
  const radius = 8 + Math.max(...places.map(({ x, y }) => Math.hypot(x - middle.x, y - middle.y)));
  for (let i = 0; i <= 24; i++) {
    const angle = (2 * Math.PI * i) / 24;
    await page.mouse.move(middle.x + radius * Math.cos(angle), middle.y + radius * Math.sin(angle));
    if (i === 0) await page.mouse.down();
  }
  await page.mouse.up();
}

test("groups by hand: encircle two sets, see what differs, and take the table along", async () => {
  await opened("table", { width: 1400, height: 900 });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const of = (name) =>
    page.evaluate(async (name) => {
      const { classes, levels: [level] } = await gromap.decode(document.getElementById("gromap-data").textContent);
      return Array.from({ length: level.prototypes }, (_, k) => k).filter((k) => classes.names[level.classes.of[level.classes.offsets[k]]] === name);
    }, name);
  const [low, high] = [await of("low"), await of("high")];
  await page.getByRole("tab", { name: "Groups" }).click();
  await page.click('[aria-label="Lasso"]');
  await encircle(low);
  assert.deepEqual([...(await state(page)).selected].sort(), [...low].sort());
  assert.match(await text(".gm-difference"), new RegExp(`${low.length} prototypes against the rest of the map`));
  await page.getByRole("button", { name: "Keep as A" }).click();
  await page.keyboard.down("Shift");
  await encircle(high);
  await page.keyboard.up("Shift");
  assert.match(await text(".gm-difference"), new RegExp(`A: ${low.length} prototypes, B: ${high.length} prototypes`));
  await page.locator(".gm-difference").getByRole("button", { name: "Copy as table" }).click();
  await page.waitForSelector(".gm-told");
  const [head, ...rows] = (await page.evaluate(() => navigator.clipboard.readText())).split("\n").map((line) => line.split("\t"));
  assert.deepEqual(head, ["what", "A", "B", "difference in sd"]);
  const gaps = rows.map((row) => Math.abs(Number(row[3])));
  assert.deepEqual(gaps, [...gaps].sort((a, b) => b - a), "the largest difference first");
  const { content } = await saved(() => page.locator(".gm-difference").getByRole("button", { name: "Download CSV" }).click());
  assert.equal(content.toString().trimEnd().split("\r\n").length, rows.length + 1);
});

test("in the heat map those alike are neighbours, and the most telling columns come first", async () => {
  await opened("text", { hash: "tab=groups" });
  const { content } = await saved(() => page.locator('.gm-groups button:text-is("Download CSV")').last().click());
  const [head, ...rows] = content.toString().trimEnd().split("\r\n").map((line) => line.match(/("[^"]*"|[^,]*)(,|$)/g).map((cell) => cell.replace(/,$/, "")));
  const { telling, features } = await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    return { telling: [...data.telling.columns], features: data.features };
  });
  assert.deepEqual(head.slice(3, 3 + telling.length), telling.map((column) => features[column]));
  // Rows next to each other are alike; rows ten apart are not.
  const values = rows.map((row) => row.slice(3, 3 + telling.length).map(Number));
  const spread = telling.map((_, j) => Math.sqrt(values.reduce((sum, row) => sum + row[j] ** 2, 0) / values.length));
  const apart = (step) => values.slice(step).reduce((sum, row, i) => sum + Math.hypot(...row.map((value, j) => (value - values[i][j]) / spread[j])), 0) / (values.length - step);
  assert.ok(apart(1) < 0.75 * apart(10), `${apart(1)} and ${apart(10)}`);
});

test("tabs are reached and changed by the keyboard", async () => {
  await opened("table");
  await page.locator(".gm-map > canvas").focus();
  // From the map to the tabs, through whatever lies between.
  for (let i = 0; i < 40 && (await page.evaluate(() => document.activeElement.getAttribute("role"))) !== "tab"; i++) await page.keyboard.press("Tab");
  const shown = [];
  for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"]) {
    await page.keyboard.press(key);
    shown.push(await page.evaluate(() => `${document.activeElement.textContent} ${document.activeElement.getAttribute("aria-selected")}`));
  }
  assert.deepEqual(shown, ["Prototype true", "Groups true", "List true", "Overview true", "List true"]);
  assert.ok(await page.locator(".gm-list table").isVisible());
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
