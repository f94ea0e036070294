"""Values of runs under many weightings of the aspects of a mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np

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
    """The values of the aspects, or those of a measure under sampled weightings; higher is better."""

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
        basis = self.values if self.sampled is None else self.sampled
        assert basis is not None
        return basis

    def positive_fraction(self, differences: Floats, largest: Floats) -> Floats:
        """Return the fraction of weightings under which differences of the means of `basis` are positive.

        Parameters
        ----------
        differences : ndarray, … × aspects or weightings
            The differences, 0 where they are rounding errors.
        largest : ndarray, …
            The largest absolute values of both runs, by which zeros of weighted sums are decided.
        """
        if self.sampled is not None:
            return np.asarray((differences > 0).mean(axis=-1))
        return positive_fraction(differences_at_corners(differences, self.least, largest))


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
    scales = mean.spec if isinstance(mean.spec, Aspects) else None
    names = [view.name for view in mean.views(Judgments.of(qrels))]
    parts = [On(aspect=name, base=mean.bases.of(name).text, aspects=scales) for name in names]
    return {str(part): part for part in parts}


def reads_rankings(mean: AspectMean) -> bool:
    """Return whether a mean depends on more than the values of the base on each aspect."""
    return mean["empty"] == "drop" or bool(mean.params.get("gate") or mean.params.get("normalized"))


def has_linear_weights(mean: AspectMean) -> bool:
    """Return whether a mean is linear in the weights of its aspects."""
    return bool(mean.stated.is_weighted_sum) and not reads_rankings(mean)


def find_labels_of_aspects(mean: AspectMean, known: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of the measure of each aspect that a mean combines, given the measures by label."""
    on_aspect = {
        label: on for label, on in known.items() if getattr(on, "one_aspect", None) is not None
    }
    if "base" in mean.params or mean.cutoff is not None:
        on_aspect = {
            label: on
            for label, on in on_aspect.items()
            if on.bases.one == mean.bases.of(on.one_aspect)
        }
    if mean.spec:
        on_aspect = {label: on for label, on in on_aspect.items() if _is_declared(on, mean)}
    labels = {on.one_aspect: label for label, on in on_aspect.items()}
    bases = {on.bases.one.text for on in on_aspect.values()}
    is_repeated = len(labels) < len(on_aspect)
    has_several_bases = "base" not in mean.params and len(bases) > 1
    if len(labels) < 2 or is_repeated or has_several_bases:
        raise MultiAspectError(
            "expected one measure per aspect, such as On(aspect='credibility', base='nDCG@10'), "
            "with the base and "
            f"the scales of {mean}, got {choices(known)}; name those of the aspects "
            f"by {parameter('measures')}"
        )
    return labels


def _is_declared(on: Any, mean: AspectMean) -> bool:
    """Return whether a mean contains the aspect of a measure, and with the same scale if it declares one."""
    spec = mean.spec or ()
    if not isinstance(spec, Aspects):
        return on.one_aspect in spec
    return (
        on.one_aspect in spec
        and isinstance(on.spec, Aspects)
        and on.spec[on.one_aspect] == spec[on.one_aspect]
    )


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
    every_point = [weights, *points, *_corners(least)]
    combined = np.stack([_combine(mean, by_aspect, point) for point in every_point], axis=-1)
    combined = combined.reshape(*values.shape[:2], -1)
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
    """Evaluate a mean under sampled weightings whose values do not follow from those of the aspects.

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
            "evaluate it "
            "under many weightings"
        )
    aspects = [view.name for view in mean.views(Judgments.of(qrels))]
    weights, least, points = _sample_weightings(mean, aspects, at_least, seed)
    every_point = np.vstack([weights, points, _corners(least)])
    combined = _evaluate_points(mean, every_point, aspects, names, qids, runs, qrels)
    declared, sampled, at_corners = np.split(combined, [1, 1 + len(points)], axis=2)
    return WeightedValues(
        names, aspects, weights, least, points, declared, None, sampled, at_corners
    )


def _corners(least: Floats) -> Floats:
    """Return the weightings at which one aspect has all weight that the least ones leave, aspects × aspects."""
    return np.asarray(least + (1 - least.sum()) * np.eye(len(least)))


def _sample_weightings(
    mean: AspectMean, aspects: list[str], at_least: object, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Return the weights of the measure, the least ones, and the sampled weightings, weightings × aspects."""
    refuse_single(aspects, "aspects")
    least = _least_weights(at_least, aspects)
    weights = _weights(mean, aspects, least)
    n_points = N_SAMPLED if has_linear_weights(mean) else N_EVALUATED
    draws = simplex_points(n_points, len(aspects), seed)
    return weights, least, least + (1 - least.sum()) * draws


def _combine(mean: AspectMean, values: Floats, weights: Floats) -> Floats:
    """Return the mean of the values, aspects × cells; aspects of weight 0 do not count."""
    counted = weights > 0
    return mean.combine(
        values[counted], np.broadcast_to(weights[counted, None], values[counted].shape)
    )


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
        str(row): mean(weights=dict(zip(aspects, point.tolist(), strict=True)))
        for row, point in enumerate(points)
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
        raise MultiAspectError(
            f"at_least: expected a mapping {{aspect: weight}}, got {shown(at_least)}"
        )
    refuse_unknown(at_least or {}, aspects, "aspects", "at_least")
    least = np.array(
        [real(f"at_least: {aspect}", low=0)((at_least or {}).get(aspect, 0)) for aspect in aspects]
    )
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
    below = [
        aspect
        for aspect, weight, low in zip(aspects, weights, least, strict=True)
        if weight < low - _TOLERANCE
    ]
    if below:
        raise MultiAspectError(
            f"expected weights of {mean} of at least those of at_least, got less for "
            f"{choices(below)}"
        )
    return weights
