"""Files that judges of answers write: which columns are criteria, what their values mean, and which are missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import Aspect
from pt_multiaspect.errors import MultiAspectError, MultiAspectWarning

FIVE = {"faithful": [1, 2, 3, 4, 5]}


def judged_frame(*labels: object) -> pd.DataFrame:
    """Return answers with these labels of the criterion faithful."""
    rows = [(f"q{number // 2}", "ab"[number % 2], label) for number, label in enumerate(labels)]
    return pd.DataFrame(rows, columns=["qid", "name", "faithful"])


# --- kind: whether a column is a criterion depends on how many of its values failed ---------------


@pytest.mark.parametrize("n_failed", [1, 24, 25, 26, 29, 49])
@pytest.mark.parametrize("word", ["N/A", "error", "could not judge"])
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_criterion_stays_one_whatever_the_number_of_failures(
    n_failed: int, word: str, is_constant: bool, tmp_path: Path
) -> None:
    """N/A on 25 of the first 30 rows left the criterion out without a word, on 24 it was an error."""
    scores = ["0.5" if is_constant else f"{number % 10 / 10}" for number in range(50 - n_failed)]
    judged_frame(*[word] * n_failed, *scores).assign(other=0.5).to_csv(tmp_path / "judged.csv", index=False)
    with no_warnings(), pytest.raises(MultiAspectError, match=rf"in faithful for a on topic q0, got '{word}'"):
        ma.answers.from_criteria(tmp_path / "judged.csv")
    with no_warnings():
        description = ma.describe(tmp_path / "judged.csv")
    assert list(description.aspects) == ["faithful", "other"]
    assert "labels are no numbers" in str(description)


def test_an_aspect_of_qrels_stays_one_whatever_the_number_of_failures() -> None:
    """The same in qrels whose labels are text."""
    for n_failed in (4, 9):
        frame = judged_frame(*["N/A"] * n_failed, *["1"] * (10 - n_failed)).rename(columns={"name": "docno"})
        assert ma.Judgments(frame.assign(label=1)).label_names == ("relevance", "faithful")


def test_a_column_of_sentences_beside_numbers_is_named_when_it_is_left_out() -> None:
    refusals = [f"I cannot judge answer {number}" for number in range(20)]
    frame = judged_frame(*refusals, *["0.5", "0.7"] * 5).assign(other=0.5)
    with pytest.warns(MultiAspectWarning, match="the column faithful is left out, as it contains texts beside"):
        assert set(ma.answers.from_criteria(frame)["measure"]) == {"other"}


@pytest.mark.parametrize(
    "column",
    [
        {"answer": ["42", "Oslo"] * 5},
        {"reason": ["because", "7"] * 5},
        {"model": ["4o", "3.5"] * 5},
        {"doc_id": ["d1", "17"] * 5},
        {"comment": ["", "good"] * 5},
    ],
)
def test_columns_of_texts_with_few_numbers_stay_silent(column: dict[str, list[str]]) -> None:
    frame = judged_frame(*[0.5, 0.7] * 5).assign(**column)
    if "doc_id" in column:
        frame = frame.rename(columns={"doc_id": "passage_id"})
    with no_warnings():
        assert set(ma.answers.from_criteria(frame)["measure"]) == {"faithful"}


# --- kind: truth values are grades on scales of two grades only -----------------------------------


def long_frame(*labels: object) -> pd.DataFrame:
    frame = judged_frame(*labels).rename(columns={"name": "docno", "faithful": "value"})
    return frame.assign(criterion="faithful", judge="x")


def qrels_value(frame: pd.DataFrame, aspects: Any) -> object:
    qrels = frame.rename(columns={"name": "docno"})
    return ma.Judgments(qrels).view("faithful", ma.Aspects(aspects))


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    "read",
    [
        lambda label: ma.answers.from_criteria(judged_frame(label, 3, 4, 5), aspects=FIVE),
        lambda label: ma.answers.from_criteria(judged_frame(label, label), aspects=FIVE),
        lambda label: ma.answers.from_criteria(judged_frame(label, 0.3, 0.4, 0.5)),
        lambda label: ma.from_long(long_frame(label, 3, 4, 5), aspects=FIVE),
        lambda label: qrels_value(judged_frame(label, 3, 4, 5), FIVE),
        lambda label: qrels_value(judged_frame(label, label), FIVE),
    ],
)
def test_truth_values_are_refused_on_longer_scales(read: Callable[[object], object], value: bool) -> None:
    """JSON true on a scale 1 to 5 was its lowest grade."""
    with pytest.raises(MultiAspectError, match=f"{value}.*truth values on scales of two grades only|truth values"):
        read(value)


def test_truth_values_among_grades_are_described() -> None:
    description = ma.describe(judged_frame(True, 3, 4, 5), aspects=FIVE)
    assert "truth values among other labels" in str(description)


@pytest.mark.parametrize("grades", [[0, 1], [1, 2], [0, 2]])
def test_truth_values_are_the_grades_of_scales_of_two(grades: list[int]) -> None:
    aspects = {"faithful": grades}
    frame = judged_frame(True, False, False, True)
    with no_warnings():
        assert ma.answers.from_criteria(frame, aspects=aspects)["value"].tolist() == [1, 0, 0, 1]
        assert qrels_value(frame, aspects).label.tolist() == [grades[1], grades[0], grades[0], grades[1]]  # type: ignore[attr-defined]
        assert ma.answers.from_criteria(frame)["value"].tolist() == [1, 0, 0, 1]
        assert "truth values" not in str(ma.describe(frame))
    falling = {"faithful": Aspect([0, 1], greater_is_better=False)}
    assert ma.answers.from_criteria(frame, aspects=falling)["value"].tolist() == [0, 1, 1, 0]
