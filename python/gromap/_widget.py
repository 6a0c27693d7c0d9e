"""The map in a notebook: the page's own viewer as a widget, and what is selected on it back in Python."""

from __future__ import annotations

import re

import numpy as np

from gromap import _report

#: How the viewer of a page becomes a widget: its script names it, and its state is told to Python.
_RENDER = """
export default {
  async render({ model, el }) {
    el.style.setProperty("--gromap-height", `${model.get("height")}px`);
    const tell = ({ selected, sample, level }) => {
      model.set("_state", { selected, sample, level: Math.round(level) });
      model.save_changes();
    };
    const viewer = gromap.mount(el, await gromap.decode(model.get("_payload")), { changed: tell });
    model.on("change:_wanted", () => viewer.update({ selected: model.get("_wanted"), tab: "prototype" }));
    return () => viewer.destroy();
  },
};
"""


def widget(levels, lineage, pixels=640, **about):
    """The map of one fitted estimator, or of the levels of a path, as a widget."""
    try:
        import anywidget
        import traitlets
    except ImportError as missing:
        raise ImportError("a widget needs anywidget: pip install 'gromap[notebook]'") from missing

    styles, payload, script = parts(_report.page(levels, lineage, **about))

    class Map(anywidget.AnyWidget):
        """A map; `selection` has the prototypes that are selected on it."""

        _esm = script + _RENDER
        _css = styles
        _payload = traitlets.Unicode(payload).tag(sync=True)
        _state = traitlets.Dict({"selected": [], "sample": None, "level": len(levels) - 1}).tag(sync=True)
        _wanted = traitlets.List(traitlets.Int()).tag(sync=True)
        height = traitlets.Int(pixels).tag(sync=True)

        @property
        def level(self):
            """Which level of a path is shown, from 0."""
            return self._state["level"]

        @property
        def selection(self):
            """The prototypes that are selected, ascending; setting it selects them on the map."""
            return np.array(sorted(self._state["selected"]), dtype=np.intp)

        @selection.setter
        def selection(self, prototypes):
            wanted = [int(k) for k in prototypes]
            n = len(levels[self.level].weights_)
            wrong = next((k for k in wanted if not 0 <= k < n), None)
            if wrong is not None:
                raise ValueError(f"prototype {wrong} does not exist: this map has {n}, from 0 to {n - 1}")
            self._wanted = wanted
            self._state = {**self._state, "selected": wanted}

        @property
        def selected_samples(self):
            """The samples of the prototypes that are selected, as row numbers of the data."""
            return np.flatnonzero(np.isin(levels[self.level].labels_, self.selection))

    return Map()


def parts(page):
    """Styles, data and script of a page."""
    styles = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    payload = re.search(r'<script id="gromap-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)[1]
    return styles, payload, script
