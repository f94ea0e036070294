"""Values of runs under many weightings of the aspects of a mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import real
from ..aspects import Aspects
from ..collection import Judgments
from ..errors import MultiAspectError, choices, parameter, refuse_single, refuse_unknown, shown
from ..evaluation import evaluate
from ..integration.parsing import parse_one
from ..kernels.weightings import differences_at_corners, positive_fraction, simplex_points
from ..measures import CAM, AspectMean, On
from ..measures.weights import normalised_weights
from ._value_matrices import matrix

#: Number of sampled weightings.
N_SAMPLED = 4096

#: Number of sampled weightings of measures that are not linear in their weights, which are computed
#: for each.
N_EVALUATED = 256

#: Weights that differ by at most this are equal (rounding errors).
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class WeightedValues:
    """The values of aspects, or of a measure under sampled weightings; higher is better."""

    names: list[Any]
    aspects: list[str]
    #: The weights of the measure, and the least ones.
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
    #: As `sampled`, systems × topics × aspects: one aspect has all weight that the least ones
    #: leave.
    at_corners: Floats | None

    @property
    def basis(self) -> Floats:
        """The values whose means determine the order of runs under all weightings."""
        if self.sampled is not None:
            return self.sampled
        assert self.values is not None
        return self.values

    def positive_fraction(self, differences: Floats, largest: Floats) -> Floats:
        """Return the fraction of weightings under which differences are positive.

        The differences are those of the means of `basis`.

        Parameters
        ----------
        differences : ndarray, … × aspects or weightings
            The differences, 0 where they are rounding errors.
        largest : ndarray, …
            The largest absolute values of both runs, by which zeros of weighted sums are decided.
        """
        if self.sampled is not None:
            is_positive = differences > 0
            return np.asarray(is_positive.mean(axis=-1))
        at_corners = differences_at_corners(differences, self.least, largest)
        return positive_fraction(at_corners)


def read_mean(measure: ir_measures.Measure | str | None) -> AspectMean:
    """Return a mean over aspects, by default CAM."""
    if measure is None:
        mean = CAM
    else:
        mean = parse_one(measure)
    if not isinstance(mean, AspectMean):
        raise MultiAspectError(
            "measure: expected a mean over aspects, such as CAM, MM, WHAM or GAM, got "
            f"{shown(mean)}"
        )
    return mean


def measures_of_aspects(
    measure: ir_measures.Measure | str, qrels: Any
) -> dict[str, ir_measures.Measure]:
    """Return the measures, by label, whose values a mean over aspects combines."""
    mean = read_mean(measure)
    if isinstance(mean.spec, Aspects):
        scales = mean.spec
    else:
        scales = None
    measures: dict[str, ir_measures.Measure] = {}
    for view in mean.views(Judgments.of(qrels)):
        base = mean.bases.of(view.name).text
        on_aspect = On(aspect=view.name, base=base, aspects=scales)
        measures[str(on_aspect)] = on_aspect
    return measures


def reads_rankings(mean: AspectMean) -> bool:
    """Return whether a mean depends on more than the values of the base on each aspect."""
    return mean["empty"] == "drop" or bool(mean.params.get("gate") or mean.params.get("normalized"))


def has_linear_weights(mean: AspectMean) -> bool:
    """Return whether a mean is linear in the weights of its aspects."""
    return bool(mean.stated.is_weighted_sum) and not reads_rankings(mean)


def find_labels_of_aspects(mean: AspectMean, known: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of the measures that a mean combines, by aspect.

    `known` has measures by label.
    """
    label_of_aspect: dict[str, str] = {}
    bases = set()
    is_repeated = False
    for label, measure in known.items():
        if not _is_combined(measure, mean):
            continue
        aspect = measure.one_aspect
        if aspect in label_of_aspect:
            is_repeated = True
        label_of_aspect[aspect] = label
        bases.add(measure.bases.one.text)
    has_several_bases = "base" not in mean.params and len(bases) > 1
    if len(label_of_aspect) < 2 or is_repeated or has_several_bases:
        raise MultiAspectError(
            "expected one measure per aspect, such as On(aspect='credibility', base='nDCG@10'), "
            f"with the base and the scales of {mean}, got {choices(known)}; name those of the "
            f"aspects by {parameter('measures')}"
        )
    return label_of_aspect


def _is_combined(measure: Any, mean: AspectMean) -> bool:
    """Return whether a mean combines the values of a measure of one aspect."""
    aspect = getattr(measure, "one_aspect", None)
    if aspect is None:
        return False
    has_base = "base" in mean.params or mean.cutoff is not None
    if has_base and measure.bases.one != mean.bases.of(aspect):
        return False
    if not mean.spec:
        return True
    return _is_declared(measure, mean)


def _is_declared(measure: Any, mean: AspectMean) -> bool:
    """Return whether a mean contains the aspect of a measure, with the same scale if declared."""
    aspect = measure.one_aspect
    spec = mean.spec or ()
    if aspect not in spec:
        return False
    if not isinstance(spec, Aspects):
        return True
    return isinstance(measure.spec, Aspects) and measure.spec[aspect] == spec[aspect]


def combine_aspects(
    mean: AspectMean,
    values: Floats,
    names: list[Any],
    aspects: list[str],
    at_least: object,
    seed: int,
) -> WeightedValues:
    """Combine the values of the aspects under sampled weightings.

    Parameters
    ----------
    mean : AspectMean
        The mean, which does not read rankings.
    values : ndarray, systems × topics × aspects
        The values of the aspects; higher is better.
    names, aspects : list
        The systems and the aspects.
    at_least, seed
        The parameters of `weightings`.
    """
    weights, least, points = _sample_weightings(mean, aspects, at_least, seed)
    if has_linear_weights(mean):
        declared = (values @ weights)[:, :, None]
        return WeightedValues(names, aspects, weights, least, points, declared, values, None, None)
    by_aspect = np.moveaxis(values, 2, 0).reshape(len(aspects), -1)
    weightings = np.vstack([weights, points, _corners(least)])
    by_weighting = [_combine(mean, by_aspect, weighting) for weighting in weightings]
    n_systems, n_topics, _ = values.shape
    combined = np.stack(by_weighting, axis=-1).reshape(n_systems, n_topics, -1)
    declared, sampled, at_corners = np.split(combined, [1, 1 + len(points)], axis=2)
    return WeightedValues(
        names, aspects, weights, least, points, declared, values, sampled, at_corners
    )


def evaluate_weightings(
    mean: AspectMean,
    names: list[Any],
    qids: list[Any],
    at_least: object,
    seed: int,
    runs: object,
    qrels: object,
) -> WeightedValues:
    """Evaluate a mean whose values do not follow from those of the aspects.

    Parameters
    ----------
    mean : AspectMean
        The mean.
    names, qids : list
        The systems and topics, sorted as text.
    at_least, seed, runs, qrels
        The parameters of `weightings`.
    """
    if runs is None or qrels is None:
        raise MultiAspectError(
            f"{mean} does not follow from the values of the aspects: expected runs= and qrels=, to "
            "evaluate it under many weightings"
        )
    aspects = [view.name for view in mean.views(Judgments.of(qrels))]
    weights, least, points = _sample_weightings(mean, aspects, at_least, seed)
    weightings = np.vstack([weights, points, _corners(least)])
    combined = _evaluate_points(mean, weightings, aspects, names, qids, runs, qrels)
    declared, sampled, at_corners = np.split(combined, [1, 1 + len(points)], axis=2)
    return WeightedValues(
        names, aspects, weights, least, points, declared, None, sampled, at_corners
    )


def _corners(least: Floats) -> Floats:
    """Return the weightings at which one aspect has all weight that the least ones leave.

    The shape is aspects × aspects.
    """
    rest = 1 - least.sum()
    return np.asarray(least + rest * np.eye(len(least)))


def _sample_weightings(
    mean: AspectMean, aspects: list[str], at_least: object, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Return the weights of the measure, the least ones, and samples, weightings × aspects."""
    refuse_single(aspects, "aspects")
    least = _least_weights(at_least, aspects)
    weights = _weights(mean, aspects, least)
    if has_linear_weights(mean):
        n_points = N_SAMPLED
    else:
        n_points = N_EVALUATED
    draws = simplex_points(n_points, len(aspects), seed)
    rest = 1 - least.sum()
    return weights, least, least + rest * draws


def _combine(mean: AspectMean, values: Floats, weights: Floats) -> Floats:
    """Return the mean of the values, aspects × cells; aspects of weight 0 do not count."""
    has_weight = weights > 0
    counted = values[has_weight]
    weight_of_cell = np.broadcast_to(weights[has_weight, None], counted.shape)
    return mean.combine(counted, weight_of_cell)


def _evaluate_points(
    mean: AspectMean,
    points: Floats,
    aspects: list[str],
    names: list[Any],
    qids: list[Any],
    runs: object,
    qrels: object,
) -> Floats:
    """Return the values of a mean under several weightings, systems × topics × weightings.

    Higher is better.
    """
    by_label = {}
    for row, point in enumerate(points):
        weights = dict(zip(aspects, point.tolist(), strict=True))
        by_label[str(row)] = mean(weights=weights)
    frame = evaluate(runs, qrels, by_label, progress=False)
    frame = _select_rows(frame, "name", names, "runs")
    frame = _select_rows(frame, "qid", qids, "topics")
    values, *_ = matrix(frame)  # names and topics are sorted as text
    if mean.lower_is_better:
        return values * -1.0
    return values


def _select_rows(frame: pd.DataFrame, column: str, wanted: list[Any], noun: str) -> pd.DataFrame:
    """Return the rows with some names in a column, after checking that it has all of them."""
    names = list(map(str, wanted))
    given = frame[column].map(str)
    refuse_unknown(names, given.unique(), f"{noun} of runs= and qrels=")
    return frame[given.isin(names)]


def _least_weights(at_least: object, aspects: list[str]) -> Floats:
    """Return the least weight of each aspect, 0 by default."""
    if at_least is None:
        at_least = {}
    if not isinstance(at_least, Mapping):
        raise MultiAspectError(
            f"at_least: expected a mapping {{aspect: weight}}, got {shown(at_least)}"
        )
    refuse_unknown(at_least, aspects, "aspects", "at_least")
    weights = []
    for aspect in aspects:
        check = real(f"at_least: {aspect}", low=0)
        weights.append(check(at_least.get(aspect, 0)))
    least = np.array(weights)
    if least.sum() > 1 + _TOLERANCE:
        raise MultiAspectError(
            f"at_least: expected weights that sum to at most 1, got {least.sum():g}"
        )
    return least


def _weights(mean: AspectMean, aspects: list[str], least: Floats) -> Floats:
    """Return the weights of the measure, by default in the middle of all weightings."""
    if mean["weights"] is None:
        return np.asarray(least + (1 - least.sum()) / len(aspects))
    weights = np.array(normalised_weights(mean["weights"], aspects))
    is_below = weights < least - _TOLERANCE
    if is_below.any():
        below = [aspects[row] for row in np.flatnonzero(is_below)]
        raise MultiAspectError(
            f"expected weights of {mean} of at least those of at_least, got less for "
            f"{choices(below)}"
        )
    return weights
