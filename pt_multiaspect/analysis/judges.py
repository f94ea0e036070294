"""Agreement of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

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
    ...     [
    ...         ("q1", f"d{n}", "fluent", judge, label)
    ...         for judge, labels_of_judge in labels.items()
    ...         for n, label in enumerate(labels_of_judge)
    ...     ],
    ...     columns=["qid", "docno", "criterion", "judge", "value"],
    ... )
    >>> analysis.judge_agreement(judged, aspects={"fluent": [1, 2, 3]}).round(4)
       aspect   alpha  n_documents  n_judges  n_labels  n_single
    0  fluent  0.8203            5         3        14         0
    """
    check_level = choice("level", "ordinal", "nominal", "interval")
    check_level(level)
    if ci is not None:
        ci = proportion("ci")(ci)
    seed = random_seed(seed)
    table = to_pandas(frame)  # None if the rows are namedtuples
    columns = _Columns(criterion, value, judge)
    judged = _read_labels(frame, table, columns, aspects)
    cluster_of_topic = None
    if ci is not None or cluster is not None:
        # The table may have a column that names the clusters.
        topics = _frame_of_topics(table, judged)
        cluster_of_topic = read_clusters(cluster, topics)
        check_clusters_apply(cluster_of_topic, ci)

    rows = []
    for name in judged.aspects:
        labels = _ComparedLabels.of_aspect(judged, name)
        agreement = Agreement.of(name, labels.pair, labels.grade, labels.grades, level)
        row: dict[str, Any] = {"aspect": name, "alpha": agreement.alpha}
        if ci is not None:
            low, high = agreement.interval(labels.qids, cluster_of_topic, ci, seed)
            row["low"] = low
            row["high"] = high
        rows.append(row | labels.counts)
    return pd.DataFrame(rows)


class _Columns(NamedTuple):
    """The names of columns, as given to `judge_agreement`."""

    criterion: str
    value: str
    judge: str


def _read_labels(
    frame: object, table: pd.DataFrame | None, columns: _Columns, aspects: object
) -> LongJudgments:
    """Read the labels of the judges, of documents or of answers.

    Parameters
    ----------
    frame : DataFrame or iterable of namedtuples
        The judgments.
    table : DataFrame or None
        The same as a table; None if they are namedtuples.
    columns : _Columns
        The columns with the criteria, labels and judges.
    aspects : object
        The aspects, as given to `judge_agreement`.
    """
    if table is None or not is_judged_answers(table.columns):
        return read_judges(
            frame, columns.criterion, columns.value, columns.judge, aspects, warn=False
        )
    usual_names = {
        columns.criterion: "criterion",
        columns.value: "value",
        columns.judge: JUDGE,
    }
    renamed = with_usual_names(table).rename(columns=usual_names)
    # Repeated judgments of an answer count as those of further judges.
    answers = long_answers(renamed, parse_aspects(aspects), "judge_agreement")
    return read_judges(answers, "criterion", "value", JUDGE, aspects, warn=False)


@dataclass(frozen=True, eq=False)
class _ComparedLabels:
    """The labels of one aspect that are compared: those of pairs with at least two.

    A pair is a (query, document) pair.
    """

    #: The pair of each label.
    pair: Ints
    #: The grade of each label, as an index of `grades`.
    grade: Ints
    grades: Floats
    #: The query of each pair, in the order of the pairs' numbers.
    qids: Objects
    #: The numbers of pairs, judges and labels, and of pairs with one label, by column.
    counts: dict[str, int]

    @classmethod
    def of_aspect(cls, judged: LongJudgments, name: str) -> _ComparedLabels:
        """Select the labels of an aspect."""
        criterion = list(judged.aspects).index(name)
        rows = np.flatnonzero(judged.criterion == criterion)
        pair_of_row = judged.pair[rows]
        n_labels_of_pair = np.bincount(pair_of_row, minlength=judged.n_pairs)
        # Labels are compared with others of the same pair.
        n_labels_of_row = n_labels_of_pair[pair_of_row]
        compared_rows = rows[n_labels_of_row > 1]
        pair = judged.pair[compared_rows]
        counts = {
            "n_documents": int((n_labels_of_pair > 1).sum()),
            "n_judges": len(np.unique(judged.judge[compared_rows])),
            "n_labels": len(compared_rows),
            "n_single": int((n_labels_of_pair == 1).sum()),
        }
        return cls(
            pair=pair,
            grade=judged.grade[compared_rows],
            grades=judged.aspects[name].scale.grades,
            qids=judged.qids[np.unique(pair)],
            counts=counts,
        )


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
        """Return the agreement on labels of documents with several labels.

        Parameters
        ----------
        name : str
            The aspect.
        pair, grade : ndarray of int, shape (n_labels,)
            The document of each label, and its grade as an index of `grades`.
        grades : ndarray
            The grades of the aspect.
        level : str
            The level of measurement.
        """
        _import_krippendorff()  # before other errors
        used_grades, column = np.unique(grade, return_inverse=True)
        documents, row = np.unique(pair, return_inverse=True)
        n_documents = len(documents)
        n_grades = len(used_grades)
        if n_documents * n_grades**2 > _LARGEST:
            raise MultiAspectError(
                f"{name}: {n_grades} distinct labels of {n_documents} documents are too many "
                "for Krippendorff's α; round the labels to fewer grades"
            )
        if n_grades < 2:
            _warn_undefined(name, n_grades)
        # Count the labels of each document by grade: documents × grades, numbered row by row.
        cell_of_label = row * n_grades + column
        counts_of_cells = np.bincount(cell_of_label, minlength=n_documents * n_grades)
        counts = counts_of_cells.reshape(n_documents, n_grades)
        labels = grades[used_grades]
        alpha = _alpha(counts, labels, level)
        return cls(alpha, counts, labels, level)

    def interval(
        self, qids: Objects, cluster_of_topic: Mapping[str, str] | None, ci: float, seed: int
    ) -> tuple[float, float]:
        """Return the ends of the interval of α over topics; NaN if undefined.

        `qids` has the topic of each document. `self.counts` are the numbers of its labels of each
        grade, documents × grades.
        """
        topic_of_document, topics = pd.factorize(qids)
        if len(topics) < 2 or np.isnan(self.alpha):
            return np.nan, np.nan
        clusters = clusters_of_topics(cluster_of_topic, topics.tolist())
        check_drawn_clusters(clusters)
        rng = np.random.default_rng(seed)
        counts_of_topics = resample_topics(clusters, _RESAMPLES, rng)  # topics × resamples
        alphas = []
        for count_of_topic in counts_of_topics.T:
            # A topic that is drawn several times has its documents as often.
            times = count_of_topic[topic_of_document]
            drawn_counts = np.repeat(self.counts, times, axis=0)
            alpha = _alpha(drawn_counts, self.grades, self.level)
            alphas.append(alpha)
        low, high = percentile_interval(np.array(alphas), ci, self.alpha)
        return float(low), float(high)


def _warn_undefined(name: str, n_grades: int) -> None:
    """Warn that α is undefined, as there are not two distinct labels."""
    if n_grades == 1:
        reason = "all labels are equal"
    else:
        reason = "no document has labels of two judges"
    warn_once(
        f"Krippendorff's α of {name} is undefined: {reason}", key=f"alpha of {name}: {reason}"
    )


def _frame_of_topics(table: pd.DataFrame | None, judged: LongJudgments) -> pd.DataFrame:
    """Return a frame with the topics, and the columns that may name their clusters.

    `table` has these columns, if it has a column of queries.
    """
    if table is None:
        return pd.DataFrame({"qid": judged.qids})
    has_queries = any(column in QUERY_COLUMNS for column in table.columns)
    if not has_queries:
        return pd.DataFrame({"qid": judged.qids})
    queries = id_column(table, QUERY_COLUMNS, "judge_agreement")
    qids = identifiers(queries, "judge_agreement")
    return table.assign(qid=qids)


def _alpha(counts: Ints, grades: Floats, level: str) -> float:
    """Return Krippendorff's α of numbers of labels, documents × grades, NaN if all are equal."""
    n_labels_of_grade = counts.sum(axis=0)
    n_used_grades = (n_labels_of_grade > 0).sum()
    if n_used_grades < 2:
        return float("nan")
    krippendorff = _import_krippendorff()
    alpha = krippendorff.alpha(value_counts=counts, value_domain=grades, level_of_measurement=level)
    return float(alpha)


def _import_krippendorff() -> Any:
    """Return the module krippendorff; an error that tells how to install it if it is missing."""
    try:
        return import_module("krippendorff")
    except ImportError as error:
        raise ImportError(
            'judge_agreement requires krippendorff: pip install "pt-multiaspect[judges]"'
        ) from error
