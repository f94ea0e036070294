"""The program ``pt-multiaspect``."""

from __future__ import annotations

import codecs
import io
import os
import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from .._version import __version__
from ..errors import MultiAspectError, MultiAspectWarning, messages_for_shell
from ..views import MINUS
from .messages import OPTIONS, tell, usage_message
from .summaries import NAME, SUMMARIES, build_program


class _Program(click.Group):
    """A group of commands that suggests the nearest one for an unknown name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, where ``help COMMAND`` is ``COMMAND --help``."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or raise an error if it is unknown."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            near = get_close_matches(args[0], self.commands, n=1)
            if near:
                known = f"did you mean {near[0]}?"
            else:
                known = f"expected one of {', '.join(self.commands)}"
            raise click.UsageError(f"unknown command {args[0]!r}; {known}", ctx)
        return super().resolve_command(ctx, args)


#: The program, with the function of each command, which has the name of the module.
program = build_program(
    _Program,
    [getattr(import_module(f".{name}", __package__), name) for name in SUMMARIES],
    __version__,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command-line interface.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments. By default, the arguments of the process.

    Returns
    -------
    int
        The exit code: 0; 1 if results are incomplete or cannot be written; 2 if the arguments or
        the input are invalid.
    """
    _open_closed_streams()
    # A cp1252 console cannot show τ: print a question mark instead of raising (stderr never
    # raises).
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error(NAME, _replace_unencodable)
        sys.stdout.reconfigure(errors=NAME)
    try:
        with messages_for_shell(OPTIONS), warnings.catch_warnings():
            warnings.simplefilter("always", MultiAspectWarning)
            warnings.showwarning = _show_warning
            code = program.main(argv, prog_name=NAME, standalone_mode=False)
        sys.stdout.flush()
    except MultiAspectError as error:
        return _fail(str(error), 2)
    except click.UsageError as error:
        if error.ctx is None:
            command = NAME
        else:
            command = error.ctx.command_path
        return _fail(f"{usage_message(error)} (see '{command} --help')", 2)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", 1)
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}", 1)
    except ImportError as error:  # of an optional package
        return _fail(str(error), 1)
    except MemoryError:
        return _fail(
            "out of memory: evaluate fewer runs or measures at a time, or divide large files", 1
        )
    return code if isinstance(code, int) else 0


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Return question marks for characters that a console cannot show, and hyphens for minus signs."""
    assert isinstance(error, UnicodeEncodeError)  # of a stream that is written
    characters = error.object[error.start : error.end]
    return "".join("-" if character == MINUS else "?" for character in characters), error.end


def _open_closed_streams() -> None:
    """Open standard streams that are closed, so that files do not get their numbers; output then fails."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        # Output to a file that is open for reading fails, as it does if the stream is closed.
        # Errors are dropped.
        opened = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
        if opened != number and not _is_open(number):
            os.dup2(opened, number)
            os.close(opened)
            opened = number
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, open(opened, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  # until the end


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _discard_output() -> None:
    """Drop output that cannot be written, which Python would try to write again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _fail(message: str, code: int) -> int:
    tell(f"error: {message}")
    return code


def _show_warning(
    message: Warning | str, category: type[Warning], *_: object, **__: object
) -> None:
    if issubclass(category, MultiAspectWarning):
        tell(f"warning: {message}")
