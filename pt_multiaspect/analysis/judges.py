"""Agreement of judges, and the dependence of the order of systems on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from .._validation import choice, count, proportion, random_seed
from ..aspects import parse_aspects
from ..collection import Judgments, Rankings
from ..collection.frames import materialise, to_pandas
from ..collection.judged_answers import is_judged_answers, long_answers
from ..collection.long_judgments import JUDGE, LongJudgments
from ..errors import MultiAspectError, choices, number_of, refuse_single, warn_once
from ..evaluation.topics import check_all_topics
from ..integration.aggregators import lower_is_better
from ..integration.declared import with_aspects
from ..integration.parsing import as_measure, parse_all
from ..io.runs import join, named_runs
from ..kernels.hits import firsts, heads
from ..kernels.intervals import percentile_interval
from ..measures import Measure
from ..views import Block, Sentence, View, records_table, with_interval
from .correlation import METHODS, kernel_of, round_scores

#: Maximum size of the arrays that the library of Krippendorff's α allocates (1.6 GB).
_LARGEST = 200_000_000

#: The minimum fraction of documents that a judge should have labelled; below, a warning is issued.
_FEW = 0.5

#: The columns of intervals.
_ENDS = ("low", "high")

#: Number of bootstrap samples of the intervals of Krippendorff's α.
_RESAMPLES = 1000


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
    frame = materialise(frame)
    table = to_pandas(frame)
    if table is not None and is_judged_answers(table.columns):
        table = table.rename(columns={criterion: "criterion", value: "value", judge: JUDGE})
        frame = long_answers(table, parse_aspects(aspects), "judge_agreement")
        criterion, value, judge = "criterion", "value", JUDGE
    judged = _read(frame, criterion, value, judge, aspects, warn=False)
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
        low, high = percentile_interval(np.array(alphas), ci)
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


@dataclass(frozen=True, repr=False)
class JudgeSensitivity(View):
    """Result of `judge_sensitivity`.

    It prints as text of at most 80 columns and is shown as HTML in notebooks.

    Attributes
    ----------
    table : DataFrame
        One row per measure: ``measure``; ``between_judges`` and ``min_between_judges``, the mean and the minimum
        correlation over pairs of judges; ``resampled``, ``low`` and ``high``, the mean and the percentile interval
        of the correlation between resampled and all labels.
    pairs : DataFrame
        One row per measure and pair of judges: ``measure a b correlation low high``, with intervals over topics.
        The judge a is the reference, which matters for τ_AP only.
    judges : DataFrame
        One row per measure and judge: ``measure judge own correlation low high``, the correlation between the
        order by the judge and that by all judges, and the fraction of labels that the judge assigned.
    runs : DataFrame
        One row per measure, judge and run: ``measure judge name value``, the mean by the labels of the judge.
    method, combine, resample : str
        The correlation coefficient, the combination of labels, and what was resampled.
    ci : float
        The confidence level of the intervals.
    n_resamples : int
        The number of resamples.

    Notes
    -----
    Stability: provisional. It is the result of `judge_sensitivity`, which may change.

    Examples
    --------
    See `judge_sensitivity`.
    """

    table: pd.DataFrame
    pairs: pd.DataFrame
    judges: pd.DataFrame
    runs: pd.DataFrame
    method: str
    combine: str
    resample: str
    ci: float
    n_resamples: int

    def _title(self) -> str:
        return "Sensitivity to judges"

    def _content(self) -> list[Block]:
        settings = f"method={self.method!r}, combine={self.combine!r}, resample={self.resample!r}"
        cells: dict[str, Any] = {"between judges": "between_judges", "minimum": "min_between_judges"}
        cells["resampled"] = lambda row: with_interval(row, "resampled")
        return [
            Sentence(f"Correlations of the orders of systems: {settings}."),
            records_table(self.table, ["measure"], cells),
            Sentence(
                f"Between judges: mean and minimum over pairs of judges. Resampled: correlation with all labels, "
                f"mean and {100 * self.ci:g} % interval."
            ),
        ]


def judge_sensitivity(
    runs: object,
    frame: object,
    measures: object,
    *,
    criterion: str = "criterion",
    value: str = "value",
    judge: str = JUDGE,
    combine: str = "median",
    aspects: object = None,
    method: str = "kendall",
    resample: str = "labels",
    n_resamples: int = 200,
    ci: float = 0.95,
    seed: int = 0,
) -> JudgeSensitivity:
    """Correlate the orders of systems by different judges and under resampled labels.

    Parameters
    ----------
    runs : mapping of str to run, sequence of runs, or run
        At least two runs, as for `pt_multiaspect.evaluate`.
    frame : DataFrame or iterable of namedtuples
        Judgments with one row per query, document, criterion and judge, as for `pt_multiaspect.from_long`.
    measures : measure, str, sequence of these or mapping
        As for `pt_multiaspect.evaluate`. Measures whose ``aspects`` are not declared use the scales of `aspects`.
    criterion, value, judge : str
        The columns of criteria, labels and judges.
    combine : {'median', 'majority'}, default 'median'
        The combination of the labels of several judges, see `pt_multiaspect.from_long`. 'mean' is not supported, as
        means are not grades of the scale.
    aspects : Aspects, mapping or str, optional
        The scales of the judges; by default, inferred from the labels of all judges.
    method : {'kendall', 'tau_ap', 'tau_gap', 'spearman', 'rbo'}, default 'kendall'
        The correlation coefficient, see `correlation`; rank-biased overlap with p = 0.9.
    resample : {'labels', 'judges'}, default 'labels'
        The units drawn with replacement: the labels of each document and criterion independently, or judges
        with all of their labels. See Notes.
    n_resamples : int, default 200
        Number of bootstrap samples, of labels and of topics.
    ci : float in (0, 1), default 0.95
        Confidence level of the percentile intervals.
    seed : int, default 0
        Random seed. The same seed gives the same result, regardless of the order of rows.

    Returns
    -------
    JudgeSensitivity
        ``table`` has one row per measure, ``pairs`` one per measure and pair of judges, ``judges`` one per measure
        and judge. A correlation of 1 means that the order of systems does not depend on the judges.

    Raises
    ------
    MultiAspectError
        If there are fewer than two runs, topics or judges, no document has labels of two judges, or the input is
        invalid.

    Warns
    -----
    MultiAspectWarning
        If a judge labelled less than half of the documents, if labels are resampled but most documents have only
        one, or if a correlation is undefined because all systems have the same mean; undefined correlations are
        omitted from means and intervals.

    Notes
    -----
    Systems are ordered by their means over the judged topics. All orders are based on the same documents: where a
    judge has no label, that of all judges combined is kept, so that differences in coverage are not mistaken for
    differences in labels. The correlation with all judges includes the judge's own labels and is therefore higher
    than that between judges.

    Errors of labels that are independent between documents average out over documents; errors of a judge who is
    biased do not. Resampling labels shows the former, resampling judges the latter, for which at least five
    judges should be available. A bootstrap sample has more repeated labels than the original. Its correlations are
    therefore lower on average than those of a second set of judgments by similar judges.

    Intervals of `pairs` and `judges` are over topics, with fixed labels. As resampling topics adds noise to the
    orders, these intervals are biased downwards and may not contain the estimate, as in `correlation`.

    Stability: provisional. Methods for judgments by models are still developing.

    References
    ----------
    Voorhees: Variations in Relevance Judgments and the Measurement of Retrieval Effectiveness. IP&M 36 (2000).

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect import analysis
    >>> labels = {"a": [2, 1, 0], "b": [3, 1, 0], "c": [0, 1, 3]}
    >>> rows = [
    ...     (qid, f"d{n}", "relevance", judge, label)
    ...     for qid in ("q0", "q1")
    ...     for judge in labels
    ...     for n, label in enumerate(labels[judge])
    ... ]
    >>> judged = pd.DataFrame(rows, columns=["qid", "docno", "criterion", "judge", "value"])
    >>> orders = {"one": "012", "two": "120", "three": "210"}
    >>> runs = {
    ...     name: {qid: {f"d{d}": -rank for rank, d in enumerate(order)} for qid in ("q0", "q1")}
    ...     for name, order in orders.items()
    ... }
    >>> sensitivity = analysis.judge_sensitivity(runs, judged, ["nDCG"], n_resamples=20)
    >>> sensitivity.pairs[["measure", "a", "b", "correlation"]].round(3)
      measure  a  b  correlation
    0    nDCG  a  b          1.0
    1    nDCG  a  c         -1.0
    2    nDCG  b  c         -1.0
    """
    choice("combine", "median", "majority")(combine)
    choice("method", *METHODS)(method)
    choice("resample", "labels", "judges")(resample)
    n_resamples, seed = count("n_resamples")(n_resamples), random_seed(seed)
    level = proportion("ci")(ci)
    judged = _read(frame, criterion, value, judge, aspects)
    if len(judged.judges) < 2:
        raise MultiAspectError(f"expected at least two judges, got {choices(judged.judges)}")
    labels = _LabelSets(judged, combine)
    if resample == "labels":
        labels.check_resampling()
    check_all_topics(measures, "judges disagree on the topics with a positive document")
    bound = with_aspects(parse_all(measures), judged.aspects, list(judged.aspects))
    labelled = {label: as_measure(measure) for label, measure in bound.items()}
    systems = Systems(runs, judged, labels.all, labelled)
    topics_rng, rng = map(np.random.default_rng, ([seed, 0], [seed, 1]))
    label_sets = [labels.all, *map(labels.judge_labels, range(len(judged.judges)))]
    # label sets × measures × systems × topics
    values = np.stack([systems.values(label_set) for label_set in label_sets])
    drawn = labels.draw(resample, n_resamples, rng)
    resampled = np.stack([values[0].mean(axis=-1), *(systems.values(sample).mean(axis=-1) for sample in drawn)])
    n_topics = values.shape[-1]
    weights = topics_rng.multinomial(n_topics, np.full(n_topics, 1 / n_topics), size=n_resamples) / n_topics
    return JudgeSensitivity(
        **_correlations(values, resampled, weights, list(labelled), labels, method, level),
        runs=systems.means(values[1:], list(labelled), judged.judges),
        method=method,
        combine=combine,
        resample=resample,
        ci=level,
        n_resamples=n_resamples,
    )


def _read(
    frame: object, criterion: str, value: str, judge: str, aspects: object, *, warn: bool = True
) -> LongJudgments:
    judged = LongJudgments.read(frame, criterion, value, judge, aspects, warn=warn)
    if judged.judges == ("",):
        raise MultiAspectError(
            f"expected a column of judges, got no column {judge}; name it, as in judge='assessor'"
        )
    return judged


def _correlations(
    values: Floats,
    resampled: Floats,
    weights: Floats,
    names: list[str],
    labels: _LabelSets,
    method: str,
    level: float,
) -> dict[str, pd.DataFrame]:
    """Return the correlations between judges by measure, of each pair of them, and of each judge with all.

    Parameters
    ----------
    values : ndarray, label sets × measures × systems × topics
        The values by the labels of all judges, then by those of each.
    resampled : ndarray, samples × measures × systems
        The means by all labels, then by samples of labels.
    weights : ndarray, samples × topics
        The weights of the topics in bootstrap samples.
    """
    kernel = kernel_of(method, 0.9)

    def correlate(means: Floats) -> Floats:
        return kernel(round_scores(means))

    table, pairs, judges = [], [], []
    for number, name in enumerate(names):
        drawn = np.stack([correlate(values[:, number] @ weight) for weight in weights])
        # The estimates and their intervals, of which the first row and column are those of all judges.
        intervals = np.stack([correlate(values[:, number].mean(axis=-1)), *percentile_interval(drawn, level)])
        first, *samples = resampled[:, number]
        to_all = np.array([correlate(np.stack([first, sample]))[0, 1] for sample in samples])
        _warn_of_undefined(name, method, np.append(to_all, intervals[0][np.triu_indices(len(values), 1)]))
        between = intervals[0, 1:, 1:][np.triu_indices(len(values) - 1, 1)]
        ends = map(float, percentile_interval(to_all, level))
        table.append((name, *_mean_and_minimum(between), _mean_and_minimum(to_all)[0], *ends))
        for (a, judge_a), (b, judge_b) in combinations(enumerate(labels.judges, 1), 2):
            pairs.append((name, judge_a, judge_b, *intervals[:, a, b]))
        for judge, judge_name in enumerate(labels.judges):
            judges.append((name, judge_name, labels.own_fraction(judge), *intervals[:, 0, judge + 1]))
    of_measures = ["measure", "between_judges", "min_between_judges", "resampled", *_ENDS]
    return {
        "table": pd.DataFrame(table, columns=of_measures),
        "pairs": pd.DataFrame(pairs, columns=["measure", "a", "b", "correlation", *_ENDS]),
        "judges": pd.DataFrame(judges, columns=["measure", "judge", "own", "correlation", *_ENDS]),
    }


def _mean_and_minimum(values: Floats) -> tuple[float, float]:
    values = values[~np.isnan(values)]
    return (float(values.mean()), float(values.min())) if len(values) else (float("nan"), float("nan"))


def _warn_of_undefined(name: str, method: str, values: Floats) -> None:
    undefined = int(np.isnan(values).sum())
    if undefined:
        warn_once(
            f"{method} of {name} is undefined for {undefined} of {len(values)} pairs of label sets, as all systems "
            "have the same mean; these are omitted. Use more topics, or method='rbo'",
            key=f"undefined correlations of {name}",
        )


#: The label of each (query, document) pair, by aspect.
Labels = dict[str, Floats]


class _LabelSets:
    """The labels of all judges combined, of single judges, and of samples."""

    def __init__(self, judged: LongJudgments, combine: str) -> None:
        self._judged, self._how, self.judges = judged, combine, judged.judges
        # Draws are made in an order that does not depend on the order of rows.
        keys = [pd.factorize(names, sort=True)[0] for names in (judged.docnos, judged.qids)]
        by_name = np.argsort(np.argsort(np.array(list(judged.aspects), dtype=object)))
        self._order = np.lexsort((judged.judge, by_name[judged.criterion], *(key[judged.pair] for key in keys)))
        unit = (judged.pair * len(judged.aspects) + judged.criterion)[self._order]
        self._begin = firsts(unit)
        self._n_labels = np.bincount(self._begin)[self._begin]
        if not (self._n_labels > 1).any():
            raise MultiAspectError(
                "expected documents with labels of at least two judges, got none: judges cannot be compared"
            )
        self._n_units = len(heads(unit))
        self.all = self._combine(self._order, {})
        few = [name for number, name in enumerate(judged.judges) if self.own_fraction(number) < _FEW]
        if few:
            warn_once(
                f"{number_of(len(few), 'judge')} labelled less than half of the documents, such as {few[0]}: where "
                "a judge has no label, that of all judges combined is kept, so correlations of these judges are "
                "high. Compare judges who labelled the same documents, or use the correlation of resampled labels",
                key=f"few labels of {choices(few[:3])}",
            )

    def check_resampling(self) -> None:
        """Warn if most documents have one label, which drawing labels does not change."""
        single = float((self._n_labels == 1).sum() / self._n_units)
        if single > _FEW:
            warn_once(
                f"{single:.0%} of the judged documents and criteria have one label, which resampling does not "
                "change: the intervals of resampled labels are too narrow. Use the documents with several labels "
                "only, or resample='judges'",
                key="one label per document",
            )

    def own_fraction(self, judge: int) -> float:
        """Return the fraction of labels that the judge assigned."""
        return float((self._judged.judge == judge).sum() / self._n_units)

    def judge_labels(self, judge: int) -> Labels:
        """Return the labels of one judge; the combined labels of all judges where the judge has none."""
        return self._combine(np.flatnonzero(self._judged.judge == judge), self.all)

    def draw(self, resample: str, times: int, rng: np.random.Generator) -> Iterator[Labels]:
        """Yield samples of the labels, or of judges with their labels."""
        n_judges = len(self._judged.judges)
        for _ in range(times):
            if resample == "labels":
                chosen = self._begin + (rng.random(len(self._begin)) * self._n_labels).astype(np.intp)
                yield self._combine(self._order[chosen], {})
            else:
                drawn = np.bincount(rng.integers(n_judges, size=n_judges), minlength=n_judges)
                rows = np.repeat(np.arange(len(self._judged.judge)), drawn[self._judged.judge])
                yield self._combine(rows, self.all)

    def _combine(self, rows: Ints, otherwise: Mapping[str, Floats]) -> Labels:
        """Combine the labels in `rows`; documents without labels have those of `otherwise`, or NaN."""
        judged, result = self._judged, {}
        for number, (name, aspect) in enumerate(judged.aspects.items()):
            aspect_rows = rows[judged.criterion[rows] == number]
            index = judged.combine_labels(judged.pair[aspect_rows], judged.grade[aspect_rows], self._how)
            missing = otherwise.get(name, np.full(judged.n_pairs, np.nan))
            result[name] = np.where(index < 0, missing, aspect.scale.grades[index])
        return result


class Systems:
    """Runs, joined with the judged documents once and evaluated under any labels."""

    def __init__(
        self, runs: object, judged: LongJudgments, labels: Labels, measures: Mapping[str, Measure]
    ) -> None:
        named = named_runs(runs)
        refuse_single(named, "runs")
        self._judgments = Judgments(judged.to_wide(labels))
        refuse_single(self._judgments.qids.tolist(), "topics")
        # Qrels that contain all grades, so that the inferred scales are complete.
        grades = pd.DataFrame({name: pd.Series(aspect.scale.grades) for name, aspect in judged.aspects.items()})
        self._scales = Judgments(grades.assign(qid="q", docno=[f"d{row}" for row in range(len(grades))]))
        # Some coefficients break ties by this order.
        self.names = sorted(named)
        self._rankings: Sequence[Rankings] = [join(name, named[name], self._judgments) for name in self.names]
        self._measures = list(measures.values())
        self._signs = np.where([lower_is_better(measure) for measure in self._measures], -1.0, 1.0)

    def values(self, labels: Labels) -> Floats:
        """Evaluate all runs on other labels; shape (n_measures, n_systems, n_topics), higher is better."""
        judgments = self._judgments.with_labels(labels, self._scales)
        systems = [rankings.with_judgments(judgments) for rankings in self._rankings]
        values = np.array([[measure.evaluate(rankings) for rankings in systems] for measure in self._measures])
        return np.asarray(values * self._signs[:, None, None], dtype=np.float64)

    def means(self, values: Floats, measures: Sequence[str], judges: Sequence[str]) -> pd.DataFrame:
        """Return the mean of each run by each measure, given the values by the labels of judges."""
        means = values.mean(axis=-1).transpose(1, 0, 2) * self._signs[:, None, None]
        keys = pd.MultiIndex.from_product([measures, judges, self.names], names=["measure", "judge", "name"])
        return pd.DataFrame({"value": means.ravel()}, index=keys).reset_index()
