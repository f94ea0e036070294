"""Agreement of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints, Objects
from .._validation import choice, proportion, random_seed
from ..aspects import parse_aspects
from ..collection.columns import QUERY_COLUMNS, id_column
from ..collection.judged_answers import is_judged_answers, long_answers, with_usual_names
from ..collection.long_judgments import JUDGE, LongJudgments
from ..collection.other_libraries import to_pandas
from ..errors import MultiAspectError, warn_once
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters_apply,
    check_drawn_clusters,
    clusters_of_topics,
    read_clusters,
)
from ..kernels.intervals import percentile_interval
from ..strings.identifiers import identifiers
from ._judged_runs import read_judges
from ._significance import resample_topics

#: Maximum size of the arrays that the library of Krippendorff's α allocates (1.6 GB).
_LARGEST = 200_000_000

#: The columns of intervals.
_ENDS = ("low", "high")

#: Number of bootstrap samples of the intervals of Krippendorff's α.
_RESAMPLES = 1000

#: Agreement below this number is low, by custom (Krippendorff).
LOW_ALPHA = 0.667


def judge_agreement(
    frame: object,
    *,
    criterion: str = "criterion",
    value: str = "value",
    judge: str = JUDGE,
    aspects: object = None,
    level: str = "ordinal",
    ci: float | None = None,
    seed: int = 0,
    cluster: ClusterSpec = None,
) -> pd.DataFrame:
    """Compute Krippendorff's α of the judges for each criterion.

    Parameters
    ----------
    frame : DataFrame or iterable of namedtuples
        Judgments with one row per query, document, criterion and judge, as for
        `pt_multiaspect.from_long`, or judged answers, as for
        `pt_multiaspect.answers.from_criteria`, where each repetition counts as a judge.
    criterion, value, judge : str
        The columns of criteria, labels and judges.
    aspects : Aspects, mapping or str, optional
        The scales; only required for scales on which lower is better, and for ``unjudged`` codes,
        which are omitted.
    level : {'ordinal', 'nominal', 'interval'}, default 'ordinal'
        The level of measurement: the distance of two labels is their distance in ranks, 1, or their
        difference.
    ci : float in (0, 1), optional
        The confidence level of intervals. By default, there are none.
    seed : int, default 0
        Random seed of the intervals.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.
        Then clusters are resampled. Requires `ci`.

    Returns
    -------
    DataFrame
        One row per criterion: ``aspect``; ``alpha``, at most 1, 0 for agreement as by chance, NaN
        if all labels are equal or no document has two; with `ci`, ``low`` and ``high``, the ends of
        its interval, NaN for fewer than two topics; ``n_documents``, ``n_judges`` and ``n_labels``,
        the numbers of (query, document) pairs with at least two labels, and of their judges and
        labels, and ``n_single``, the number of pairs with one label, on which α does not depend.

    Raises
    ------
    MultiAspectError
        In the same cases as for `pt_multiaspect.from_long`, if there is no column of judges, or if
        the labels have too many distinct values. With `cluster`, if a topic has no cluster or
        several, all topics are in one, or there is no `ci`.
    ImportError
        If krippendorff is not installed (``pip install "pt-multiaspect[judges]"``).

    Warns
    -----
    MultiAspectWarning
        If α is undefined for a criterion. If clusters are fewer than 30, too few for percentile
        intervals; if none are given for intervals, but query ids look like those of groups
        (``106_1``, ``106_2``).

    Notes
    -----
    All labels are compared, also those of judges who labelled few documents. Documents of all
    topics are units of one reliability matrix. With a skewed distribution, such as 95 % of the
    labels equal, α may be low although judges agree on most documents.

    Intervals are percentile intervals of 1000 bootstrap samples of the topics, whose documents are
    kept together. Samples whose labels are all equal are omitted.

    References
    ----------
    Krippendorff: Content Analysis: An Introduction to Its Methodology. Sage, 3rd ed. 2013, ch. 12.

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect import analysis
    >>> labels = {"a": [1, 2, 3, 3, 2], "b": [1, 2, 3, 3, 1], "c": [1, 3, 3, 3, None]}
    >>> judged = pd.DataFrame(
    ...     [("q1", f"d{n}", "fluent", judge, label) for judge in labels for n, label in enumerate(labels[judge])],
    ...     columns=["qid", "docno", "criterion", "judge", "value"],
    ... )
    >>> analysis.judge_agreement(judged, aspects={"fluent": [1, 2, 3]}).round(4)
       aspect   alpha  n_documents  n_judges  n_labels  n_single
    0  fluent  0.8203            5         3        14         0
    """
    choice("level", "ordinal", "nominal", "interval")(level)
    ci, seed = None if ci is None else proportion("ci")(ci), random_seed(seed)
    table = to_pandas(frame)
    if table is not None and is_judged_answers(table.columns):
        table = with_usual_names(table).rename(
            columns={criterion: "criterion", value: "value", judge: JUDGE}
        )
        frame = long_answers(table, parse_aspects(aspects), "judge_agreement")
        criterion, value, judge = "criterion", "value", JUDGE
    judged = read_judges(frame, criterion, value, judge, aspects, warn=False)
    clusters = None
    if ci is not None or cluster is not None:
        clusters = read_clusters(cluster, _topics(table, judged))
        check_clusters_apply(clusters, ci)
    rows = []
    for number, (name, aspect) in enumerate(judged.aspects.items()):
        aspect_rows = judged.criterion == number
        n_labels = np.bincount(judged.pair[aspect_rows], minlength=judged.n_pairs)
        kept = np.flatnonzero(aspect_rows)[n_labels[judged.pair[aspect_rows]] > 1]
        pair, grade = judged.pair[kept], judged.grade[kept]
        agreement = Agreement.of(name, pair, grade, aspect.scale.grades, level)
        ends = {}
        if ci is not None:
            interval = agreement.interval(judged.qids[np.unique(pair)], clusters, ci, seed)
            ends = dict(zip(_ENDS, interval, strict=True))
        rows.append(
            {
                "aspect": name,
                "alpha": agreement.alpha,
                **ends,
                "n_documents": int((n_labels > 1).sum()),
                "n_judges": len(np.unique(judged.judge[kept])),
                "n_labels": len(kept),
                "n_single": int((n_labels == 1).sum()),
            }
        )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's α of the labels of several judges."""

    alpha: float
    #: The number of labels of each grade, one row per document.
    counts: Ints
    grades: Floats
    level: str

    @classmethod
    def of(cls, name: str, pair: Ints, grade: Ints, grades: Floats, level: str) -> Agreement:
        """Return the agreement on the labels ``grades[grade]`` of pairs with several labels."""
        _library()
        used, value = np.unique(grade, return_inverse=True)
        units, unit = np.unique(pair, return_inverse=True)
        if len(units) * len(used) ** 2 > _LARGEST:
            raise MultiAspectError(
                f"{name}: {len(used)} distinct labels of {len(units)} documents are too many for "
                "Krippendorff's α; round the labels to fewer grades"
            )
        counts = np.bincount(unit * len(used) + value, minlength=len(units) * len(used))
        counts = counts.reshape(len(units), len(used))
        if len(used) < 2:
            why = "all labels are equal" if len(used) else "no document has labels of two judges"
            warn_once(
                f"Krippendorff's α of {name} is undefined: {why}", key=f"alpha of {name}: {why}"
            )
        return cls(_alpha(counts, grades[used], level), counts, grades[used], level)

    def interval(
        self, qids: Objects, cluster_of_topic: Mapping[str, str] | None, ci: float, seed: int
    ) -> tuple[float, float]:
        """Return the interval of α over topics, given the topics of documents; NaN if undefined."""
        topic, topics = pd.factorize(qids)
        if len(topics) < 2 or np.isnan(self.alpha):
            return np.nan, np.nan
        clusters = check_drawn_clusters(clusters_of_topics(cluster_of_topic, topics.tolist()))
        counts = resample_topics(clusters, _RESAMPLES, np.random.default_rng(seed))
        alphas = [
            _alpha(np.repeat(self.counts, times[topic], axis=0), self.grades, self.level)
            for times in counts.T
        ]
        low, high = percentile_interval(np.array(alphas), ci, self.alpha)
        return float(low), float(high)


def _topics(table: pd.DataFrame | None, judged: LongJudgments) -> pd.DataFrame:
    """Return a frame with the topics, and the columns that may name their clusters."""
    if table is None or not {*QUERY_COLUMNS} & {*table.columns}:
        return pd.DataFrame({"qid": judged.qids})
    queries = id_column(table, QUERY_COLUMNS, "judge_agreement")
    return table.assign(qid=identifiers(queries, "judge_agreement"))


def _alpha(counts: Ints, grades: Floats, level: str) -> float:
    """Return Krippendorff's α of numbers of labels, documents × grades, NaN if all are equal."""
    if (counts.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    return float(
        _library().alpha(value_counts=counts, value_domain=grades, level_of_measurement=level)
    )


def _library() -> Any:
    try:
        return import_module("krippendorff")
    except ImportError as error:
        raise ImportError(
            'judge_agreement requires krippendorff: pip install "pt-multiaspect[judges]"'
        ) from error
