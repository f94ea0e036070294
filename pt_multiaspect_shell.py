"""The program ``pt-multiaspect`` until the package is imported, which takes a second."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Run the command-line interface; Ctrl-C while it is imported ends the process without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # it is ignored by processes in the background of some shells
        signal.signal(signal.SIGINT, _end)
    from pt_multiaspect_commands import answer_alone

    code = answer_alone(sys.argv[1:])
    if code is not None:
        return code
    from pt_multiaspect.cli import main as run

    signal.signal(signal.SIGINT, handler)
    return run()


def _end(*_: object) -> None:
    """End the process at once, as modules that are being imported may turn exceptions into others."""
    os.write(2, b"\npt-multiaspect: error: interrupted\n")
    os._exit(1)
