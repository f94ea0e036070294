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
        if args and args[0] == "help":
            command = args[1:2]  # empty without a command
            args = [*command, "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or raise an error if it is unknown."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            name = args[0]
            similar = get_close_matches(name, self.commands, n=1)
            if similar:
                hint = f"did you mean {similar[0]}?"
            else:
                known = ", ".join(self.commands)
                hint = f"expected one of {known}"
            raise click.UsageError(f"unknown command {name!r}; {hint}", ctx)
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
        return _run_program(argv)
    except MultiAspectError as error:
        return _fail(str(error), 2)
    except click.UsageError as error:
        command = NAME
        if error.ctx is not None:
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
        file = error.filename or "output"
        return _fail(f"{file}: {error.strerror or error}", 1)
    except ImportError as error:  # of an optional package
        return _fail(str(error), 1)
    except MemoryError:
        return _fail(
            "out of memory: evaluate fewer runs or measures at a time, or divide large files", 1
        )


def _run_program(argv: Sequence[str] | None) -> int:
    """Run the command that the arguments name, and return its exit code.

    Warnings of the package are printed as messages, and errors name options.
    """
    with messages_for_shell(OPTIONS), warnings.catch_warnings():
        warnings.simplefilter("always", MultiAspectWarning)
        warnings.showwarning = _show_warning
        code = program.main(argv, prog_name=NAME, standalone_mode=False)
    # Now, so that an error is not raised when Python ends.
    sys.stdout.flush()
    if isinstance(code, int):
        return code
    return 0


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Return question marks for characters that a console cannot show, and hyphens for minus signs.

    As a handler of codecs, also return the position at which encoding continues.
    """
    assert isinstance(error, UnicodeEncodeError)  # of a stream that is written
    replacement = ""
    for character in error.object[error.start : error.end]:
        if character == MINUS:
            replacement += "-"
        else:
            replacement += "?"
    return replacement, error.end


def _open_closed_streams() -> None:
    """Open closed standard streams, so that files do not get their numbers.

    Output to a closed stream still fails.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        is_closed = getattr(sys, name) is None
        if is_closed:
            _open_null_stream(number, name)


def _open_null_stream(number: int, name: str) -> None:
    """Open a closed standard stream on the null device.

    `number` is its file descriptor: 0 of stdin, 1 of stdout, 2 of stderr. Stdin is empty, output to
    stderr is dropped, and writing to stdout raises an error.
    """
    if name == "stdin":
        mode = "r"
        access = os.O_RDONLY
    elif name == "stdout":
        # Python writes to a descriptor that is for reading only: the system refuses it.
        mode = "w"
        access = os.O_RDONLY
    else:
        mode = "w"
        access = os.O_WRONLY
    descriptor = _open_null_device(number, access)
    # The descriptor stays open until the program ends, also when the stream is closed.
    stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
    setattr(sys, name, stream)


def _open_null_device(number: int, access: int) -> int:
    """Open the null device, if possible as the file descriptor `number`; return the descriptor."""
    is_taken = _is_open(number)
    descriptor = os.open(os.devnull, access)  # the lowest free number
    if is_taken or descriptor == number:
        return descriptor
    # A lower number was free. Move the descriptor to the right number.
    os.dup2(descriptor, number)
    os.close(descriptor)
    return number


def _is_open(number: int) -> bool:
    """Return whether a file descriptor is open."""
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
        # What is left in the buffer goes to the null device.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _fail(message: str, code: int) -> int:
    tell(f"error: {message}")
    return code


def _show_warning(
    message: Warning | str, category: type[Warning], *_: object, **__: object
) -> None:
    """Print a warning of this package to standard error; those of others are not for users."""
    if issubclass(category, MultiAspectWarning):
        tell(f"warning: {message}")
