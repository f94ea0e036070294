"""Neutrality as an aspect: nDCG of it is NFaiRR, as long as all retrieved documents are in the background set."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import pt_multiaspect as ma

DOCNOS = [f"d{number}" for number in range(12)]
NEUTRALITY = st.sampled_from([0.0, 0.05, 0.3, 0.55, 0.9, 1.0])


def fairr(neutralities: list[float], cutoff: int) -> float:
    """Neutrality, discounted by rank."""
    return sum(
        value / math.log2(rank + 1) for rank, value in enumerate(neutralities[:cutoff], start=1)
    )


def nfairr(
    ranking: list[str], neutrality: dict[str, float], background: list[str], cutoff: int
) -> float:
    """NFaiRR of Rekabsaz et al.: over the best ranking of the background set, which need not hold the ranking."""
    ideal = sorted((neutrality[docno] for docno in background), reverse=True)
    return fairr([neutrality[docno] for docno in ranking], cutoff) / fairr(ideal, cutoff)


def value(
    ranking: list[str], neutrality: dict[str, float], background: list[str], cutoff: int
) -> float:
    """The aspect's nDCG, with the background documents as qrels."""
    qrels = {
        "q": {docno: {"relevance": 0, "neutrality": neutrality[docno]} for docno in background}
    }
    run = {"q": {docno: -float(rank) for rank, docno in enumerate(ranking)}}
    return (ma.On(aspect="neutrality", base="nDCG") @ cutoff).calc_aggregate(qrels, run)


@given(
    st.lists(NEUTRALITY, min_size=12, max_size=12).filter(any),
    st.permutations(DOCNOS),
    st.integers(1, 12),
    st.integers(1, 12),
)
@examples(60)
def test_it_is_nfairr_if_all_documents_are_in_the_background_set(
    values: list[float], ranking: list[str], length: int, cutoff: int
) -> None:
    neutrality = dict(zip(DOCNOS, values, strict=True))
    wanted = nfairr(ranking[:length], neutrality, DOCNOS, cutoff)
    assert value(ranking[:length], neutrality, DOCNOS, cutoff) == pytest.approx(wanted, abs=1e-12)


def test_documents_outside_the_background_set_count_in_nfairr_only() -> None:
    """The difference is what they contribute; NFaiRR then exceeds 1."""
    neutrality = {"d0": 0.9, "d1": 0.8, "d2": 1.0}
    ranking, background = ["d2", "d0", "d1"], ["d0", "d1"]
    official = nfairr(ranking, neutrality, background, 3)
    missing = 1.0 / fairr([0.9, 0.8], 3)
    assert official > 1
    assert value(ranking, neutrality, background, 3) == pytest.approx(official - missing, abs=1e-12)


@pytest.mark.slow
def test_a_tenth_of_the_documents_outside_makes_differences_as_the_page_says() -> None:
    """Tops of 10 of which some document is outside of a background set of 200."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(200):
        neutrality = {
            f"d{number}": float(share) for number, share in enumerate(rng.beta(2, 1, 220).round(2))
        }
        ranking = rng.permutation(list(neutrality))[:10].tolist()
        background = [f"d{number}" for number in range(200)]
        difference = nfairr(ranking, neutrality, background, 10) - value(
            ranking, neutrality, background, 10
        )
        assert difference >= -1e-12
        largest = max(largest, difference)
    assert 0.2 < largest < 0.6


def test_the_page_computes_nfairr() -> None:
    """Its table is that of the formula."""
    page = Path(__file__).resolve().parents[1] / "docs" / "howto" / "compare.md"
    section = page.read_text(encoding="utf-8").partition("\n## Neutrality as an aspect\n")[2]
    (code,) = re.findall(r"```{code-cell}\n(.*?)```", section, re.DOTALL)
    names: dict[str, object] = {"ma": ma, "pd": pd}
    exec(code.replace("ma.aggregate(", "table = ma.aggregate("), names)
    qrels, runs, table = names["qrels"], names["runs"], names["table"]
    for name, run in runs.items():
        wanted = []
        for qid, scores in run.items():
            neutralities = qrels[qrels["qid"] == qid].set_index("docno")["neutrality"].to_dict()
            ranking = sorted(scores, key=lambda docno, scores=scores: -scores[docno])
            wanted.append(nfairr(ranking, neutralities, list(neutralities), 2))
        assert table.set_index("name").loc[name, "NFaiRR@2"] == pytest.approx(
            np.mean(wanted), abs=5e-4
        )
