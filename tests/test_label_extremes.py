"""Extremes of normalised sums over attainable gains, against enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pt_multiaspect.kernels import label_extremes
from pt_multiaspect.kernels.label_extremes import AttainableGains, highest_ratios, shared_ratios

Sets = Sequence[Sequence[float]]


def attainable(sets: Sets, discounts: Any) -> AttainableGains:
    levels = np.unique(np.concatenate([[0.0], *map(np.asarray, sets)]))
    return AttainableGains(
        levels, np.array([np.isin(levels, gains) for gains in sets]), np.asarray(discounts)
    )


def ratio(weights: Any, gain: Any, discounts: Any) -> float:
    ideal = np.sort(gain)[::-1] @ discounts
    return float(weights @ gain / ideal) if ideal > 0 else 0.0


def enumerate_ratios(weights: Any, sets: Sets, discounts: Any) -> float:
    return max(ratio(weights, np.array(gain), discounts) for gain in itertools.product(*sets))


def draw_sets(rng: np.random.Generator, n: int) -> list[list[float]]:
    """Gains of judged documents, of documents on one scale, and of ones whose gains have gaps."""
    scale = float(rng.choice([1.0, 1e-6, 2.0**52]))
    kind = int(rng.integers(4))
    sets: list[list[float]] = []
    for _ in range(n):
        if rng.random() < 0.4:
            sets.append([scale * int(rng.integers(0, 4))])
        elif kind == 0:
            sets.append([0.0, scale, 2 * scale])
        elif kind == 1:
            sets.append(np.unique(rng.integers(0, 5, 3) * scale).tolist())
        elif kind == 2:
            sets.append(np.unique(rng.random(3) * scale).tolist())
        else:
            sets.append(np.unique(rng.choice([0, 1, 2, 2.0**52], 2)).tolist())
    return sets


def draw_weights(rng: np.random.Generator, discounts: Any) -> Any:
    """The discounts of documents in two rankings, their negatives and differences."""
    rankings = np.zeros((2, len(discounts)))
    for row in rankings:
        documents = rng.permutation(len(discounts))[: rng.integers(0, len(discounts) + 1)]
        row[documents] = discounts[: len(documents)]
    a, b = rankings
    return np.array([a, -a, a - b, b - a])


@pytest.mark.parametrize("seed", range(8))
def test_maxima_are_those_of_enumeration(seed: int) -> None:
    """The highest weighted sum of gains over the ideal, if each document has one of several gains."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(2, 7))
        kinds_of_discounts = [1 / np.log2(np.arange(n) + 2.0), 0.5 ** np.arange(n), np.ones(n)]
        discounts = kinds_of_discounts[rng.integers(3)]
        cutoff = rng.integers(1, n + 1)
        discounts[cutoff:] = 0.0
        sets = draw_sets(rng, n)  # the gains that each document may have
        weights = draw_weights(rng, discounts)  # four rows of weights of documents

        result = highest_ratios(weights, attainable(sets, discounts))

        assert result.exact.all()
        for row, value in zip(weights, result.value, strict=True):
            expected = enumerate_ratios(row, sets, discounts)
            assert value == pytest.approx(expected, abs=1e-14, rel=1e-12)
        # Documents without a weight, if they come last, may be left out of the weights.
        has_weight = (weights != 0).any(axis=0)
        weighted, unweighted = np.flatnonzero(has_weight), np.flatnonzero(~has_weight)
        sorted_sets = [sets[document] for document in [*weighted, *unweighted]]
        shorter = highest_ratios(weights[:, weighted], attainable(sorted_sets, discounts))
        np.testing.assert_allclose(shorter.value, result.value, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_ratios_of_several_ideals_are_those_of_enumeration(seed: int) -> None:
    """The sum of the DCG of two aspects over the sum of their ideals, over all attainable gains."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n = int(rng.integers(1, 4))
        discounts = 1 / np.log2(np.arange(n) + 2.0)
        scales = [np.unique(rng.integers(0, 4, 3)).astype(float).tolist() for _ in range(2)]
        sets_by_aspect = []  # the gains that each document may have
        for scale in scales:
            is_unjudged_or_gain = []
            for _document in range(n):
                if rng.random() < 0.6:
                    is_unjudged_or_gain.append(scale)
                else:
                    is_unjudged_or_gain.append([float(rng.choice(scale))])
            sets_by_aspect.append(is_unjudged_or_gain)
        first_sets, second_sets = sets_by_aspect

        low, high = shared_ratios(
            discounts, [attainable(sets, discounts) for sets in sets_by_aspect]
        )

        values = []
        for first in itertools.product(*first_sets):
            for second in itertools.product(*second_sets):
                dcg = np.array(first) @ discounts + np.array(second) @ discounts
                ideal_first, ideal_second = np.sort(first)[::-1], np.sort(second)[::-1]
                ideal_dcg = ideal_first @ discounts + ideal_second @ discounts
                values.append(dcg / ideal_dcg if ideal_dcg > 0 else 0.0)
        assert low == pytest.approx(min(values), abs=1e-14)
        assert high == pytest.approx(max(values), abs=1e-14)


def test_gains_with_gaps_are_not_set_to_what_a_document_cannot_have() -> None:
    """The first document may have the gains 0 and 1, the second 0 and 3, but neither 2.

    `without_gaps` allows all gains between the lowest and the highest of a document.
    """
    sets = [[0.0, 1.0], [0.0, 3.0], [1.0]]
    weights = np.array([[1.0, 0.5, 0.0]])
    discounts = np.array([1.0, 1 / np.log2(3), 0.5])
    gains = attainable(sets, discounts)
    (highest,) = highest_ratios(weights, gains).value
    assert highest == pytest.approx(enumerate_ratios(weights[0], sets, discounts))
    (highest_without_gaps,) = highest_ratios(weights, gains.without_gaps()).value
    assert highest_without_gaps > highest


def test_a_maximum_below_many_other_rises_is_found() -> None:
    """Choices are left out only if no document that rises further could reach the maximum."""
    sets = [[0.0045, 0.0047, 0.0892], [0.0, 0.4, 0.5], [0.1], [0.0214, 0.062, 0.0634]]
    discounts = 1 / np.log2(np.arange(4) + 2.0)
    third_first = np.array([[0.5, discounts[1], 1.0, discounts[3]]])  # the third document is first
    (highest,) = highest_ratios(third_first, attainable(sets, discounts)).value
    assert highest == pytest.approx(enumerate_ratios(third_first[0], sets, discounts), rel=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e-300, 2.0**52])
def test_the_unit_of_gains_makes_no_difference(factor: float) -> None:
    rng = np.random.default_rng(3)
    sets = [np.unique(rng.random(3)).tolist() for _ in range(12)]
    discounts = 1 / np.log2(np.arange(12) + 2.0)
    weights = draw_weights(rng, discounts)
    expected = highest_ratios(weights, attainable(sets, discounts)).value
    scaled = attainable([[factor * gain for gain in some] for some in sets], discounts)
    np.testing.assert_allclose(highest_ratios(weights, scaled).value, expected, rtol=1e-14)


def test_beyond_the_limit_of_nodes_values_are_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that has visited MOST_NODES nodes returns an upper bound, and says that it is not exact."""
    rng = np.random.default_rng(5)
    n_documents = 7
    sets = [np.unique(rng.random(2)).tolist() for _ in range(n_documents)]  # two gains each
    discounts = 1 / np.log2(np.arange(n_documents) + 2.0)
    weights = np.stack([draw_weights(rng, discounts)[0] for _ in range(20)])

    exact = highest_ratios(weights, attainable(sets, discounts))
    monkeypatch.setattr(label_extremes, "MOST_NODES", 2)
    bound = highest_ratios(weights, attainable(sets, discounts))

    assert exact.exact.all()
    assert not bound.exact.all()
    assert (bound.value >= exact.value - 1e-15).all()
    np.testing.assert_array_equal(bound.value[bound.exact], exact.value[bound.exact])


def test_without_problems_and_without_missing_labels() -> None:
    gains = attainable([[2.0], [0.0]], [1.0, 0.5])
    assert len(highest_ratios(np.zeros((0, 2)), gains).value) == 0
    np.testing.assert_array_equal(
        highest_ratios(np.array([[1.0, 0.0], [0.0, 0.0]]), gains).value, [1.0, 0.0]
    )
