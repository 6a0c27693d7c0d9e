"""What the README shows must run as it stands."""

import pathlib
import re

import pytest

README = pathlib.Path(__file__).parents[2] / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_there_is_something_to_run():
    assert SNIPPETS


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_python_snippets_run(snippet):
    exec(compile(snippet, "README.md", "exec"), {})
