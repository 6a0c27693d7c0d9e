// What people do who were just sent the file, and whatever is in it: wheel and drag, resize, odd names, one prototype or hundreds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, opened, page, text } from "./harness.mjs";
import { drawn, placeOf, settled, state } from "./pages.mjs";

const EVERY = ["shapes", "text", "table", "graph", "path", "one", "two", "bare", "unlabelled", "soft", "three", "classical", "foreign", "motley", "hostile", "outliers", "named", "crowd"];

/** What is wider than what holds it, in the parts that do not scroll. */
const overflowing = () =>
  page.evaluate(() => {
    const parts = [...document.querySelectorAll(".gm-header *, .gm-legend *, .gm-side-inside *, .gm-path *, .gm-card *")];
    const wide = parts.filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".gm-legend-colors"));
    return [document.documentElement.scrollWidth > innerWidth ? "page" : "", ...wide.map(({ className, tagName }) => `${tagName} ${className}`)].filter(Boolean);
  });

for (const name of EVERY) {
  test(`${name}: every tab, a hover, a click, a wheel and a drag do what they do anywhere`, async () => {
    await opened(name);
    const place = await placeOf(page, 0);
    await page.mouse.move(place.x, place.y);
    await page.waitForSelector(".gm-card:not([hidden])");
    const card = await page.locator(".gm-card").boundingBox();
    assert.ok(card.x >= 0 && card.y >= 0 && card.x + card.width <= 1280 && card.y + card.height <= 800, JSON.stringify(card));
    await page.mouse.click(place.x, place.y);
    assert.match(await text(".gm-side h2"), /^Prototype \d+$/);
    for (const tab of ["Overview", "Groups", "List", "Prototype"]) {
      await page.getByRole("tab", { name: tab }).click();
      await settled(page);
      assert.ok((await text(".gm-side-inside")).length > 20, tab);
      assert.deepEqual(await overflowing(), [], tab);
    }
    const map = await page.locator(".gm-map > canvas").boundingBox();
    await page.mouse.move(map.x + map.width / 2, map.y + map.height / 2);
    await page.mouse.wheel(0, -300);
    await page.waitForFunction(() => gromap.viewer.state.view?.zoom > 1.1);
    const [x, y] = await page.evaluate(() => gromap.viewer.placeOf(0));
    await page.mouse.down();
    await page.mouse.move(map.x + map.width / 2 + 50, map.y + map.height / 2 - 30, { steps: 3 });
    await page.mouse.up();
    const [u, v] = await page.evaluate(() => gromap.viewer.placeOf(0));
    assert.ok(Math.hypot(u - x - 50, v - y + 30) < 1.5, `${[u - x, v - y]}`);
    await page.getByRole("button", { name: "Fit: show all" }).click();
    assert.equal((await state(page)).view, null);
  });
}

test("a window that is resized shows the same map again, whole and sharp", async () => {
  await opened("path");
  const spread = () =>
    page.evaluate(() => {
      const { clientWidth, clientHeight } = document.querySelector(".gm-map");
      const places = Array.from({ length: 89 }, (_, k) => gromap.viewer.placeOf(k));
      const [xs, ys] = [places.map(([x]) => x / clientWidth), places.map(([, y]) => y / clientHeight)];
      return { inside: [...xs, ...ys].every((at) => at > 0 && at < 1), fill: Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) };
    });
  for (const [width, height] of [[1280, 800], [800, 600], [600, 900], [1600, 1000], [390, 844]]) {
    await page.setViewportSize({ width, height });
    await settled(page);
    await settled(page);
    const { inside, fill } = await spread();
    assert.ok(inside && fill > 0.6, `${width}×${height}: ${inside}, ${fill}`);
    assert.deepEqual(await page.evaluate(() => [document.querySelector(".gm-map canvas").width, document.documentElement.scrollWidth > innerWidth]), [await page.evaluate(() => Math.round(document.querySelector(".gm-map").clientWidth * Math.min(2, devicePixelRatio))), false]);
    assert.ok((await drawn(page)).count > 2000);
  }
});

test("legend and map come to rest at every width", async () => {
  for (const name of ["foreign", "motley", "graph"]) {
    await opened(name);
    for (const width of [800, 1000, 1120, 1280, 1400]) {
      await page.setViewportSize({ width, height: 800 });
      const changes = await page.evaluate(async () => {
        const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
        await pause(80);
        let found = 0;
        const observer = new MutationObserver(() => found++);
        observer.observe(document.querySelector(".gm-legend"), { childList: true });
        await pause(150);
        return found;
      });
      assert.equal(changes, 0, `the legend of ${name} is made anew all the time at ${width}`);
    }
  }
});

test("names of other scripts and endless ones are found, shown and exported as they are", async () => {
  await opened("foreign");
  const [chinese, arabic] = ["冬天的城市", "مدينة بعيدة في الشتاء"];
  assert.equal(await text("h1"), arabic);
  await page.fill('input[type="search"]', chinese);
  assert.match(await text(".gm-found"), /^\d+ samples in 5 prototypes$/);
  await page.fill('input[type="search"]', "");
  await page.locator(".gm-legend-colors button").last().click();
  assert.match(await text(".gm-found"), /^\d+ samples in 5 prototypes$/);
  assert.match(await page.locator(".gm-legend-colors button").last().getAttribute("title"), /holds all of it$/);
  await page.keyboard.press("Escape");
  const svg = (await exported("SVG")).content.toString();
  assert.ok(svg.includes(chinese) && svg.includes(arabic));
  const csv = (await exported("CSV of all samples")).content.toString();
  assert.ok(csv.includes(chinese) && csv.includes(arabic) && csv.includes("holds all of it"));
});

test("of three hundred classes the legend names forty, and the map stays the larger part", async () => {
  await opened("motley");
  assert.equal(await page.locator(".gm-legend-colors button").count(), 40);
  assert.match(await text(".gm-legend"), /and 260 more/);
  const [map, legend] = await Promise.all([".gm-map", ".gm-legend"].map((part) => page.locator(part).boundingBox()));
  assert.ok(map.height > 2.5 * legend.height, `${map.height} and ${legend.height}`);
  await page.fill('input[type="search"]', "class=species 299");
  assert.match(await text(".gm-found"), /in 1 prototype$/);
});

test("a prototype that is of many classes is not called by one of them", async () => {
  await opened("one", { hash: "selected=0&tab=prototype" });
  assert.equal(await text(".gm-label"), "mixed");
  await opened("two", { hash: "selected=0&tab=prototype" });
  const labels = [await text(".gm-label")];
  await opened("two", { hash: "selected=1&tab=prototype" });
  labels.push(await text(".gm-label"));
  assert.deepEqual(labels.map((label) => label.split(" / ").length).sort(), [2, 3]);
});
