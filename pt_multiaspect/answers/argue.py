"""Scores of reports, from the output of Auto-ARGUE."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ..collection.columns import QUERY_COLUMNS, id_column
from ..collection.judged_answers import answer_keys
from ..errors import MultiAspectError, choices
from ..evaluation.long_frames import check_distinct
from ..kernels.hits import ratio
from ..measures import MM
from ._frames import answer_title, read_answers, read_numbers, score_frame
from .combining import combine

_WHAT = "argue_scores"

#: The counts that each score divides.
_COUNTS = {
    "sentence_support": ("correctly_cited_sentences", "sentences_with_citations_or_requiring_citations"),
    "nugget_coverage": ("correct_nuggets", "nuggets"),
    "nugget_coverage_weighted": ("correct_nuggets_weighted", "nuggets_weighted"),
}

#: The topic of the rows over all topics.
_OVERALL = "all"


def argue_scores(scores: Any) -> pd.DataFrame:
    """Score reports with citations, from the counts of Auto-ARGUE.

    Parameters
    ----------
    scores : path, open file, list of these, or DataFrame
        The scores that Auto-ARGUE writes (``….scores.tsv``; also compressed, a directory or a pattern): the columns
        ``run_id request_id metric value``, separated by tabs. Rows over all topics are left out.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as `evaluate` returns them, with values in [0, 1]:
        ``sentence_support``, the fraction of the sentences with or requiring citations that all their citations
        support; ``nugget_coverage``, the fraction of the nuggets that the report covers, and
        ``nugget_coverage_weighted``, where vital nuggets count twice; ``f1`` and ``f1_weighted``, the harmonic mean
        (`MM`) of sentence support and coverage. Fractions of nothing are 0.

    Raises
    ------
    MultiAspectError
        If a file cannot be read, a column or a count is missing, or a run has several reports on a topic.

    See Also
    --------
    combine : One value of several criteria.

    Notes
    -----
    Stability: provisional. The output of Auto-ARGUE, which it reads, may change.

    References
    ----------
    Walden et al.: Auto-ARGUE: LLM-Based Report Generation Evaluation. arXiv:2509.26184, 2025.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> counts = {
    ...     "correctly_cited_sentences": 4, "sentences_with_citations_or_requiring_citations": 5,
    ...     "correct_nuggets": 6, "nuggets": 12, "correct_nuggets_weighted": 8, "nuggets_weighted": 16,
    ... }
    >>> rows = [("mine", "300", metric, value) for metric, value in counts.items()]
    >>> report = pd.DataFrame(rows, columns=["run_id", "request_id", "metric", "value"])
    >>> ma.answers.argue_scores(report).round(4)
       name  qid                   measure   value
    0  mine  300          sentence_support  0.8000
    1  mine  300           nugget_coverage  0.5000
    2  mine  300  nugget_coverage_weighted  0.5000
    3  mine  300                        f1  0.6154
    4  mine  300               f1_weighted  0.6154
    """
    frame = read_answers(scores, _WHAT)
    if "metric" not in frame.columns:
        raise MultiAspectError(
            f"{_WHAT}: expected the scores of Auto-ARGUE, with the columns run_id request_id metric value, "
            f"separated by tabs, got the columns {choices(frame.columns)}"
        )
    reports = answer_keys(frame, _WHAT, ("request_id", *QUERY_COLUMNS))
    metric, value = (id_column(frame, (column,), _WHAT) for column in ("metric", "value"))
    names = list(chain.from_iterable(_COUNTS.values()))
    table = reports.assign(measure=metric.to_numpy(dtype=object), value=value.to_numpy(dtype=object))
    table = table[(table["qid"] != _OVERALL) & table["measure"].isin(names)]
    table = table.assign(value=read_numbers(table["value"], table, _WHAT, "counts are not negative", high=np.inf))
    check_distinct(table, ["name", "measure", "qid"], "keep one report, or give each run its own name")
    reports = table[["name", "qid"]].drop_duplicates(ignore_index=True)
    counts = table.pivot(index=["name", "qid"], columns="measure", values="value").reindex(columns=names)
    counts = counts.loc[pd.MultiIndex.from_frame(reports)]
    expected = f"{_WHAT}: expected the metrics {choices(names)} of every report"
    if not len(reports):
        raise MultiAspectError(f"{expected}, got none of them")
    gaps = np.argwhere(counts.isna().to_numpy())
    if len(gaps):
        raise MultiAspectError(f"{expected}, got no {names[gaps[0, 1]]} for {answer_title(reports, gaps[0, 0])}")
    scored = {}
    for label, (part, whole) in _COUNTS.items():
        numerator, denominator = counts[part].to_numpy(), counts[whole].to_numpy()
        if (numerator > denominator).any():
            report = answer_title(reports, int(np.argmax(numerator > denominator)))
            raise MultiAspectError(f"{_WHAT}: expected at most as many {part} as {whole}, got more for {report}")
        scored[label] = ratio(numerator, denominator)
    coverages = {"f1": "nugget_coverage", "f1_weighted": "nugget_coverage_weighted"}
    return combine(
        score_frame(reports, scored, _WHAT),
        {label: MM(aspects=["sentence_support", coverage]) for label, coverage in coverages.items()},
    )
