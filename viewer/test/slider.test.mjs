// What a hand does with the slider of a path: drag, click, press keys, play, and touch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, page, text } from "./harness.mjs";
import { drawn, settled, SHOTS, state } from "./pages.mjs";

/** How many prototypes the levels of the path have. */
const SIZES = [3, 5, 8, 13, 21, 34, 55, 89];

const levelNow = async () => (await state(page)).level;

/** Where on the page the slider's thumb has to be for a level: over the ticks, or between them. */
async function onTrack(level) {
  const middle = async (locator) => {
    const { x, y, width, height } = await locator.boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
  };
  const [first, last] = [await middle(page.locator(".gm-ticks button").first()), await middle(page.locator(".gm-ticks button").last())];
  return { x: first.x + ((last.x - first.x) * level) / (SIZES.length - 1), y: (await middle(page.locator(".gm-track input"))).y };
}

async function move(level) {
  const { x, y } = await onTrack(level);
  await page.mouse.move(x, y, { steps: 6 });
  await settled(page);
}

async function press(level) {
  await move(level);
  await page.mouse.down();
  await settled(page);
}

/** Everything that tells the level tells the same, about where the pointer is. */
async function follows(level) {
  const now = await levelNow();
  assert.ok(Math.abs(now - level) < 0.06, `at ${now}, and the pointer at ${level}`);
  assert.equal(Number(await page.inputValue(".gm-track input")), now);
  assert.equal(await text(".gm-n"), `${SIZES[Math.round(now)]} prototypes`);
  assert.equal(await text(".gm-title b"), `${SIZES[Math.round(now)]} prototypes of 1,200 samples`);
  assert.ok(Math.abs((await page.getAttribute(".gm-cursor", "x1")) - (100 * now) / (SIZES.length - 1)) < 0.01);
}

/** The slider comes to rest at a level, and stays. */
async function rests(level) {
  await page.waitForFunction((level) => gromap.viewer.state.level === level, level, { timeout: 10_000 });
  await page.waitForFunction(() => document.querySelector(".gm-play").textContent === "▶");
  await settled(page);
  assert.equal(await levelNow(), level);
  await follows(level);
}

test("dragged from the first level to the last, everything follows the thumb", async () => {
  await opened("path", { hash: "level=0" });
  await press(0);
  const marks = [(await drawn(page)).mark];
  for (const level of [0.4, 1, 2.6, 3.5, 5.2, 7]) {
    await move(level);
    await follows(level);
    marks.push((await drawn(page)).mark);
  }
  assert.equal(new Set(marks).size, 7);
  await page.mouse.up();
  await rests(7);
});

test("dragged back from the last level, past the end of the track, it is at the first", async () => {
  await opened("path");
  await press(7);
  await move(3.5);
  await page.screenshot({ path: `${SHOTS}slider.png` });
  await move(-1);
  await follows(0);
  await page.mouse.up();
  await rests(0);
});

test("let go a little after a level, it goes back to it", async () => {
  await opened("path", { hash: "level=0" });
  await press(0);
  await move(3.3);
  await follows(3.3);
  const between = (await drawn(page)).mark;
  await page.mouse.up();
  await rests(3);
  assert.notEqual((await drawn(page)).mark, between);
});

test("let go a little before a level, it goes on to it", async () => {
  await opened("path", { hash: "level=0" });
  await press(0);
  await move(3.7);
  await follows(3.7);
  await page.mouse.up();
  await rests(4);
});

test("let go far from the track, it still goes to the nearer level", async () => {
  await opened("path", { hash: "level=0" });
  await press(0);
  await move(2.3);
  const { x, y } = await onTrack(2.3);
  await page.mouse.move(x, y - 200, { steps: 4 });
  await page.mouse.up();
  await rests(2);
});

test("a click on the track moves there, and to the nearer level", async () => {
  await opened("path", { hash: "level=0" });
  await press(5.3);
  await follows(5.3);
  await page.mouse.up();
  await rests(5);
  await press(1.8);
  await follows(1.8);
  await page.mouse.up();
  await rests(2);
});

test("a press that moves nothing keeps what is selected, a drag does not", async () => {
  await opened("path", { hash: "level=4&selected=2&tab=prototype" });
  await press(4);
  await page.mouse.up();
  await rests(4);
  assert.deepEqual((await state(page)).selected, [2]);
  await press(4);
  await move(6);
  await page.mouse.up();
  await rests(6);
  assert.deepEqual((await state(page)).selected, []);
});

test("a click on a tick goes to its level, from where a drag ended too", async () => {
  await opened("path", { hash: "level=7" });
  const tick = (name) => page.getByRole("button", { name, exact: true }).click();
  await tick("34");
  await rests(5);
  await press(5);
  await move(2.7);
  await follows(2.7);
  await page.mouse.up();
  await tick("13");
  await rests(3);
  await tick("8");
  await rests(2);
});

test("every press of an arrow is a step, however fast", async () => {
  await opened("path", { hash: "level=2" });
  await page.locator(".gm-track input").focus();
  for (const key of ["ArrowRight", "ArrowUp", "ArrowRight"]) await page.keyboard.press(key);
  await rests(5);
  for (const key of ["ArrowLeft", "ArrowDown"]) await page.keyboard.press(key);
  await rests(3);
});

test("arrows end at the ends", async () => {
  await opened("path", { hash: "level=1" });
  await page.locator(".gm-track input").focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowLeft");
  await rests(0);
  await page.keyboard.press("ArrowRight");
  await rests(1);
});

test("a frame that began before the key was pressed does not go below the first level", async () => {
  await opened("path", { hash: "level=0" });
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() + 50;
  });
  await page.locator(".gm-track input").focus();
  await page.keyboard.press("ArrowRight");
  await rests(1);
});

test("an arrow steps from where a drag ended", async () => {
  await opened("path", { hash: "level=0" });
  await press(0);
  await move(4);
  await page.mouse.up();
  await page.keyboard.press("ArrowRight");
  await rests(5);
});

test("home, end and the keys of pages move it", async () => {
  await opened("path", { hash: "level=3" });
  await page.locator(".gm-track input").focus();
  await page.keyboard.press("Home");
  await rests(0);
  await page.keyboard.press("PageUp");
  await rests(1);
  await page.keyboard.press("End");
  await rests(7);
  await page.keyboard.press("PageDown");
  await rests(6);
});

test("the keys of pages move by a level on a short path too", async () => {
  await opened("path");
  await page.evaluate(async () => {
    const data = await gromap.decode(document.getElementById("gromap-data").textContent);
    gromap.viewer.destroy();
    gromap.mount(document.getElementById("gromap"), { ...data, levels: data.levels.slice(0, 3) });
  });
  assert.equal(await text(".gm-n"), "8 prototypes");
  await page.locator(".gm-track input").focus();
  await page.keyboard.press("PageDown");
  await page.waitForFunction(() => Number(document.querySelector(".gm-track input").value) === 1, undefined, { timeout: 10_000 });
  assert.equal(await text(".gm-n"), "5 prototypes");
});

/** Plays from the first level, until it is on its way. */
async function play() {
  await opened("path", { hash: "level=0" });
  await page.click(".gm-play");
  await page.waitForFunction(() => gromap.viewer.state.level > 0.6);
  assert.equal(await text(".gm-play"), "❚❚");
}

test("a drag while it plays ends the playing", async () => {
  await play();
  await press(6);
  await follows(6);
  assert.equal(await text(".gm-play"), "▶");
  await move(3.3);
  await page.waitForTimeout(400);
  await follows(3.3);
  await page.mouse.up();
  await rests(3);
});

test("the thumb can be caught while it plays, and is held", async () => {
  await play();
  // A little ahead of the thumb, as a hand would, and then under it.
  const { x, y } = await onTrack(1.5);
  await page.mouse.move(x, y);
  await page.waitForFunction(() => gromap.viewer.state.level > 1.45);
  await page.mouse.down();
  await settled(page);
  const caught = await levelNow();
  assert.equal(await text(".gm-play"), "▶");
  await page.waitForTimeout(400);
  assert.equal(await levelNow(), caught);
  await page.mouse.up();
  await rests(Math.round(caught));
});

test("an arrow while it plays steps from where it is", async () => {
  await play();
  await page.locator(".gm-track input").focus();
  const near = Math.round(await levelNow());
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector(".gm-play").textContent === "▶");
  const level = await levelNow();
  assert.ok(level > near && level <= near + 2, `${near} to ${level}`);
  await rests(level);
});

test("a pause stays where it is, and playing goes on from there to the end", async () => {
  await play();
  await page.click(".gm-play");
  const paused = await levelNow();
  assert.equal(await text(".gm-play"), "▶");
  await page.waitForTimeout(300);
  assert.equal(await levelNow(), paused);
  await press(5.8);
  await follows(5.8);
  await page.mouse.up();
  await rests(6);
  await page.click(".gm-play");
  await rests(7);
});

/** Touches of one finger, as the browser gets them from a screen. */
async function finger() {
  const session = await page.context().newCDPSession(page);
  const send = async (type, level) => {
    const touchPoints = level === undefined ? [] : [await onTrack(level)];
    await session.send("Input.dispatchTouchEvent", { type, touchPoints });
    await settled(page);
  };
  return {
    down: (level) => send("touchStart", level),
    move: (level) => send("touchMove", level),
    up: () => send("touchEnd"),
  };
}

/** A phone, with the slider in sight. */
async function phone() {
  await opened("path", { hash: "level=0", width: 400, height: 800, touch: true });
  await page.locator(".gm-path").scrollIntoViewIfNeeded();
}

test("on a phone, a finger drags it", async () => {
  await phone();
  const { down, move, up } = await finger();
  await down(0);
  for (const level of [0.8, 1.5, 2.5, 3.5]) {
    await move(level);
    await follows(level);
  }
  await page.screenshot({ path: `${SHOTS}slider-phone.png` });
  await move(5.7);
  await follows(5.7);
  await up();
  await rests(6);
});

test("on a phone, a tap on the track and on a tick move it", async () => {
  await phone();
  const { x, y } = await onTrack(4.2);
  await page.touchscreen.tap(x, y);
  await rests(4);
  await page.getByRole("button", { name: "5", exact: true }).tap();
  await rests(1);
});
