"""The command ``axioms``."""

from __future__ import annotations

import click

from ..analysis import axioms as axiom_checks
from . import options
from .inputs import read_measures
from .options import option
from .tables import Sheet
from .verb import Incomplete, Inputs, verb


@verb(
    """
    Examples:
      pt-multiaspect axioms -m TOMA CAM MM
      pt-multiaspect axioms -m 'CAM(base=AP)' --property '1 attainable' --examples
    """,
    *options.MEASURES,
    options.ASPECTS,
    option(
        "--property",
        "properties",
        multiple=True,
        type=click.Choice(list(axiom_checks.PROPERTIES)),
        metavar="PROPERTY",
        help=f"May be repeated; by default all of: {', '.join(axiom_checks.PROPERTIES)}.",
    ),
    option("--trials", type=int, default=10_000, metavar="N", help="Maximum trials per property. Default: 10000."),
    option("--documents", type=int, default=5, metavar="N", help="Maximum documents per world, 1-6. Default: 5."),
    option("--seed", type=int, default=0, metavar="N", help="Seed of the sampled worlds. Default: 0."),
    option("--examples", is_flag=True, help="Show the smallest counterexample or tie of each property instead."),
    options.OUTPUT,
)
def axioms(
    inputs: Inputs, properties: tuple[str, ...], trials: int, documents: int, seed: int, examples: bool
) -> object:
    """Search small worlds for counterexamples to properties that measures are expected to have.

    'holds' means that no counterexample was found, which is not a proof. By default, there are two aspects with
    the grades 0-2. csv, tsv and json have one row per measure and property, with numbers of trials and reasons.
    """
    if examples and (inputs.values["output"] is not None or inputs.format not in ("table", "tsv")):
        raise click.UsageError("--examples prints text only: omit --format and --output")
    scales = inputs.aspects
    check = axiom_checks.check(
        read_measures(inputs.requested, None if inputs.requested.suite is None else scales),
        properties=list(properties) or None,
        trials=trials,
        seed=seed,
        documents=documents,
        **({} if scales is None else {"aspects": scales}),
    )
    if examples:
        shown = [check.example(measure, name) for measure in check.table.index for name in check.table.columns]
        text = "\n\n".join(str(example) for example in shown if example is not None) or "none found"
        return Incomplete.with_errors(text, check.refused)
    verdicts = Sheet.of(check.table.rename_axis("measure").reset_index(), [check.title(), *check.reasons()])
    return Incomplete.with_errors(Sheet(check.results, verdicts.table), check.refused)
