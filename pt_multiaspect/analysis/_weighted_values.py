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
        """The values whose means determine the order of runs under all weightings.

        They are those of the samples or, if the measure is linear in its weights, of the aspects.
        """
        if self.sampled is not None:
            return self.sampled
        assert self.values is not None
        return self.values

    def fraction_of_weightings(self, differences: Floats, largest: Floats) -> Floats:
        """Return the fraction of weightings under which differences are positive.

        The differences are those of the means of `basis`: one per sampled weighting or, if the
        measure is linear in its weights, one per aspect.

        Parameters
        ----------
        differences : ndarray, … × aspects or weightings
            The differences, 0 where they are rounding errors.
        largest : ndarray, …
            The largest absolute values of both runs, relative to which differences are rounding
            errors.
        """
        if self.sampled is not None:
            is_positive = differences > 0  # … × weightings
            return np.asarray(is_positive.mean(axis=-1))
        # The possible weightings are a simplex, such as a triangle for three aspects. At each
        # corner, one aspect has all weight but the least weights of the others. The differences at
        # the corners tell those of a linear measure everywhere between them.
        at_corners = differences_at_corners(differences, self.least, largest)
        return positive_fraction(at_corners)


@dataclass(frozen=True, eq=False)
class _Weightings:
    """The weightings under which a mean is evaluated."""

    #: The weights of the measure, one per aspect.
    declared: Floats
    #: The least weight of each aspect.
    least: Floats
    #: weightings × aspects.
    sampled: Floats

    @property
    def rows(self) -> Floats:
        """The declared weighting, the samples and the corners, weightings × aspects.

        At a corner, one aspect has all weight that the least weights leave.
        """
        n_aspects = len(self.least)
        weight_left = 1 - self.least.sum()
        corners = self.least + weight_left * np.eye(n_aspects)
        return np.vstack([self.declared, self.sampled, corners])

    def split(self, values: Floats) -> list[Floats]:
        """Split values, systems × topics × rows: the declared weighting, samples and corners."""
        first_corner = 1 + len(self.sampled)
        return np.split(values, [1, first_corner], axis=2)


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
    # If the mean names its base, all of them have it.
    is_any_base_allowed = "base" not in mean.params
    has_several_bases = is_any_base_allowed and len(bases) > 1
    if len(label_of_aspect) < 2 or is_repeated or has_several_bases:
        labels = choices(known)
        remedy = parameter("measures")
        raise MultiAspectError(
            "expected one measure per aspect, such as On(aspect='credibility', base='nDCG@10'), "
            f"with the base and the scales of {mean}, got {labels}; name those of the aspects by "
            f"{remedy}"
        )
    return label_of_aspect


def _is_combined(measure: Any, mean: AspectMean) -> bool:
    """Return whether a mean combines the values of a measure of one aspect.

    The measure needs the base, the aspect and the scale that the mean declares; those that the mean
    does not declare may be any.
    """
    aspect = getattr(measure, "one_aspect", None)
    if aspect is None:  # a measure of several aspects, or none
        return False
    # A cutoff is that of the base: CAM@5 has the default base, nDCG@5.
    declares_base = "base" in mean.params or mean.cutoff is not None
    if declares_base and measure.bases.one != mean.bases.of(aspect):
        return False
    declared_aspects = mean.spec
    if declared_aspects:
        return _is_declared(measure, declared_aspects)
    return True


def _is_declared(measure: Any, declared_aspects: Any) -> bool:
    """Return whether the aspect of a measure is declared, with its scale if scales are.

    `declared_aspects` are `Aspects`, which have scales, or only names.
    """
    aspect = measure.one_aspect
    if aspect not in declared_aspects:
        return False
    if not isinstance(declared_aspects, Aspects):
        return True
    has_scale = isinstance(measure.spec, Aspects)
    return has_scale and measure.spec[aspect] == declared_aspects[aspect]


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
    weightings = _sample_weightings(mean, aspects, at_least, seed)
    if has_linear_weights(mean):
        # Differences under all weightings follow from those on the aspects: only the values of the
        # declared weighting are computed.
        weighted_sums = values @ weightings.declared
        declared = weighted_sums[:, :, None]
        sampled = None
        at_corners = None
    else:
        combined = _combine_values(mean, values, weightings.rows)
        declared, sampled, at_corners = weightings.split(combined)
    return WeightedValues(
        names=names,
        aspects=aspects,
        weights=weightings.declared,
        least=weightings.least,
        points=weightings.sampled,
        declared=declared,
        values=values,
        sampled=sampled,
        at_corners=at_corners,
    )


def _combine_values(mean: AspectMean, values: Floats, weightings: Floats) -> Floats:
    """Return the values of a mean under several weightings, systems × topics × weightings.

    `values` are those of the aspects, systems × topics × aspects; `weightings` has one row per
    weighting.
    """
    n_systems, n_topics, n_aspects = values.shape
    # The mean combines the rows of aspects × (systems × topics).
    aspects_first = np.moveaxis(values, 2, 0)
    rows_of_aspects = aspects_first.reshape(n_aspects, -1)
    combined_values = [_combine(mean, rows_of_aspects, weights) for weights in weightings]
    combined = np.stack(combined_values, axis=-1)  # (systems × topics) × weightings
    return combined.reshape(n_systems, n_topics, -1)


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
    weightings = _sample_weightings(mean, aspects, at_least, seed)
    # Evaluate the declared weighting, sampled ones and the corners, at each of which one aspect has
    # all weight that the least ones leave; then take these three apart.
    evaluated = _evaluate_weightings(mean, weightings.rows, aspects, names, qids, runs, qrels)
    declared, sampled, at_corners = weightings.split(evaluated)
    return WeightedValues(
        names=names,
        aspects=aspects,
        weights=weightings.declared,
        least=weightings.least,
        points=weightings.sampled,
        declared=declared,
        values=None,  # of the aspects, which do not determine those of the mean
        sampled=sampled,
        at_corners=at_corners,
    )


def _sample_weightings(
    mean: AspectMean, aspects: list[str], at_least: object, seed: int
) -> _Weightings:
    """Return the weights of the measure, the least ones, and samples of all between."""
    refuse_single(aspects, "aspects")
    least = _least_weights(at_least, aspects)
    declared = _declared_weights(mean, aspects, least)
    if has_linear_weights(mean):
        n_samples = N_SAMPLED
    else:
        n_samples = N_EVALUATED
    shares = simplex_points(n_samples, len(aspects), seed)
    weight_left = 1 - least.sum()  # which the shares divide among the aspects
    sampled = least + weight_left * shares
    return _Weightings(declared, least, sampled)


def _combine(mean: AspectMean, values: Floats, weights: Floats) -> Floats:
    """Return the means of values, aspects × cells, under one weighting.

    Aspects of weight 0 do not count.
    """
    has_weight = weights > 0
    counted_values = values[has_weight]
    counted_weights = weights[has_weight, None]
    weight_of_cell = np.broadcast_to(counted_weights, counted_values.shape)
    return mean.combine(counted_values, weight_of_cell)


def _evaluate_weightings(
    mean: AspectMean,
    weightings: Floats,
    aspects: list[str],
    names: list[Any],
    qids: list[Any],
    runs: object,
    qrels: object,
) -> Floats:
    """Return the values of a mean under several weightings, systems × topics × weightings.

    Higher is better. `names` and `qids` are the systems and topics, sorted as text.
    """
    mean_by_label = {}
    for position, weighting in enumerate(weightings):
        weights = dict(zip(aspects, weighting.tolist(), strict=True))
        label = str(position)
        mean_by_label[label] = mean(weights=weights)
    frame = evaluate(runs, qrels, mean_by_label, progress=False)
    frame = _select_rows(frame, "name", names, "runs")
    frame = _select_rows(frame, "qid", qids, "topics")
    # Like `names` and `qids`, the axes are sorted as text; weightings keep their order.
    values, *_ = matrix(frame)
    if mean.lower_is_better:
        return values * -1.0
    return values


def _select_rows(frame: pd.DataFrame, column: str, wanted: list[Any], noun: str) -> pd.DataFrame:
    """Return the rows with some names in a column, after checking that it has all of them."""
    wanted_names = list(map(str, wanted))
    names = frame[column].map(str)
    source = f"{noun} of runs= and qrels="
    refuse_unknown(wanted_names, names.unique(), source)
    is_wanted = names.isin(wanted_names)
    return frame[is_wanted]


def _least_weights(at_least: object, aspects: list[str]) -> Floats:
    """Return the least weight of each aspect, 0 by default."""
    if at_least is None:
        return np.zeros(len(aspects))
    if not isinstance(at_least, Mapping):
        raise MultiAspectError(
            f"at_least: expected a mapping {{aspect: weight}}, got {shown(at_least)}"
        )
    refuse_unknown(at_least, aspects, "aspects", "at_least")
    weights = []
    for aspect in aspects:
        check = real(f"at_least: {aspect}", low=0)
        weight = at_least.get(aspect, 0)
        weights.append(check(weight))
    least = np.array(weights)
    total = least.sum()
    if total > 1 + _TOLERANCE:
        raise MultiAspectError(f"at_least: expected weights that sum to at most 1, got {total:g}")
    return least


def _declared_weights(mean: AspectMean, aspects: list[str], least: Floats) -> Floats:
    """Return the weights of the measure, by default in the middle of all weightings."""
    declared = mean["weights"]
    if declared is None:
        weight_left = 1 - least.sum()
        return np.asarray(least + weight_left / len(aspects))
    weights = np.array(normalised_weights(declared, aspects))
    is_below_least = weights < least - _TOLERANCE
    if is_below_least.any():
        below = [aspects[row] for row in np.flatnonzero(is_below_least)]
        raise MultiAspectError(
            f"expected weights of {mean} of at least those of at_least, got less for "
            f"{choices(below)}"
        )
    return weights
