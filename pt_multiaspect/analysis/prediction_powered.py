"""Prediction-powered intervals: means from few human judgments and many judgments of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import proportion, real
from ..errors import (
    MultiAspectError,
    choices,
    errors_of,
    parameter,
    refuse_none,
    refuse_unknown,
    tally,
)
from ..evaluation.long_frames import drop_missing, measures_by_label, read_long_frame
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters,
    clusters_in_words,
    clusters_of_topics,
    read_clusters,
    topics_in_words,
)
from ..integration.aggregators import aggregate_is_mean
from ..kernels.hits import ratio
from ..kernels.intervals import half_width, power_of_double_sampling, power_of_t_test
from ..kernels.mean_errors import Clusters, design_effect, t_quantile, variance
from ..kernels.rounding import remove_rounding_errors
from ..views import Block, Heading, Sentence, Table, View, fixed_point, records_table, with_interval
from ._value_matrices import by_measure, matrix

#: The minimum number of human topics; see the Notes of `prediction_powered`.
LEAST_TOPICS = 4

#: The degrees of freedom of clusters with human topics that must be exceeded, as the slope costs
#: one.
_LEAST_FREEDOM = 2


@dataclass(frozen=True, repr=False)
class PredictionPowered(View):
    """Result of `prediction_powered`.

    Attributes
    ----------
    table : DataFrame
        One row per measure and run: ``measure name``; ``n_human`` and ``n_further``, the numbers n
        of topics with human values and N of further topics; ``estimate low high``, the
        prediction-powered mean and its interval; ``lambda``, the weight of the model's values, from
        0 to 1; ``human human_low human_high``, the mean and Student's t interval of the human
        values alone; ``model model_low model_high``, those of the model's values on all topics;
        ``sd``, the standard deviation of the human values, and ``error_sd``, that of what the
        labels leave unexplained of them; ``n_to_halve``, the number of human topics, of all n + N,
        at which the interval would be half as wide (NaN if the width is 0, or no number is enough).
        With ``cluster=``, the standard deviations are those of clusters, and ``n_to_halve`` is NaN:
        clusters are not planned.
    differences : DataFrame or None
        The same for the paired differences, run minus baseline, with one row per measure and other
        run, and the column ``baseline``; None without a baseline.
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
    #: Notes on the clusters of topics; empty without clusters.
    _clusters: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """The assumptions and limits of the intervals."""
        assumed = (
            f"{100 * self.ci:g} % intervals. The n human topics are assumed to be a random sample "
            "of all topics. N counts the topics that only the model judged, not those among the n. "
            "The interval of the labels alone ignores the model's errors."
        )
        notes = [assumed]
        notes += [f"{note}." for note in self._clusters]
        if not self._clusters:
            notes.append(
                "To halve: the number of human topics, of all n + N topics, that would halve the "
                "interval; - if none does. human_topics(width=…) says it for other widths."
            )
        if (self.table["n_further"] == 0).any():
            notes.append(
                "Where N is 0, the model judged no further topics, and its labels have no effect."
            )
        is_constant = self.table["low"] == self.table["high"]
        if is_constant.any():
            rows = self.table[is_constant]
            names = zip(rows["measure"], rows["name"], strict=True)
            constant = [f"{measure} of {name}" for measure, name in names]
            notes.append(
                "All human values are equal, so that the interval has no width: "
                f"{choices(constant)}."
            )
        return notes

    def human_topics(
        self, *, width: float | None = None, difference: float | None = None, power: float = 0.8
    ) -> pd.DataFrame:
        """Compute how many of the topics people must judge.

        Parameters
        ----------
        width : float, optional
            The width of the interval, high − low, above 0.
        difference : float, optional
            Instead of a width, the difference that is to be found, above 0: the interval of a run
            minus the baseline is to exclude 0. Without a baseline, that of a mean is to exclude a
            value at this distance.
        power : float in (0, 1), default 0.8
            The probability of finding the difference, above 1 − ci.

        Returns
        -------
        DataFrame
            One row per row of `differences`, or of `table` without a baseline: ``measure``,
            ``baseline`` and ``name``; ``n_topics``, the number n + N of topics that the model
            judged; ``n_needed``, the least number of these, at least 4, that people must judge (NaN
            if not even all are enough, or all values are equal).

        Raises
        ------
        MultiAspectError
            If not one of `width` and `difference` is given, a number is out of range, or topics are
            in clusters.

        Notes
        -----
        See `prediction_powered`.

        Examples
        --------
        >>> import pandas as pd
        >>> from pt_multiaspect import analysis
        >>> human = [0.3, 0.1, 0.46, 0.19, 0.26, 0.26]
        >>> model = [0.41, 0.21, 0.48, 0.17, 0.32, 0.61, 0.78, 0.63, 0.43, 0.25, 0.11, 0.32, 0.71, 0.77, 0.8, 0.19]
        >>> frames = [
        ...     pd.DataFrame([("a", f"q{n}", "AP", value) for n, value in enumerate(part)])
        ...     .set_axis(["name", "qid", "measure", "value"], axis=1)
        ...     for part in (human, model)
        ... ]
        >>> powered = analysis.prediction_powered(*frames)
        >>> powered.human_topics(width=0.2)
          measure name  n_topics  n_needed
        0      AP    a        16       9.0
        >>> powered.human_topics(difference=0.15, power=0.9)["n_needed"].tolist()
        [9.0]
        """
        if self._clusters:
            raise MultiAspectError(
                "human_topics is not defined with cluster=: what further topics of a cluster tell "
                "depends on their correlation, which few clusters estimate badly"
            )
        if width is None and difference is None:
            raise MultiAspectError("expected either width or difference, got none")
        if width is not None and difference is not None:
            raise MultiAspectError("expected either width or difference, got both")
        if self.differences is None:
            rows = self.table
        else:
            rows = self.differences
        n_further = rows["n_further"].to_numpy(dtype=np.float64)
        n_topics = (rows["n_human"] + rows["n_further"]).to_numpy(dtype=np.float64)
        plan = _Plan(rows["sd"].to_numpy(), rows["error_sd"].to_numpy(), n_topics, self.ci)
        if width is not None:
            half = real("width", low=0, open_low=True)(width) / 2
            needed = plan.least(lambda n: plan.is_narrow(n, half))
        else:
            wanted = real("difference", low=0, open_low=True)(difference)
            chance = proportion("power")(power)
            if chance <= 1 - self.ci:
                raise MultiAspectError(
                    f"power: expected a probability above 1 − ci, {1 - self.ci:g}, got {chance:g}"
                )
            slope = ratio(rows["lambda"].to_numpy() * n_topics, n_further)
            needed = plan.least(lambda n: plan.has_power(n, wanted, chance, slope))
        keys = [key for key in ("measure", "baseline", "name") if key in rows]
        return rows[keys].assign(n_topics=n_topics.astype(np.int64), n_needed=needed)

    def _title(self) -> str:
        return "Prediction-powered estimates"

    def _content(self) -> list[Block]:
        blocks: list[Block] = [estimates_table(self.table)]
        if self.differences is not None:
            blocks.append(Heading(f"Differences from {self.baseline}"))
            blocks.append(estimates_table(self.differences))
        blocks += [Sentence(note) for note in self.notes]
        return blocks


def estimates_table(frame: pd.DataFrame) -> Table:
    """Return the table of estimates and intervals."""
    cells: dict[str, Any] = {
        "estimate": lambda row: with_interval(row, "estimate"),
        "human topics alone": lambda row: with_interval(row, "human", "human_low", "human_high"),
        "labels alone": lambda row: with_interval(row, "model", "model_low", "model_high"),
        "λ": lambda row: f"{row['lambda']:.2f}",
        "n": "n_human",
        "N": "n_further",
        "to halve": lambda row: fixed_point(row["n_to_halve"], 0),
    }
    return records_table(frame, ("measure", "name"), cells)


def prediction_powered(
    human: Any,
    model: Any,
    *,
    baseline: str | None = None,
    ci: float = 0.95,
    cluster: ClusterSpec = None,
) -> PredictionPowered:
    """Estimate means from human judgments on few topics and a model's judgments on many.

    Parameters
    ----------
    human : DataFrame
        Per-query values by human judgments on n topics, at least 4, drawn at random from all
        topics: columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. With ``average_over="positive"``, topics without a
        positive document would count as not judged.
    model : DataFrame
        Per-query values of the same runs and measures by a model's judgments (or clicks, or other
        labels), on the same n topics and N further ones.
    baseline : str, optional
        The run that the others are compared with; the differences on each topic are treated like
        values of a run.
    ci : float in (0, 1), default 0.95
        Confidence level of the intervals.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`: a
        column of `model`, or clusters of its topics.

    Returns
    -------
    PredictionPowered
        ``table`` has one row per measure and run, ``differences`` one per measure and run other
        than the baseline.

    Raises
    ------
    MultiAspectError
        If there are fewer than 4 human topics, the model lacks a human topic, a run or measure is
        in one frame only, runs have different topics, rows are duplicated, the aggregate of a
        measure is not the mean (as for NumRet), or a frame contains aggregates. With `cluster`, if
        a topic has no cluster or several, or the human topics leave at most 2 degrees of freedom.

    Warns
    -----
    MultiAspectWarning
        If values are NaN, as PyTerrier's for topics without judgments: these are left out, as in
        `pt_multiaspect.aggregate`. If clusters leave fewer than 5 degrees of freedom; if none are
        given, but query ids look like those of groups (``106_1``, ``106_2``).

    Notes
    -----
    Let H be the human values and L the model's on the same n topics, and L' the model's on the N
    topics that are not among them. The estimate is mean(H) + λ·(mean(L') − mean(L)): the human
    mean, corrected by how much the model's values of the further topics differ. It is unbiased for
    the human mean over all topics up to terms of order 1/n, however biased the model is, if the
    human topics are a random sample of all topics; not if they were chosen, such as the easiest or
    the first ones. λ is b·N/(n + N), where b is the slope cov(H, L) / var(L) on the human topics,
    limited to [0, 1]. For useless labels, λ is 0: the estimate is that of the human topics alone.

    This is the regression estimator of double sampling, where all topics have a cheap value and a
    random sample has the expensive one, too. It is the estimator of PPI++ but for λ: PPI++ (and its
    package ppi_py) divides by the variance of the labels of all topics, this one by that of the
    human topics, as the covariance is theirs. Errors of the two cancel: the error of the estimate
    is lower by 6 to 21 % where labels are good, and coverage is nearer to the confidence level.

    The interval is estimate ± t·√(s²·(1/n + δ²/SS) + b²·var(L and L')/(n + N)), where s² is the
    variance of H − bL with the divisor n − 2, δ = N/(n + N)·(mean(L') − mean(L)), SS the sum of
    squares of L around its mean, and t the quantile with n − 2 degrees of freedom. If L is constant
    or N = 0, it is Student's t interval of the human topics. Intervals are not cut off at the range
    of the measure. As all t intervals, they have too low a coverage if few topics are judged and
    values are skewed over topics: the page *Judged by a model* has tables.

    With `cluster`, V is the CR2 estimate of the variance of the mean of e = H − bL over the human
    topics, and ν its degrees of freedom, which must exceed 2. The squared half width is t² times
    V·ν/(ν − 1)·(1 + nδ²/SS) + b² times the CR2 estimate for L and L' + 2bC, but at least V, with ν
    − 1 degrees of freedom. C is the covariance of the means of e and of all labels over different
    topics of the same clusters, 0 if each has one topic.

    *How many topics.* Estimating b costs precision: if the correlation of H and L is ρ, the
    variance decreases by the factor (1 − ρ²)·(n − 2)/(n − 3) for large N (Lavenberg, Moeller,
    Welch), which is below 1 only if ρ² > 1/(n − 2). With n = 3, no correlation suffices, so at
    least 4 topics are required.

    ``n_to_halve`` and `PredictionPowered.human_topics` expect, if people judge n of the n + N
    topics, the variance σ²/n·((1 − ρ²)·(1 + k/(n − 3)) + ρ²·(1 − k)) with k = N/(n + N), where σ is
    ``sd`` and 1 − ρ² the square of ``error_sd / sd``, at most 1.

    *Power* is that of this interval in 10 000 draws of normal values and labels with σ, ρ and b,
    with a fixed seed: its standard error is some .002. As n is a whole number, the power of
    ``n_needed`` topics may be well above the intended one. All this takes σ, ρ and b at their word;
    those of few topics are uncertain.

    Stability: provisional. Methods for judgments by models are still developing.

    References
    ----------
    Cochran: Sampling Techniques. Wiley (1977), chapter 12.
    Angelopoulos, Duchi, Zrnic: PPI++: Efficient Prediction-Powered Inference. arXiv 2311.01453
    (2023). Oosterhuis, Jagerman, Qin, Wang, Bendersky: Reliable Confidence Intervals for
    Information Retrieval Evaluation Using Generative A.I. KDD 2024.
    Lavenberg, Moeller, Welch: Statistical Results on Control Variables with Application to Queueing
    Network Simulation. Operations Research 30 (1982).

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
    0    a       12         48      0.41  0.33  0.48    0.76   0.42   0.50
    1    b       12         48      0.46  0.38  0.54    0.80   0.36   0.56
    """
    confidence = proportion("ci")(ci)
    human_frame = _read(human, "human")
    model_frame = _read(model, "model")
    cluster_of_topic = read_clusters(cluster, model_frame)
    human_values = _drop_missing(human_frame, "human")
    model_values = _drop_missing(model_frame, "model")
    tables, tables_of_differences = [], []
    notes: dict[str, None] = {}
    for label, names, qids, values in _pair_values(human_values, model_values):
        clusters = clusters_of_topics(cluster_of_topic, qids)
        judged = check_clusters(clusters.take(np.arange(values.human.shape[1])))
        if not judged.are_single_topics:
            notes[_clusters_note(values.human, judged)] = None
        keys = {"measure": label, "name": names}
        tables.append(_estimates(keys, confidence, clusters, values))
        if baseline is None:
            continue
        row = _row_of_baseline(baseline, list(map(str, names)))
        keys = {"measure": label, "baseline": baseline, "name": names[:row] + names[row + 1 :]}
        differences = values.minus_baseline(row)
        tables_of_differences.append(_estimates(keys, confidence, clusters, differences))
    differences_of_all = None
    if tables_of_differences:
        differences_of_all = pd.concat(tables_of_differences, ignore_index=True)
    table = pd.concat(tables, ignore_index=True)
    return PredictionPowered(table, differences_of_all, baseline, confidence, tuple(notes))


def _row_of_baseline(baseline: str, names: list[str]) -> int:
    """Return the row of the baseline, after checking that there are other runs."""
    refuse_unknown([baseline], names, "one of the runs", "baseline")
    if names == [baseline]:
        raise MultiAspectError(f"baseline: expected a run to compare with {baseline}, got no other")
    return names.index(baseline)


@dataclass(frozen=True, eq=False)
class _Values:
    """The values H, L and L' of one measure, each runs × topics."""

    #: H: human values of the n human topics.
    human: Floats
    #: L: the model's values of the same topics.
    labels: Floats
    #: L': the model's values of the N further topics.
    further: Floats

    @property
    def all_labels(self) -> Floats:
        """The model's values of all topics, L and L'."""
        return np.concatenate([self.labels, self.further], axis=1)

    def minus_baseline(self, row: int) -> _Values:
        """Return the differences of the other runs from the run of a row."""
        return _Values(
            _differences(self.human, row),
            _differences(self.labels, row),
            _differences(self.further, row),
        )


def _read(perquery: Any, title: str) -> pd.DataFrame:
    """Return a long frame, in which values may be NaN."""
    with errors_of(title):
        frame = read_long_frame(perquery)
        refuse_none(frame, "row in the long frame")
    return frame


def _drop_missing(perquery: pd.DataFrame, title: str) -> pd.DataFrame:
    """Return a long frame without values that are NaN."""
    with errors_of(title):
        return drop_missing(perquery, f"prediction_powered: {title}")


def _pair_values(
    human: pd.DataFrame, model: pd.DataFrame
) -> Iterator[tuple[Any, list[Any], list[Any], _Values]]:
    """Yield each measure, its runs in the order of the model's frame, its topics, and its values.

    The topics are those of L, and then those of L'.
    """
    _check_same(human, model, "measure")
    _check_means(human)
    _check_means(model)
    by_label = {str(measure): rows for measure, rows in by_measure(human)}
    for label, model_rows in by_measure(model):
        human_rows = by_label[str(label)]
        _check_same(human_rows, model_rows, "name", f"{label}: ")
        with errors_of("human"):
            remedy = "judge it for all systems"
            human_values, names, qids, _ = matrix(human_rows, least=1, gap_remedy=remedy)
        with errors_of("model"):
            remedy = "let the model judge it for all systems"
            model_values, _, topics, _ = matrix(model_rows, least=1, gap_remedy=remedy)
        _check_topics(str(label), qids, topics)
        in_order = model_rows["name"].unique().tolist()
        runs = _positions(in_order, names)
        human_topics = _positions(qids, topics)
        further_topics = np.setdiff1d(np.arange(len(topics)), human_topics)
        of_model = model_values[:, :, 0]
        values = _Values(
            human_values[:, :, 0][runs],
            of_model[np.ix_(runs, human_topics)],
            of_model[np.ix_(runs, further_topics)],
        )
        ordered_topics = [topics[column] for column in (*human_topics, *further_topics)]
        yield label, in_order, ordered_topics, values


def _positions(items: list[Any], among: list[Any]) -> Ints:
    """Return the positions of items in a list that has all of them."""
    names = pd.Index(list(map(str, among)))
    return names.get_indexer(pd.Index(list(map(str, items))))


def _check_same(human: pd.DataFrame, model: pd.DataFrame, column: str, where: str = "") -> None:
    """Check that two frames have the same runs or measures."""
    of_human = list(map(str, human[column].unique()))
    of_model = list(map(str, model[column].unique()))
    for title, own, others in (("human", of_human, of_model), ("model", of_model, of_human)):
        surplus = [value for value in dict.fromkeys(own) if value not in others]
        if surplus:
            noun = {"name": "runs", "measure": "measures"}[column]
            raise MultiAspectError(
                f"{where}expected the same {noun} in human and model, got {choices(surplus)} in "
                f"{title} only; evaluate the same runs by the same measures on both judgments, or "
                "leave them out"
            )


def _check_means(perquery: pd.DataFrame) -> None:
    """Check that the aggregates of all measures are means."""
    for label, measure in measures_by_label(perquery).items():
        if not aggregate_is_mean(measure):
            raise MultiAspectError(
                f"expected measures whose aggregate is the mean over topics, got {label} "
                f"({measure}); leave it out"
            )


def _check_topics(label: str, human: list[Any], model: list[Any]) -> None:
    """Check that there are enough human topics, and that the model judged all of them."""
    lacking = sorted(set(map(str, human)) - set(map(str, model)))
    if lacking:
        if len(human) > len(model):
            remedy = f"Are {parameter('human')} and {parameter('model')} swapped?"
        else:
            remedy = (
                "Evaluate the runs on the model's judgments of these topics too, or leave the "
                "topics out"
            )
        raise MultiAspectError(
            f"{label}: expected all {len(human)} topics of {parameter('human')} in "
            f"{parameter('model')}, which has {len(model)} topics, got none for topic "
            f"{lacking[0]} {tally(len(lacking), 'topic')}. {remedy}"
        )
    if len(human) < LEAST_TOPICS:
        raise MultiAspectError(
            f"{label}: expected at least {LEAST_TOPICS} human topics, got {len(human)}: fewer do "
            "not suffice to estimate the errors of the model. Judge more topics"
        )


def _differences(values: Floats, baseline: int) -> Floats:
    """Return the values of other runs minus those of the baseline.

    They are 0 where they differ by rounding errors only.
    """
    largest = np.abs(values).max(axis=1, initial=0.0)
    largest_of_both = np.maximum(largest, largest[baseline])
    differences = remove_rounding_errors(values - values[baseline], largest_of_both[:, None])
    return np.delete(differences, baseline, axis=0)


def _clusters_note(human: Floats, judged: Clusters) -> str:
    """Return a note on the clusters of the human topics."""
    words = clusters_in_words(judged, design_effect(human, judged))
    return f"Human topics: {words}, one less where λ is estimated"


def _estimates(
    keys: dict[str, Any], confidence: float, clusters: Clusters, values: _Values
) -> pd.DataFrame:
    """Return the estimates of one measure, from values with topics in the order of clusters."""
    human, labels, all_labels = values.human, values.labels, values.all_labels
    n = human.shape[1]
    n_further = values.further.shape[1]
    fraction_further = n_further / (n + n_further)
    judged = _check_freedom(clusters.take(np.arange(n)))
    mean = human.mean(axis=1)
    human_half = half_width(human, confidence, judged)
    slope = _slope(human, labels)
    weight = slope * n_further / (n + n_further)
    error_sd = _error_sd(human, labels, slope, judged)
    estimate, half = mean, human_half
    if n_further:
        distance = values.further.mean(axis=1) - labels.mean(axis=1)
        estimate = mean + weight * distance
        squared_error = _squared_error(
            human, all_labels, slope, error_sd, fraction_further * distance, clusters
        )
        # Labels that do not vary say nothing: the human topics alone remain.
        powered = t_quantile(judged.freedom - 1, confidence) * np.sqrt(squared_error)
        half = np.where(variance(labels) > 0, powered, human_half)
    sd = np.sqrt(variance(human, judged))
    to_halve = np.full(len(human), np.nan)
    if clusters.are_single_topics:
        n_topics = np.full(len(human), float(n + n_further))
        plan = _Plan(sd, error_sd, n_topics, confidence)
        to_halve = plan.least(lambda topics: plan.is_narrow(topics, half / 2), above=n)
    model_mean = all_labels.mean(axis=1)
    model_half = half_width(all_labels, confidence, clusters)
    columns = keys | {
        "n_human": n,
        "n_further": n_further,
        "estimate": estimate,
        "low": estimate - half,
        "high": estimate + half,
        "lambda": weight,
        "human": mean,
        "human_low": mean - human_half,
        "human_high": mean + human_half,
        "model": model_mean,
        "model_low": model_mean - model_half,
        "model_high": model_mean + model_half,
        "sd": sd,
        "error_sd": error_sd,
        "n_to_halve": to_halve,
    }
    return pd.DataFrame(columns)


def _check_freedom(judged: Clusters) -> Clusters:
    """Return the clusters of the human topics, if they leave enough degrees of freedom."""
    if judged.freedom > _LEAST_FREEDOM:
        return judged
    raise MultiAspectError(
        f"{parameter('cluster')}: expected human topics that leave more than {_LEAST_FREEDOM} "
        f"degrees of freedom, got {topics_in_words(judged)}. Judge topics of further clusters"
    )


def _slope(human: Floats, labels: Floats) -> Floats:
    """Return the slope b of H on L, limited to [0, 1], one per run."""
    n = human.shape[1]
    human_deviations = human - human.mean(axis=1, keepdims=True)
    label_deviations = labels - labels.mean(axis=1, keepdims=True)
    covariance = (human_deviations * label_deviations).sum(axis=1) / (n - 1)
    slope = ratio(covariance, variance(labels))
    return np.where(variance(human) > 0, slope, 0.0).clip(0, 1)


def _error_sd(human: Floats, labels: Floats, slope: Floats, judged: Clusters) -> Floats:
    """Return the standard deviation of H − b·L, of clusters if topics are in some, by run."""
    # One degree of freedom is lost to the slope, unless the labels do not vary.
    freedom = np.where(variance(labels) > 0, judged.freedom - 1, judged.freedom)
    residuals = human - slope[:, None] * labels
    squared_sd = variance(residuals, judged) * judged.freedom / freedom
    return np.asarray(np.sqrt(squared_sd))


def _squared_error(
    human: Floats, every: Floats, slope: Floats, error: Floats, distance: Floats, clusters: Clusters
) -> Floats:
    """Return the squared standard errors of the estimates, one per run.

    Parameters
    ----------
    human, every : ndarray, runs × topics
        The human values, and all labels, those of the human topics first.
    slope, error : ndarray, one per run
        As `_slope` and `_error_sd` return them.
    distance : ndarray, one per run
        The mean of all labels minus that of the human topics.
    clusters : Clusters
        The clusters of all topics.
    """
    n = human.shape[1]
    labels = every[:, :n]
    judged = clusters.take(np.arange(n))
    n_judged = len(judged)
    residuals = human - slope[:, None] * labels
    shift = ratio(distance**2, (n - 1) * variance(labels))  # δ² / SS
    of_residuals = error**2 * (1 / n_judged + n / n_judged * shift)
    of_labels = slope**2 * variance(every, clusters) / len(clusters)
    of_both = 2 * slope * _covariance_within_clusters(residuals, every, clusters)
    least = variance(residuals, judged) / n_judged
    return np.asarray(np.maximum(of_residuals + of_labels + of_both, least))


def _covariance_within_clusters(residuals: Floats, every: Floats, clusters: Clusters) -> Floats:
    """Return the covariance of mean residuals and labels over topics of the same clusters.

    Only different topics count: it is 0 if each cluster has one topic.
    """
    n = residuals.shape[1]
    of_residuals = np.zeros_like(every)
    of_residuals[:, :n] = (residuals - residuals.mean(axis=1, keepdims=True)) / n
    of_labels = (every - every.mean(axis=1, keepdims=True)) / every.shape[1]
    products_of_clusters = clusters.sums(of_residuals) * clusters.sums(of_labels)
    products_of_topics = of_residuals * of_labels
    return np.asarray(products_of_clusters.sum(axis=1) - products_of_topics.sum(axis=1))


@dataclass(frozen=True)
class _Plan:
    """Intervals to expect if people judge another number of the same topics."""

    sd: Floats
    error_sd: Floats
    #: The number of topics that the model judged, T = n + N.
    n_topics: Floats
    confidence: float

    def least(self, suffices: Callable[[Floats], Bools], above: float = LEAST_TOPICS - 1) -> Floats:
        """Return the least number of human topics that suffices.

        It is NaN if none does, or if values are equal.
        """
        low = np.full(len(self.sd), float(above))
        high = self.n_topics
        while (high - low > 1).any():
            middle = np.maximum(np.floor((low + high) / 2), LEAST_TOPICS)
            is_enough = suffices(middle)
            low = np.where(is_enough, low, middle)
            high = np.where(is_enough, middle, high)
        return np.where((self.sd > 0) & suffices(high), high, np.nan)

    def is_narrow(self, n: Floats, half: Floats | float) -> Bools:
        """Return whether half the width of the interval is at most `half` with n human topics."""
        fraction_further = 1 - n / self.n_topics
        freedom = np.where(n < self.n_topics, n - 2, n - 1)
        unexplained = np.minimum(self.error_sd, self.sd) ** 2
        explained = self.sd**2 - unexplained
        of_human = unexplained * (1 + fraction_further / (n - 3))
        of_labels = explained * (1 - fraction_further)
        error = np.sqrt((of_human + of_labels) / n)
        return np.asarray(t_quantile(freedom, self.confidence) * error <= half)

    def has_power(self, n: Floats, difference: float, power: float, slope: Floats) -> Bools:
        """Return whether the interval of n human topics excludes 0 with this probability."""
        alpha = 1 - self.confidence
        effects = ratio(np.array(difference), self.sd)
        unexplained = ratio(self.error_sd, self.sd).clip(max=1)
        # The slope, at most 1, in standard deviations.
        explained = np.sqrt(1 - unexplained**2)
        highest = np.full(len(n), np.inf)
        np.divide(explained, slope, out=highest, where=slope > 0)
        achieved = power_of_t_test(effects, n, alpha)
        for size, total in np.unique(np.stack([n, self.n_topics], axis=1), axis=0):
            if size >= total:
                continue
            rows = (n == size) & (self.n_topics == total)
            achieved[rows] = power_of_double_sampling(
                effects[rows], unexplained[rows], highest[rows], int(size), int(total), alpha
            )
        return achieved >= power
