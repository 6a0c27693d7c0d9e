"""What the README and the guides show must run as it stands."""

import pathlib

import pytest
from run_snippets import snippets

ROOT = pathlib.Path(__file__).parents[2]
GUIDES = ["coming-from", "how-sure", "methods", "python", "single-cell", "tables"]
PAGES = ["README.md", *(f"docs/{guide}.md" for guide in GUIDES)]
SNIPPETS = {f"{name} {number}": snippet for name in PAGES for number, snippet in enumerate(snippets(ROOT / name))}


@pytest.mark.parametrize("name", PAGES)
def test_there_is_something_to_run(name):
    assert any(snippet.startswith(name) for snippet in SNIPPETS)


@pytest.mark.parametrize("name", SNIPPETS)
def test_python_snippets_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what a snippet writes
    exec(compile(SNIPPETS[name], name, "exec"), {})
