"""Every example runs as a program, and says something."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.py"))
PAGES = {"graph.py", "images.py", "one_slider.py", "single_cell.py", "table.py", "text.py"}


def test_the_list_is_complete():
    listed = (FOLDER / "README.md").read_text()
    assert len(EXAMPLES) >= 6 and all(f"[{name}]({name})" in listed for name in EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, tmp_path):
    page = tmp_path / "map.html"
    arguments = [str(page)] if name in PAGES else []
    done = subprocess.run(
        [sys.executable, FOLDER / name, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= 3
    if arguments:
        assert page.read_text().lower().startswith("<!doctype html>")


GALLERY = FOLDER.parents[1] / "docs" / "gallery"


def test_the_gallery_shows_five_pages_in_small_pictures():
    text = (GALLERY / "README.md").read_text()
    pictures = sorted(GALLERY.glob("*.jpg"))
    assert len(pictures) == 5
    for picture in pictures:
        assert f"({picture.name})" in text and f"python/examples/{picture.stem}.py" in text
        assert f"{picture.stem}.py" in PAGES and picture.stat().st_size < 100_000
