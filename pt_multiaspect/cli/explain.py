"""The command ``explain``."""

from __future__ import annotations

import click

from .. import explanation
from ..errors import choices
from . import options
from .options import option, output
from .tables import Sheet
from .verb import Inputs, verb

#: The formats of files.
_SUFFIXES = {".txt": "text", ".html": "html", ".csv": "csv", ".tsv": "tsv", ".json": "json"}


@verb(
    r"""
    Examples:
      pt-multiaspect explain --qrels relevance=qrels.txt credibility=qcred.txt \
        -m 'TOMA(gate=relevance)@10' --aspects scales.json --query q1 bm25.run
      pt-multiaspect explain --qrels relevance=qrels.txt credibility=qcred.txt \
        -m CAM@10 --query q1 -o q1.html bm25.run
    """,
    options.QRELS_ONLY,
    *options.MEASURES,
    options.STANCES,
    options.ASPECTS,
    option("--query", "qid", required=True, metavar="QID", help="The query."),
    output(
        _SUFFIXES,
        f"Write to a file, in the format of its suffix: {choices(_SUFFIXES)}. The last three have "
        "the ranks in full precision.",
    ),
    options.RUN,
)
def explain(inputs: Inputs, qid: str) -> object:
    """Explain the value of one query, rank by rank.

    Shows the labels of each document, how the measure uses them, and how much each rank
    contributes.
    """
    labels = list(inputs.measures)
    if len(labels) > 1:
        hint = ""
        if inputs.requested.suite is not None:
            hint = "; choose one of the suite with -m ALIAS"
        raise click.UsageError(f"expected one measure, got {len(labels)}: {choices(labels)}{hint}")
    if len(inputs.runs) > 1:
        raise click.UsageError(f"expected one run, got {len(inputs.runs)}: {choices(inputs.runs)}")
    label = labels[0]
    measure = inputs.measures[label]
    result = explanation.explain(measure, inputs.runs, inputs.qrels, qid, label=label)
    if inputs.format in ("text", "html"):
        return result
    return Sheet.of(result.ranks)
