"""The time that readability takes: 10 000 documents of 500 words on two cores.

Run with ``pytest benchmarks -s``. Only FOG has a limit; the others are as fast as textstat is.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pt_multiaspect import MultiAspectError
from pt_multiaspect.readability import readability

N_WORDS = 500
SYLLABLES = [
    "ca",
    "re",
    "mi",
    "ton",
    "ble",
    "ing",
    "tion",
    "ous",
    "ea",
    "per",
    "th",
    "ly",
    "ed",
    "qui",
    "some",
    "ist",
]


def documents(n_documents: int) -> pd.DataFrame:
    """Make texts of distinct words with the frequencies of a language and sentences of 15 words on average."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 5, 50_000)
    words = np.array(["".join(generator.choice(SYLLABLES, length)) for length in lengths], dtype=object)
    drawn = words[np.minimum(generator.zipf(1.3, (n_documents, N_WORDS)), len(words)) - 1]
    drawn[generator.random(drawn.shape) < 1 / 15] += "."
    return pd.DataFrame(
        {"docno": [f"d{row}" for row in range(n_documents)], "text": [" ".join(row) for row in drawn.tolist()]}
    )


def _seconds(docs: pd.DataFrame, index: Any) -> float:
    start = time.perf_counter()
    scores = readability(docs, index, n_jobs=2, progress=False)
    taken = time.perf_counter() - start
    assert scores[index].nunique() > 100
    return taken


def test_fog_of_ten_thousand_documents() -> None:
    taken = _seconds(documents(10_000), "fog")
    print(f"\nFOG of 10 000 documents of {N_WORDS} words on two cores: {taken:.2f} s (at most 60)")
    assert taken < 60


@pytest.mark.parametrize("index", ["smog", "flesch_kincaid"])
def test_indexes_of_textstat_of_a_thousand_documents(index: str) -> None:
    try:
        taken = _seconds(documents(1_000), index)
    except MultiAspectError as error:
        pytest.skip(str(error))
    print(f"\n{index} of 1 000 documents of {N_WORDS} words on two cores: {taken:.2f} s")
