"""Runs the Python of a page as it stands: python run_snippets.py PAGE.

Needs nothing but what the page itself imports.
"""

import pathlib
import re
import sys


def snippets(page):
    return re.findall(r"```python\n(.*?)```", pathlib.Path(page).read_text(encoding="utf-8"), re.DOTALL)


if __name__ == "__main__":
    found = snippets(sys.argv[1])
    for snippet in found:
        exec(compile(snippet, sys.argv[1], "exec"), {})
    print(f"{len(found)} snippets of {pathlib.Path(sys.argv[1]).name} ran")
    sys.exit(not found)
