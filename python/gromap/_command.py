"""The ``gromap`` command of the wheel: the same program as the binary."""

import signal
import sys

from gromap import _core


def main():
    # Python's own handler only notes a signal, and there is no Python running that would look.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.command(["gromap", *sys.argv[1:]]))
