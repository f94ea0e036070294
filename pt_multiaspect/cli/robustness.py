"""The command ``robustness``."""

from __future__ import annotations

from collections.abc import Iterable

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
        help="A variant of the measure. May be repeated. Default: those that differ from it in "
        "one choice.",
    ),
    file_option(
        "--judges",
        dir_okay=False,
        help="Labels of several judges: JSON Lines, CSV or TSV with the columns qid, docno, "
        "criterion, value and judge.",
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
        names = inputs.runs
        runs: object = inputs.runs
        qrels = inputs.qrels
        _request_default_measure(inputs)
        measure: object = inputs.measures
        given_variants: object = None
        if variants:
            given_variants = read_measures(Requested(variants), inputs.aspects, qrels)
    else:
        names = values["name"].unique()
        runs = values
        qrels = None
        measure = pick_measures(inputs.requested.texts, values)
        given_variants = variants or None
    judged = None
    if judges is not None:
        judged = read_answers([judges], "--judges")
    result = examine(
        runs,
        qrels,
        measure,
        baseline=pick_baseline(baseline, names),
        variants=given_variants,
        judges=judged,
        cluster=cluster,
    )
    if inputs.format == "table":
        return result
    return Sheet(result.table, result._as_table())


def _request_default_measure(inputs: Inputs) -> None:
    """Request the first measure of a report if no measure is requested."""
    if inputs.requested:
        return
    measures = default_measures(judged_aspects(inputs.qrels))
    label = next(iter(measures))
    inputs.requested = Requested((f"{label}={measures[label]}",))
