// What the page runs: reads its own data and shows it. `gromap.mount` and `gromap.decode` are there for other pages.

import "./viewer.css";
import { decode } from "./data";
import type { Viewer } from "./api";
import { mount } from "./viewer";

export { decode, mount };

/** The map of this page, once it is shown. */
export let viewer: Viewer | null = null;

const root = document.getElementById("gromap");
const text = document.getElementById("gromap-data")?.textContent;
if (root && text) {
  decode(text).then(
    (data) => {
      document.title = data.title;
      viewer = mount(root, data, { address: true });
    },
    (error: unknown) => {
      root.textContent = `This map cannot be shown: ${String(error)}`;
    },
  );
}
