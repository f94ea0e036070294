"""Prediction-powered intervals: means from few human judgments and many judgments of a model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import proportion
from ..errors import MultiAspectError, choices, errors_of, refuse_unknown, tally
from ..evaluation.aggregation import drop_missing
from ..evaluation.long_frames import measures_by_label, read_long_frame
from ..integration.aggregators import aggregate_is_mean
from ..kernels.intervals import half_width
from ..views import Block, Cell, Cells, Column, Heading, Sentence, Table, View, decimals
from ._frames import by_measure, matrix

#: The minimum number of human topics; see the Notes of `prediction_powered`.
LEAST_TOPICS = 4

#: Tolerance for equal values, relative to their maximum (rounding errors).
_TOLERANCE = 1e-12

#: Maximum number of human topics in the search.
_MOST_TOPICS = 10**12


@dataclass(frozen=True, repr=False)
class PredictionPowered(View):
    """Result of `prediction_powered`.

    Attributes
    ----------
    table : DataFrame
        One row per measure and run: ``measure name``; ``n_human`` and ``n_further``, the numbers n of topics with
        human values and N of further topics; ``estimate low high``, the prediction-powered mean and its interval;
        ``lambda``, the weight of the model's values, from 0 to 1; ``human human_low human_high``, the mean and
        Student's t interval of the human values alone; ``model model_low model_high``, those of the model's values
        on all topics; ``n_to_halve``, the number of human topics at which the interval would be half as wide with
        the same N (NaN if the width is 0, or no number is enough).
    differences : DataFrame or None
        The same for the paired differences, run minus baseline, with one row per measure and other run, and the
        column ``baseline``; None without a baseline.
    baseline : str or None
        The run that the others are compared with.
    ci : float
        The confidence level.

    Notes
    -----
    Stability: provisional. It is the result of `prediction_powered`, which may change.

    Examples
    --------
    See `prediction_powered`.
    """

    table: pd.DataFrame
    differences: pd.DataFrame | None
    baseline: str | None
    ci: float

    @property
    def notes(self) -> list[str]:
        """The assumptions and limits of the intervals."""
        assumed = (
            f"{100 * self.ci:g} % intervals. The n human topics are assumed to be a random sample of all topics. N "
            "counts the topics that only the model judged, not those among the n. The interval of the labels alone "
            "ignores the model's errors."
        )
        to_halve = (
            "To halve: the number of human topics that would halve the interval, with the same N and λ tuned for "
            "that number. With the present λ, more human topics may not halve it: the term λ²·var/N remains."
        )
        notes = [assumed, to_halve]
        if (self.table["n_further"] == 0).any():
            notes.append("Where N is 0, the model judged no further topics, and its labels have no effect.")
        is_constant = self.table["low"] == self.table["high"]
        if is_constant.any():
            rows = self.table[is_constant]
            constant = [f"{measure} of {name}" for measure, name in zip(rows["measure"], rows["name"], strict=True)]
            notes.append(f"All human values are equal, so that the interval has no width: {choices(constant)}.")
        return notes

    def _title(self) -> str:
        return "Prediction-powered estimates"

    def _blocks(self) -> list[Block]:
        blocks: list[Block] = [Heading(self._title()), estimates_table(self.table)]
        if self.differences is not None:
            blocks += [Heading(f"Differences from {self.baseline}"), estimates_table(self.differences)]
        return [*blocks, *map(Sentence, self.notes)]


def estimates_table(frame: pd.DataFrame) -> Table:
    """Return the table of estimates and intervals."""
    rows: list[Cells] = []
    for row in frame.to_dict("records"):
        estimates = [
            Cell(decimals(row[mean]), after=f"[{decimals(row[low])}, {decimals(row[high])}]")
            for mean, low, high in (
                ("estimate", "low", "high"),
                ("human", "human_low", "human_high"),
                ("model", "model_low", "model_high"),
            )
        ]
        to_halve = "-" if math.isnan(row["n_to_halve"]) else f"{row['n_to_halve']:.0f}"
        numbers = [f"{row['lambda']:.2f}", str(row["n_human"]), str(row["n_further"]), to_halve]
        rows.append([str(row["measure"]), str(row["name"]), *estimates, *numbers])
    names = [Column(head, left=True, shorten=12) for head in ("measure", "name")]
    heads = ("estimate", "human topics alone", "labels alone", "λ", "n", "N", "to halve")
    return Table([*names, *map(Column, heads)], rows, most=len(rows))


def prediction_powered(
    human: Any, model: Any, *, baseline: str | None = None, ci: float = 0.95
) -> PredictionPowered:
    """Estimate means from human judgments on few topics and a model's judgments on many.

    Parameters
    ----------
    human : DataFrame
        Per-query values by human judgments on n topics, at least 4, drawn at random from all topics: columns
        ``name qid measure value``, as `pt_multiaspect.evaluate` and ``pt.Experiment(perquery=True)`` return. With
        ``average_over="positive"``, topics without a positive document would count as not judged.
    model : DataFrame
        Per-query values of the same runs and measures by a model's judgments (or clicks, or other labels), on the
        same n topics and N further ones.
    baseline : str, optional
        The run that the others are compared with; the differences on each topic are treated like values of a run.
    ci : float in (0, 1), default 0.95
        Confidence level of the intervals.

    Returns
    -------
    PredictionPowered
        ``table`` has one row per measure and run, ``differences`` one per measure and run other than the baseline.

    Raises
    ------
    MultiAspectError
        If there are fewer than 4 human topics, the model lacks a human topic, a run or measure is in one frame
        only, runs have different topics, rows are duplicated, the aggregate of a measure is not the mean (as for
        GMAP), or a frame contains aggregates.

    Warns
    -----
    MultiAspectWarning
        If values are NaN, as PyTerrier's for topics without judgments: these are left out, as in
        `pt_multiaspect.aggregate`.

    Notes
    -----
    Let H be the human values and L the model's on the same n topics, and L' the model's on the N topics that are
    not among them. The estimate is λ·mean(L') + mean(H − λL): the model's mean, corrected by its mean error on the
    human topics. It is unbiased for the human mean over all topics up to terms of order 1/n, however biased the
    model is, if the human topics are a random sample of all topics; not if they were chosen, such as the easiest or
    the first ones. λ is cov(H, L) / ((1 + n/N)·var(L and L')), limited to [0, 1], which minimises the variance
    ("power tuning", PPI++). For a useless model, constant labels or N = 0, λ is 0: the estimate is that of the
    human topics alone.

    The interval is estimate ± t·√(λ²·var(L')/N + s²/n), where s² is the variance of H − λL with the divisor
    n − 2, and t the quantile with n − 2 degrees of freedom, as λ is estimated from the same topics. The usual
    interval, with the divisor n and the normal quantile, has too low a coverage (.82, .89, .92 instead of .95
    with 6, 12, 20 topics). Intervals are not cut off at the range of the measure. As all t intervals, they have too
    low a coverage if the values of a run are skewed over topics: in simulations with 6 to 20 human topics, that of
    95 % intervals is .94 to .95 up to a skewness of 0.6, .91 to .94 for 0.9 to 1.4, .87 to .91 for 1.9, and less
    for runs with a value of 0 on nearly all topics.

    *How many topics.* Estimating λ costs precision: if the correlation of H and L is ρ, the variance decreases by
    the factor (1 − ρ²)·(n − 2)/(n − 3) for large N (Lavenberg, Moeller, Welch), which is below 1 only if
    ρ² > 1/(n − 2). With n = 3, no correlation suffices, so n − 2 ≥ 2 is required, at least 4 topics; with 4, 6 and
    12 human topics the labels help from correlations of .71, .50 and .32 on.

    *How many would halve the interval* (``n_to_halve``). With N fixed, four terms depend on n: 1/n, the quantile,
    λ, and with λ the variance of H − λL. The term λ²·var(L')/N depends on n through λ only: with the present λ, it
    is a lower limit, and possibly no number of human topics halves the width. But λ is tuned for every n and
    decreases to 0, so that the width approaches that of the human topics alone, and some number of topics
    suffices; where N is small, more than four times as many. The number assumes that the variances and the
    covariance do not change.

    Stability: provisional. Methods for judgments by models are still developing.

    References
    ----------
    Angelopoulos, Duchi, Zrnic: PPI++: Efficient Prediction-Powered Inference. arXiv 2311.01453 (2023).
    Oosterhuis, Jagerman, Qin, Wang, Bendersky: Reliable Confidence Intervals for Information Retrieval Evaluation
    Using Generative A.I. KDD 2024.
    Lavenberg, Moeller, Welch: Statistical Results on Control Variables with Application to Queueing Network
    Simulation. Operations Research 30 (1982).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pt_multiaspect import analysis
    >>> rng = np.random.default_rng(0)
    >>> values = {name: rng.uniform(0, 0.8, 60) for name in "ab"}
    >>> def perquery(n_topics, bias=0.0, noise=0.0):
    ...     rows = [
    ...         (name, f"q{n}", "nDCG@10", values[name][n] + bias + noise * (-1) ** n)
    ...         for name in values
    ...         for n in range(n_topics)
    ...     ]
    ...     return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> powered = analysis.prediction_powered(perquery(12), perquery(60, bias=0.1, noise=0.05))
    >>> columns = ["name", "n_human", "n_further", "estimate", "low", "high", "lambda", "human", "model"]
    >>> powered.table[columns].round(2)
      name  n_human  n_further  estimate   low  high  lambda  human  model
    0    a       12         48      0.40  0.32  0.48    0.95   0.42   0.50
    1    b       12         48      0.43  0.34  0.52    0.60   0.36   0.56
    """
    confidence = proportion("ci")(ci)
    table, differences = [], []
    for label, names, arrays in _pair_values(_read(human, "human"), _read(model, "model")):
        table.append(_rows({"measure": label, "name": names}, arrays, confidence))
        if baseline is None:
            continue
        refuse_unknown([baseline], map(str, names), "one of the runs", "baseline")
        against = list(map(str, names)).index(baseline)
        others = [name for name in names if str(name) != baseline]
        if not others:
            raise MultiAspectError(f"baseline: expected a run to compare with {baseline}, got no other")
        paired = tuple(np.delete(_differences(values, against), against, axis=0) for values in arrays)
        keys = {"measure": label, "baseline": baseline, "name": others}
        differences.append(_rows(keys, (paired[0], paired[1], paired[2]), confidence))
    return PredictionPowered(
        pd.concat(table, ignore_index=True),
        pd.concat(differences, ignore_index=True) if differences else None,
        baseline,
        confidence,
    )


def _read(perquery: Any, title: str) -> pd.DataFrame:
    """Return a long frame without values that are NaN."""
    try:
        frame = read_long_frame(perquery)
        if frame.empty:
            raise MultiAspectError("expected at least one row in the long frame, got none")
        return drop_missing(frame, f"prediction_powered: {title}")
    except MultiAspectError as error:
        raise MultiAspectError(f"{title}: {error}") from None


_Arrays = tuple[Floats, Floats, Floats]


def _pair_values(human: pd.DataFrame, model: pd.DataFrame) -> Iterator[tuple[Any, list[Any], _Arrays]]:
    """Yield each measure, its runs in the order of the model's frame, and the values H, L and L', runs × topics."""
    _check_same(human, model, "measure")
    _check_means(human)
    _check_means(model)
    by_label = {str(measure): rows for measure, rows in by_measure(human)}
    for label, model_rows in by_measure(model):
        human_rows = by_label[str(label)]
        _check_same(human_rows, model_rows, "name", f"{label}: ")
        values, names, qids = _matrix(human_rows, "human")
        labels, _, topics = _matrix(model_rows, "model")
        _check_topics(str(label), qids, topics)
        position = {str(qid): column for column, qid in enumerate(topics)}
        columns = np.array([position[str(qid)] for qid in qids], dtype=np.intp)
        row_of = {str(name): row for row, name in enumerate(names)}
        in_order = model_rows["name"].unique().tolist()
        rows: Ints = np.array([row_of[str(name)] for name in in_order], dtype=np.intp)
        further = np.delete(labels, columns, axis=1)
        yield label, in_order, (values[rows], labels[np.ix_(rows, columns)], further[rows])


def _matrix(perquery: pd.DataFrame, title: str) -> tuple[Floats, list[Any], list[Any]]:
    """Return the values of one measure, systems × topics, and the systems and topics, both sorted as text."""
    with errors_of(title):
        values, names, qids, _ = matrix(perquery, least=1)
    return values[:, :, 0], names, qids


def _check_same(human: pd.DataFrame, model: pd.DataFrame, column: str, where: str = "") -> None:
    """Check that two frames have the same runs or measures."""
    noun = {"name": "runs", "measure": "measures"}[column]
    first, second = ({str(value): None for value in frame[column].unique()} for frame in (human, model))
    for title, own, others in (("human", first, second), ("model", second, first)):
        surplus = [value for value in own if value not in others]
        if surplus:
            raise MultiAspectError(
                f"{where}expected the same {noun} in human and model, got {choices(surplus)} in {title} only; "
                "evaluate the same runs by the same measures on both judgments, or leave them out"
            )


def _check_means(perquery: pd.DataFrame) -> None:
    """Check that the aggregates of all measures are means."""
    for label, measure in measures_by_label(perquery).items():
        if not aggregate_is_mean(measure):
            raise MultiAspectError(
                f"expected measures whose aggregate is the mean over topics, got {label} ({measure}); leave it out"
            )


def _check_topics(label: str, human: list[Any], model: list[Any]) -> None:
    """Check that there are enough human topics, and that the model judged all of them."""
    lacking = sorted(set(map(str, human)) - set(map(str, model)))
    if lacking:
        remedy = (
            "Are human and model swapped?"
            if len(human) > len(model)
            else "Evaluate the runs on the model's judgments of these topics too, or leave the topics out"
        )
        raise MultiAspectError(
            f"{label}: expected all {len(human)} topics of human in model, which has {len(model)} topics, got none "
            f"for topic {lacking[0]} {tally(len(lacking), 'topic')}. {remedy}"
        )
    if len(human) < LEAST_TOPICS:
        raise MultiAspectError(
            f"{label}: expected at least {LEAST_TOPICS} human topics, got {len(human)}: fewer do not suffice "
            "to estimate the errors of the model. Judge more topics"
        )


def _differences(values: Floats, baseline: int) -> Floats:
    """Return the values minus those of the baseline, 0 where they differ by rounding errors only."""
    differences: Floats = values - values[baseline]
    differences[np.abs(differences) <= _TOLERANCE * np.abs(values).max(initial=0.0)] = 0.0
    return differences


def _rows(keys: dict[str, Any], arrays: _Arrays, confidence: float) -> pd.DataFrame:
    """Return the estimates of one measure, from H, L and L', runs × topics."""
    human, labels, further = arrays
    every = np.concatenate([labels, further], axis=1)
    moments = _Moments.of(human, labels, further)
    n_human = np.full(len(human), human.shape[1])
    weight = moments.weight(n_human)
    residuals = human - weight[:, None] * labels
    estimate = residuals.mean(axis=1)
    if further.shape[1]:
        estimate += weight * further.mean(axis=1)
    half = moments.half_width(n_human, confidence, _variance(residuals))
    columns = {
        **keys,
        "n_human": n_human,
        "n_further": further.shape[1],
        **_ends("", estimate, half),
        "lambda": weight,
        **_ends("human", human.mean(axis=1), half_width(human, confidence)),
        **_ends("model", every.mean(axis=1), half_width(every, confidence)),
        "n_to_halve": _n_to_halve(moments, half, n_human, confidence),
    }
    return pd.DataFrame(columns)


def _ends(prefix: str, mean: Floats, half: Floats) -> dict[str, Floats]:
    """Return the columns of means with intervals."""
    low, high = (f"{prefix}_low", f"{prefix}_high") if prefix else ("low", "high")
    return {prefix or "estimate": mean, low: mean - half, high: mean + half}


@dataclass(frozen=True)
class _Moments:
    """The variances and covariances that determine the width of the interval, one per run.

    All but the last two have the divisor n − 1.
    """

    human: Floats
    labels: Floats
    covariance: Floats
    #: The number of human topics.
    n: int
    #: The number of further topics, and the variances of their labels and of all labels.
    n_further: int
    further: Floats
    every: Floats

    @classmethod
    def of(cls, human: Floats, labels: Floats, further: Floats) -> _Moments:
        """Return the moments of H, L and L', runs × topics."""
        every = np.concatenate([labels, further], axis=1)
        n, n_further = human.shape[1], further.shape[1]
        spread = _variance(every)
        products = (human - human.mean(axis=1, keepdims=True)) * (labels - labels.mean(axis=1, keepdims=True))
        is_constant = (_variance(human) == 0) | (_variance(labels) == 0)
        covariance = np.where(is_constant, 0.0, products.sum(axis=1) / (n - 1))
        # The variance of a single further topic is undefined; that of all labels estimates the same quantity.
        further_variance = _variance(further) if n_further > 1 else spread
        return cls(_variance(human), _variance(labels), covariance, n, n_further, further_variance, spread)

    def weight(self, n: Ints) -> Floats:
        """Return λ for n human topics, one per run."""
        if self.n_further == 0:
            return np.zeros(len(self.human))
        covariance = self.covariance * (self.n - 1) / self.n  # with the divisor n, as in PPI++
        scale = (1 + n / self.n_further) * self.every
        ratio = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        return np.asarray(ratio.clip(0, 1), dtype=np.float64)

    def half_width(self, n: Ints, confidence: float, residual: Floats | None = None) -> Floats:
        """Return half the width of the interval for n human topics, one per run.

        The variance of the residuals follows from the moments; if it is given, rounding errors are smaller.
        """
        from scipy.special import stdtrit

        weight = self.weight(n)
        if residual is None:
            residual = (self.human - 2 * weight * self.covariance + weight**2 * self.labels).clip(min=0)
        error = residual * (self.n - 1) / (self.n - 2) / n
        error += weight**2 * self.further / max(self.n_further, 1)
        return np.asarray(stdtrit(n - 2, (1 + confidence) / 2) * np.sqrt(error), dtype=np.float64)


def _variance(values: Floats) -> Floats:
    """Return the variance with the divisor n − 1 of each row, 0 if values differ by rounding errors only."""
    spread = np.ptp(values, axis=1) > _TOLERANCE * np.abs(values).max(axis=1)
    return np.asarray(np.where(spread, values.var(axis=1, ddof=1), 0.0), dtype=np.float64)


def _n_to_halve(moments: _Moments, half: Floats, n_human: Ints, confidence: float) -> Floats:
    """Return the number of human topics that halves the width, by bisection; NaN if it is 0 or no number does."""

    def is_short(n: Ints) -> Bools:
        return moments.half_width(n, confidence) > half / 2

    low, high = n_human, 4 * n_human
    while ((short := is_short(high)) & (high < _MOST_TOPICS)).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        short = is_short(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.where((half > 0) & ~is_short(high), high, np.nan)
