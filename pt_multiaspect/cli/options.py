"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

import click
import ir_measures
from click.shell_completion import CompletionItem

from .significance import TESTS
from .tables import FORMATS

__all__ = [
    "ALPHA",
    "Command",
    "Group",
    "alpha_option",
    "aspects_option",
    "complete_measure",
    "format_options",
    "jobs_option",
    "measure_option",
    "qrels_option",
    "runs_argument",
    "test_option",
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


def measure_option(required: bool = True) -> Callable[[F], F]:
    """The option --measure."""
    return click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        required=required,
        metavar="MEASURE",
        shell_complete=complete_measure,
        help="An ir-measures or trec_eval name, or several in quotes, 'nDCG@10 TOMA@10'. May be repeated. "
        "LABEL=MEASURE sets the column head. 'pt-multiaspect measures' lists the measures of this package.",
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
