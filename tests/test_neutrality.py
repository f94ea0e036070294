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
    ranking, background = ["d2", "d0", "d1"], ["d0", "d1"]  # d2 is outside
    official = nfairr(ranking, neutrality, background, 3)
    assert official > 1
    # d2 is at rank 1, whose discount is 1.
    contribution_of_d2 = 1.0 / (0.9 + 0.8 / math.log2(3))
    ours = value(ranking, neutrality, background, 3)
    assert ours == pytest.approx(official - contribution_of_d2, abs=1e-12)


@pytest.mark.slow
def test_a_tenth_of_the_documents_outside_makes_differences_as_the_page_says() -> None:
    """NFaiRR is never lower, and by up to 0.2 to 0.6 higher, than nDCG of the aspect.

    Of 220 documents, 20 are outside of the background set, and some of them in the top 10.
    """
    rng = np.random.default_rng(0)
    background = [f"d{number}" for number in range(200)]
    differences = []
    for _ in range(200):
        shares = rng.beta(2, 1, 220).round(2)
        neutrality = {f"d{number}": float(share) for number, share in enumerate(shares)}
        top_10 = rng.permutation(list(neutrality))[:10].tolist()
        official = nfairr(top_10, neutrality, background, 10)
        differences.append(official - value(top_10, neutrality, background, 10))
    assert min(differences) >= -1e-12
    assert 0.2 < max(differences) < 0.6


def test_the_page_computes_nfairr() -> None:
    """The table that the code of the page ends with, `ma.aggregate(…)`, has the values of the formula."""
    page = Path(__file__).resolve().parents[1] / "docs" / "howto" / "compare.md"
    text = page.read_text(encoding="utf-8")
    section = text[text.index("\n## Neutrality as an aspect\n") :]
    (code,) = re.findall(r"```{code-cell}\n(.*?)```", section, re.DOTALL)
    names: dict[str, object] = {"ma": ma, "pd": pd}
    exec(code.replace("ma.aggregate(", "table = ma.aggregate("), names)
    qrels, runs = names["qrels"], names["runs"]
    table = names["table"].set_index("name")
    for name, run in runs.items():
        values = []
        for qid, scores in run.items():
            neutrality = qrels[qrels["qid"] == qid].set_index("docno")["neutrality"].to_dict()
            ranking = sorted(scores, key=scores.get, reverse=True)
            values.append(nfairr(ranking, neutrality, list(neutrality), 2))
        assert table.loc[name, "NFaiRR@2"] == pytest.approx(np.mean(values), abs=5e-4)
