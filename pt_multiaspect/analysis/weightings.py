"""Dependence of conclusions on the weights of the aspects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import choice, count, proportion, random_seed, real
from ..aspects import Aspects
from ..collection import Judgments
from ..errors import MultiAspectError, choices, refuse_single, refuse_unknown, shown
from ..evaluation import evaluate
from ..evaluation.long_frames import measures_by_label, read_long_frame
from ..integration.parsing import parse_one
from ..kernels.weightings import nearest_reversal, positive_fraction, reversing_weight, simplex_points
from ..measures import CAM, AspectMean, On
from ..measures.weights import normalised_weights
from ..views import Block, Cell, Column, Sentence, View, percent
from ._frames import directions, matrix, select_measures
from ._pairs import (
    pairs_blocks,
    pairs_of_runs,
    rows_of_all,
    rows_per_pair,
    share,
    significant_share,
    topics_by_group,
)
from ._significance import (
    corrector,
    mean_differences,
    remove_rounding_errors,
    resample_counts,
    slices,
    t_test_levels,
    unordered_pairs,
)

#: Number of sampled weightings.
N_SAMPLED = 4096

#: Number of sampled weightings of measures that are not linear in their weights, which are computed for each.
N_EVALUATED = 256

#: Values that differ by at most this, relative to the maximum of the measure, are equal (rounding errors).
_TOLERANCE = 1e-12


@dataclass(frozen=True, repr=False)
class Weightings(View):
    """Result of `weightings`.

    Attributes
    ----------
    pairs : DataFrame
        One row per pair of runs: ``a`` and ``b``; ``n_topics``; ``difference``, the mean of a minus the mean of b
        under the weights of the measure, and its ``p``; ``fraction``, the fraction of weightings under which a has
        the higher mean, with its interval ``low high``, and ``fraction_lower``, that under which it has the lower
        one; ``fraction_significant``, the fraction under which the difference has the sign of ``difference`` and p
        is below alpha; ``distance``, the weight that must at
        least be moved from aspects to others to reverse the order, NaN if no weighting does, and ``reversal``,
        that weighting in words; ``uir``, the unanimous improvement ratio, with ``n_better`` and ``n_worse``,
        the numbers of topics on which a, or b, is at least as good on every aspect and better on one. With
        ``by=``, for each ``group`` of topics, then for all.
    aspects : DataFrame
        One row per pair and aspect: ``a b aspect``; ``difference``, that of the means on the aspect,
        positive where a is better, also if lower is better (the sum of weight · difference is that of the pair);
        ``weight``, its weight in the measure; ``nearest``, that in the nearest weighting which reverses the
        order; ``reverses_at``, the weight from which the order reverses if those of the others change in
        proportion. NaN if none does, and if the measure is not linear in its weights.
    covariances : ndarray of float, shape (n_pairs, n_aspects, n_aspects)
        The covariances of the differences of means on the aspects; NaN for a single topic, and if the measure is
        not linear in its weights.
    weights, at_least : dict of str to float
        The weights of the measure, normalised, and the least ones, by aspect.
    measure : Measure
        The measure whose weights vary.
    alpha, correction, ci : float, str or None, float
        As given.

    Examples
    --------
    See `weightings`.
    """

    pairs: pd.DataFrame
    aspects: pd.DataFrame
    covariances: Floats
    weights: dict[str, float]
    at_least: dict[str, float]
    measure: ir_measures.Measure
    alpha: float
    correction: str | None
    ci: float

    @property
    def summary(self) -> str:
        """The number of pairs whose order and significance depend on the weights, in a sentence."""
        pairs = rows_of_all(self.pairs)
        fraction = pairs["fraction"]
        changing, undecided = ((fraction > low) & (fraction < 1 - low) for low in (0.0, 0.1))
        tested = pairs[pairs["p"] < self.alpha]
        kept = int((tested["fraction_significant"] >= 0.95).sum())
        level = f"p < {self.alpha:g} under the weights of the measure"
        return (
            f"{share(changing.sum(), len(pairs), 'pair', 'changes its', 'change their')} order under some "
            f"weighting, {undecided.sum()} for between a tenth and nine tenths of all weightings. "
            f"{significant_share(kept, len(tested), level, 'under at least 95 % of all weightings')}"
        )

    def _title(self) -> str:
        return f"Weightings of {self.measure}"

    def _content(self) -> list[Block]:
        columns = [
            Column("difference", in_text="diff."),
            *map(Column, ("p", "a higher")),
            Column("significant", in_text="sig."),
            Column("moved"),
            Column("reversed by", left=True, spare=1),
        ]
        declared = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.items())
        note = (
            f"Weights of the measure: {declared}. a higher: fraction of all weightings under which a has "
            f"the higher mean, with its {100 * self.ci:g} % interval over topics. significant (sig.): fraction "
            f"with the same sign and p < {self.alpha:g}. moved: the least weight to move to reverse the order."
        )
        table = pairs_blocks(
            self.pairs,
            self.pairs["fraction"] - 0.5,
            columns,
            lambda row: [
                Cell(percent(row["fraction"]), after=_interval_in_percent(row["low"], row["high"])),
                percent(row["fraction_significant"]),
                percent(row["distance"]),
                row["reversal"] or "-",
            ],
            note,
            elsewhere="`.pairs`, or -o FILE.csv of the command",
        )
        return [Sentence(self.summary), *table]


def weightings(
    perquery: Any,
    measure: ir_measures.Measure | str | None = None,
    *,
    measures: Sequence[ir_measures.Measure | str] | Mapping[str, ir_measures.Measure | str] | None = None,
    baseline: str | Sequence[str] | None = None,
    at_least: Mapping[str, float] | None = None,
    alpha: float = 0.05,
    correction: str | None = None,
    ci: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
    runs: object = None,
    qrels: object = None,
) -> Weightings:
    """Compute for which weights of the aspects one run is better than another.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and ``pt.Experiment(perquery=True)``
        return, with one measure per aspect, such as ``On(aspect=…, base=nDCG @ 10)``. Lower-is-better measures are
        recognised by the record of `pt_multiaspect.evaluate`, or by their labels.
    measure : measure or str, optional
        The mean over aspects whose weights vary: CAM (the default), MM, WHAM, GAM or one of your own. Its
        ``weights`` are those that the others are compared with; equal ones by default.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        The measures of the frame that contain the values of the aspects, such as criteria of answers. By
        default, those that are `On` an aspect, which must have the same base. A mapping ``{label: measure}``
        says which measures the labels refer to, or whether 'higher' or 'lower' is better.
    baseline : str or sequence of str, optional
        The runs that the others are compared with (b of each pair). By default, all pairs are compared.
    at_least : mapping of str to float, optional
        Least weights of aspects, of normalised weights, such as ``{"relevance": 0.5}``. The weights of
        `measure` must respect them; without such weights, what remains is shared equally.
    alpha : float in (0, 1), default 0.05
        The significance level of the paired t-test.
    correction : {'holm'}, optional
        Correction for multiple testing. Within each weighting, all pairs form a family.
    ci : float in (0, 1), default 0.95
        Confidence level of the percentile intervals of the fractions. Topics are resampled.
    n_resamples : int, default 1000
        Number of bootstrap samples of the topics.
    seed : int, default 0
        Random seed. The same seed gives the same result, regardless of the order of rows.
    by : str, path, mapping or Series, optional
        Groups of topics, as for `aggregate`, which are analysed separately.
    runs, qrels : optional
        As for `pt_multiaspect.evaluate`. Required by CAM with ``gate`` or ``normalized``, and by
        ``empty='drop'``, whose values do not follow from those of the aspects.

    Returns
    -------
    Weightings
        ``pairs`` has one row per pair of runs, ``aspects`` one per pair and aspect.

    Raises
    ------
    MultiAspectError
        If there are fewer than two aspects, runs or topics, the measures of the aspects cannot be recognised, a
        value is missing or not finite, systems have different topics, weights are below `at_least`, these are
        negative or sum to more than 1, or a parameter is out of range.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is assumed to be
        better.

    Notes
    -----
    All weightings (weights that are at least 0 and sum to 1) are equally likely: they are uniform on the
    simplex. This is no statement about which weights are plausible; `at_least` excludes those that are not.

    CAM is linear in its weights, so that the order of two runs depends on the differences d_a of their means on
    the aspects only. ``fraction`` is exact: for d sorted upwards, f(d) = 1 if d_1 ≥ 0 < d_n, 0 if d_n ≤ 0, and
    else (d_n f(d_2 … d_n) − d_1 f(d_1 … d_{n−1})) / (d_n − d_1). Ties count as not higher; differences of at
    most 1e-12 of the maximum are 0. The nearest reversal moves weight from the aspects with the highest
    differences to the one with the lowest, until the runs tie; its distance is the total variation, half of the
    sum of absolute differences.

    ``fraction_significant`` is the fraction of 4096 points of a scrambled Sobol sequence, mapped to the simplex.
    Its largest error among 630 pairs of runs was .004 for three aspects (of random points: .02); for more aspects
    it is larger, some .01 for five and .02 for eight. Measures that are not linear in their weights are computed
    for 256 such points, which determine all fractions, and have no nearest reversal: errors were at most .004 for
    two aspects, .03 for three and .07 for five.

    The unanimous improvement ratio is the number of topics on which a is at least as good as b on every aspect,
    minus that on which b is, over the number of topics.

    Means are arithmetic means of the values.

    Stability: provisional. New, without a published method to follow.

    References
    ----------
    Amigó, Gonzalo, Artiles, Verdejo: Combining Evaluation Metrics via the Unanimous Improvement Ratio and its
    Application to Clustering Tasks. JAIR 42 (2011).

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> scores = {"a": [(0.9, 0.1), (0.7, 0.3)], "b": [(0.4, 0.8), (0.6, 0.2)], "c": [(0.5, 0.0), (0.6, 0.1)]}
    >>> rows = [
    ...     (name, f"q{topic}", aspect, value)
    ...     for name, topics in scores.items()
    ...     for topic, values in enumerate(topics)
    ...     for aspect, value in zip(("relevance", "credibility"), values)
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> found = ma.analysis.weightings(perquery, measures={"relevance": "higher", "credibility": "higher"})
    >>> found.pairs[["a", "b", "difference", "fraction", "distance"]].round(3)
       a  b  difference  fraction  distance
    0  a  b         0.0       0.5       NaN
    1  a  c         0.2       1.0       NaN
    2  b  c         0.2       0.9       0.4
    >>> found.pairs["reversal"][2]
    'relevance 0.90 instead of 0.50, credibility 0.10'
    """
    alpha, ci = proportion("alpha")(alpha), proportion("ci")(ci)
    choice("correction", None, "holm")(correction)
    n_resamples, seed = count("n_resamples")(n_resamples), random_seed(seed)
    mean = read_mean(measure)
    frame = read_long_frame(perquery)
    if _reads_rankings(mean):
        if measures is not None:
            raise MultiAspectError(
                f"measures: {mean} is evaluated on the qrels, not on measures of the frame; omit it"
            )
        world = _evaluate_world(frame, mean, at_least, runs, qrels, seed)
    else:
        world = _read_world(frame, mean, measures, at_least, seed)
    first, second, sides = pairs_of_runs(world.names, frame["name"].unique().tolist(), baseline)
    aspects = {"aspect": world.aspects, "weight": world.weights.tolist()}
    pairs, parts, covariances = [], [], []
    for keys, topics in topics_by_group(by, frame, world.qids):
        group = world.on_topics(topics)
        interval = _interval(group, first, second, ci, n_resamples, seed)
        columns, by_aspect, covariance = _compare(group, first, second, interval, alpha, correction)
        pairs.append(pd.DataFrame({**keys, **sides, "n_topics": len(topics), **columns}))
        parts.append(rows_per_pair({**keys, **sides}, aspects, by_aspect))
        covariances.append(covariance)
    return Weightings(
        pd.concat(pairs, ignore_index=True),
        pd.concat(parts, ignore_index=True),
        np.concatenate(covariances),
        dict(zip(world.aspects, world.weights.tolist(), strict=True)),
        dict(zip(world.aspects, world.least.tolist(), strict=True)),
        mean,
        alpha,
        correction,
        ci,
    )


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


def measures_of_aspects(measure: ir_measures.Measure | str, qrels: Any) -> dict[str, ir_measures.Measure]:
    """Return the measures, by label, whose values a mean over aspects combines."""
    mean = read_mean(measure)
    scales = mean.spec if isinstance(mean.spec, Aspects) else None
    names = [view.name for view in mean.views(Judgments.of(qrels))]
    parts = [On(aspect=name, base=mean.bases.of(name).text, aspects=scales) for name in names]
    return {str(part): part for part in parts}


@dataclass(frozen=True)
class _World:
    """The values of the aspects, or those of a measure under sampled weightings; higher is better."""

    names: list[Any]
    qids: list[Any]
    aspects: list[str]
    weights: Floats
    least: Floats
    #: weightings × aspects.
    points: Floats
    #: systems × topics × 1: the values of the measure under `weights`.
    declared: Floats
    #: systems × topics × aspects; None if they are not known.
    values: Floats | None
    #: systems × topics × weightings; None if the measure is linear in its weights.
    sampled: Floats | None

    @property
    def basis(self) -> Floats:
        """The values whose means determine the order of runs under all weightings."""
        basis = self.values if self.sampled is None else self.sampled
        assert basis is not None
        return basis

    def on_topics(self, topics: Ints) -> _World:
        """Return the values on some topics."""
        values, sampled = (None if array is None else array[:, topics] for array in (self.values, self.sampled))
        return replace(self, declared=self.declared[:, topics], values=values, sampled=sampled)

    def positive_fraction(self, differences: Floats) -> Floats:
        """Return the fraction of weightings under which differences of the means of `basis` are positive."""
        if self.sampled is not None:
            return np.asarray((differences > 0).mean(axis=-1))
        at_corners = (differences @ self.least)[..., None] + (1 - self.least.sum()) * differences
        return positive_fraction(at_corners)


def has_linear_weights(measure: object) -> bool:
    """Return whether a measure is a mean over aspects that is linear in their weights."""
    if not isinstance(measure, AspectMean) or _reads_rankings(measure):
        return False
    return bool(measure.stated.is_weighted_sum)


def _reads_rankings(mean: AspectMean) -> bool:
    """Return whether a mean depends on more than the values of the base on each aspect."""
    return mean["empty"] == "drop" or bool(mean.params.get("gate") or mean.params.get("normalized"))


def _read_world(frame: pd.DataFrame, mean: AspectMean, measures: object, at_least: object, seed: int) -> _World:
    """Read the values of the aspects from the frame, and combine them under sampled weightings."""
    values, names, qids, aspects = read_aspects(frame, mean, measures, "weightings")
    weights, least, points = _weightings(mean, aspects, at_least, seed)
    if has_linear_weights(mean):
        return _World(names, qids, aspects, weights, least, points, (values @ weights)[:, :, None], values, None)
    by_aspect = np.moveaxis(values, 2, 0).reshape(len(aspects), -1)
    combined = np.stack([_combine(mean, by_aspect, point) for point in [weights, *points]], axis=-1)
    declared, sampled = np.split(combined.reshape(*values.shape[:2], -1), [1], axis=2)
    return _World(names, qids, aspects, weights, least, points, declared, values, sampled)


def _evaluate_world(
    frame: pd.DataFrame, mean: AspectMean, at_least: object, runs: object, qrels: object, seed: int
) -> _World:
    """Evaluate a mean under sampled weightings that does not follow from the values of the aspects."""
    if runs is None or qrels is None:
        raise MultiAspectError(
            f"{mean} does not follow from the values of the aspects: expected runs= and qrels=, to evaluate it "
            "under many weightings"
        )
    _, names, qids, _ = matrix(frame[frame["measure"] == frame["measure"].iloc[0]])
    aspects = [view.name for view in mean.views(Judgments.of(qrels))]
    weights, least, points = _weightings(mean, aspects, at_least, seed)
    combined = _evaluate_points(mean, np.vstack([weights, points]), aspects, names, qids, runs, qrels)
    declared, sampled = np.split(combined, [1], axis=2)
    return _World(names, qids, aspects, weights, least, points, declared, None, sampled)


def _weightings(mean: AspectMean, aspects: list[str], at_least: object, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return the weights of the measure, the least ones, and the sampled weightings, weightings × aspects."""
    refuse_single(aspects, "aspects")
    least = _least_weights(at_least, aspects)
    weights = _weights(mean, aspects, least)
    draws = simplex_points(N_SAMPLED if has_linear_weights(mean) else N_EVALUATED, len(aspects), seed)
    return weights, least, least + (1 - least.sum()) * draws


def _combine(mean: AspectMean, values: Floats, weights: Floats) -> Floats:
    """Return the mean of the values, aspects × cells; aspects of weight 0 do not count."""
    counted = weights > 0
    return mean.combine(values[counted], np.broadcast_to(weights[counted, None], values[counted].shape))


def _evaluate_points(
    mean: AspectMean,
    points: Floats,
    aspects: list[str],
    names: list[Any],
    qids: list[Any],
    runs: object,
    qrels: object,
) -> Floats:
    """Return the values of a mean under several weightings, systems × topics × weightings, higher is better."""
    by_label = {
        str(row): mean(weights=dict(zip(aspects, point.tolist(), strict=True))) for row, point in enumerate(points)
    }
    frame = evaluate(runs, qrels, by_label, progress=False)
    for column, wanted, noun in (("name", names, "runs"), ("qid", qids, "topics")):
        given = frame[column].map(str)
        refuse_unknown(map(str, wanted), given.unique(), f"{noun} of runs= and qrels=")
        frame = frame[given.isin(list(map(str, wanted)))]
    values, *_ = matrix(frame)  # names and topics are sorted as text
    return values * (-1.0 if mean.lower_is_better else 1.0)


def _least_weights(at_least: object, aspects: list[str]) -> Floats:
    """Return the least weight of each aspect, 0 by default."""
    if not isinstance(at_least, Mapping | None):
        raise MultiAspectError(f"at_least: expected a mapping {{aspect: weight}}, got {shown(at_least)}")
    refuse_unknown(at_least or {}, aspects, "aspects", "at_least")
    least = np.array([real(f"at_least: {aspect}", low=0)((at_least or {}).get(aspect, 0)) for aspect in aspects])
    if least.sum() > 1 + _TOLERANCE:
        raise MultiAspectError(f"at_least: expected weights that sum to at most 1, got {least.sum():g}")
    return least


def _weights(mean: AspectMean, aspects: list[str], least: Floats) -> Floats:
    """Return the weights of the measure, by default in the middle of all weightings."""
    if mean["weights"] is None:
        return np.asarray(least + (1 - least.sum()) / len(aspects))
    weights = np.array(normalised_weights(mean["weights"], aspects))
    below = [
        aspect for aspect, weight, low in zip(aspects, weights, least, strict=True) if weight < low - _TOLERANCE
    ]
    if below:
        raise MultiAspectError(
            f"expected weights of {mean} of at least those of at_least, got less for {choices(below)}"
        )
    return weights


def _compare(
    world: _World, first: Ints, second: Ints, interval: Floats, alpha: float, correction: str | None
) -> tuple[dict[str, Any], dict[str, Floats], Floats]:
    """Return the columns of pairs of runs, those of pairs and aspects, pairs × aspects, and covariances."""
    correct = corrector("t", correction, alpha)
    differences = mean_differences(world.basis, first, second)
    difference = mean_differences(world.declared, first, second)[:, 0]
    columns: dict[str, Any] = {
        "difference": difference,
        "p": t_test_levels(world.declared, first, second, correct)[:, 0],
        "fraction": world.positive_fraction(differences),
        "low": interval[0],
        "high": interval[1],
        "fraction_lower": world.positive_fraction(-differences),
    }
    unknown = np.full((len(first), len(world.aspects)), np.nan)
    if world.sampled is None:
        covariances = _covariances(first, second, world.basis)
        family = unordered_pairs(first, second)
        significant = _significant_fraction(differences, difference, covariances, world, alpha, correction, family)
        nearest = nearest_reversal(differences, world.weights, world.least)
        reverses_at = reversing_weight(differences, world.weights, world.least)
    else:
        covariances = np.full((*unknown.shape, len(world.aspects)), np.nan)
        p = t_test_levels(world.sampled, first, second, correct)
        kept = (p < alpha) & (np.sign(differences) == np.sign(difference)[:, None])
        significant = np.where(np.isnan(p[:, 0]), np.nan, kept.mean(axis=1))
        nearest = reverses_at = unknown
    on_aspects = unknown if world.values is None else mean_differences(world.values, first, second)
    columns["fraction_significant"] = significant
    columns["distance"] = np.abs(nearest - world.weights).sum(axis=1) / 2
    columns["reversal"] = [_reversal_in_words(weights, world) for weights in nearest]
    if world.values is not None:
        by_aspect = remove_rounding_errors(world.values[first] - world.values[second], world.values)
        better, worse = ((by_aspect * sign >= 0).all(axis=2) & by_aspect.any(axis=2) for sign in (1, -1))
        columns["uir"] = (better.sum(axis=1) - worse.sum(axis=1)) / by_aspect.shape[1]
        columns["n_better"], columns["n_worse"] = better.sum(axis=1), worse.sum(axis=1)
    return columns, {"difference": on_aspects, "nearest": nearest, "reverses_at": reverses_at}, covariances


def _interval(world: _World, first: Ints, second: Ints, ci: float, n_resamples: int, seed: int) -> Floats:
    """Return the percentile intervals of the fractions, 2 × pairs, NaN for a single topic."""
    n_topics = world.basis.shape[1]
    ends = np.full((2, len(first)), np.nan)
    if n_topics > 1:
        drawn = resample_counts(n_topics, n_resamples, np.random.default_rng(seed)) / n_topics
        means = np.einsum("stk,tr->srk", world.basis, drawn, optimize=True)
        for part in slices(len(first), means[0].size):
            differences = remove_rounding_errors(means[first[part]] - means[second[part]], world.basis)
            fractions = world.positive_fraction(differences)
            ends[:, part] = np.quantile(fractions, [(1 - ci) / 2, (1 + ci) / 2], axis=1)
    return ends


def _covariances(first: Ints, second: Ints, values: Floats) -> Floats:
    """Return the covariances of means of differences, pairs × aspects × aspects; NaN for a single topic."""
    by_aspect = remove_rounding_errors(values[first] - values[second], values)
    n_pairs, n_topics, n_aspects = by_aspect.shape
    if n_topics < 2:
        return np.full((n_pairs, n_aspects, n_aspects), np.nan)
    centred = remove_rounding_errors(by_aspect - by_aspect.mean(axis=1, keepdims=True), values)
    return np.asarray(centred.transpose(0, 2, 1) @ centred / ((n_topics - 1) * n_topics))


def _significant_fraction(
    means: Floats,
    declared: Floats,
    covariances: Floats,
    world: _World,
    alpha: float,
    correction: str | None,
    family: tuple[Ints, Ints],
) -> Floats:
    """Return the fraction of weightings with p < alpha and the sign of the declared one; NaN for a single topic."""
    once, pair = family
    n_topics = world.basis.shape[1]
    if n_topics < 2:
        return np.full(len(means), np.nan)
    times = np.zeros(len(means))
    for part in slices(len(world.points), len(means)):
        points = world.points[part]
        is_significant = significant_at(points, means[once], covariances[once], n_topics, alpha, correction)[pair]
        times += (is_significant & (np.sign(means @ points.T) == np.sign(declared)[:, None])).sum(axis=1)
    return times / len(world.points)


def significant_at(
    points: Floats, means: Floats, covariances: Floats, n_topics: int, alpha: float, correction: str | None
) -> Bools:
    """Return which weighted differences are significant, pairs × weightings.

    Their variances follow from the covariances of the aspects.

    Parameters
    ----------
    points : ndarray of float, shape (n_points, n_aspects)
        The weightings.
    means : ndarray of float, shape (n_pairs, n_aspects)
        The means of the differences on the aspects.
    covariances : ndarray of float, shape (n_pairs, n_aspects, n_aspects)
        The covariances of these means.
    n_topics, alpha, correction
        The number of topics, and the parameters of `weightings`. All pairs form a family: a pair and its reverse
        must not both be in it.
    """
    from scipy.stats import t as student

    products = (points[:, :, None] * points[:, None]).reshape(len(points), -1)
    error = np.sqrt(np.maximum(covariances.reshape(len(means), -1) @ products.T, 0.0))
    mean = means @ points.T
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(mean == 0, 0.0, np.abs(mean) / error)
    if correction is None:
        return np.asarray(statistic > student.isf(alpha / 2, n_topics - 1))
    # By Holm's correction, the k-th highest |t| must be above that for alpha / (n - k + 1), like all higher ones.
    critical = student.isf(alpha / (2 * np.arange(len(means), 0, -1)), n_topics - 1)[:, None]
    ordered = -np.sort(-statistic, axis=0)
    n_rejected = np.logical_and.accumulate(ordered > critical, axis=0).sum(axis=0)
    last = ordered[np.maximum(n_rejected, 1) - 1, np.arange(len(points))]
    return np.asarray((statistic >= last) & (n_rejected > 0))


def _interval_in_percent(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"[{100 * low:.0f}, {100 * high:.0f}]"


def _reversal_in_words(weights: Floats, world: _World) -> str:
    """Return the weights that change, the one that takes first; empty if the order is never reversed."""
    if np.isnan(weights).any():
        return ""
    change = weights - world.weights
    taker = int(change.argmax())
    digits = max(2, -int(np.floor(np.log10(change[taker]))))  # of small changes, too
    givers = [f"{world.aspects[column]} {weights[column]:.{digits}f}" for column in np.flatnonzero(change < 0)]
    before, after = (f"{point[taker]:.{digits}f}" for point in (world.weights, weights))
    words = f"{world.aspects[taker]} {after} instead of {before}"
    return ", ".join([words, *givers])
