"""Options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatch
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click
import ir_measures
from click.shell_completion import CompletionItem

from ..errors import MultiAspectError
from ..evaluation.topics import TOPICS
from ..io.run_files import run_files
from ..suites.catalogue import SUITES
from .significance import TESTS
from .tables import FORMATS
from .wording import in_options, of_mixed_directory

__all__ = [
    "ALPHA",
    "DIRECTORIES",
    "STDIN",
    "Command",
    "Group",
    "OutputDirectory",
    "OutputFile",
    "Requested",
    "alpha_option",
    "aspects_option",
    "complete_measure",
    "format_options",
    "jobs_option",
    "measure_option",
    "qrels_option",
    "runs_argument",
    "test_option",
    "topics_option",
]

#: The default significance level.
ALPHA = 0.05

F = TypeVar("F", bound=Callable[..., Any])

_QRELS = "--qrels"

#: Stands for standard input.
STDIN = "-"


class Command(click.Command):
    """A command whose option --qrels takes several ASPECT=FILE, as in ``--qrels relevance=a.txt cost=b.txt``.

    It refuses to write what it reads, and its errors name options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, _repeated(args))
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        for param in self.params:
            if isinstance(param.type, OutputFile | OutputDirectory) and ctx.params[str(param.name)] is not None:
                _check_not_read(ctx, param, param.type)
        try:
            return super().invoke(ctx)
        except MultiAspectError as error:
            message = of_mixed_directory(in_options(str(error)), ctx.meta.get(DIRECTORIES, {}))
            raise MultiAspectError(message) from error


#: Where the context of a command has the directories of runs, by file.
DIRECTORIES = "pt_multiaspect.directories"


class OutputFile(click.Path):
    """A file to write, checked before anything is computed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == STDIN:
            self.fail("expected a file, got -; omit the option to print", param, ctx)
        path = Path(os.path.expanduser(value))
        if path.is_dir():
            self.fail(f"expected a file, got the directory {value}", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no directory {path.parent}; create it first", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"no permission to write {value}; choose another file", param, ctx)
        return value

    def written(self, value: str) -> str:
        """Return the file that will be written."""
        return value


class OutputDirectory(click.Path):
    """A directory to write files to, made if there is none."""

    def __init__(self, example: str) -> None:
        super().__init__(file_okay=False)
        self.example = example

    def written(self, value: str) -> str:
        """Return a file as will be written."""
        return os.path.join(value, self.example)


def _check_not_read(ctx: click.Context, param: click.Parameter, kind: OutputFile | OutputDirectory) -> None:
    """Refuse to write what this command reads (most likely, the output was forgotten), or would read next time."""
    output = str(ctx.params[str(param.name)])
    written = kind.written(output)
    title = max(param.opts, key=len)
    for name in ("qrels", "runs", "run", "aspects", "groups"):
        given = ctx.params.get(name) or ()
        for item in [given] if isinstance(given, str) else given:
            for path in (item, item.partition("=")[2]):
                files = _files(path)
                if _place(written) in files:
                    raise click.UsageError(f"{title}: {output} is read by this command; write another file", ctx)
                if name in ("runs", "run") and _is_beside(written, files, path):
                    what = (
                        f"{output} would be read as a run"
                        if written == output
                        else "the values would be read as runs"
                    )
                    raise click.UsageError(f"{title}: {what} of {path} the next time; write elsewhere", ctx)


def _place(path: str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))


def _is_beside(written: str, files: set[Path], path: str) -> bool:
    """Return whether a file would be in a directory with `files` of a pattern or directory, and match that."""
    name, pattern = os.path.basename(written), "*" if os.path.isdir(path) else os.path.basename(path)
    is_match = name[0] != "." and fnmatch(name, pattern)
    return is_match and _place(os.path.dirname(written)) in {file.parent for file in files}


def _files(path: str) -> set[Path]:
    """Return the files of a path, directory or pattern, none if there are none."""
    try:
        return {_place(file) for file in run_files(path)} if path else set()
    except MultiAspectError:
        return set()


def _repeated(args: list[str]) -> list[str]:
    """Repeat --qrels before each ASPECT=FILE that follows its first value."""
    result: list[str] = []
    follows = awaits_value = False
    for position, arg in enumerate(args):
        if arg == "--":
            return [*result, *args[position:]]
        if awaits_value:
            awaits_value, follows = False, True
        elif arg == _QRELS:
            awaits_value = True
        elif arg.startswith(f"{_QRELS}="):
            follows = True
        elif follows and "=" in arg and not arg.startswith("-"):
            result.append(_QRELS)
        else:
            follows = False
        result.append(arg)
    return result


class Group(click.Group):
    """Commands; an unknown one is answered with the nearest."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            known = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"unknown command {args[0]!r}; {known}", ctx)
        return super().resolve_command(ctx, args)


def complete_measure(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(ir_measures.measures.registry) if name.startswith(incomplete)]


def complete_suite(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in SUITES if name.startswith(incomplete)]


qrels_option: Callable[[F], F] = click.option(
    _QRELS,
    multiple=True,
    required=True,
    metavar="ASPECT=FILE...",
    help="TREC qrels, one file per aspect (plain or gzip); a single FILE without ASPECT contains relevance. "
    "ASPECT,ASPECT=FILE is one file with several label columns, - is standard input.",
)

aspects_option: Callable[[F], F] = click.option(
    "--aspects",
    metavar="FILE|JSON",
    help='Label scales, for all measures that declare none: JSON such as \'{"relevance": 2, "effort": '
    '{"grades": 10, "threshold": 5}}\', or a file of it, which \'pt-multiaspect describe --write-aspects FILE\' '
    "writes.",
)


test_option: Callable[[F], F] = click.option(
    "--test", type=click.Choice(list(TESTS)), help="The test, two-sided and paired. Default: ttest."
)

alpha_option: Callable[[F], F] = click.option(
    "--alpha", type=click.FloatRange(0, 1, True, True), help=f"Significance level. Default: {ALPHA}."
)


def _n_jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("expected a number of processes, or -1 for all cores, got 0")
    return value


jobs_option: Callable[[F], F] = click.option(
    "--jobs",
    type=int,
    callback=_n_jobs,
    default=1,
    metavar="N",
    help="Number of processes; -1 for all cores. Default: 1.",
)


@dataclass(frozen=True)
class Requested:
    """The measures that a command is asked for: as texts, as a suite, and the file of their groups."""

    texts: tuple[str, ...]
    suite: str | None = None
    groups: str | None = None

    def __bool__(self) -> bool:
        return bool(self.texts) or self.suite is not None


def measure_option(required: bool = True) -> Callable[[F], F]:
    """The options --measure, --suite and --groups, which the command receives as one `Requested`."""

    def decorate(function: F) -> F:
        @wraps(function)
        def command(measures: tuple[str, ...], suite: str | None, groups: str | None, **others: Any) -> Any:
            requested = Requested(measures, suite, groups)
            if not requested and required:
                raise click.UsageError("missing measures: give -m MEASURE or --suite NAME")
            if not requested and groups is not None:
                raise click.UsageError("--groups requires measures: give -m MEASURE or --suite NAME")
            return function(measures=requested, **others)

        for option in reversed(_MEASURE_OPTIONS):
            command = option(command)
        return cast(F, command)

    return decorate


_MEASURE_OPTIONS = (
    click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="MEASURE",
        shell_complete=complete_measure,
        help="An ir-measures or trec_eval name, or several in quotes, 'nDCG@10 TOMA@10'. May be repeated. "
        "LABEL=MEASURE sets the column head. 'pt-multiaspect measures' lists the measures of this package.",
    ),
    click.option(
        "--suite",
        metavar="NAME",
        shell_complete=complete_suite,
        help="The measures of a published track, or those recommended for a paper; with -m LABEL, some of them. "
        "'pt-multiaspect measures --suites' lists the suites.",
    ),
    click.option(
        "--groups",
        metavar="FILE",
        help="Groups of documents, for AWRF, GF and GFR: a .csv or .tsv file with the columns docno and group, or "
        "a .json file with their target; see Groups.from_file.",
    ),
)

topics_option: Callable[[F], F] = click.option(
    "--topics",
    type=click.Choice(TOPICS),
    help="The topics of each mean: all judged ones, or those with a positive document for the measure. Default: as "
    "the suite has it, else judged.",
)


def runs_argument(required: bool = True) -> Callable[[F], F]:
    """The runs."""
    return click.argument(
        "runs", nargs=-1, required=required, metavar="RUN..." if required else "[RUN...]", type=click.Path()
    )


def format_options(function: F) -> F:
    """The options --format and --output."""
    function = click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=OutputFile(),
        help="Write to a file, in the format of its suffix: .csv, .tsv, .json, .parquet, .tex or .md. An existing "
        "file is replaced.",
    )(function)
    return click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="csv, tsv and json have full precision, the others four decimals. Default: table in a terminal, "
        "tsv elsewhere.",
    )(function)
