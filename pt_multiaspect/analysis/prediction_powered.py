"""Prediction-powered intervals: means from few human judgments and many judgments of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

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
    _cluster_notes: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """The assumptions and limits of the intervals."""
        level = f"{100 * self.ci:g} %"
        assumptions = (
            f"{level} intervals. The n human topics are assumed to be a random sample "
            "of all topics. N counts the topics that only the model judged, not those among the n. "
            "The interval of the labels alone ignores the model's errors."
        )
        notes = [assumptions]
        notes += [f"{note}." for note in self._cluster_notes]
        # Clusters are not planned: there are no numbers to halve the interval.
        if not self._cluster_notes:
            notes.append(
                "To halve: the number of human topics, of all n + N topics, that would halve the "
                "interval; - if none does. human_topics(width=…) says it for other widths."
            )
        if (self.table["n_further"] == 0).any():
            notes.append(
                "Where N is 0, the model judged no further topics, and its labels have no effect."
            )
        constant = self._constant_values()
        if constant:
            names = choices(constant)
            notes.append(f"All human values are equal, so that the interval has no width: {names}.")
        return notes

    def _constant_values(self) -> list[str]:
        """Return the measures and runs of intervals without width, such as 'nDCG of bm25'."""
        has_no_width = self.table["low"] == self.table["high"]
        names = []
        for row in self.table[has_no_width].to_dict("records"):
            measure = row["measure"]
            run = row["name"]
            names.append(f"{measure} of {run}")
        return names

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
        >>> model = [0.41, 0.21, 0.48, 0.17, 0.32, 0.61, 0.78, 0.63]
        >>> model += [0.43, 0.25, 0.11, 0.32, 0.71, 0.77, 0.8, 0.19]
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
        if self._cluster_notes:
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
        n_all = rows["n_human"] + rows["n_further"]
        n_topics = n_all.to_numpy(dtype=np.float64)
        sd = rows["sd"].to_numpy()
        error_sd = rows["error_sd"].to_numpy()
        plan = _Plan(sd, error_sd, n_topics, self.ci)
        if width is not None:
            check_width = real("width", low=0, open_low=True)
            largest_margin = check_width(width) / 2
            n_needed = plan.topics_for_margin(largest_margin)
        else:
            check_difference = real("difference", low=0, open_low=True)
            least_difference = check_difference(difference)
            probability = self._check_power(power)
            slope = _slopes_from_weights(rows, n_topics)
            n_needed = plan.topics_for_power(least_difference, probability, slope)
        keys = [key for key in ("measure", "baseline", "name") if key in rows]
        return rows[keys].assign(n_topics=n_topics.astype(np.int64), n_needed=n_needed)

    def _check_power(self, power: float) -> float:
        """Return the power, after checking that it is above 1 − ci, that without a difference."""
        check_probability = proportion("power")
        probability = check_probability(power)
        error_level = 1 - self.ci
        if probability <= error_level:
            raise MultiAspectError(
                f"power: expected a probability above 1 − ci, {error_level:g}, got {probability:g}"
            )
        return probability

    def _title(self) -> str:
        return "Prediction-powered estimates"

    def _content(self) -> list[Block]:
        """Return the table of the runs, that of their differences if any, and the notes."""
        blocks: list[Block] = [estimates_table(self.table)]
        if self.differences is not None:
            blocks.append(Heading(f"Differences from {self.baseline}"))
            blocks.append(estimates_table(self.differences))
        blocks += [Sentence(note) for note in self.notes]
        return blocks


def estimates_table(frame: pd.DataFrame) -> Table:
    """Return the table of estimates and intervals, from the rows of `PredictionPowered.table`."""
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
    >>> columns = ["name", "n_human", "n_further", "estimate", "low", "high"]
    >>> columns += ["lambda", "human", "model"]
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
    tables = []
    tables_of_differences = []
    notes = []
    for measured in _pair_values(human_values, model_values):
        values = measured.values
        clusters = clusters_of_topics(cluster_of_topic, measured.topics)
        human_clusters = check_clusters(clusters.take(np.arange(values.n_human)))
        if not human_clusters.are_single_topics:
            notes.append(_clusters_note(values.human, human_clusters))
        keys = {"measure": measured.label, "name": measured.names}
        tables.append(_estimates(keys, confidence, clusters, values))
        if baseline is not None:
            differences = _estimates_of_differences(measured, baseline, confidence, clusters)
            tables_of_differences.append(differences)

    all_differences = None
    if tables_of_differences:
        all_differences = pd.concat(tables_of_differences, ignore_index=True)
    table = pd.concat(tables, ignore_index=True)
    distinct_notes = tuple(dict.fromkeys(notes))
    return PredictionPowered(table, all_differences, baseline, confidence, distinct_notes)


def _estimates_of_differences(
    measured: _Measured, baseline: str, confidence: float, clusters: Clusters
) -> pd.DataFrame:
    """Return one row per run but the baseline, with the estimates of its difference from that."""
    names = measured.names
    row = _row_of_baseline(baseline, list(map(str, names)))
    other_names = names[:row] + names[row + 1 :]
    keys = {"measure": measured.label, "baseline": baseline, "name": other_names}
    differences = measured.values.minus_baseline(row)
    return _estimates(keys, confidence, clusters, differences)


def _row_of_baseline(baseline: str, names: list[str]) -> int:
    """Return the row of the baseline, after checking that there are other runs."""
    refuse_unknown([baseline], names, "one of the runs", "baseline")
    if names == [baseline]:
        raise MultiAspectError(f"baseline: expected a run to compare with {baseline}, got no other")
    return names.index(baseline)


@dataclass(frozen=True, eq=False)
class _Values:
    """The values H, L and L' of one measure, each of shape (n_runs, n_topics)."""

    #: H: human values of the n human topics.
    human: Floats
    #: L: the model's values of the same topics.
    labels: Floats
    #: L': the model's values of the N further topics.
    further: Floats

    @property
    def n_human(self) -> int:
        """The number of human topics, n."""
        return int(self.human.shape[1])

    @property
    def n_further(self) -> int:
        """The number of further topics, N."""
        return int(self.further.shape[1])

    @property
    def n_topics(self) -> int:
        """The number of all topics, n + N."""
        return self.n_human + self.n_further

    @property
    def all_labels(self) -> Floats:
        """The model's values of all topics, L and L'."""
        return np.concatenate([self.labels, self.further], axis=1)

    @property
    def label_distance(self) -> Floats:
        """The mean label of further topics minus that of human topics, shape (n_runs,)."""
        mean_of_human_topics = self.labels.mean(axis=1)
        mean_of_further_topics = self.further.mean(axis=1)
        return np.asarray(mean_of_further_topics - mean_of_human_topics)

    def minus_baseline(self, row: int) -> _Values:
        """Return the differences of the other runs from the run of a row."""
        return _Values(
            _differences(self.human, row),
            _differences(self.labels, row),
            _differences(self.further, row),
        )


class _Measured(NamedTuple):
    """The values of one measure, with the labels of their axes."""

    #: The label of the measure.
    label: Any
    #: The runs, in the order of the model's frame.
    names: list[Any]
    #: The human topics, and then the further ones.
    topics: list[Any]
    values: _Values


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


class _Matrix(NamedTuple):
    """The values of one measure, with the labels of both axes."""

    #: The values, shape (n_runs, n_topics).
    values: Floats
    names: list[Any]
    topics: list[Any]


def _read_matrix(rows: pd.DataFrame, title: str, gap_remedy: str) -> _Matrix:
    """Return the values of one measure; runs and topics are sorted as text.

    `title` names the frame in errors, and `gap_remedy` says what to do about missing values.
    """
    with errors_of(title):
        values, names, topics, _ = matrix(rows, least=1, gap_remedy=gap_remedy)
    values_of_measure = values[:, :, 0]  # of the only measure
    return _Matrix(values_of_measure, names, topics)


def _pair_values(human: pd.DataFrame, model: pd.DataFrame) -> Iterator[_Measured]:
    """Yield the values of each measure of two long frames, after checking that they match.

    Runs are in the order of the model's frame.
    """
    _check_same(human, model, "measure")
    _check_means(human)
    _check_means(model)
    human_rows_by_label = {str(measure): rows for measure, rows in by_measure(human)}
    for label, model_rows in by_measure(model):
        human_rows = human_rows_by_label[str(label)]
        _check_same(human_rows, model_rows, "name", f"{label}: ")
        by_human = _read_matrix(human_rows, "human", "judge it for all systems")
        by_model = _read_matrix(model_rows, "model", "let the model judge it for all systems")
        _check_topics(str(label), by_human.topics, by_model.topics)
        names = model_rows["name"].unique().tolist()
        yield _join_matrices(label, names, by_human, by_model)


def _join_matrices(label: Any, names: list[Any], by_human: _Matrix, by_model: _Matrix) -> _Measured:
    """Return the values of one measure with the same order of runs and topics.

    Runs are in the order of `names`. Topics are first those that people judged, in their order, and
    then the further ones that only the model judged.
    """
    # Rows are runs, columns are topics.
    human_rows = _positions(names, by_human.names)
    model_rows = _positions(names, by_model.names)
    # Where the model's matrix has the human topics.
    human_columns = _positions(by_human.topics, by_model.topics)
    all_columns = np.arange(len(by_model.topics))
    further_columns = np.setdiff1d(all_columns, human_columns)
    values = _Values(
        human=by_human.values[human_rows],
        labels=by_model.values[np.ix_(model_rows, human_columns)],
        further=by_model.values[np.ix_(model_rows, further_columns)],
    )
    columns = [*human_columns, *further_columns]
    topics = [by_model.topics[column] for column in columns]
    return _Measured(label, names, topics, values)


def _positions(items: list[Any], among: list[Any]) -> Ints:
    """Return the positions of items in a list that has all of them, compared as text."""
    texts_of_items = pd.Index(list(map(str, items)))
    texts = pd.Index(list(map(str, among)))
    return texts.get_indexer(texts_of_items)


def _check_same(human: pd.DataFrame, model: pd.DataFrame, column: str, where: str = "") -> None:
    """Check that two frames have the same runs or measures: the same values in a column.

    `where` begins the error.
    """
    distinct_human = human[column].unique()
    distinct_model = model[column].unique()
    human_values = list(map(str, distinct_human))
    model_values = list(map(str, distinct_model))
    nouns = {"name": "runs", "measure": "measures"}
    noun = nouns[column]
    expected = f"{where}expected the same {noun} in human and model"
    _refuse_surplus(human_values, model_values, "human", expected)
    _refuse_surplus(model_values, human_values, "model", expected)


def _refuse_surplus(own: list[str], others: list[str], title: str, expected: str) -> None:
    """Raise an error if a frame, `title`, has values that the other frame lacks."""
    surplus = [value for value in dict.fromkeys(own) if value not in others]
    if surplus:
        names = choices(surplus)
        raise MultiAspectError(
            f"{expected}, got {names} in {title} only; evaluate the same runs by the same measures "
            "on both judgments, or leave them out"
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
    """Check that there are enough human topics, and that the model judged all of them.

    `label` is that of the measure, `human` are the human topics, and `model` the model's topics.
    """
    human_topics = set(map(str, human))
    model_topics = set(map(str, model))
    only_human = sorted(human_topics - model_topics)
    if only_human:
        human_parameter = parameter("human")
        model_parameter = parameter("model")
        number_in_words = tally(len(only_human), "topic")  # '(2 such topics in all)'
        # The model should judge more topics than people do: else, guess that they are swapped.
        if len(human) > len(model):
            remedy = f"Are {human_parameter} and {model_parameter} swapped?"
        else:
            remedy = (
                "Evaluate the runs on the model's judgments of these topics too, or leave the "
                "topics out"
            )
        raise MultiAspectError(
            f"{label}: expected all {len(human)} topics of {human_parameter} in {model_parameter}, "
            f"which has {len(model)} topics, got none for topic {only_human[0]} {number_in_words}. "
            f"{remedy}"
        )
    if len(human) < LEAST_TOPICS:
        raise MultiAspectError(
            f"{label}: expected at least {LEAST_TOPICS} human topics, got {len(human)}: fewer do "
            "not suffice to estimate the errors of the model. Judge more topics"
        )


def _differences(values: Floats, baseline: int) -> Floats:
    """Return the values of the other runs minus those of the baseline.

    The values have the shape (n_runs, n_topics), the differences one row less. They are 0 where
    they are rounding errors.
    """
    magnitudes = np.abs(values)
    largest = magnitudes.max(axis=1, initial=0.0)  # (n_runs,)
    largest_of_both = np.maximum(largest, largest[baseline])
    raw_differences = values - values[baseline]
    differences = remove_rounding_errors(raw_differences, largest_of_both[:, None])
    return np.delete(differences, baseline, axis=0)


def _clusters_note(human: Floats, human_clusters: Clusters) -> str:
    """Return a note on the clusters of the human topics: their sizes and degrees of freedom.

    The estimated slope in λ costs one of these degrees of freedom.
    """
    effect = design_effect(human, human_clusters)
    sizes_and_freedom = clusters_in_words(human_clusters, effect)
    return f"Human topics: {sizes_and_freedom}, one less where λ is estimated"


def _estimates(
    keys: dict[str, Any], confidence: float, clusters: Clusters, values: _Values
) -> pd.DataFrame:
    """Return one row per run, with its estimates by one measure.

    Parameters
    ----------
    keys : dict of str to object
        The first columns.
    confidence : float
        The confidence level.
    clusters : Clusters
        The clusters of all topics, of which the human topics are the first ones.
    values : _Values
        The values of the measure.
    """
    human_clusters = _check_freedom(clusters.take(np.arange(values.n_human)))
    human = _mean_intervals(values.human, confidence, human_clusters)
    model = _mean_intervals(values.all_labels, confidence, clusters)
    fit = _fit(values, human_clusters)
    weight = fit.slope * values.n_further / values.n_topics  # λ
    if values.n_further:
        estimate = _powered_intervals(values, human, fit, weight, confidence, clusters)
    else:
        # Without further topics, there is nothing to correct the human means by.
        estimate = human
    sd = np.sqrt(variance(values.human, human_clusters))
    if clusters.are_single_topics:
        n_topics = np.full(len(sd), float(values.n_topics))
        plan = _Plan(sd, fit.error_sd, n_topics, confidence)
        half_margin = estimate.margin / 2
        n_to_halve = plan.topics_for_margin(half_margin, above=values.n_human)
    else:
        # What further topics of the same clusters would tell is not known.
        n_to_halve = np.full(len(sd), np.nan)
    columns = {
        "n_human": values.n_human,
        "n_further": values.n_further,
        **estimate.columns("estimate", "low", "high"),
        "lambda": weight,
        **human.columns("human", "human_low", "human_high"),
        **model.columns("model", "model_low", "model_high"),
        "sd": sd,
        "error_sd": fit.error_sd,
        "n_to_halve": n_to_halve,
    }
    return pd.DataFrame(keys | columns)


class _Intervals(NamedTuple):
    """Confidence intervals, one per run."""

    center: Floats
    #: Half the width.
    margin: Floats

    def columns(self, center: str, low: str, high: str) -> dict[str, Floats]:
        """Return columns, with the given names, of the centers and the ends."""
        return {
            center: self.center,
            low: self.center - self.margin,
            high: self.center + self.margin,
        }


def _mean_intervals(values: Floats, confidence: float, clusters: Clusters) -> _Intervals:
    """Return Student's t intervals of the means of values, shape (n_runs, n_topics)."""
    means = values.mean(axis=1)
    margins = half_width(values, confidence, clusters)
    return _Intervals(means, margins)


def _powered_intervals(
    values: _Values,
    human: _Intervals,
    fit: _Fit,
    weight: Floats,
    confidence: float,
    clusters: Clusters,
) -> _Intervals:
    """Return the human means, corrected by the labels of further topics, and their intervals.

    The estimate is mean(H) + λ·(mean(L') − mean(L)), of the human values H, the model's labels L of
    the same topics, and its labels L' of the further topics.

    Parameters
    ----------
    values : _Values
        H, L and L'.
    human : _Intervals
        The means and intervals of H alone.
    fit : _Fit
        The regression of H on L.
    weight : ndarray, one per run
        λ.
    confidence : float
        The confidence level.
    clusters : Clusters
        The clusters of all topics, of which the human topics are the first ones.
    """
    estimate = human.center + weight * values.label_distance
    squared_error = _squared_error(values, fit, clusters)
    quantile = t_quantile(fit.freedom, confidence)
    powered_margin = quantile * np.sqrt(squared_error)
    # Labels that do not vary say nothing: λ is 0, and the interval that of the human topics alone.
    margin = np.where(fit.labels_vary, powered_margin, human.margin)
    return _Intervals(estimate, margin)


def _check_freedom(human_clusters: Clusters) -> Clusters:
    """Return the clusters of the human topics, if they leave enough degrees of freedom."""
    if human_clusters.freedom > _LEAST_FREEDOM:
        return human_clusters
    words = topics_in_words(human_clusters)
    raise MultiAspectError(
        f"{parameter('cluster')}: expected human topics that leave more than {_LEAST_FREEDOM} "
        f"degrees of freedom, got {words}. Judge topics of further clusters"
    )


class _Fit(NamedTuple):
    """The regression of the human values H on the labels L of the same topics, by run."""

    #: Whether the labels differ at all; if not, the slope is 0.
    labels_vary: Bools
    #: The slope b, limited to [0, 1].
    slope: Floats
    #: H − b·L, shape (n_runs, n_human).
    residuals: Floats
    #: Their degrees of freedom: those of the human topics or clusters, less one for a slope that
    #: was estimated.
    freedom: Floats
    #: Their standard deviation over topics, or over clusters.
    error_sd: Floats


def _fit(values: _Values, human_clusters: Clusters) -> _Fit:
    """Return the regression of the human values on the labels."""
    labels_vary = variance(values.labels) > 0
    slope = _slope(values.human, values.labels)
    predictions = slope[:, None] * values.labels
    residuals = values.human - predictions
    freedom_of_human = human_clusters.freedom
    freedom = np.where(labels_vary, freedom_of_human - 1, freedom_of_human)
    # A variance is a sum of squares, divided by its degrees of freedom. `variance` does not know
    # that the slope was estimated.
    residual_variance = variance(residuals, human_clusters)
    sum_of_squares = residual_variance * freedom_of_human
    error_sd = np.sqrt(sum_of_squares / freedom)
    return _Fit(labels_vary, slope, residuals, freedom, error_sd)


def _slope(human: Floats, labels: Floats) -> Floats:
    """Return the slope of H on L, cov(H, L) / var(L), limited to [0, 1], one per run."""
    n_human = human.shape[1]
    mean_human = human.mean(axis=1, keepdims=True)
    mean_label = labels.mean(axis=1, keepdims=True)
    human_deviations = human - mean_human
    label_deviations = labels - mean_label
    products = human_deviations * label_deviations
    covariance = products.sum(axis=1) / (n_human - 1)
    raw_slope = ratio(covariance, variance(labels))
    # Deviations of equal human values are rounding errors.
    human_varies = variance(human) > 0
    slope = np.where(human_varies, raw_slope, 0.0)
    return slope.clip(0, 1)


def _squared_error(values: _Values, fit: _Fit, clusters: Clusters) -> Floats:
    """Return the squared standard errors of the estimates, one per run.

    The estimate is mean(e) + b·mean(l), for the residuals e = H − b·L of the human topics, and the
    labels l of all topics. Its variance is var(mean(e)) + b²·var(mean(l)) + 2b·cov(mean(e),
    mean(l)); see the Notes of `prediction_powered`.

    Parameters
    ----------
    values : _Values
        The values H, L and L', with N > 0.
    fit : _Fit
        The regression of H on L, with the slope b and the residuals e.
    clusters : Clusters
        The clusters of all topics, of which the human topics are the first ones.
    """
    labels = values.all_labels
    slope = fit.slope
    human_clusters = clusters.take(np.arange(values.n_human))
    residual_error = _regression_error(values, fit, human_clusters)
    label_variance = variance(labels, clusters)
    n_clusters = len(clusters)
    label_error = slope**2 * label_variance / n_clusters
    covariance = _covariance_within_clusters(fit.residuals, labels, clusters)
    total = residual_error + label_error + 2 * slope * covariance
    # A negative covariance must not make it smaller than it would be for labels known exactly.
    residual_variance = variance(fit.residuals, human_clusters)
    least = residual_variance / len(human_clusters)
    return np.asarray(np.maximum(total, least))


def _regression_error(values: _Values, fit: _Fit, human_clusters: Clusters) -> Floats:
    """Return the squared error of the regression at the mean of all labels, one per run.

    For n independent human topics, it is s²·(1/n + δ²/SS): s² is the variance of the residuals, SS
    the sum of squares of the labels around their mean, and δ the distance of the mean of all labels
    from theirs. For G clusters, it is s²·(1/G + n/G·δ²/SS), with s² over clusters.
    """
    n = values.n_human
    n_clusters = len(human_clusters)  # G
    fraction_further = values.n_further / values.n_topics
    delta = fraction_further * values.label_distance
    sum_of_squares = (n - 1) * variance(values.labels)
    delta_term = ratio(delta**2, sum_of_squares)  # 0 if the labels do not vary
    factor = 1 / n_clusters + n / n_clusters * delta_term
    error_variance = fit.error_sd**2
    return error_variance * factor


def _covariance_within_clusters(residuals: Floats, labels: Floats, clusters: Clusters) -> Floats:
    """Return the covariance of mean residuals and mean labels over topics of the same clusters.

    It is Σ e_i/n · l_j/T over the pairs of different topics i and j of a cluster, for deviations e
    of the n residuals and l of the T labels from their means: 0 if each cluster has one topic.

    Parameters
    ----------
    residuals : ndarray of float, shape (n_runs, n_human)
        The residuals of the human topics.
    labels : ndarray of float, shape (n_runs, n_topics)
        The labels of all topics, of which the human topics are the first ones.
    clusters : Clusters
        The clusters of all topics.
    """
    n_human = residuals.shape[1]
    n_topics = labels.shape[1]
    mean_residual = residuals.mean(axis=1, keepdims=True)
    mean_label = labels.mean(axis=1, keepdims=True)
    residual_deviations = residuals - mean_residual
    label_deviations = labels - mean_label
    # Further topics have no residual, and add nothing to the mean residual.
    residual_terms = np.zeros_like(labels)
    residual_terms[:, :n_human] = residual_deviations / n_human
    label_terms = label_deviations / n_topics
    return _sum_of_pair_products(residual_terms, label_terms, clusters)


def _sum_of_pair_products(a: Floats, b: Floats, clusters: Clusters) -> Floats:
    """Return Σ a_i·b_j over the pairs of different topics i and j of the same cluster, one per run.

    It is (a_1 + a_2)·(b_1 + b_2) − a_1·b_1 − a_2·b_2 in a cluster of two topics. The numbers a and
    b have the shape (n_runs, n_topics).
    """
    sums_of_a = clusters.sums(a)  # runs × clusters
    sums_of_b = clusters.sums(b)
    products_of_sums = sums_of_a * sums_of_b
    products_of_topics = a * b
    sum_of_all_pairs = products_of_sums.sum(axis=1)
    sum_of_own_pairs = products_of_topics.sum(axis=1)
    return np.asarray(sum_of_all_pairs - sum_of_own_pairs)


def _slopes_from_weights(rows: pd.DataFrame, n_topics: Floats) -> Floats:
    """Return the slopes b of the rows of `table`, from λ = b·N/(n + N); 0 if N is 0.

    `n_topics` are n + N.
    """
    weight = rows["lambda"].to_numpy()  # λ
    n_further = rows["n_further"].to_numpy(dtype=np.float64)  # N
    return ratio(weight * n_topics, n_further)


@dataclass(frozen=True)
class _Plan:
    """Intervals to expect if people judge another number of the same topics, one per row."""

    #: The standard deviations of the human values, and of what labels leave unexplained of them.
    sd: Floats
    error_sd: Floats
    #: The number of topics that the model judged, T = n + N.
    n_topics: Floats
    confidence: float

    def topics_for_margin(
        self, largest_margin: Floats | float, above: int = LEAST_TOPICS - 1
    ) -> Floats:
        """Return the least number of human topics, above a number, for intervals of a half-width.

        The result is that of `_least_topics`.
        """
        is_narrow = partial(self._is_narrow, largest_margin=largest_margin)
        return self._least_topics(is_narrow, above)

    def topics_for_power(self, difference: float, power: float, slope: Floats) -> Floats:
        """Return the least number of human topics that find a difference with a probability.

        `slope` is that of human values on labels, from 0 to 1, one per row. The result is that of
        `_least_topics`.
        """
        has_power = partial(self._has_power, difference=difference, power=power, slope=slope)
        # Fewer than the least number of topics are never enough.
        too_few = LEAST_TOPICS - 1
        return self._least_topics(has_power, above=too_few)

    def _least_topics(self, suffices: Callable[[Floats], Bools], above: int) -> Floats:
        """Return the least number of human topics above a number that suffices, one per row.

        It is NaN if not even all topics do, or if the human values of the row are equal.

        Parameters
        ----------
        suffices : callable
            Returns for numbers of human topics, one per row, which of them suffice.
        above : int
            A number that does not suffice.
        """
        values_vary = self.sd > 0
        is_possible = values_vary & suffices(self.n_topics)
        # Bisection of all rows at once: the answer is above `too_few`, and at most `enough`. Rows
        # without an answer take part, but what they find is not used.
        too_few = np.full(len(self.sd), float(above))
        enough = self.n_topics
        is_searched = enough - too_few > 1
        while is_searched.any():
            middle = np.floor((too_few + enough) / 2)
            # Rows that are done try their answer again, which changes nothing.
            tried = np.where(is_searched, middle, enough)
            is_enough = suffices(tried)
            enough = np.where(is_enough, tried, enough)
            too_few = np.where(is_enough, too_few, tried)
            is_searched = enough - too_few > 1
        return np.where(is_possible, enough, np.nan)

    def _is_narrow(self, n_human: Floats, largest_margin: Floats | float) -> Bools:
        """Return whether half the interval's width is at most this with n human topics, by row."""
        # The slope costs a degree of freedom if labels of further topics are used.
        has_further = n_human < self.n_topics
        full_freedom = n_human - 1
        freedom = np.where(has_further, full_freedom - 1, full_freedom)
        quantile = t_quantile(freedom, self.confidence)
        margin = quantile * self._standard_error(n_human)
        return np.asarray(margin <= largest_margin)

    def _standard_error(self, n_human: Floats) -> Floats:
        """Return the standard error of the estimate with n human topics, one per row.

        The squared error is 1/n · (σ²(1 − ρ²)·(1 + k/(n − 3)) + σ²ρ²·(1 − k)). Of the variance σ²
        of the human values, labels do not explain σ²(1 − ρ²), to which the estimated slope adds,
        and explain σ²ρ², which the fraction k of further topics reduces.
        """
        k = 1 - n_human / self.n_topics
        unexplained = np.minimum(self.error_sd, self.sd) ** 2  # σ²(1 − ρ²)
        explained = self.sd**2 - unexplained  # σ²ρ²
        error_of_slope = 1 + k / (n_human - 3)
        topic_variance = unexplained * error_of_slope + explained * (1 - k)
        return np.asarray(np.sqrt(topic_variance / n_human))

    def _has_power(self, n_human: Floats, difference: float, power: float, slope: Floats) -> Bools:
        """Return whether the interval of n human topics excludes 0 with this probability, by row.

        Parameters
        ----------
        n_human : ndarray of float, one per row
            The numbers of human topics.
        difference, power : float
            The difference to find, and the probability.
        slope : ndarray of float, one per row
            The slope of human values on labels, from 0 to 1.
        """
        alpha = 1 - self.confidence
        # Everything is in standard deviations of the human values: the difference, √(1 − ρ²), ρ.
        effects = ratio(np.array(difference), self.sd)
        unexplained = ratio(self.error_sd, self.sd).clip(max=1)
        explained = np.sqrt(1 - unexplained**2)
        highest_slope = _highest_scaled_slope(slope, explained)

        # Rows without further topics have Student's test, and keep its power.
        achieved = power_of_t_test(effects, n_human, alpha)
        has_further = n_human < self.n_topics
        # Other rows with the same numbers of topics are computed together: they share random draws,
        # which take time.
        numbers_of_topics = np.stack([n_human, self.n_topics], axis=1)
        for n_judged, n_all in np.unique(numbers_of_topics[has_further], axis=0):
            rows = (n_human == n_judged) & (self.n_topics == n_all)
            achieved[rows] = power_of_double_sampling(
                effects[rows],
                unexplained[rows],
                highest_slope[rows],
                int(n_judged),
                int(n_all),
                alpha,
            )
        return achieved >= power


def _highest_scaled_slope(slope: Floats, correlation: Floats) -> Floats:
    """Return the limit of slopes in standard deviations of human values and of labels, by row.

    In these units, a slope b becomes the correlation ρ. So the limit, 1 in other units, becomes
    ρ / b. There is none, and the limit is infinite, if b is 0.
    """
    has_limit = slope > 0
    limit = np.full(len(slope), np.inf)
    limit[has_limit] = correlation[has_limit] / slope[has_limit]
    return limit
