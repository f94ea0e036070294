"""Weights of aspects: their values and sampled weightings, and those that agree with the preferences of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import proportion, random_seed, real
from ..aspects import Aspects
from ..errors import MultiAspectError, choices, number_of, refuse_single, refuse_unknown, shown
from ..evaluation.long_frames import measures_by_label, read_long_frame
from ..integration.parsing import parse_one
from ..kernels.folds import repeated_folds
from ..kernels.preference_weights import is_separable, logistic_weights, weighting_levels
from ..kernels.preferences import agreement_interval, sums_by_topic
from ..kernels.weightings import weighted_sum
from ..measures import CAM, AspectMean
from ..views import Block, Sentence, View, percent, records_table, with_interval
from ._frames import directions, matrix, select_measures
from ._significance import slices
from .preferences import CROSS_VALIDATED, N_FOLDS, N_REPEATS, credits_of, differences_of, read_preferences

#: Number of sampled weightings.
N_SAMPLED = 4096


def simplex_points(n_points: int, n_aspects: int, seed: int) -> Floats:
    """Return weightings that are spread evenly over the simplex: a scrambled Sobol sequence of the given seed.

    Parameters
    ----------
    n_points : int
        The number of weightings, a power of 2.
    n_aspects : int
        The number of aspects, at least 2.
    seed : int
        Random seed.

    Returns
    -------
    ndarray of float, shape (n_points, n_aspects)
        Weights of at least 0 that sum to 1.
    """
    from scipy.stats import qmc

    draws = qmc.Sobol(n_aspects - 1, seed=seed).random_base2(int(n_points).bit_length() - 1)
    # The gaps between sorted uniform numbers are uniform on the simplex.
    return np.diff(np.sort(draws, axis=1), axis=1, prepend=0.0, append=1.0)


def read_mean(measure: ir_measures.Measure | str | None) -> AspectMean:
    """Return a mean over aspects, by default CAM."""
    mean = CAM if measure is None else parse_one(measure)
    if not isinstance(mean, AspectMean):
        raise MultiAspectError(
            f"measure: expected a mean over aspects, such as CAM, MM, WHAM or GAM, got {shown(mean)}"
        )
    return mean


def read_aspects(
    frame: pd.DataFrame, mean: AspectMean, measures: object, function: str
) -> tuple[Floats, list[Any], list[Any], list[str]]:
    """Return the values of the aspects that a mean combines, systems × topics × aspects, and what the axes are.

    Parameters
    ----------
    frame : DataFrame
        The long frame.
    mean : AspectMean
        The mean.
    measures : object
        The parameter of `weightings`.
    function : str
        The name of the caller, for the warning.

    Returns
    -------
    values, names, qids, aspects : ndarray, list, list, list
        Higher values are better.
    """
    rows, by_label, aspects = rows_of_aspects(frame, mean, measures)
    values, names, qids, labels = matrix(rows)
    values = values * directions(rows, values, labels, by_label, function)
    return values, names, qids, aspects


def rows_of_aspects(
    frame: pd.DataFrame, mean: AspectMean, measures: object
) -> tuple[pd.DataFrame, dict[str, Any], list[str]]:
    """Return the rows of the measures of the aspects, measures or directions by label, and the aspects."""
    if measures is not None:
        rows, by_label = select_measures(frame, measures)
        aspects = [str(label) for label in rows["measure"].unique()]
        mean.check_criteria(aspects)
        return rows, by_label, aspects
    known: dict[str, Any] = {
        label: on for label, on in measures_by_label(frame).items() if getattr(on, "one_aspect", None) is not None
    }
    if "base" in mean.params or mean.cutoff is not None:
        known = {label: on for label, on in known.items() if on.bases.one == mean.bases.of(on.one_aspect)}
    if mean.spec:
        known = {label: on for label, on in known.items() if _is_declared(on, mean)}
    aspects = [on.one_aspect for on in known.values()]
    bases = {on.bases.one.text for on in known.values()}
    labels = frame["measure"].map(str).unique()
    if len(aspects) < 2 or len(set(aspects)) < len(aspects) or ("base" not in mean.params and len(bases) > 1):
        raise MultiAspectError(
            "expected one measure per aspect, such as On(aspect='credibility', base='nDCG@10'), with the base and "
            f"the scales of {mean}, got {choices(labels)}; name those of the aspects by measures=[...]"
        )
    return select_measures(frame, list(known))[0], {}, aspects


def _is_declared(on: Any, mean: AspectMean) -> bool:
    """Return whether a mean contains the aspect of a measure, and with the same scale if it declares one."""
    spec = mean.spec or ()
    if not isinstance(spec, Aspects):
        return on.one_aspect in spec
    return on.one_aspect in spec and isinstance(on.spec, Aspects) and on.spec[on.one_aspect] == spec[on.one_aspect]


#: Minimum number of topics with strict preferences.
_MIN_TOPICS = 10


@dataclass(frozen=True)
class _Strict:
    """Strict preferences: the differences on the aspects, preferences × aspects, the preferred run, the topic."""

    differences: Floats
    sign: Ints
    topic: Ints

    def fit(self, chosen: Bools | slice = slice(None)) -> Floats:
        """Return the weights that agree best with some preferences; all 0 if these contradict every aspect."""
        return logistic_weights(self.differences[chosen], self.sign[chosen])

    def credits(self, weights: Floats) -> Floats:
        """Return the credit of a weighting for each preference."""
        return credits_of(weighted_sum(self.differences, weights)[:, None], self.sign)[:, 0]

    def levels(self, points: Floats) -> Floats:
        """Return the levels at which the preferences reject weightings."""
        parts = slices(len(points), len(self.sign) * (2 + self.differences.shape[1]))
        levels = [weighting_levels(points[part], self.differences, self.sign, self.topic) for part in parts]
        return np.concatenate(levels)

    def are_allowed(self, points: Floats, ci: float) -> Bools:
        """Return which weightings the preferences do not reject."""
        return np.asarray(self.levels(points) >= 1 - ci)


@dataclass(frozen=True, repr=False)
class FittedWeights(View):
    """Result of `fit_weights`.

    Attributes
    ----------
    weights : dict of str to float
        The weights that agree best, by aspect.
    measure : Measure
        CAM with these weights, over the bases and with the scales of the measures of the aspects.
    agreement : DataFrame
        The agreement with strict preferences of the ``weights`` 'fitted', 'cross-validated' and 'equal':
        ``agreement``, with its interval ``low high``; see `preference_agreement`.
    fraction : float
        The fraction of all weightings that the preferences do not reject.
    ranges : DataFrame
        One row per aspect: ``aspect weight low high``, the least and the highest weight among those that are not
        rejected; NaN if all are.
    points : ndarray of float, shape (n_points, n_aspects)
        The sampled weightings that the preferences do not reject; those of `fraction`.
    separable : bool
        Whether some weighting contradicts no preference, so that others agree with them as well.
    n_strict, n_topics : int
        The number of strict preferences, and of their topics.
    notes : list of str
        What is assumed, and what was left out.
    ci : float
        As given.

    Examples
    --------
    See `fit_weights`.
    """

    weights: dict[str, float]
    measure: ir_measures.Measure
    agreement: pd.DataFrame
    fraction: float
    ranges: pd.DataFrame
    points: Floats
    separable: bool
    n_strict: int
    n_topics: int
    notes: list[str]
    ci: float
    _strict: _Strict

    def contains(self, weights: Mapping[str, float]) -> bool:
        """Return whether the preferences do not reject a weighting.

        Parameters
        ----------
        weights : mapping of str to float
            Weights of at least 0, which are normalised; other aspects have the weight 0.

        Returns
        -------
        bool
            True if it is in the confidence set.

        Raises
        ------
        MultiAspectError
            If an aspect is unknown, a weight is negative, or all are 0.
        """
        if not isinstance(weights, Mapping):
            raise MultiAspectError(f"weights: expected a dict of aspects to weights, got {shown(weights)}")
        refuse_unknown(weights, self.weights, "aspects", "weights")
        point = np.array([real(f"weights: {aspect}", low=0)(weights.get(aspect, 0)) for aspect in self.weights])
        if not point.any():
            raise MultiAspectError("weights: expected one above 0, got none")
        return bool(self._strict.are_allowed(point[None] / point.sum(), self.ci)[0])

    @property
    def summary(self) -> str:
        """The evidence of the preferences for the weights, in sentences."""
        said = f"{number_of(self.n_strict, 'strict preference')} on {number_of(self.n_topics, 'topic')}"
        if np.isnan(self.ranges["low"]).all():
            return f"{said} reject all weightings: no weights of CAM fit them."
        equal = "are" if self.contains(dict.fromkeys(self.weights, 1.0)) else "are not"
        remaining = percent(self.fraction) if self.fraction else f"fewer than 1 in {N_SAMPLED}"
        return (
            f"{said} do not tell these weights apart: {remaining} of all weightings remain. "
            f"Equal weights {equal} among them."
        )

    def _title(self) -> str:
        return "Weights that agree with preferences"

    def _content(self) -> list[Block]:
        about = f"lowest, highest: in the {100 * self.ci:g} % confidence set, each for some weights of the others."
        return [
            Sentence(self.summary),
            records_table(self.ranges, ["aspect"], {"fitted": "weight", "lowest": "low", "highest": "high"}),
            Sentence(about),
            records_table(self.agreement, ["weights"], {"agreement": lambda row: with_interval(row, "agreement")}),
            *map(Sentence, self.notes),
        ]


def fit_weights(
    perquery: Any,
    preferences: Any,
    *,
    measures: Sequence[ir_measures.Measure | str] | Mapping[str, ir_measures.Measure | str] | None = None,
    ci: float = 0.95,
    seed: int = 0,
) -> FittedWeights:
    """Compute which weights of the aspects agree best with preferences, and which ones the preferences allow.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, with one measure per aspect, as for `weightings`.
    preferences : DataFrame
        As for `preference_agreement`: columns ``qid a b preferred`` or ``qid name score``, and perhaps
        ``assessor``.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        The measures of the frame that contain the values of the aspects, as for `weightings`.
    ci : float in (0, 1), default 0.95
        Confidence level of the set of weightings, and of intervals.
    seed : int, default 0
        Random seed of the folds and of the sampled weightings. The same seed gives the same result, regardless of
        the order of rows.

    Returns
    -------
    FittedWeights
        ``measure`` is CAM with the fitted weights.

    Raises
    ------
    MultiAspectError
        As for `preference_agreement`; if there are fewer than two aspects, fewer than ten topics with strict
        preferences, or not more topics than aspects; or if the preferences contradict every aspect.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is assumed to be
        better.

    See Also
    --------
    weightings : With ``within=``, whether a conclusion holds for all weights that the preferences allow.
    preference_agreement : Which measure agrees best, such as other means over the aspects.

    Notes
    -----
    The weights are those of a logistic regression of the preference on the differences of both runs on the
    aspects, without intercept, with coefficients of at least 0, divided by their sum. A penalty of 5e-9 on squared
    coefficients, for differences divided by the largest, decides only if preferences are separable or aspects have
    the same differences. CAM without gate, ``normalized`` and ``empty='drop'`` is assumed.

    The confidence set contains the weightings that a score test with topics as clusters does not reject. The scale
    of the weighted differences is that of maximum likelihood, at least 0; where it is 0, the score is tested in all
    directions; weightings that contradict no preference are in the set. It is read from 4096 weightings that are
    spread evenly. In simulations, it contained the weights in 94 to 100 % of samples, with .31 to .57 of all
    weightings for 80 preferences and .08 to .19 for 200; bootstrap intervals of single weights in 73 to 93 %.

    The cross-validated agreement fits the weights in each of five folds of topics, in six repetitions, and
    evaluates them on the others; equal weights stand for those of folds whose preferences contradict every aspect.

    Stability: provisional. New, without a published method to follow.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> values = rng.random((2, 40, 2))  # runs × topics × aspects
    >>> rows = [
    ...     (name, f"q{topic}", aspect, values[run, topic, column])
    ...     for run, name in enumerate("xy")
    ...     for topic in range(40)
    ...     for column, aspect in enumerate(("relevance", "credibility"))
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> gain = (values[0] - values[1]) @ [0.7, 0.3] + rng.logistic(scale=0.1, size=40)
    >>> preferences = pd.DataFrame(
    ...     {"qid": [f"q{n}" for n in range(40)], "a": "x", "b": "y", "preferred": np.where(gain > 0, "x", "y")}
    ... )
    >>> fitted = fit_weights(perquery, preferences, measures={"relevance": "higher", "credibility": "higher"})
    >>> fitted.ranges.round(2)
            aspect  weight   low  high
    0    relevance    0.69  0.52  1.00
    1  credibility    0.31  0.00  0.48
    """
    ci, seed = proportion("ci")(ci), random_seed(seed)
    frame = read_long_frame(perquery)
    mean = read_mean(None)
    values, names, qids, aspects = read_aspects(frame, mean, measures, "fit_weights")
    refuse_single(aspects, "aspects")
    read, left_out = read_preferences(preferences, names, qids)
    read = read[read["sign"] != 0]
    differences, sign = differences_of(read, values), read["sign"].to_numpy()
    topics, code = np.unique(read["topic"], return_inverse=True)
    least = max(_MIN_TOPICS, len(aspects) + 1)
    if len(topics) < least:
        raise MultiAspectError(
            f"preferences: expected strict ones on at least {least} topics, got {number_of(len(topics), 'topic')}; "
            "preference_agreement compares given weightings"
        )
    strict = _Strict(differences, sign, code)
    weights = strict.fit()
    if not weights.any():
        raise MultiAspectError(
            "preferences contradict every aspect: no weights of at least 0 agree with them better than chance; "
            "check that the columns a, b and preferred name the right runs"
        )
    points = simplex_points(N_SAMPLED, len(aspects), seed)
    allowed = points[strict.are_allowed(points, ci)]
    by_aspect = dict(zip(aspects, weights.tolist(), strict=True))
    separable = is_separable(differences, sign)
    return FittedWeights(
        by_aspect,
        _measure_of(rows_of_aspects(frame, mean, measures)[0], by_aspect),
        _agreement(strict, weights, ci, seed),
        len(allowed) / len(points),
        _ranges(strict, np.vstack([weights, np.eye(len(aspects))]), allowed, aspects, ci),
        allowed,
        separable,
        len(read),
        len(topics),
        _notes(separable, left_out),
        ci,
        strict,
    )


def rejection_levels(fitted: FittedWeights, points: Floats) -> Floats:
    """Return the levels at which preferences reject weightings, points × aspects of the result."""
    return fitted._strict.levels(points)


def _measure_of(rows: pd.DataFrame, weights: dict[str, float]) -> ir_measures.Measure:
    """Return CAM with the weights, over the bases and scales of the measures of the aspects if they are known."""
    known: Any = list(measures_by_label(rows).values())
    if [getattr(measure, "one_aspect", None) for measure in known] != list(weights):
        return CAM(weights=weights)
    bases = {measure.one_aspect: measure.bases.one.text for measure in known}
    options: dict[str, Any] = {"base": bases if len(set(bases.values())) > 1 else next(iter(bases.values()))}
    scales = [measure.spec for measure in known]
    if all(scale == scales[0] and isinstance(scale, Aspects) and set(scale) == set(weights) for scale in scales):
        options["aspects"] = scales[0]
    elif all(isinstance(scale, Aspects) for scale in scales):
        options["aspects"] = Aspects({aspect: scale[aspect] for aspect, scale in zip(weights, scales, strict=True)})
    return CAM(weights=weights, **options)


def _agreement(strict: _Strict, weights: Floats, ci: float, seed: int) -> pd.DataFrame:
    """Return the agreement of the fitted weights, of those fitted in folds, and of equal weights."""
    n_topics = int(strict.topic.max()) + 1
    equal = np.full(len(weights), 1 / len(weights))
    chosen = np.zeros(len(strict.sign))
    for fold in repeated_folds(n_topics, N_FOLDS, N_REPEATS, np.random.default_rng(seed)):
        is_test = np.isin(strict.topic, fold)
        trained = strict.fit(~is_test)
        chosen[is_test] += strict.credits(trained if trained.any() else equal)[is_test] / N_REPEATS
    credits = np.column_stack([strict.credits(weights), chosen, strict.credits(equal)])
    counts = sums_by_topic(np.ones((len(chosen), 1)), strict.topic)[:, 0]
    agreement, low, high = agreement_interval(sums_by_topic(credits, strict.topic), counts, ci)
    names = ["fitted", "cross-validated", "equal"]
    return pd.DataFrame({"weights": names, "agreement": agreement, "low": low, "high": high})


def _ranges(strict: _Strict, further: Floats, points: Floats, aspects: list[str], ci: float) -> pd.DataFrame:
    """Return the range of each weight among the weightings that are allowed, of the sampled and further ones."""
    allowed = np.vstack([points, further[strict.are_allowed(further, ci)]])
    ends = (allowed.min(axis=0), allowed.max(axis=0)) if len(allowed) else np.full((2, len(aspects)), np.nan)
    return pd.DataFrame({"aspect": aspects, "weight": further[0], "low": ends[0], "high": ends[1]})


def _notes(separable: bool, left_out: list[str]) -> list[str]:
    notes = ["The weights hold for these assessors, topics and runs, and for CAM.", CROSS_VALIDATED]
    if separable:
        notes.append(
            "The preferences are separable: some weightings contradict none of them, and the fitted one is chosen "
            "among these by a penalty."
        )
    return [*notes, *left_out]
