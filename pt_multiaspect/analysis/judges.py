"""Agreement of judges."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from .._validation import choice, proportion, random_seed
from ..aspects import parse_aspects
from ..collection.frames import to_pandas
from ..collection.judged_answers import is_judged_answers, long_answers, with_usual_names
from ..collection.long_judgments import JUDGE
from ..errors import MultiAspectError, warn_once
from ..kernels.intervals import percentile_interval
from ._judged_runs import read_judges

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
) -> pd.DataFrame:
    """Compute Krippendorff's α of the judges for each criterion.

    Parameters
    ----------
    frame : DataFrame or iterable of namedtuples
        Judgments with one row per query, document, criterion and judge, as for `pt_multiaspect.from_long`, or
        judged answers, as for `pt_multiaspect.answers.from_criteria`, where each repetition counts as a judge.
    criterion, value, judge : str
        The columns of criteria, labels and judges.
    aspects : Aspects, mapping or str, optional
        The scales; only required for scales on which lower is better, and for ``unjudged`` codes, which are
        omitted.
    level : {'ordinal', 'nominal', 'interval'}, default 'ordinal'
        The level of measurement: the distance of two labels is their distance in ranks, 1, or their difference.
    ci : float in (0, 1), optional
        The confidence level of intervals. By default, there are none.
    seed : int, default 0
        Random seed of the intervals.

    Returns
    -------
    DataFrame
        One row per criterion: ``aspect``; ``alpha``, at most 1, 0 for agreement as by chance, NaN if all labels are
        equal or no document has two; with `ci`, ``low`` and ``high``, the ends of its interval, NaN for fewer than
        two topics; ``n_documents``, ``n_judges`` and ``n_labels``, the numbers of (query,
        document) pairs with at least two labels, and of their judges and labels, and ``n_single``, the number of
        pairs with one label, on which α does not depend.

    Raises
    ------
    MultiAspectError
        In the same cases as for `pt_multiaspect.from_long`, if there is no column of judges, or if the labels have
        too many distinct values.
    ImportError
        If krippendorff is not installed (``pip install "pt-multiaspect[judges]"``).

    Warns
    -----
    MultiAspectWarning
        If α is undefined for a criterion.

    Notes
    -----
    All labels are compared, also those of judges who labelled few documents. Documents of all topics are units
    of one reliability matrix. With a skewed distribution, such as 95 % of the labels equal, α may be low although
    judges agree on most documents.

    Intervals are percentile intervals of 1000 bootstrap samples of the topics, whose documents are kept together.
    Samples whose labels are all equal are omitted.

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
        table = with_usual_names(table).rename(columns={criterion: "criterion", value: "value", judge: JUDGE})
        frame = long_answers(table, parse_aspects(aspects), "judge_agreement")
        criterion, value, judge = "criterion", "value", JUDGE
    judged = read_judges(frame, criterion, value, judge, aspects, warn=False)
    rows = []
    for number, (name, aspect) in enumerate(judged.aspects.items()):
        aspect_rows = judged.criterion == number
        n_labels = np.bincount(judged.pair[aspect_rows], minlength=judged.n_pairs)
        kept = np.flatnonzero(aspect_rows)[n_labels[judged.pair[aspect_rows]] > 1]
        pair, grade = judged.pair[kept], judged.grade[kept]
        agreement = Agreement.of(name, pair, grade, aspect.scale.grades, level)
        topic = pd.factorize(judged.qids)[0][np.unique(pair)]
        rows.append(
            {
                "aspect": name,
                "alpha": agreement.alpha,
                **({} if ci is None else dict(zip(_ENDS, agreement.interval(topic, ci, seed), strict=True))),
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
        """Return the agreement on the labels ``grades[grade]`` of pairs, each of which has several."""
        _library()
        used, value = np.unique(grade, return_inverse=True)
        units, unit = np.unique(pair, return_inverse=True)
        if len(units) * len(used) ** 2 > _LARGEST:
            raise MultiAspectError(
                f"{name}: {len(used)} distinct labels of {len(units)} documents are too many for Krippendorff's α; "
                "round the labels to fewer grades"
            )
        counts = np.bincount(unit * len(used) + value, minlength=len(units) * len(used))
        counts = counts.reshape(len(units), len(used))
        if len(used) < 2:
            why = "all labels are equal" if len(used) else "no document has labels of two judges"
            warn_once(f"Krippendorff's α of {name} is undefined: {why}", key=f"alpha of {name}: {why}")
        return cls(_alpha(counts, grades[used], level), counts, grades[used], level)

    def interval(self, topic: Ints, ci: float, seed: int) -> tuple[float, float]:
        """Return the interval of α over topics, given the topic of each document; NaN if it is undefined."""
        n_topics = len(np.unique(topic))
        if n_topics < 2 or np.isnan(self.alpha):
            return np.nan, np.nan
        rng, codes = np.random.default_rng(seed), pd.factorize(topic)[0]
        draws = (np.bincount(rng.integers(n_topics, size=n_topics), minlength=n_topics) for _ in range(_RESAMPLES))
        alphas = [_alpha(np.repeat(self.counts, times[codes], axis=0), self.grades, self.level) for times in draws]
        low, high = percentile_interval(np.array(alphas), ci, self.alpha)
        return float(low), float(high)


def _alpha(counts: Ints, grades: Floats, level: str) -> float:
    """Return Krippendorff's α of the numbers of labels by document and grade, NaN if all labels are equal."""
    if (counts.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    return float(_library().alpha(value_counts=counts, value_domain=grades, level_of_measurement=level))


def _library() -> Any:
    try:
        return import_module("krippendorff")
    except ImportError as error:
        raise ImportError('judge_agreement requires krippendorff: pip install "pt-multiaspect[judges]"') from error
