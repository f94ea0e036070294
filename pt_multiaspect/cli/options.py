"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

import click
import ir_measures
from click.shell_completion import CompletionItem

from ..integration.topics import TOPICS
from ..suites.catalogue import SUITES
from .significance import TESTS
from .tables import FORMATS

__all__ = [
    "ALPHA",
    "Command",
    "Group",
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


class Command(click.Command):
    """A command whose option --qrels takes several ASPECT=FILE, as in ``--qrels relevance=a.txt cost=b.txt``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _repeated(args))


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
    metavar="FILE",
    help="Label scales, for all measures that declare none: a file written by "
    "'pt-multiaspect describe --write-aspects FILE', or JSON such as '{\"relevance\": 2, \"effort\": 3}'.",
)


test_option: Callable[[F], F] = click.option(
    "--test", type=click.Choice(list(TESTS)), help="The test, two-sided and paired. Default: ttest."
)

alpha_option: Callable[[F], F] = click.option(
    "--alpha", type=click.FloatRange(0, 1, True, True), help=f"Significance level. Default: {ALPHA}."
)

jobs_option: Callable[[F], F] = click.option(
    "--jobs", type=int, default=1, metavar="N", help="Number of processes; -1 for all cores. Default: 1."
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
        type=click.Path(),
        help="Write to a file, in the format of its suffix: .csv, .tsv, .json, .parquet, .tex or .md.",
    )(function)
    return click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="csv, tsv and json have full precision, the others four decimals. Default: table in a terminal, "
        "tsv elsewhere.",
    )(function)
