"""The command ``robustness``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..analysis.robustness import robustness as examine
from ..answers._answer_tables import read_answers
from ..integration.declared import default_measures
from . import options
from .input_files import judged_aspects, pick_measures, read_measures
from .options import Requested, complete_measure, file_option, option
from .run_names import pick_baseline
from .tables import Sheet
from .verb import Inputs, verb


@verb(
    r"""
    Examples:
      pt-multiaspect robustness --qrels relevance=qrels.txt trust=trust.txt \
        -m CAM@10 --aspects scales.json --baseline bm25 runs
      pt-multiaspect robustness --values values.csv -m accuracy -o robustness.md
    """,
    options.QRELS,
    *options.OPTIONAL_MEASURES,
    options.STANCES,
    options.ASPECTS,
    options.VALUES,
    option(
        "--baseline",
        metavar="RUN",
        help="Compare the others with this run. Default: the best run with each other.",
    ),
    option(
        "--variants",
        multiple=True,
        metavar="MEASURE",
        shell_complete=complete_measure,
        help="A variant of the measure. May be repeated. Default: those that differ from it in one choice.",
    ),
    file_option(
        "--judges",
        dir_okay=False,
        help="Labels of several judges: JSON Lines, CSV or TSV with the columns qid, docno, criterion, value and "
        "judge.",
    ),
    options.CLUSTER,
    options.OUTPUT,
    options.OPTIONAL_RUNS,
)
def robustness(
    inputs: Inputs,
    baseline: str | None,
    variants: tuple[str, ...],
    judges: str | None,
    cluster: str | None,
) -> object:
    """Show what the difference between runs depends on.

    -m is the reported measure. One row per pair of runs and question (topics, aspects, weights,
    variants, missing labels, and judges if they are given) says whether the order holds, and what
    decides it.
    """
    values = inputs.given_values
    names: Iterable[str]
    if values is None:
        names, (runs, qrels, measure, chosen) = inputs.runs, _runs_and_measures(inputs, variants)
    else:
        names, runs, qrels, chosen = values["name"].unique(), values, None, variants
        measure = pick_measures(inputs.requested.texts, values)
    result = examine(
        runs,
        qrels,
        measure,
        baseline=pick_baseline(baseline, names),
        variants=chosen or None,
        judges=None if judges is None else read_answers([judges], "--judges"),
        cluster=cluster,
    )
    if inputs.format == "table":
        return result
    return Sheet(result.table, result._as_table())


def _runs_and_measures(inputs: Inputs, variants: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the runs, the qrels, the reported measure, by default the first of a report, and its variants."""
    qrels = inputs.qrels
    if not inputs.requested:
        label, default = next(iter(default_measures(judged_aspects(qrels)).items()))
        inputs.requested = Requested((f"{label}={default}",))
    if variants:
        chosen = read_measures(Requested(variants), inputs.aspects, qrels)
    else:
        chosen = None
    return inputs.runs, qrels, inputs.measures, chosen
