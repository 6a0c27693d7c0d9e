#!/usr/bin/env python3
"""Refuses a dependency whose licence is not on the list below, or that the project has decided against.

Reads `cargo metadata`, so it sees every crate of Cargo.lock: all platforms, build and test dependencies too. It needs
nothing but cargo and Python, and no network once the crates have been fetched.
"""

import json
import re
import subprocess
import sys
from fnmatch import fnmatchcase

ALLOWED = {
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "Unicode-3.0",
    "Zlib",
}

BANNED = {
    "bincode": "abandoned",
    "linfa*": "pins an old ndarray",
    "blas-src": "linking BLAS breaks wheels",
    "openblas-src": "linking BLAS breaks wheels",
    "rs-graph*": "GPL",
}


def is_allowed(expression):
    """Whether an SPDX expression can be met with allowed licences only.

    >>> is_allowed("MIT OR GPL-3.0"), is_allowed("MIT AND GPL-3.0")
    (True, False)
    >>> is_allowed("(MIT OR GPL-3.0) AND Unicode-3.0"), is_allowed("MIT OR GPL-3.0 AND GPL-2.0")
    (True, True)
    >>> is_allowed("Apache-2.0 WITH LLVM-exception"), is_allowed("MIT WITH LLVM-exception")
    (True, False)
    >>> is_allowed("Unlicense/MIT"), is_allowed("MPL-2.0"), is_allowed(None), is_allowed("")
    (True, False, False, False)
    """
    # The slash is how crates said OR before SPDX expressions.
    words = re.findall(r"[()]|[^\s()]+", (expression or "").replace("/", " OR "))

    def any_of():
        result = all_of()
        while words and words[0] == "OR":
            words.pop(0)
            result = all_of() or result
        return result

    def all_of():
        result = one()
        while words and words[0] == "AND":
            words.pop(0)
            result = one() and result
        return result

    def one():
        name = words.pop(0) if words else ""
        if name == "(":
            result = any_of()
            return words.pop(0) == ")" and result if words else False
        if words and words[0] == "WITH":
            name = " ".join([name, words.pop(0), words.pop(0) if words else ""])
        return name in ALLOWED

    result = any_of()
    return result and not words


def why_banned(name):
    """The reason a crate is refused by name, or None.

    >>> why_banned("linfa-tsne"), why_banned("faer")
    ('pins an old ndarray', None)
    """
    return next((reason for pattern, reason in BANNED.items() if fnmatchcase(name, pattern)), None)


def main():
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    metadata = subprocess.run(command, stdout=subprocess.PIPE)
    if metadata.returncode:
        return metadata.returncode
    packages = json.loads(metadata.stdout)["packages"]
    problems = []
    for package in packages:
        crate = f"{package['name']} {package['version']}"
        if reason := why_banned(package["name"]):
            problems.append(f"{crate} is banned: {reason}")
        if not is_allowed(package["license"]):
            problems.append(f"{crate} has the licence {package['license']!r}")
    print(*problems, f"{len(packages)} crates, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
