// Opens maps in the system's Chromium and watches them: every request and every message of the console is an error.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/** Where the maps of `cargo run --example maps` are. */
export const MAPS = process.env.GROMAP_MAPS ?? fileURLToPath(new URL("../../target/maps/", import.meta.url));

/** Where pictures of what was tested are kept. */
export const SHOTS = fileURLToPath(new URL("../../target/maps/screenshots/", import.meta.url));

function findChromium() {
  const names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of names) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // Not this one.
    }
  }
  throw new Error("there is no Chromium; scripts/test installs it, or CHROMIUM names one");
}

let browser;

export async function open() {
  mkdirSync(SHOTS, { recursive: true });
  // As root, and in most containers, Chromium starts only without its sandbox; the pages are our own.
  browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });
}

export async function close() {
  await browser?.close();
}

/** Opens a map; what went wrong on the page is collected in `page.problems`. */
export async function show(name, { hash = "", dark = false, width = 1280, height = 800, scale = 1, touch = false } = {}) {
  const path = `${MAPS.replace(/\/?$/, "/")}${name}.html`;
  if (!existsSync(path)) throw new Error(`${path} is missing: cargo run -p gromap-report --example maps -- ${MAPS}`);
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    hasTouch: touch,
    isMobile: touch,
    colorScheme: dark ? "dark" : "light",
    acceptDownloads: true,
  });
  const page = await context.newPage();
  await page.addInitScript(addReader);
  page.problems = [];
  page.on("console", (message) => page.problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => page.problems.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    const url = request.url();
    // The file itself, and downloads and pictures from memory.
    if (!url.startsWith("file:") && !url.startsWith("blob:") && !url.startsWith("data:")) page.problems.push(`request: ${url}`);
    if (url.startsWith("file:") && !url.split("#")[0].endsWith(`${name}.html`)) page.problems.push(`request: ${url}`);
  });
  await page.goto(`file://${path}${hash ? `#${hash}` : ""}`);
  await page.waitForSelector(".gm-map canvas");
  await settled(page);
  return page;
}

/** Waits until what changed has been drawn. */
export async function settled(page) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

export const state = (page) => page.evaluate(() => gromap.viewer.state);

/** Makes `window.readMap` of a page: all pixels of the map, read from a copy, since reading changes how a canvas is drawn. */
function addReader() {
  window.readMap = () => {
    const map = document.querySelector(".gm-map canvas");
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [map.width, map.height];
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(map, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const ratio = map.width / map.clientWidth;
    return { data, at: (x, y) => 4 * (Math.round(y * ratio) * map.width + Math.round(x * ratio)) };
  };
}

/** The pixel of the map at a point of its canvas. */
export function pixel(page, x, y) {
  return page.evaluate(
    ([x, y]) => {
      const { data, at } = readMap();
      return [...data.slice(at(x, y), at(x, y) + 4)];
    },
    [x, y],
  );
}

/** How many pixels of the map are not ground, and a number that changes with them. */
export function drawn(page) {
  return page.evaluate(() => {
    const { data } = readMap();
    let [count, mark] = [0, 0];
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 0) count++;
      mark = (mark * 31 + data[i] + 3 * data[i + 1] + 7 * data[i + 2] + 11 * data[i + 3]) % 1000003;
    }
    return { count, mark };
  });
}

/** Where a prototype is drawn, on the page. */
export async function placeOf(page, k) {
  const [x, y] = await page.evaluate((k) => gromap.viewer.placeOf(k), k);
  const box = await page.locator(".gm-map > canvas").boundingBox();
  return { x: box.x + x, y: box.y + y };
}
