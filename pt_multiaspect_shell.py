"""The program ``pt-multiaspect`` until the package is imported, which takes a second."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path


def main() -> int:
    """Run the command-line interface; Ctrl-C while it is imported ends the process without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if (
        handler is signal.default_int_handler
    ):  # it is ignored by processes in the background of some shells
        signal.signal(signal.SIGINT, _end)
    if sys.argv[1:] in (["-h"], ["--help"], ["help"]) and show_help():
        return 0
    from pt_multiaspect.cli import main as run

    signal.signal(signal.SIGINT, handler)
    return run()


def show_help() -> bool:
    """Print the help, which requires only the summaries of commands; return whether it could be printed."""
    if None in (sys.stdin, sys.stdout, sys.stderr):  # the package opens streams that are closed
        return False
    import click

    summaries = runpy.run_path(
        str(Path(__file__).with_name("pt_multiaspect") / "cli" / "summaries.py")
    )
    commands = [
        click.Command(name, short_help=summary) for name, summary in summaries["SUMMARIES"].items()
    ]
    program = summaries["build_program"](click.Group, commands, version="")  # which is not printed
    try:
        program.main(["--help"], summaries["NAME"], standalone_mode=False)
        sys.stdout.flush()
    except OSError:  # the package says why the output cannot be written
        return False
    return True


def _end(*_: object) -> None:
    """End the process at once, as modules that are being imported may turn exceptions into others."""
    os.write(2, b"\npt-multiaspect: error: interrupted\n")
    os._exit(1)
