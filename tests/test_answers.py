"""Answers as units: nugget scores, reports, rubrics, criteria, and their combination to one value."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyterrier as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import golden
from strategies import examples, no_warnings
from test_learning_page import cells

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    CG,
    GAM,
    MM,
    TOMA,
    WHAM,
    Aspect,
    Aspects,
    MultiAspectError,
    MultiAspectWarning,
    On,
)
from pt_multiaspect.evaluation.plan import Plan

SIX = [
    f"{strict}{kind}_score" for kind in ("vital", "weighted", "all") for strict in ("strict_", "")
]
IMPORTANCE = {"v": "vital", "o": "okay", "x": "failed"}
ASSIGNMENT = {"s": "support", "p": "partial_support", "n": "not_support", "z": "protect"}


def nuggets(text: str) -> list[dict[str, str]]:
    """Nuggets from two letters each, as in the golden file."""
    return [
        {"text": str(i), "importance": IMPORTANCE[text[i]], "assignment": ASSIGNMENT[text[i + 1]]}
        for i in range(0, len(text), 2)
    ]


def record(qid: str, run: str, text: str) -> dict[str, Any]:
    return {"query": "?", "qid": qid, "answer_text": "…", "run_id": run, "nuggets": nuggets(text)}


def scores_of(frame: pd.DataFrame, qid: str = "q1", name: str = "a") -> dict[str, float]:
    rows = frame[(frame["qid"] == qid) & (frame["name"] == name)]
    return dict(zip(rows["measure"], rows["value"], strict=True))


def criteria(
    *rows: tuple[Any, ...], names: tuple[str, ...] = ("faithful", "complete")
) -> pd.DataFrame:
    """A frame of criteria, from rows of a topic, a run and values."""
    return pd.DataFrame(rows, columns=["qid", "name", *names])


# --- nuggets ----------------------------------------------------------------------------------


def reference_scores(judged: list[dict[str, str]]) -> dict[str, float]:
    """The six scores in exact arithmetic, nugget by nugget, as MEASURES.md states them."""
    result = {}
    for strict in (True, False):
        support = {
            "support": Fraction(1),
            "partial_support": Fraction(0) if strict else Fraction(1, 2),
        }
        for kind in ("vital", "weighted", "all"):
            total = count = Fraction(0)
            for nugget in judged:
                if kind == "all" or nugget["importance"] == "vital":
                    weight = Fraction(1)
                elif kind == "weighted" and nugget["importance"] == "okay":
                    weight = Fraction(1, 2)
                else:
                    weight = Fraction(0)
                total += weight * support.get(nugget["assignment"], Fraction(0))
                count += weight
            result[f"{'strict_' if strict else ''}{kind}_score"] = (
                float(total / count) if count else 0.0
            )
    return result


@pytest.fixture(scope="module")
def tracks() -> dict[str, Any]:
    return golden("answers.json")


def judged_answer(qid: str, run: str, *judged: str) -> dict[str, Any]:
    """An answer with nuggets of an importance and an assignment, such as "vital support"."""
    assigned = []
    for number, words in enumerate(judged):
        importance, assignment = words.split()
        assigned.append({"text": str(number), "importance": importance, "assignment": assignment})
    return {"query": "?", "qid": qid, "answer_text": "…", "run_id": run, "nuggets": assigned}


def test_scores_of_the_trec_rag_track(tracks: dict[str, Any], tmp_path: Path) -> None:
    """Three systems on 301 topics, each from a file as nuggetizer writes it, have the values of the golden file."""
    for system, content in tracks["systems"].items():
        lines = []
        for qid, (coded_nuggets, _scores) in content["topics"].items():
            lines.append(json.dumps(record(qid, system, coded_nuggets)))
        (tmp_path / f"{system}.jsonl").write_text("\n".join(lines), encoding="utf-8")

    with pytest.warns(MultiAspectWarning, match=r"120 of 18428 .*3 topics \(2024-19025") as caught:
        perquery = ma.answers.nugget_scores(str(tmp_path / "*.jsonl"))

    assert len(caught) == 1
    assert len(perquery) == 3 * 301 * 6
    names_of_scores = tracks["scores"]
    assert sorted(set(perquery["measure"])) == sorted(names_of_scores) == sorted(SIX)
    means = ma.aggregate(perquery).set_index("name")
    for system, content in tracks["systems"].items():
        of_system = perquery[perquery["name"] == system]
        by_topic = of_system.pivot(index="qid", columns="measure", values="value")
        expected = {qid: scores for qid, (_nuggets, scores) in content["topics"].items()}
        values = by_topic.loc[list(expected), names_of_scores]
        np.testing.assert_allclose(values, list(expected.values()), rtol=0, atol=1e-9)
        mean_scores = means.loc[system, names_of_scores].tolist()
        assert mean_scores == pytest.approx(content["mean"], abs=1e-9)


def test_scores_of_nuggetizer() -> None:
    for case in golden("nuggets.json")["cases"]:
        judged = [
            {"importance": importance, "assignment": assignment}
            for importance, assignment in case["nuggets"]
        ]
        scores = scores_of(
            ma.answers.nugget_scores([{"qid": "q1", "name": "a", "nuggets": judged}])
        )
        assert {name: scores[name] for name in case["values"]} == pytest.approx(
            case["values"], abs=1e-9
        )


WORDS = st.lists(
    st.tuples(st.sampled_from("vox"), st.sampled_from("spnz")).map("".join), max_size=9
).map("".join)


@given(texts=st.lists(WORDS, min_size=1, max_size=4))
@examples(100)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.errors.MultiAspectWarning")
def test_nugget_scores_equal_the_reference(texts: list[str]) -> None:
    perquery = ma.answers.nugget_scores(
        [record(f"q{i}", "a", text) for i, text in enumerate(texts)]
    )
    for i, text in enumerate(texts):
        scores = scores_of(perquery, f"q{i}")
        assert scores == pytest.approx(reference_scores(nuggets(text)), abs=1e-12)
        assert all(0 <= value <= 1 for value in scores.values())
        for kind in ("vital", "weighted", "all"):
            assert scores[f"strict_{kind}_score"] <= scores[f"{kind}_score"]


def test_an_answer_that_supports_everything_scores_exactly_1() -> None:
    scores = scores_of(ma.answers.nugget_scores([record("q1", "a", "vs" * 7 + "os" * 3)]))
    assert scores == dict.fromkeys(SIX, 1.0)


@pytest.mark.parametrize(
    "make_form",
    [
        pytest.param(lambda folder, _: [folder / "a.jsonl", folder / "b.jsonl.gz"], id="paths"),
        pytest.param(lambda folder, _: str(folder / "*.jsonl*"), id="pattern of paths"),
        pytest.param(
            lambda folder, _: [str(folder / "a.jsonl"), (folder / "b.jsonl.gz").open("rb")],
            id="path and open file",
        ),
        pytest.param(lambda _, answers: tuple(answers), id="records"),
        pytest.param(lambda _, answers: pd.DataFrame(answers), id="frame"),
        pytest.param(
            lambda _, answers: pd.DataFrame(answers).rename(
                columns={"run_id": "name", "qid": "query_id"}
            ),
            id="frame with other names of columns",
        ),
        pytest.param(lambda folder, _: pd.read_parquet(folder / "frame.parquet"), id="Parquet"),
        pytest.param(lambda _, answers: pl.DataFrame(answers), id="Polars"),
    ],
)
def test_every_form_of_assignments_gives_the_same_scores(
    make_form: Callable[[Path, list[Any]], Any], tmp_path: Path
) -> None:
    answers = [
        judged_answer("001", "a", "vital support", "vital partial_support", "okay not_support"),
        judged_answer("002", "a"),
        judged_answer("001", "b", "vital not_support", "vital support", "okay support"),
        judged_answer("002", "b"),
    ]
    line_1, line_2, line_3, line_4 = [json.dumps(answer) for answer in answers]
    (tmp_path / "a.jsonl").write_text(f"{line_1}\n{line_2}\n\n", encoding="utf-8")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(f"{line_3}\n{line_4}".encode()))
    pd.DataFrame(answers).to_parquet(tmp_path / "frame.parquet")

    expected = ma.answers.nugget_scores(answers)
    assert list(expected["qid"].unique()) == ["001", "002"]
    form = make_form(tmp_path, answers)
    pd.testing.assert_frame_equal(ma.answers.nugget_scores(form), expected)


def test_unknown_labels_are_told_in_each_call() -> None:
    """An unknown assignment counts as not_support; a nugget of unknown importance counts in all_score only."""
    answers = [
        judged_answer(
            "q1", "a",
            "vital protect",  # no assignment
            "vital protect",
            "vital support",
            "failed support",  # no importance
            "failed support",
            "okay support",
            "failed not_support",
        )
    ]  # fmt: skip
    message = (
        r"2 of 7 assignments are unknown labels \('protect'; expected support, .*\) and count as "
        r"not_support; "
        r"3 of 7 importances are unknown labels \('failed'; expected vital, okay\) and count in "
        r"all_score"
    )
    with pytest.warns(MultiAspectWarning, match=message) as caught:
        scores = scores_of(ma.answers.nugget_scores(answers))
    assert len(caught) == 1
    assert scores["strict_vital_score"] == 1 / 3
    assert scores["strict_weighted_score"] == (1 + 0.5) / (3 + 0.5)  # okay weighs half
    assert scores["strict_all_score"] == 4 / 7

    with pytest.warns(MultiAspectWarning, match=message):
        ma.answers.nugget_scores(answers)


def test_runs_judged_by_different_nuggets() -> None:
    """A warning names the topic, here q2, on which runs were judged by one and by two vital nuggets."""
    answers = [
        judged_answer("q1", "a", "vital support", "okay support"),
        judged_answer("q1", "b", "vital not_support", "okay not_support"),
        judged_answer("q2", "a", "vital support"),
        judged_answer("q2", "b", "vital support", "vital support"),
    ]
    with pytest.warns(MultiAspectWarning, match=r"1 topic \(q2\).*different nuggets"):
        ma.answers.nugget_scores(answers)


def test_topics_of_different_nuggets_are_listed_in_the_order_of_the_answers() -> None:
    """On both topics, a was judged by one nugget and b by two."""
    answers = [
        judged_answer("q2", "a", "vital support"),
        judged_answer("q2", "b", "vital support", "vital support"),
        judged_answer("q1", "a", "vital support"),
        judged_answer("q1", "b", "vital support", "vital support"),
    ]
    with pytest.warns(MultiAspectWarning, match=r"2 topics \(q2, q1\)"):
        ma.answers.nugget_scores(answers)


def answer_of(run: str, *nuggets: tuple[Any, str, str]) -> dict[str, Any]:
    keys = ("text", "importance", "assignment")
    return {
        "qid": "q1",
        "run_id": run,
        "nuggets": [dict(zip(keys, nugget, strict=True)) for nugget in nuggets],
    }


FIRST, SECOND = ("a", "vital", "support"), ("b", "okay", "support")


@pytest.mark.parametrize(
    "others",
    [
        [FIRST, ("c", "okay", "support")],
        [("a", "okay", "support"), ("b", "vital", "support")],
        [FIRST, SECOND, ("c", "okay", "support")],
        [FIRST],
        [],
    ],
)
def test_as_many_nuggets_may_be_different_ones(others: list[tuple[str, str, str]]) -> None:
    with pytest.warns(MultiAspectWarning, match=r"1 topic \(q1\).*different nuggets"):
        ma.answers.nugget_scores([answer_of("a", FIRST, SECOND), answer_of("b", *others)])


def test_the_same_nuggets_are_compared_whatever_their_order_and_assignment() -> None:
    """No warning: both runs were judged by a vital nugget a and an okay nugget b."""
    ma.answers.nugget_scores(
        [
            answer_of("run 1", ("a", "vital", "support"), ("b", "okay", "support")),
            answer_of("run 2", ("b", "okay", "not_support"), ("a", "vital", "partial_support")),
        ]
    )


@pytest.mark.parametrize("missing", [None, math.nan])
def test_nuggets_without_text_are_compared_by_number_and_importance(missing: Any) -> None:
    """No warning if both runs have two vital nuggets and one okay nugget, in any order."""
    vital = (missing, "vital", "support")
    okay = (missing, "okay", "support")
    ma.answers.nugget_scores(
        [answer_of("run 1", vital, okay, vital), answer_of("run 2", vital, okay, vital)]
    )
    ma.answers.nugget_scores(
        [answer_of("run 1", vital, vital, okay), answer_of("run 2", okay, vital, vital)]
    )
    with pytest.warns(MultiAspectWarning, match="different nuggets"):
        ma.answers.nugget_scores(
            [answer_of("run 1", vital, okay, vital), answer_of("run 2", vital, okay)]
        )


def test_repeated_nuggets_warn_and_contradictory_ones_are_refused() -> None:
    with pytest.warns(
        MultiAspectWarning, match=r"1 nugget of 1 answer .* such as 'a' for b on topic q1"
    ) as caught:
        scores = ma.answers.nugget_scores(
            [answer_of("a", FIRST, SECOND), answer_of("b", FIRST, SECOND, FIRST)]
        )
    assert len(caught) == 1
    assert scores_of(scores, name="b")["vital_score"] == 1
    with pytest.raises(
        MultiAspectError, match=r"one label of each nugget, got several of 'a' for b on topic q1"
    ):
        ma.answers.nugget_scores(
            [answer_of("a", FIRST), answer_of("b", FIRST, SECOND, ("a", "vital", "not_support"))]
        )


NUGGETS: dict[str, tuple[Callable[[], object], str]] = {
    "no importance": (
        lambda: [{"qid": "q1", "name": "a", "nuggets": [{"assignment": "support"}]}],
        "expected an importance and an assignment of every nugget, got .* for a on topic q1",
    ),
    "importance null": (
        lambda: [{"qid": "q1", "name": "a", "nuggets": [{"importance": None, "assignment": "support"}]}],
        "expected an importance and an assignment",
    ),
    "importance NaN": (
        lambda: [{"qid": "q1", "name": "a", "nuggets": [{"importance": math.nan, "assignment": "support"}]}],
        "expected an importance and an assignment",
    ),
    "nuggets that were not assigned": (
        lambda: [{"qid": "q1", "name": "a", "nuggets": [{"text": "?", "importance": "vital"}]}],
        "expected an importance and an assignment",
    ),
    "nuggets of text": (lambda: [{"qid": "q1", "name": "a", "nuggets": ["fact"]}], "of every nugget, got 'fact'"),
    "nuggets no list": (lambda: [{"qid": "q1", "name": "a", "nuggets": "fact"}], "expected a list of nuggets"),
    "no nuggets": (lambda: [{"qid": "q1", "name": "a"}], "expected one column nuggets, got"),
    "one without nuggets": (
        lambda: [record("q1", "a", "vs"), {"qid": "q2", "run_id": "a"}],
        ("topic q2, got nan; score answers with nuggets and answers with criteria from separate "
        "files"),
    ),
    "no run": (lambda: [{"qid": "q1", "nuggets": []}], "expected one column name or run_id"),
    "two names": (lambda: [{"qid": "q1", "name": "a", "run_id": "b", "nuggets": []}], "got name and run_id"),
    "no topic": (lambda: [{"name": "a", "nuggets": []}], "expected one column qid or query_id"),
    "one without a topic": (
        lambda: [record("q1", "a", "vs"), {"run_id": "a", "nuggets": []}],
        "expected a qid in every row, got none in row 1",
    ),
    "documents": (
        lambda: [{"qid": "q1", "docid": "d1", "nuggets": []}],
        "expected assignments of answers, with a run_id, got those of documents, .* from_subtopics",
    ),
    "two answers": (
        lambda: [record("q1", "a", "vs"), record("q1", "a", "vn")],
        "expected one value of strict_vital_score for a on topic q1, got several",
    ),
    "an item that is no record": (
        lambda: [record("q1", "a", "vs"), 3],
        "item 2: expected a JSON object with qid and run_id, got 3",
    ),
    "nothing": (list, "expected at least one file, got none"),
    "no rows": (pd.DataFrame, "expected at least one row, got none"),
    "no frame": (lambda: 3, "expected a path or an open file, got int"),
    "no such file": (lambda: "missing.jsonl", "missing.jsonl: no such file"),
}  # fmt: skip


@pytest.mark.parametrize("case", NUGGETS)
def test_bad_assignments(case: str) -> None:
    make, message = NUGGETS[case]
    with pytest.raises(MultiAspectError, match=message) as caught:
        ma.answers.nugget_scores(make())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json}", r"bad.jsonl:2: expected valid JSON"),
        ("[1, 2]", r"bad.jsonl:2: expected a JSON object with qid and run_id, got \[1, 2\]"),
        ('{"qid": "q1", "qid": "q2"}', "bad.jsonl:2: expected each key once"),
        (
            '{"qid": "q1", "run_id": "b", "nuggets": [{"text": "cut \\ud83d"}]}',
            r"bad.jsonl:2: expected text that UTF-8 can represent, got .*cut \\ud83d",
        ),
    ],
)
def test_bad_lines(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(record("q1", "a", "vs")) + "\n" + content + "\n", encoding="utf-8")
    with pytest.raises(MultiAspectError, match=message):
        ma.answers.nugget_scores(path)


# --- reports ----------------------------------------------------------------------------------

#: Per topic, the sentences that are supported, the sentences, the nuggets that are covered and the
#: nuggets of the example report of ARGUE-Viz, the viewer of Auto-ARGUE (hltcoe/argue-viz,
#: example-report.scores.tsv) ...
ARGUE = {
    "300": (14, 15, 9, 15), "303": (10, 10, 7, 10), "308": (9, 10, 6, 10), "309": (12, 12, 8, 12),
    "310": (10, 11, 6, 11), "334": (16, 18, 15, 19), "335": (10, 11, 10, 11), "343": (10, 10, 6, 10),
    "351": (11, 11, 8, 10), "352": (14, 15, 14, 15), "365": (13, 14, 10, 15), "367": (18, 18, 13, 18),
    "372": (17, 17, 10, 17), "373": (12, 13, 7, 13), "377": (17, 17, 13, 19), "380": (18, 19, 16, 19),
    "382": (18, 19, 17, 19), "383": (12, 13, 12, 13), "388": (10, 10, 6, 10),
}  # fmt: skip
#: ... some of its scores, and their means, which the file calls macro averages.
ARGUE_SCORES = {
    "300": (0.9333333333333333, 0.6, 0.7304347826086957),
    "334": (0.8888888888888888, 0.7894736842105263, 0.8362369337979094),
    "372": (1.0, 0.5882352941176471, 0.7407407407407407),
}
ARGUE_MEANS = (0.9549052363456795, 0.7159860218357855, 0.8108727761893327)
ARGUE_NAMES = ["sentence_support", "nugget_coverage", "f1"]


def argue_rows(
    qid: str, counts: tuple[float, ...], run: str = "a"
) -> list[tuple[str, str, str, float]]:
    """Rows of Auto-ARGUE; without counts of their own, weighted nuggets count as the others."""
    names = ("correctly_cited_sentences", "sentences_with_citations_or_requiring_citations", "correct_nuggets",
             "nuggets", "correct_nuggets_weighted", "nuggets_weighted")  # fmt: skip
    values = counts if len(counts) == 6 else (*counts, *counts[2:])
    return [(run, qid, name, float(value)) for name, value in zip(names, values, strict=True)]


def argue_frame(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run_id", "request_id", "metric", "value"])


def test_published_scores_of_reports(tmp_path: Path) -> None:
    rows = [row for qid, counts in ARGUE.items() for row in argue_rows(qid, counts)]
    overall = [
        ("a", "all", "nuggets", 51.0),
        ("a", "all", "f1_macro", 0.5),
        ("a", "300", "sentences", 15.0),
    ]
    frame = argue_frame(*overall, *rows)
    path = tmp_path / "run.scores.tsv"
    frame.to_csv(path, sep="\t", index=False)
    perquery = ma.answers.argue_scores(path)
    for qid, expected in ARGUE_SCORES.items():
        scores = scores_of(perquery, qid)
        assert [scores[name] for name in ARGUE_NAMES] == pytest.approx(expected, abs=1e-12)
        assert scores["nugget_coverage_weighted"] == scores["nugget_coverage"]
        assert scores["f1_weighted"] == scores["f1"]
    means = ma.aggregate(perquery)
    assert means[ARGUE_NAMES].iloc[0].tolist() == pytest.approx(ARGUE_MEANS, abs=1e-12)
    assert sorted(perquery["qid"].unique()) == sorted(ARGUE)
    for form in (
        frame,
        [path],
        pl.DataFrame(frame),
        frame.rename(columns={"request_id": "qid", "run_id": "name"}),
    ):
        pd.testing.assert_frame_equal(ma.answers.argue_scores(form), perquery)


def argue_report(
    qid: str, run: str, *, supported: int, sentences: int, covered: int, nuggets: int
) -> list[tuple[str, str, str, float]]:
    """Rows of a report whose nuggets have equal weights."""
    return argue_rows(qid, (supported, sentences, covered, nuggets), run)


def test_runs_and_topics_called_as_missing_values(tmp_path: Path) -> None:
    """The ids null and NA in a file are names, although pandas reads them as missing values."""
    path = tmp_path / "run.scores.tsv"
    report = argue_report("null", "NA", supported=4, sentences=5, covered=1, nuggets=4)
    argue_frame(*report).to_csv(path, sep="\t", index=False)
    scores = scores_of(ma.answers.argue_scores(path), qid="null", name="NA")
    assert scores["sentence_support"] == 4 / 5


def test_weighted_nuggets_of_reports() -> None:
    """Weighted scores read the counts of weighted nuggets, others those of nuggets."""
    report = argue_frame(
        ("a", "q1", "correctly_cited_sentences", 4),
        ("a", "q1", "sentences_with_citations_or_requiring_citations", 5),
        ("a", "q1", "correct_nuggets", 2),
        ("a", "q1", "nuggets", 4),
        ("a", "q1", "correct_nuggets_weighted", 3),
        ("a", "q1", "nuggets_weighted", 8),
    )
    scores = scores_of(ma.answers.argue_scores(report))
    assert scores["nugget_coverage"] == 2 / 4
    assert scores["nugget_coverage_weighted"] == 3 / 8
    support, coverage = 4 / 5, 3 / 8
    harmonic_mean = 2 * support * coverage / (support + coverage)
    assert scores["f1_weighted"] == pytest.approx(harmonic_mean)


def test_reports_without_sentences_or_nuggets() -> None:
    """A fraction of none is 0."""
    without_sentences = argue_report("q1", "a", supported=0, sentences=0, covered=2, nuggets=4)
    scores = scores_of(ma.answers.argue_scores(argue_frame(*without_sentences)))
    assert scores == {
        "sentence_support": 0,
        "nugget_coverage": 2 / 4,
        "nugget_coverage_weighted": 2 / 4,
        "f1": 0,
        "f1_weighted": 0,
    }

    without_nuggets = argue_report("q1", "a", supported=0, sentences=3, covered=0, nuggets=0)
    scores = scores_of(ma.answers.argue_scores(argue_frame(*without_nuggets)))
    assert set(scores.values()) == {0.0}


ARGUE_BAD: dict[str, tuple[Callable[[], object], str]] = {
    "a count is missing": (
        lambda: argue_frame(*argue_rows("q1", (1, 2, 1, 2)), *argue_rows("q2", (1, 2, 1, 2))[:-1]),
        r"of every report, got no nuggets_weighted for a on topic q2",
    ),
    "other metrics only": (lambda: argue_frame(("a", "q1", "citations", 3.0)), "expected the metrics .*, got none"),
    "more covered than there are": (
        lambda: argue_frame(*argue_rows("q1", (2, 2, 2, 2)), *argue_rows("q2", (1, 2, 3, 2))),
        "expected at most as many correct_nuggets as nuggets, got more for a on topic q2",
    ),
    "twice": (
        lambda: argue_frame(*argue_rows("q1", (1, 2, 1, 2)), *argue_rows("q1", (1, 2, 1, 2))),
        "expected one value of correctly_cited_sentences for a on topic q1, got several",
    ),
    "negative": (lambda: argue_frame(*argue_rows("q1", (-1, 2, 1, 2))), "expected a number of at least 0"),
    "text": (lambda: argue_frame(("a", "q1", "nuggets", "many")), "expected a number of at least 0 .* got 'many'"),
    "nothing": (list, "expected at least one file, got none"),
    "no columns": (lambda: pd.DataFrame({"run_id": ["a"]}), "columns run_id request_id metric value"),
}  # fmt: skip


@pytest.mark.parametrize("case", ARGUE_BAD)
def test_bad_reports(case: str) -> None:
    make, message = ARGUE_BAD[case]
    with pytest.raises(MultiAspectError, match=message):
        ma.answers.argue_scores(make())


def test_other_files_of_argue(tmp_path: Path) -> None:
    path = tmp_path / "run.judgments.jsonl"
    path.write_text(json.dumps({"report": {"text": "x" * 10_000}}), encoding="utf-8")
    with pytest.raises(MultiAspectError, match=r"expected.*Auto-ARGUE.*columns") as caught:
        ma.answers.argue_scores(path)
    assert len(str(caught.value)) < 500


# --- rubrics ----------------------------------------------------------------------------------

QUESTIONS = ["qid", "name", "weight", "met"]


@given(
    questions=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from([0, 0.25, 1])), min_size=1, max_size=6
    ).filter(lambda questions: any(weight for weight, _ in questions))
)
@examples(100)
def test_rubrics_are_weighted_means(questions: list[tuple[int, float]]) -> None:
    frame = pd.DataFrame([("q1", "a", *question) for question in questions], columns=QUESTIONS)
    expected = sum(weight * met for weight, met in questions) / sum(
        weight for weight, _ in questions
    )
    assert scores_of(ma.answers.rubric_scores(frame)) == {
        "rubric": pytest.approx(expected, abs=1e-12)
    }


def test_rubrics_of_truth_values_and_several_answers() -> None:
    rows = [
        ("q2", "b", 3, True),
        ("q1", "a", 1, True),
        ("q2", "b", 1, False),
        ("q1", "a", 1, False),
    ]
    perquery = ma.answers.rubric_scores(pd.DataFrame(rows, columns=QUESTIONS))
    assert perquery.to_numpy().tolist() == [["b", "q2", "rubric", 0.75], ["a", "q1", "rubric", 0.5]]


def test_rubrics_of_different_questions() -> None:
    rows = [("q1", "a", 3, 1), ("q1", "a", 1, 0), ("q1", "b", 3, 1)]
    with pytest.warns(MultiAspectWarning, match=r"1 topic.*different questions"):
        ma.answers.rubric_scores(pd.DataFrame(rows, columns=QUESTIONS))


@pytest.mark.parametrize(
    ("questions_of_b", "columns"),
    [
        pytest.param(
            [("who?", 1, True), ("when?", 3, False)],
            ["qid", "name", "question", "weight", "met"],
            id="swapped weights of the same questions",
        ),
        pytest.param(
            [("who?", 3, True), ("where?", 1, False)],
            ["qid", "name", "question", "weight", "met"],
            id="another question",
        ),
        pytest.param(
            [("who?", 2, True), ("when?", 2, False)],
            ["qid", "name", "weight", "met"],
            id="other weights, where the questions are not told",
        ),
    ],
)
def test_rubrics_of_swapped_weights_or_other_questions(
    questions_of_b: list[tuple[str, int, bool]], columns: list[str]
) -> None:
    """A warning says that the runs a and b cannot be compared on the topic."""
    questions_of_a = [("who?", 3, True), ("when?", 1, False)]  # question, weight, met
    rows = [("q1", "a", *question) for question in questions_of_a]
    rows += [("q1", "b", *question) for question in questions_of_b]
    rubric = pd.DataFrame(rows, columns=["qid", "name", "question", "weight", "met"])
    with pytest.warns(MultiAspectWarning, match=r"1 topic.*different questions"):
        ma.answers.rubric_scores(rubric[columns])


@pytest.mark.parametrize("columns", [["question"], []], ids=["named", "unnamed"])
def test_weights_that_differ_by_rounding_are_those_of_the_same_questions(
    columns: list[str],
) -> None:
    # Weights normalised run by run, in different orders of the questions.
    rows = [
        ("q1", "a", "?", 0.3, 1),
        ("q1", "a", "!", 0.7, 0),
        ("q1", "b", "!", 0.7, 0),
        ("q1", "b", "?", 0.1 + 0.2, 1),
    ]
    assert len({weight for *_, weight, _ in rows}) == 3
    frame = pd.DataFrame(rows, columns=["qid", "name", "question", "weight", "met"])
    scores = ma.answers.rubric_scores(frame[["qid", "name", *columns, "weight", "met"]])
    assert scores["value"].tolist() == pytest.approx([0.3, 0.3])


def test_repeated_questions_warn_and_contradictory_ones_are_refused() -> None:
    rows = [
        ("q1", "a", "?", 3, 1),
        ("q1", "a", "!", 1, 0),
        ("q1", "b", "!", 1, 1),
        ("q1", "b", "?", 3, 0.5),
    ]
    frame = pd.DataFrame(rows, columns=["qid", "name", "question", "weight", "met"])
    with no_warnings():
        ma.answers.rubric_scores(frame)
    with pytest.warns(MultiAspectWarning, match="1 question of 1 answer is repeated"):
        ma.answers.rubric_scores(pd.concat([frame, frame[:1]]))
    with pytest.raises(
        MultiAspectError, match=r"one label of each question, got several of '\?' for a on"
    ):
        ma.answers.rubric_scores(pd.concat([frame, frame[:1].assign(met=0)]))


@pytest.mark.parametrize("size", [1.0, 1e308, 1e-300])
def test_rubrics_with_large_weights(size: float) -> None:
    rows = [("q1", "a", size, 1), ("q1", "a", size, 0), ("q2", "a", 1, 1), ("q2", "a", 3, 0)]
    perquery = ma.answers.rubric_scores(pd.DataFrame(rows, columns=QUESTIONS))
    assert perquery["value"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("q1", "a", -1, 1), "expected a number of at least 0 in weight for a on topic q1, got -1"),
        (("q1", "a", 0, 1), "expected a positive weight for a on topic q1, got 0"),
        (("q1", "a", None, 1), "expected a number of at least 0 in weight"),
        (("q1", "a", math.inf, 1), "expected a number of at least 0 in weight"),
        (("q1", "a", 1, 100), r"expected a number in \[0, 1\] in met .* got 100"),
        (("q1", "a", 1, None), r"expected a number in \[0, 1\] in met"),
        (("q1", "a", 1, "yes"), r"expected a number in \[0, 1\] in met .* got 'yes'"),
        ((None, "a", 1, 1), "expected a qid in every row"),
    ],
)
def test_bad_rubrics(row: tuple[Any, ...], message: str) -> None:
    with pytest.raises(MultiAspectError, match=message):
        ma.answers.rubric_scores(pd.DataFrame([row], columns=QUESTIONS))


# --- criteria ---------------------------------------------------------------------------------


def test_criteria_in_0_1() -> None:
    frame = criteria(("q1", "a", 0.5, True), ("q2", "a", 1, False)).assign(
        answer="text", docno=["d1", "d2"]
    )
    perquery = ma.answers.from_criteria(frame)
    assert perquery.to_numpy().tolist() == [
        ["a", "q1", "faithful", 0.5], ["a", "q1", "complete", 1.0],
        ["a", "q2", "faithful", 1.0], ["a", "q2", "complete", 0.0],
    ]  # fmt: skip
    assert perquery["value"].dtype == np.float64
    pd.testing.assert_frame_equal(ma.answers.from_criteria(pl.DataFrame(frame)), perquery)
    selected = ma.answers.from_criteria(frame, aspects="complete")
    assert selected["measure"].unique().tolist() == ["complete"]


@pytest.mark.parametrize(
    ("aspect", "label", "expected"),
    [
        ([1, 2, 3, 4, 5], 1, 0.0),
        ([1, 2, 3, 4, 5], 4, 0.75),
        (3, 1, 1 / 3),
        (Aspect([0, 1, 2], gains=[0, 1, 3]), 1, 1 / 3),
        (Aspect([-1, 0, 1], gains=[-2, 0, 2]), 0, 0.5),
        (Aspect([1, 2, 3], greater_is_better=False), 1, 1.0),
        (Aspect([1, 2, 3, 5], greater_is_better=False), 3, 0.5),
        ([0, 0.1, 0.2, 0.3], np.float32(0.1), 1 / 3),
        (None, 0.3, 0.3),
    ],
)
def test_criteria_on_declared_scales(aspect: object, label: float, expected: float) -> None:
    frame = criteria(("q1", "a", label, 0))
    values = scores_of(ma.answers.from_criteria(frame, aspects={"faithful": aspect}))
    assert values == {"faithful": pytest.approx(expected, abs=1e-15)}


def test_judges_labels_become_criteria() -> None:
    """`from_long` combines the labels of three judges, 4, 5 and 5, to the label 5 of the majority."""
    judged = pd.DataFrame(
        [
            ("q1", "a", "faithful", "x", 4),
            ("q1", "a", "faithful", "y", 5),
            ("q1", "a", "faithful", "z", 5),
        ],
        columns=["qid", "docno", "criterion", "judge", "value"],
    )
    wide = ma.from_long(judged, aspects={"faithful": [1, 2, 3, 4, 5]})
    answers = wide.rename(columns={"docno": "name"})
    perquery = ma.answers.from_criteria(answers, aspects=wide.attrs["aspects"])
    assert scores_of(perquery) == {"faithful": 1.0}  # the value of the highest grade


CRITERIA: dict[str, tuple[tuple[Any, ...], object, str]] = {
    "percentages": (
        (85, 0.5),
        None,
        r"expected a number in \[0, 1\] in faithful for a on topic q1, got 85 .*divide",
    ),
    "above 1": ((1.01, 0.5), None, r"expected a number in \[0, 1\] in faithful"),
    "negative": ((0.5, -0.1), None, r"expected a number in \[0, 1\] in complete"),
    "NaN": (
        (math.nan, 0.5),
        None,
        "expected labels of faithful, got none; leave the criterion out",
    ),
    "infinite": ((math.inf, 0.5), None, r"expected a number in \[0, 1\] in faithful"),
    "text": (("high", 1), ["faithful"], r"in faithful for a on topic q1, got 'high'"),
    "no grade": (
        (3.5, 0.5),
        {"faithful": 5},
        r"expected a grade of faithful \(0, 1, 2, 3, 4, 5, lowest first\)",
    ),
    "below the lowest grade": ((-1, 0), {"faithful": 5}, "expected a grade of faithful .* got -1"),
    "not judged": (
        (-1, 0),
        {"faithful": {"grades": [0, 1], "unjudged": [-1]}},
        "expected labels of faithful",
    ),
    "grade NaN": ((math.nan, 0), {"faithful": 5}, "expected labels of faithful, got none"),
    "unknown": ((0, 0), ["fluent"], "expected columns of criteria .* got fluent"),
}


@pytest.mark.parametrize("case", CRITERIA)
def test_bad_criteria(case: str) -> None:
    values, aspects, message = CRITERIA[case]
    with pytest.raises(MultiAspectError, match=message):
        ma.answers.from_criteria(criteria(("q1", "a", *values)), aspects=aspects)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (criteria(("q1", "a", 0, 0), ("q1", "a", 1, 1)), "expected one value of faithful for a on topic q1"),
        (criteria(("q1", "a", "x", "y")), "expected at least one column of numbers"),
        (criteria(names=()), "expected at least one row"),
        (pd.DataFrame([["a", "q1", "x", 1.0]], columns=["name", "qid", "measure", "value"]), "got a long frame"),
        (criteria(("q1", "a", 1, 1), names=("label", "relevance")), "expected distinct names of criteria"),
        (criteria(("q1", "a", 1, 1), names=("x", "x")), "expected distinct column names"),
        ({"q1": 1}, "expected a path or an open file, got dict"),
    ],
)  # fmt: skip
def test_bad_frames_of_criteria(frame: object, message: str) -> None:
    with pytest.raises(MultiAspectError, match=message):
        ma.answers.from_criteria(frame)


def test_criteria_in_words_are_not_left_out_silently() -> None:
    frame = criteria(("q1", "a", 1, "yes"), ("q1", "b", 0, "no"))
    with pytest.warns(MultiAspectWarning, match="column complete is left out"):
        assert set(ma.answers.from_criteria(frame)["measure"]) == {"faithful"}


# --- criteria by several judges -----------------------------------------------------------------

ONE_TO_FIVE = {name: [1, 2, 3, 4, 5] for name in ("faithful", "complete")}


def judged_rows(*rows: tuple[Any, ...], more: tuple[str, ...] = ("judge",)) -> pd.DataFrame:
    """Long rows of a topic, a system, a criterion, a score, and the further columns."""
    return pd.DataFrame(rows, columns=["topic", "system", "criterion", "score", *more])


def panel(
    n_topics: int = 3, n_systems: int = 3, judges: str = "abc", seed: int = 0
) -> pd.DataFrame:
    """Labels of all judges of all answers on two criteria."""
    generator = np.random.default_rng(seed)
    units = itertools.product(range(n_topics), range(n_systems), ONE_TO_FIVE, judges)
    return judged_rows(
        *((f"q{t}", f"s{s}", c, int(generator.integers(1, 6)), j) for t, s, c, j in units)
    )


def combine_slowly(rows: pd.DataFrame, combine: str) -> dict[tuple[str, str, str], float | None]:
    """The values of labels from 1 to 5 in exact arithmetic, answer by answer; None for a tie of 'majority'."""
    labels: dict[tuple[str, str, str], list[int]] = {}
    for row in rows.itertuples():
        labels.setdefault((str(row.system), str(row.topic), str(row.criterion)), []).append(
            int(str(row.score))
        )
    result: dict[tuple[str, str, str], float | None] = {}
    for answer, scores in labels.items():
        ordered = sorted(scores)
        if combine == "mean":
            result[answer] = float(Fraction(sum(scores) - len(scores), 4 * len(scores)))
        elif combine == "median":
            result[answer] = (ordered[(len(ordered) - 1) // 2] - 1) / 4
        else:
            times = {label: scores.count(label) for label in scores}
            best = [label for label in times if times[label] == max(times.values())]
            result[answer] = (best[0] - 1) / 4 if len(best) == 1 else None
    return result


def values_of(frame: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return {(row.name, row.qid, row.measure): row.value for row in frame.itertuples(index=False)}


def as_wide(rows: pd.DataFrame) -> pd.DataFrame:
    """The same labels with one column per criterion."""
    keys = [column for column in rows.columns if column not in ("criterion", "score")]
    wide = rows.set_index([*keys, "criterion"])["score"].unstack("criterion")
    return wide.reset_index().rename_axis(columns=None)


@pytest.mark.parametrize("combine", ["mean", "median", "majority"])
@examples(10)
@given(n_judges=st.integers(1, 4), seed=st.integers(0, 99))
def test_labels_of_judges_are_combined_as_by_hand(combine: str, n_judges: int, seed: int) -> None:
    rows = panel(judges="abcd"[:n_judges], seed=seed)
    expected = combine_slowly(rows, combine)
    for form in (rows, rows[::-1], as_wide(rows)):
        if None in expected.values():
            with pytest.raises(
                MultiAspectError,
                match=r"expected one most frequent label .*combine_judges='median'",
            ):
                ma.answers.from_criteria(form, aspects=ONE_TO_FIVE, combine_judges=combine)
        else:
            values = ma.answers.from_criteria(form, aspects=ONE_TO_FIVE, combine_judges=combine)
            assert values_of(values) == expected


def test_values_of_several_judges() -> None:
    """Without a scale, the labels are the values."""
    rows = judged_rows(
        ("q", "s", "x", 0.1, "a"), ("q", "s", "x", 0.7, "b"), ("q", "s", "x", 0.1, "c")
    )
    expected_values = {"mean": 0.3, "median": 0.1, "majority": 0.1}
    for combine, expected in expected_values.items():
        perquery = ma.answers.from_criteria(rows, combine_judges=combine)
        assert perquery["value"].tolist() == [expected]


def test_gains_of_several_judges() -> None:
    """With gains, the mean is that of the values of the grades, not of the labels."""
    rows = judged_rows(("q", "s", "x", 0, "a"), ("q", "s", "x", 2, "b"), ("q", "s", "x", 1, "c"))
    scale = {"x": Aspect([0, 1, 2], gains=[0, 1, 4])}
    perquery = ma.answers.from_criteria(rows, aspects=scale)
    mean = (0 / 4 + 4 / 4 + 1 / 4) / 3
    assert perquery["value"].tolist() == [pytest.approx(mean)]


def test_the_median_of_two_judges_is_the_lower_value() -> None:
    """On a scale whose lowest grade is best, that of the larger label."""
    rows = judged_rows(("q", "s", "x", 0, "a"), ("q", "s", "x", 2, "b"))
    scale = {"x": Aspect([0, 1, 2], greater_is_better=False)}
    perquery = ma.answers.from_criteria(rows, aspects=scale, combine_judges="median")
    assert perquery["value"].tolist() == [0.0]


def test_forms_of_what_judges_write(tmp_path: Path) -> None:
    rows = panel()
    expected = ma.answers.from_criteria(rows, aspects=ONE_TO_FIVE)
    wide = as_wide(rows)
    rows.to_csv(tmp_path / "long.csv", index=False)
    rows.to_csv(tmp_path / "long.tsv.gz", sep="\t", index=False)
    rows.to_json(tmp_path / "long.jsonl.gz", orient="records", lines=True)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    wide.to_json(tmp_path / "wide.jsonl", orient="records", lines=True)
    for number, part in rows.groupby("judge"):
        part.to_csv(tmp_path / f"judge-{number}.csv", index=False)
    names = {
        "topic": "query_id",
        "system": "run_id",
        "criterion": "aspect",
        "score": "label",
        "judge": "assessor",
    }
    repeated = rows.assign(repetition=rows["judge"].map({"a": 1, "b": 2, "c": 3})).drop(
        columns="judge"
    )
    forms: list[Any] = [
        *(tmp_path / name for name in ("long.csv", "long.tsv.gz", "long.jsonl.gz", "wide.csv", "wide.jsonl")),
        str(tmp_path / "judge-*.csv"), rows.rename(columns=names), pl.DataFrame(rows), rows.to_dict("records"),
        repeated, as_wide(repeated), rows.assign(comment="text", confidence=0.5),
    ]  # fmt: skip
    for form in forms:
        assert values_of(ma.answers.from_criteria(form, aspects=ONE_TO_FIVE)) == values_of(expected)
    both = ma.answers.from_criteria(rows, aspects={"complete": [1, 2, 3, 4, 5]})
    assert both["measure"].unique().tolist() == ["complete"]


def nested_panel() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The labels of `panel` with a column per criterion, and with a column of objects; topics are question_id."""
    wide = as_wide(panel()).rename(columns={"topic": "question_id"})
    criteria_columns = ["faithful", "complete"]
    objects = wide[criteria_columns].to_dict("records")
    nested = wide.drop(columns=criteria_columns).assign(scores=objects, reason="text")
    return wide, nested


def test_scores_in_an_object_and_queries_that_are_questions(tmp_path: Path) -> None:
    """A judge may write the scores of an answer as one object: {"faithful": 4, "complete": 2}."""
    wide, nested = nested_panel()
    nested.to_json(tmp_path / "nested.jsonl", orient="records", lines=True)
    expected = values_of(ma.answers.from_criteria(panel(), aspects=ONE_TO_FIVE))
    for form in (wide, nested, tmp_path / "nested.jsonl"):
        perquery = ma.answers.from_criteria(form, aspects=ONE_TO_FIVE)
        assert values_of(perquery) == expected


def test_analyses_read_scores_in_an_object() -> None:
    wide, nested = nested_panel()
    expected = ma.analysis.judge_agreement(
        wide.rename(columns={"question_id": "qid"}), aspects=ONE_TO_FIVE
    )
    agreement = ma.analysis.judge_agreement(nested, aspects=ONE_TO_FIVE)
    pd.testing.assert_frame_equal(agreement, expected)

    expected_description = ma.describe(wide, aspects=ONE_TO_FIVE)
    assert str(ma.describe(nested, aspects=ONE_TO_FIVE)) == str(expected_description)


def test_an_answer_without_an_object_has_no_value() -> None:
    answers = pd.DataFrame({"qid": ["q1", "q2"], "name": "s", "scores": [{"x": 1}, None]})
    message = r"1 of 2 labels is missing \(s 1\) on 1 topic \(q2\)"
    with pytest.warns(MultiAspectWarning, match=message):
        perquery = ma.answers.from_criteria(answers)
    assert perquery["qid"].tolist() == ["q1"]


def test_question_ids_of_a_rubric_are_not_those_of_topics() -> None:
    rubric = pd.DataFrame(
        {"question_id": ["a", "b"], "name": "s", "weight": 1, "met": [True, False]}
    )
    with pytest.raises(MultiAspectError, match="qid or query_id or topic or topic_id, got"):
        ma.answers.rubric_scores(rubric)

    perquery = ma.answers.rubric_scores(rubric.assign(topic="q"))
    assert perquery["value"].tolist() == [1 / 2]  # one of two questions of equal weight


@pytest.mark.parametrize(
    ("column", "warns"), [(["0", "1"], True), ([0, 1], False), (["Oslo", "1915"], False)]
)
def test_numbers_among_texts_of_answers(column: list[object], warns: bool, tmp_path: Path) -> None:
    """Short answers, such as "1", are taken for labels only with a warning."""
    rows = pd.DataFrame({"qid": ["q1", "q2"], "name": "s", "answer": column, "faithful": [1, 0.5]})
    with (
        pytest.warns(MultiAspectWarning, match=r"answer .* aspects=\['faithful'\]")
        if warns
        else no_warnings()
    ):
        ma.answers.from_criteria(rows)
    with no_warnings():
        ma.answers.from_criteria(rows, aspects=["faithful"])


def test_a_failed_label_is_left_out_if_the_judge_gave_another() -> None:
    rows = judged_rows(
        ("q", "s", "x", 2, 1),
        ("q", "s", "x", None, 2),
        ("q", "s", "x", -1, 3),
        more=("repetition",),
    )
    aspects = {"x": Aspect([0, 1, 2], unjudged=[-1])}
    with pytest.warns(
        MultiAspectWarning, match=r"2 of 3 labels are missing \(s 2\) on 1 topic \(q\)$"
    ):
        assert ma.answers.from_criteria(rows, aspects=aspects)["value"].tolist() == [1.0]
    with pytest.raises(
        MultiAspectError, match=r"expected a grade of x .* for s on topic q, got -1"
    ):
        ma.answers.from_criteria(rows, aspects={"x": 2})


def test_different_judges_of_the_runs_of_a_topic_warn() -> None:
    """The judges a, b and c judged all systems on all topics; some of their labels are taken away."""
    rows = panel()

    without_c = rows[~((rows["judge"] == "c") & (rows["system"] == "s1") & (rows["topic"] == "q2"))]
    message = r"on 1 topic \(q2\), runs were judged by different judges"
    with pytest.warns(MultiAspectWarning, match=message):
        ma.answers.from_criteria(without_c, aspects=ONE_TO_FIVE)

    first_label_missing = rows.copy()
    first_label_missing["score"] = first_label_missing["score"].astype(float)
    first_label_missing.loc[0, "score"] = np.nan  # judge a, topic q0
    message = r"missing .* on 1 topic \(q0\); there, runs were"
    with pytest.warns(MultiAspectWarning, match=message):
        ma.answers.from_criteria(first_label_missing, aspects=ONE_TO_FIVE)


def test_different_judges_of_topics_or_criteria_do_not_warn() -> None:
    """Within a topic and criterion, all systems have the same judges. Repetitions of a judge may differ, too."""
    rows = panel()
    by_a = rows["judge"] == "a"
    on_q0 = rows["topic"] == "q0"
    a_judges_q0_others_the_rest = rows[by_a == on_q0]
    on_faithful = rows["criterion"] == "faithful"
    a_judges_faithful_others_complete = rows[by_a == on_faithful]
    without_one = rows[
        ~((rows["judge"] == "c") & (rows["system"] == "s1") & (rows["topic"] == "q2"))
    ]
    repetitions = without_one.rename(columns={"judge": "repetition"})
    with no_warnings():
        ma.answers.from_criteria(a_judges_q0_others_the_rest, aspects=ONE_TO_FIVE)
        ma.answers.from_criteria(a_judges_faithful_others_complete, aspects=ONE_TO_FIVE)
        ma.answers.from_criteria(repetitions, aspects=ONE_TO_FIVE)


ROW = ("q1", "s", "x", 1, "a")
JUDGED_BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "the same judge twice": (
        lambda: judged_rows(ROW, ROW),
        "expected one value of x for s on topic q1 by judge a, .* a column repetition",
    ),
    "twice without a judge": (
        lambda: judged_rows(ROW[:4], ROW[:4], more=()),
        "for s on topic q1, got several .* a column judge or repetition",
    ),
    "wide, twice": (
        lambda: pd.DataFrame({"qid": ["q", "q"], "name": ["s", "s"], "rated": [1, 1]}),
        (
            "a column judge or repetition; if each row is about one criterion, name the columns "
            "criterion and score"
        ),
    ),
    "no score": (
        lambda: judged_rows(ROW).rename(columns={"score": "mark"}),
        (
            "expected a column score beside criterion, .* omit criterion if each criterion has its own "
            "column"
        ),
    ),
    "two scores": (
        lambda: judged_rows(ROW).assign(label=1),
        r"expected one column score or .* got score and label",
    ),
    "two judges": (lambda: judged_rows(ROW).assign(assessor="b"), "expected one column .* got"),
    "an object in an object": (
        lambda: pd.DataFrame(
            [{"qid": "q", "name": "s", "scores": {"x": {"score": 1, "reason": "text"}}}]
        ),
        r"expected numbers in the column scores, got .* as x \(row 1\); keep the number only",
    ),
    "a criterion twice": (
        lambda: pd.DataFrame([{"qid": "q", "name": "s", "x": 1, "scores": {"x": 0}}]),
        "distinct column names",
    ),
    "no system": (
        lambda: judged_rows(ROW).rename(columns={"system": "model"}),
        "name or run_id or system, got .* rename one",
    ),
    "no topic": (
        lambda: judged_rows(ROW).drop(columns="topic"),
        "qid or query_id or topic or topic_id or question_id, got .* rename",
    ),
    "no judge in a row": (
        lambda: judged_rows(ROW, ("q2", "s", "x", 1, None)),
        "expected a judge in every row",
    ),
    "no criterion": (
        lambda: pd.DataFrame({"qid": ["q"], "name": ["s"], "text": ["t"]}),
        "one per criterion, or the columns criterion and score, .* rename them",
    ),
    "a label in words": (
        lambda: judged_rows((*ROW[:3], "yes", "a")),
        "in x for s on topic q1 by judge a, got 'yes'",
    ),
    "criteria alike": (
        lambda: judged_rows(ROW, ("q1", "s", "X ", 1, "a")),
        "expected criteria with different names",
    ),
    "values of measures": (
        lambda: pd.DataFrame(
            {"name": ["s"], "qid": ["q"], "measure": ["x"], "value": [1], "judge": ["a"]}
        ),
        "rename measure to criterion",
    ),
}


@pytest.mark.parametrize("case", JUDGED_BAD)
def test_bad_rows_of_judges(case: str) -> None:
    make, message = JUDGED_BAD[case]
    with pytest.raises(MultiAspectError, match=message) as caught:
        ma.answers.from_criteria(make())
    assert "\n" not in str(caught.value)


def test_unknown_criteria_and_methods() -> None:
    with pytest.raises(MultiAspectError, match=r"criteria.* got fluent"):
        ma.answers.from_criteria(judged_rows(ROW), aspects=["fluent"])
    with pytest.raises(MultiAspectError, match="combine_judges"):
        ma.answers.from_criteria(judged_rows(ROW), combine_judges="lowest")


def test_agreement_of_judges_of_answers() -> None:
    rows = panel(n_topics=6)
    documents = rows.rename(columns={"topic": "qid", "system": "docno", "score": "value"})
    expected = ma.analysis.judge_agreement(documents, aspects=ONE_TO_FIVE)
    repetitions = rows.rename(columns={"judge": "repetition"})
    for form in (rows, as_wide(rows), repetitions, pl.DataFrame(rows)):
        agreement = ma.analysis.judge_agreement(form, aspects=ONE_TO_FIVE).set_index("aspect")
        pd.testing.assert_frame_equal(agreement, expected.set_index("aspect"), check_like=True)
    with pytest.raises(MultiAspectError, match="expected a column of judges"):
        ma.analysis.judge_agreement(rows[rows["judge"] == "a"].drop(columns="judge"))


# --- combinations -----------------------------------------------------------------------------

UNIT = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1 / 3]), st.floats(0, 1, allow_subnormal=False))


def reference_means(values: list[float], weights: list[float]) -> dict[str, float]:
    """The means of MEASURES.md §3, one value at a time."""
    total = sum(weights)
    counted = [
        (value, weight / total) for value, weight in zip(values, weights, strict=True) if weight
    ]
    is_zero = any(value == 0 for value, _ in counted)
    return {
        "CAM": sum(weight * value for value, weight in counted),
        "MM": 0.0 if is_zero else 1 / sum(weight / value for value, weight in counted),
        "GAM": 0.0 if is_zero else math.prod(value**weight for value, weight in counted),
    }


@given(
    answers=st.lists(st.tuples(UNIT, UNIT, UNIT), min_size=1, max_size=4),
    weights=st.tuples(*[st.integers(0, 3)] * 3).filter(any),
)
@examples(150)
def test_means_equal_the_reference(
    answers: list[tuple[float, ...]], weights: tuple[int, ...]
) -> None:
    """CAM, MM and GAM of three criteria, which are between the lowest and the highest value that weighs."""
    names = ("x", "y", "z")
    weight_of = dict(zip(names, weights, strict=True))
    rows = [(f"q{number}", "a", *values) for number, values in enumerate(answers)]
    perquery = ma.answers.from_criteria(criteria(*rows, names=names))
    measures = {mean.NAME: mean(weights=weight_of) for mean in (CAM, MM, GAM)}

    combined = ma.answers.combine(perquery, measures)

    for number, values in enumerate(answers):
        results = scores_of(combined, f"q{number}")
        weighing = [value for value, weight in zip(values, weights, strict=True) if weight]
        for name, expected in reference_means(list(values), list(weights)).items():
            assert results[name] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert min(weighing) - 1e-12 <= results[name] <= max(weighing)


def reference_closeness(grades: tuple[int, ...], tops: tuple[int, ...], distance: str) -> float:
    """1 - dist / max dist for scales 0..top with equal axes."""
    gaps = [1 - grade / top for grade, top in zip(grades, tops, strict=True)]
    lengths: dict[str, Callable[[list[float]], float]] = {
        "manhattan": sum, "euclidean": lambda gaps: math.hypot(*gaps), "chebyshev": max,
    }  # fmt: skip
    return 1 - lengths[distance](gaps) / lengths[distance]([1.0] * len(gaps))


@pytest.mark.parametrize("distance", ["manhattan", "euclidean", "chebyshev"])
def test_closeness_equals_the_reference_and_the_order(distance: str) -> None:
    """All tuples: equal distances are equal numbers, as in TOMA's classes."""
    scales = Aspects({"x": 3, "y": 2, "z": 5})
    tuples = list(itertools.product(range(4), range(3), range(6)))
    frame = criteria(*((f"q{i}", "a", *row) for i, row in enumerate(tuples)), names=("x", "y", "z"))
    perquery = ma.answers.from_criteria(frame, aspects=scales)
    combined = ma.answers.combine(perquery, {"closeness": TOMA(distance=distance, aspects=scales)})
    values = combined["value"][combined["measure"] == "closeness"].tolist()
    assert values == pytest.approx(
        [reference_closeness(row, (3, 2, 5), distance) for row in tuples], abs=1e-12
    )
    order = ma.DistanceOrder(scales, distance)
    assert values == order.closeness(np.array(tuples)).tolist()
    classes = order.classes(tuples).tolist()
    assert len(set(values)) == order.n_classes
    assert len(set(zip(values, classes, strict=True))) == order.n_classes


def test_closeness_with_gate_weights_gains_and_an_explicit_order() -> None:
    """TOMA of an answer is the closeness of its labels, for all label tuples of two criteria."""
    scales = Aspects(
        {"x": Aspect([0, 1, 2], gains=[0, 1, 3]), "y": Aspect([1, 2, 3], greater_is_better=False)},
        name="two",
    )
    label_tuples = list(itertools.product((0, 1, 2), (1, 2, 3)))
    answers = criteria(
        *((f"q{number}", "a", x, y) for number, (x, y) in enumerate(label_tuples)), names=("x", "y")
    )
    perquery = ma.answers.from_criteria(answers, aspects=scales)
    # Better with x, worse with y.
    weight_by_tuple = {(x, y): x * (4 - y) for x, y in label_tuples}
    measures = {
        "gate": TOMA(gate="x", aspects=scales),
        "weights": TOMA(weights={"x": 2, "y": 1}, aspects=scales),
        "gains": TOMA(axes="gains", aspects=scales),
        "order": TOMA(order=ma.Order(weight_by_tuple, scales)),
    }
    spelt = {**measures, "gains": "TOMA(axes='gains',aspects='two')"}

    combined = ma.answers.combine(perquery, spelt)

    values = {label: combined["value"][combined["measure"] == label].tolist() for label in measures}
    for label, measure in measures.items():
        order = measure.order(scales)
        grade_numbers = order._grades(label_tuples)
        assert values[label] == order.closeness(grade_numbers).tolist()
    # The gate x is closed for the first three tuples, (0, 1), (0, 2) and (0, 3).
    assert values["gate"][:3] == [0.0, 0.0, 0.0]


@given(values=st.lists(st.integers(0, 4), min_size=1, max_size=5))
@examples(50)
def test_one_criterion_is_its_own_mean(values: list[int]) -> None:
    frame = criteria(*((f"q{i}", "a", value) for i, value in enumerate(values)), names=("x",))
    perquery = ma.answers.from_criteria(frame, aspects={"x": 4})
    combined = ma.answers.combine(perquery, ["CAM", "MM", "GAM", TOMA(aspects={"x": 4})])
    by_topic = combined.pivot(index="qid", columns="measure", values="value")
    assert np.ptp(by_topic.to_numpy(), axis=1).max() < 1e-12


def ranking_world() -> tuple[dict[str, pd.DataFrame], pd.DataFrame, Aspects]:
    rng = np.random.default_rng(7)
    labels = [(f"q{q}", f"d{d}", *rng.integers(0, 3, 2)) for q in range(6) for d in range(8)]
    qrels = pd.DataFrame(labels, columns=["qid", "docno", "relevance", "credibility"])
    runs = {name: qrels[["qid", "docno"]].assign(score=rng.random(len(qrels))) for name in "abc"}
    return runs, qrels, Aspects({"relevance": 2, "credibility": 2})


@pytest.mark.every(5)
@pytest.mark.parametrize("mean", [CAM, MM, WHAM, GAM], ids=str)
@pytest.mark.parametrize(
    "weights", [None, {"relevance": 3, "credibility": 1}, {"relevance": 1, "credibility": 0}]
)
def test_combined_values_of_aspects_are_those_of_the_mean(
    mean: Any, weights: dict[str, float] | None
) -> None:
    """CAM of the values of nDCG on each aspect is CAM over nDCG, to the last bit."""
    runs, qrels, scales = ranking_world()
    alone = {name: On(aspect=name, base="nDCG@5", aspects=scales) for name in scales}
    perquery = ma.evaluate(runs, qrels, alone, progress=False)
    combined = ma.answers.combine(perquery, {"own": mean(weights=weights)})
    expected = ma.evaluate(
        runs, qrels, {"own": mean(base="nDCG@5", weights=weights, aspects=scales)}, progress=False
    )
    pd.testing.assert_frame_equal(
        combined[combined["measure"] == "own"].reset_index(drop=True), expected
    )


def answers_world(n_topics: int = 12) -> tuple[pd.DataFrame, Aspects]:
    rng = np.random.default_rng(3)
    rows = [
        (f"q{q}", name, rng.integers(1, 6), rng.integers(0, 3))
        for name in "abc"
        for q in range(n_topics)
    ]
    scales = Aspects({"faithful": [1, 2, 3, 4, 5], "complete": 2}, name="rubric")
    return criteria(*rows), scales


def answers_at_rank_1() -> tuple[pd.DataFrame, dict[str, pd.DataFrame], pd.DataFrame, Aspects]:
    """The answers of `answers_world` as documents that their runs rank first: topics, runs, qrels, scales.

    A gain is the value of the label as a criterion, from 0 to 1.
    """
    frame, _ = answers_world()
    judged = frame.assign(docno=frame["name"] + "-" + frame["qid"])
    qrels = judged.drop(columns="name")
    runs = {
        name: rows[["qid", "docno"]].assign(score=1.0, rank=0)
        for name, rows in judged.groupby("name")
    }
    topics = pd.DataFrame({"qid": frame["qid"].unique(), "query": "?"})
    scales = Aspects(
        {
            "faithful": Aspect([1, 2, 3, 4, 5], gains=[0, 0.25, 0.5, 0.75, 1]),
            "complete": Aspect(2, gains=[0, 0.5, 1]),
        }
    )
    return topics, runs, qrels, scales


def means_of_combined_answers() -> pd.DataFrame:
    """The mean combined criteria of the systems of `answers_world`."""
    frame, scales = answers_world()
    perquery = ma.answers.from_criteria(frame, aspects=scales)
    measures = {"CAM": "CAM", "MM": "MM", "GAM": "GAM", "TOMA": TOMA(aspects=scales)}
    return ma.aggregate(ma.answers.combine(perquery, measures)).set_index("name")


def test_answers_at_rank_1_in_an_experiment() -> None:
    """Measures of gains that are not divided by an ideal equal the combined criteria."""
    topics, runs, qrels, scales = answers_at_rank_1()
    measures = {
        "CAM": CAM(base=CG, aspects=scales) @ 1,
        "MM": MM(base=CG, aspects=scales) @ 1,
        "GAM": GAM(base=CG, aspects=scales) @ 1,
        "TOMA": TOMA(base=CG, weighting="normalized", aspects=scales) @ 1,
    }
    systems = [pt.Transformer.from_df(run) for run in runs.values()]

    table = pt.Experiment(systems, topics, qrels, list(measures.values()), names=list(runs))

    expected = means_of_combined_answers()
    for label, measure in measures.items():
        values = table.set_index("name")[str(measure)]
        assert values.tolist() == pytest.approx(expected[label].tolist(), abs=1e-12)


def test_answers_at_rank_1_in_a_report() -> None:
    """A report adds nDCG@10 of each criterion, and warns that an ideal makes it useless for answers."""
    _, runs, qrels, scales = answers_at_rank_1()
    cam = CAM(base=CG, aspects=scales) @ 1
    message = "values of nDCG@10 faithful, nDCG@10 complete do not tell"
    with pytest.warns(MultiAspectWarning, match=message):
        report = ma.report(runs, qrels, cam, aspects=scales, progress=False)
    values = report.systems.set_index("name")[str(cam)]
    assert values.tolist() == pytest.approx(means_of_combined_answers()["CAM"].tolist())


def test_combining_twice_leaves_out_what_was_combined() -> None:
    frame, scales = answers_world(3)
    perquery = ma.answers.from_criteria(frame, aspects=scales)
    once = ma.answers.combine(perquery, {"a mean": "CAM", "closeness": TOMA(aspects=scales)})
    twice = ma.answers.combine(once, {"MM": MM, "again": CAM})
    pd.testing.assert_frame_equal(
        twice,
        ma.answers.combine(
            perquery, {"a mean": CAM, "closeness": TOMA(aspects=scales), "MM": MM, "again": CAM}
        ),
    )
    assert (
        twice["value"][twice["measure"] == "again"].tolist()
        == once["value"][once["measure"] == "a mean"].tolist()
    )
    by_name = ma.answers.combine(once, {"of a mean": "MM(aspects='a mean,faithful')"})
    assert "of a mean" in set(by_name["measure"])


def test_the_frame_is_kept_and_not_changed() -> None:
    frame, scales = answers_world(3)
    perquery = ma.answers.from_criteria(frame, aspects=scales)
    before = perquery.copy()
    combined = ma.answers.combine(perquery, "MM")
    pd.testing.assert_frame_equal(perquery, before)
    assert perquery.attrs == before.attrs
    pd.testing.assert_frame_equal(combined.iloc[: len(perquery)], perquery)
    assert list(combined.columns) == ["name", "qid", "measure", "value"]
    assert combined.index.tolist() == list(range(len(combined)))


def test_criteria_of_several_sources_and_files(tmp_path: Path) -> None:
    """Scores of nuggets and criteria are joined by pd.concat, and survive a CSV file."""
    scored = ma.answers.nugget_scores(
        [
            judged_answer("1", "a", "vital support", "vital not_support"),  # vital_score 1/2
            judged_answer("2", "a", "vital support", "vital support"),  # vital_score 1
        ]
    )
    judged = ma.answers.from_criteria(criteria((1, "a", 0.25), (2, "a", 1), names=("faithful",)))
    measure = MM(aspects=["vital_score", "faithful"])
    harmonic_means = [pytest.approx(2 / (1 / 0.5 + 1 / 0.25)), 1.0]

    combined = ma.answers.combine(pd.concat([scored, judged]), {"MM": measure})
    assert combined["value"][combined["measure"] == "MM"].tolist() == harmonic_means

    # A table of them does not warn of unknown measures.
    used = combined[combined["measure"].isin(["vital_score", "faithful", "MM"])]
    with no_warnings():
        assert "vital_score" in str(ma.systems_table(used))

    combined.to_csv(tmp_path / "values.csv", index=False)
    read = pd.read_csv(tmp_path / "values.csv")
    again = ma.answers.combine(read, {"again": measure, "GAM": GAM(aspects="vital_score,faithful")})
    assert again["value"][again["measure"] == "again"].tolist() == harmonic_means


def two_seeds() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Criteria of four topics, and the same with the seed 1 beside 1 - value with the seed 2."""
    frame, scales = answers_world(4)
    perquery = ma.answers.from_criteria(frame, aspects=scales)
    turned = perquery.assign(value=1 - perquery["value"])
    return perquery, pd.concat([perquery.assign(seed=1), turned.assign(seed=2)])


def test_seeds_tell_answers_apart() -> None:
    """Each seed is combined as if it were alone, and means over both seeds are 1/2."""
    perquery, with_seeds = two_seeds()

    combined = ma.answers.combine(with_seeds, "CAM")

    cam = combined[combined["measure"] == "CAM"]
    cam_of_seed_1 = cam[cam["seed"] == 1].drop(columns="seed")
    alone = ma.answers.combine(perquery, "CAM")
    cam_alone = alone[alone["measure"] == "CAM"]
    pd.testing.assert_frame_equal(
        cam_of_seed_1.reset_index(drop=True), cam_alone.reset_index(drop=True)
    )

    means = ma.aggregate(combined, over="seed")
    assert means["CAM"].tolist() == pytest.approx([0.5] * 3)  # three systems


def test_seeds_may_be_missing_or_categories() -> None:
    """A missing seed is one more seed, and a category without rows is none."""
    _, with_seeds = two_seeds()
    seeds = with_seeds["seed"]
    expected = ma.answers.combine(with_seeds, "CAM")["value"].tolist()

    first_is_missing = with_seeds.assign(seed=seeds.where(seeds != 1))
    assert ma.answers.combine(first_is_missing, "CAM")["value"].tolist() == expected

    zero_does_not_occur = with_seeds.assign(seed=pd.Categorical(seeds, [0, 1, 2]))
    assert ma.answers.combine(zero_does_not_occur, "CAM")["value"].tolist() == expected


COMBINATIONS: dict[str, tuple[object, str]] = {
    "base": ("CAM(base='AP')", "base is defined for rankings"),
    "base with cutoff": ("MM@10", "cutoff is defined for rankings"),
    "cutoff": (CAM(base="nDCG@5"), "base is defined for rankings"),
    "empty": ("GAM(empty='drop')", "empty is defined for rankings"),
    "normalized": ("CAM(normalized=True)", "normalized is defined for rankings"),
    "gate of CAM": (CAM(gate="faithful"), "gate is defined for rankings"),
    "base of TOMA": (TOMA(base="AP", aspects={"faithful": 4, "complete": 2}), "base is defined for rankings"),
    "cutoff of TOMA": (TOMA(aspects={"faithful": 4, "complete": 2}) @ 3, "cutoff is defined for rankings"),
    "positives": (TOMA(positives="top-half", aspects={"faithful": 4}), "positives is defined for rankings"),
    "weighting": (TOMA(weighting="exponential", aspects={"faithful": 4}), "the closeness of an answer"),
    "scales": ("TOMA", r"expected declared scales, as in TOMA\(aspects=.*got no grades of faithful, complete"),
    "scales by name only": (TOMA(aspects="faithful"), "expected declared scales"),
    "scale without grades": (TOMA(aspects={"faithful": None}), "expected declared scales"),
    "other grades": (TOMA(aspects={"faithful": 3}), r"expected values of faithful .* got 0\.\d+; convert grades"),
    "equal gains": (
        TOMA(aspects={"faithful": Aspect(4, gains=[0, 1, 1, 2, 3])}), "expected distinct gains for the grades"
    ),
    "unknown criterion": ("MM(aspects='fluent,complete')", "expected criteria of the frame .* got fluent"),
    "weights": (CAM(weights={"faithful": 1}), "add a weight for complete"),
    "three": ("WHAM(aspects='faithful,complete')", ""),
    "one for WHAM": (WHAM(weights={"faithful": 1}), "WHAM: expected exactly two aspects|weights"),
    "other measures": ("nDCG@10", r"nDCG@10: expected a mean of criteria \(CAM, MM, WHAM, GAM\) or TOMA"),
    "measures of rankings": ("uRBP", "expected a mean of criteria"),
    "label of a criterion": ({"faithful": "CAM"}, "the alias 'faithful' of a measure is the name of a"),
    "no measure": ([], "expected at least one measure"),
}  # fmt: skip


@pytest.mark.parametrize("case", [case for case in COMBINATIONS if COMBINATIONS[case][1]])
def test_bad_combinations(case: str) -> None:
    measures, message = COMBINATIONS[case]
    frame, scales = answers_world(4)
    perquery = ma.answers.from_criteria(frame, aspects=scales)
    with pytest.raises(MultiAspectError, match=message) as caught:
        ma.answers.combine(perquery, measures)
    assert "\n" not in str(caught.value)


def test_means_of_ones_own_combine_criteria() -> None:
    """A user's mean gets the values of the aspects that weigh: not of z, whose weight is 0."""

    class _LowestCriterion(ma.AspectMean):
        """The lowest value on any aspect."""

        def combine(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
            return values.min(axis=0)

    lowest = _LowestCriterion(weights={"x": 1, "y": 2, "z": 0})
    answer = criteria(("q1", "a", 1, 0.5, 0), names=("x", "y", "z"))
    combined = ma.answers.combine(ma.answers.from_criteria(answer), {"lowest": lowest})
    assert scores_of(combined)["lowest"] == 0.5  # on y


def test_wham_needs_two_criteria() -> None:
    perquery = ma.answers.from_criteria(criteria(("q1", "a", 1, 0.5, 0), names=("x", "y", "z")))
    with pytest.raises(MultiAspectError, match=r"expected.*two aspects, got 3"):
        ma.answers.combine(perquery, "WHAM")
    assert scores_of(ma.answers.combine(perquery, {"w": WHAM(aspects="x,y")}))[
        "w"
    ] == pytest.approx(2 / 3)


def damaged_frames() -> Iterator[tuple[pd.DataFrame, str]]:
    frame, scales = answers_world(4)
    good = ma.answers.from_criteria(frame, aspects=scales)
    yield good.iloc[1:], "expected a value of faithful in .* for a on topic q0, got none"
    yield good.assign(value=100 * good["value"]), r"got \d+ \(.*divide percentages by 100"
    yield good.assign(value=-good["value"]), r"got -0?\.?\d+"
    yield good.assign(value=good["value"].mask(good.index == 3)), "got none"
    yield good.assign(value=math.inf), "got inf"
    yield (
        pd.concat([good, good.iloc[:1]]),
        "expected one value of faithful for a on topic q0, got several",
    )
    yield good.assign(value="much"), "expected numbers in the column value"
    yield good.drop(columns="qid"), "qid is missing"
    yield (
        good.assign(measure=good["measure"].replace("complete", "ESL")),
        "where higher is better, got ESL",
    )


def test_rounding_is_no_error() -> None:
    """Values that are outside of 0 to 1 by rounding only are accepted, and clipped."""
    above_1 = 0.1 + 0.2 + 0.7 + 2e-16
    below_0 = -1e-17
    perquery = ma.answers.from_criteria(criteria(("q1", "a", above_1, below_0)))
    assert scores_of(perquery) == {"faithful": 1.0, "complete": 0.0}


def test_rounding_of_values_that_are_combined_is_no_error() -> None:
    """`combine` keeps the values of the criteria as they are, and its means are at most 1."""
    above_1 = 1 + 3e-16
    perquery = ma.answers.from_criteria(criteria(("q1", "a", 1.0, 1.0)))
    perquery["value"] = [above_1, 1.0]
    scores = scores_of(ma.answers.combine(perquery, ["CAM", "MM", "GAM"]))
    assert set(scores.values()) == {1.0, above_1}


@pytest.mark.parametrize(("rounded", "expected"), [(1 + 5e-10, 1.0), (-5e-10, 0.0)])
def test_values_outside_by_rounding_count_as_the_nearest_in_0_1(
    rounded: float, expected: float
) -> None:
    converted = ma.answers.from_criteria(criteria(("q1", "a", rounded, rounded)))
    assert scores_of(converted) == {"faithful": expected, "complete": expected}
    combined = ma.answers.combine(converted.assign(value=rounded), ["CAM", "MM", "GAM"])
    assert scores_of(combined[combined["measure"].isin(["CAM", "MM", "GAM"])]) == dict.fromkeys(
        ["CAM", "MM", "GAM"], expected
    )


def test_no_criterion() -> None:
    perquery = ma.answers.combine(ma.answers.from_criteria(criteria(("q1", "a", 1, 0))), "CAM")
    for frame in (perquery.iloc[:0], perquery[perquery["measure"] == "CAM"]):
        with pytest.raises(MultiAspectError, match=r"MM: expected.*criterion.*got none"):
            ma.answers.combine(frame, "MM")


SAMPLE_CRITERIA = criteria(("q1", "a", 0.5, 1), ("q1", "b", 1, 0))


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(SAMPLE_CRITERIA.convert_dtypes(), id="nullable"),
        pytest.param(
            SAMPLE_CRITERIA.astype({"name": "category", "qid": "category"}), id="categories"
        ),
        pytest.param(SAMPLE_CRITERIA.astype(object), id="objects"),
        pytest.param(pl.DataFrame(SAMPLE_CRITERIA), id="Polars"),
    ],
)
def test_columns_of_other_types(answers: Any) -> None:
    """Answers and values may have such columns; `combine` also reads the pair that an experiment returns."""
    expected = ma.answers.combine(ma.answers.from_criteria(SAMPLE_CRITERIA), "CAM")
    perquery = ma.answers.from_criteria(answers)
    pair_of_experiment = (None, perquery)
    forms = (perquery, perquery.convert_dtypes(), pl.DataFrame(perquery), pair_of_experiment)
    for form in forms:
        combined = ma.answers.combine(form, "CAM")
        assert combined.to_numpy().tolist() == expected.to_numpy().tolist()


def test_missing_labels_of_nullable_columns() -> None:
    """The label of b is missing: only the other three have a value."""
    faithful = pd.array([0.5, None], dtype="Float64")
    with pytest.warns(MultiAspectWarning, match=r"1 of 4 labels is missing \(b 1\)"):
        perquery = ma.answers.from_criteria(SAMPLE_CRITERIA.assign(faithful=faithful))
    assert perquery["measure"].tolist() == ["faithful", "complete", "complete"]


@pytest.mark.parametrize("case", range(9))
def test_bad_values(case: int) -> None:
    frame, message = list(damaged_frames())[case]
    frame.attrs.clear()
    with pytest.raises(MultiAspectError, match=message):
        ma.answers.combine(frame, "CAM")


def test_truth_values_are_numbers() -> None:
    perquery = ma.answers.from_criteria(criteria(("q1", "a", 1, 0)))
    perquery["value"] = perquery["value"] == 1
    assert scores_of(ma.answers.combine(perquery, "CAM"))["CAM"] == 0.5


# --- where the frames go ----------------------------------------------------------------------


@pytest.fixture
def combined_values() -> pd.DataFrame:
    frame, scales = answers_world()
    perquery = ma.answers.from_criteria(frame, aspects=scales)
    return ma.answers.combine(
        perquery, {"CAM": "CAM", "MM": "MM", "closeness": TOMA(aspects=scales)}
    )


LABELS = ["faithful", "complete", "CAM", "MM", "closeness"]


def test_aggregates_with_intervals(combined_values: pd.DataFrame) -> None:
    means = ma.aggregate(combined_values, ci=0.95).set_index("name")
    by_hand = combined_values.groupby(["name", "measure"])["value"].mean().unstack()
    assert means[LABELS].to_numpy() == pytest.approx(by_hand[LABELS].to_numpy())
    assert (means["MM 95% low"] <= means["MM"]).all()
    weights = dict.fromkeys(combined_values["qid"].unique(), 1.0)
    assert ma.aggregate(combined_values, weights=weights)["MM"].tolist() == pytest.approx(
        means["MM"].tolist()
    )


def test_comparisons_and_correlations(combined_values: pd.DataFrame) -> None:
    compared = ma.analysis.compare_with_baseline(combined_values, "a")
    assert compared["measure"].unique().tolist() == LABELS
    means = ma.aggregate(combined_values).set_index("name")
    differences = compared.set_index(["measure", "name"])["difference"]
    assert differences["MM", "b"] == pytest.approx(means["MM"]["b"] - means["MM"]["a"])
    correlations = ma.analysis.correlation(combined_values)
    assert correlations.index.tolist() == LABELS
    assert correlations.loc["CAM", "CAM"] == 1
    power = ma.analysis.discriminative_power(combined_values, n_resamples=100)
    assert all(label in str(power) for label in LABELS)


def test_groups_of_topics_and_labels_of_a_model(combined_values: pd.DataFrame) -> None:
    groups = {
        qid: "even" if int(qid[1:]) % 2 == 0 else "odd" for qid in combined_values["qid"].unique()
    }
    by_group = ma.aggregate(combined_values, by=groups).set_index(["group", "name"])
    even = combined_values[combined_values["qid"].map(groups) == "even"]
    expected = even[even["measure"] == "MM"].groupby("name")["value"].mean()
    assert by_group.loc["even", "MM"].to_dict() == pytest.approx(expected.to_dict())
    human = combined_values[combined_values["qid"].isin([f"q{q}" for q in range(6)])]
    human.attrs = combined_values.attrs
    powered = ma.analysis.prediction_powered(human, combined_values, baseline="a")
    assert all(label in str(powered) for label in LABELS)


@pytest.mark.slow
def test_tables_plots_and_citations(combined_values: pd.DataFrame, tmp_path: Path) -> None:
    mpl.use("Agg")
    latex = ma.systems_table(combined_values).to_latex()
    for label in LABELS:
        assert label in latex
    assert "closeness" in str(ma.systems_table(combined_values, baseline="a"))
    assert ma.plots.systems(combined_values, "faithful", "complete").has_data()
    assert "palotti2018" in ma.cite(["MM"])


def test_runs_with_different_topics_are_not_compared_silently(
    combined_values: pd.DataFrame,
) -> None:
    fewer = combined_values[~((combined_values["name"] == "b") & (combined_values["qid"] == "q3"))]
    fewer.attrs = combined_values.attrs
    with pytest.warns(MultiAspectWarning, match=r"a and b.*different topics"):
        ma.aggregate(fewer)
    for compare in (
        lambda: ma.analysis.compare_with_baseline(fewer, "a"),
        lambda: ma.analysis.correlation(fewer),
        lambda: ma.systems_table(fewer),
    ):
        with pytest.raises(MultiAspectError, match="different sets of topics"):
            compare()


# --- the how-to page --------------------------------------------------------------------------


@pytest.fixture
def run_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """Run the code of a page, and return its names."""
    monkeypatch.chdir(tmp_path)

    def run(name: str) -> dict[str, Any]:
        page: dict[str, Any] = {}
        for cell in cells(name):
            exec(cell, page)
        return page

    return run


@pytest.mark.slow
def test_the_page_on_answers_of_tracks(run_page) -> None:
    page = run_page("answers_of_tracks")

    # The sentences of the answer "long": fully supported, in part, not, and without citation.
    support = page["supported"].loc[("q1", "long")]
    assert support["weighted_precision"] == (1 + 0.5 + 0) / 3  # of sentences with citations
    assert support["weighted_recall"] == (1 + 0.5 + 0) / 4

    # The importance A (4) is shared by two expected answers, C (1) has one.
    assert page["rubric"]["weight"].tolist() == [4 / 2, 4 / 2, 1]


@pytest.mark.slow
def test_the_page_on_passages(run_page) -> None:
    page = run_page("passages")

    # Rankings of nuggets: d1 has the nuggets 1 and 2, d2 the nugget 1, d3 the nuggets 2 and 3. On
    # q1, "alike" ranks d1 d2, and "diverse" d1 d3, which is ideal. On q2, both are ideal.
    values = ma.evaluate(page["runs"], page["qrels"], page["measures"], progress=False)
    means = ma.aggregate(values).set_index("name")
    assert means["nDCG@2"].tolist() == [1.0, 1.0]
    alpha_ndcg = means["α-nDCG@2"]
    assert alpha_ndcg["diverse"] == 1.0
    assert alpha_ndcg["alike"] < alpha_ndcg["diverse"]
    discount = 1 / math.log2(3)  # of rank 2
    again = 0.5  # the gain of a nugget that an earlier document has
    alike_on_q1 = (2 + again * discount) / (2 + (again + 1) * discount)
    assert alpha_ndcg["alike"] == pytest.approx((alike_on_q1 + 1) / 2)

    # Sums of gains: 1 if a passage helps, -1/3 if it distracts.
    assert page["n_passages"] == [2, 4]
    assert page["gains"]["value"].tolist() == pytest.approx([1 + 0, 1 + 0 - 1 / 3 - 1 / 3])


@pytest.mark.slow
def test_the_pages_on_answers_and_on_answers_in_experiments_agree(run_page) -> None:
    combined = ma.aggregate(run_page("answers")["perquery"]).set_index("name")["MM"]
    page = run_page("answers_in_experiments")
    experiment = pt.Experiment(
        list(page["systems"].values()), page["topics"],
        page["wide"][["qid", "docno", "vital_score", "faithful"]], [page["measure"]], names=list(page["systems"]),
    )  # fmt: skip
    assert experiment[str(page["measure"])].tolist() == pytest.approx(
        combined[experiment["name"]].tolist()
    )


FIVE = pd.DataFrame(
    [(f"q{i}", "a", 1 + i % 5) for i in range(40)], columns=["qid", "name", "faithful"]
)


def test_a_criterion_declared_by_its_top_grade_that_starts_at_1_warns() -> None:
    with pytest.warns(
        MultiAspectWarning, match=r"no label of faithful is 0.*top grade alone.*\[1, 2, 3, 4, 5\]"
    ):
        doubted = ma.answers.from_criteria(FIVE, aspects={"faithful": 5})
    assert doubted["value"].mean() == pytest.approx(0.6)
    meant = ma.answers.from_criteria(FIVE, aspects={"faithful": [0, 1, 2, 3, 4, 5]})
    assert meant["value"].tolist() == doubted["value"].tolist()
    right = ma.answers.from_criteria(FIVE, aspects={"faithful": [1, 2, 3, 4, 5]})
    assert right["value"].mean() == pytest.approx(0.5)


@pytest.mark.parametrize(
    "frame",
    [
        FIVE[:29],
        pd.concat([FIVE, FIVE[:1].assign(qid="q99", faithful=0)]),
        FIVE[FIVE["faithful"] > 1],
        FIVE.assign(faithful=1),
    ],
    ids=["few", "some are 0", "none is 1", "one grade"],
)
@no_warnings()
def test_criteria_declared_by_their_top_grade_are_silent(frame: pd.DataFrame) -> None:
    ma.answers.from_criteria(frame, aspects={"faithful": 5})


@pytest.mark.parametrize(
    ("scale", "label"),
    [
        pytest.param(Aspect([0, 1, 2], gains=[1, 1, 1]), 0, id="all gains are 1"),
        pytest.param(Aspect([0, 1], gains=[0, 0]), 0, id="all gains are 0"),
        pytest.param([3], 3, id="a single grade"),
    ],
)
def test_criteria_of_equal_gains_are_refused(scale: Any, label: int) -> None:
    answers = criteria(("q1", "a", label), names=("faithful",))
    message = "expected different gains for the grades of faithful"
    with pytest.raises(MultiAspectError, match=message):
        ma.answers.from_criteria(answers, aspects={"faithful": scale})


def test_criteria_of_some_equal_gains_are_accepted() -> None:
    answers = criteria(("q1", "a", 1), names=("faithful",))
    ma.answers.from_criteria(answers, aspects={"faithful": Aspect([0, 1, 2], gains=[0, 1, 1])})


# --- answers as documents -------------------------------------------------------------------------

SCALES = {"correct": 5, "fluent": 5}
JUDGED_MEASURES = [
    "nDCG@10",
    CAM(aspects=SCALES) @ 10,
    MM(aspects=SCALES) @ 10,
    TOMA(aspects=SCALES) @ 10,
]


def answers_as_documents(
    n_systems: int = 3,
    n_topics: int = 6,
    label: Callable[[int, int], int] = lambda system, topic: 5,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Runs that retrieve their own answer to each topic, and the judgments of all answers."""
    rows = [
        (f"q{topic}", f"s{system}-q{topic}", *[label(system, topic)] * 3)
        for system in range(n_systems)
        for topic in range(n_topics)
    ]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label", "correct", "fluent"])
    runs = {
        f"s{system}": {f"q{topic}": {f"s{system}-q{topic}": 1.0} for topic in range(n_topics)}
        for system in range(n_systems)
    }
    return runs, qrels


def test_answers_as_documents_warn_once_with_the_measures_that_compare_them() -> None:
    """All runs have the same value of nDCG@10, however good, as each retrieves one of three equal answers.

    So do other measures that divide by an ideal or by the number of relevant documents; those
    that look at the run alone do not compare answers.
    """
    runs, qrels = answers_as_documents()
    comparing = {str(measure): measure for measure in [*JUDGED_MEASURES, "AP", "R@5", "Bpref"]}
    not_comparing = {
        "own P@1": "P(rel=1)@1",
        "own DCG": ma.DCG @ 10,
        "own RR": "RR",
        "own CG": CG @ 1,
    }
    with pytest.warns(MultiAspectWarning, match=r"ma\.answers") as caught:
        values = ma.evaluate(runs, qrels, comparing | not_comparing, progress=False)

    (warning,) = caught
    message = str(warning.message)
    assert all(label in message for label in comparing)
    assert "own" not in message
    ndcg_of_one_of_three = 1 / (1 + 1 / math.log2(3) + 1 / 2)
    ndcg = ma.aggregate(values)["nDCG@10"].tolist()
    assert ndcg == pytest.approx([ndcg_of_one_of_three] * 3)


def test_reports_warn_of_answers_as_documents_once() -> None:
    runs, qrels = answers_as_documents(label=lambda system, topic: (system + topic) % 5 + 1)
    scales = {"relevance": 5, **SCALES}
    with pytest.warns(MultiAspectWarning, match=r"ma\.answers") as caught:
        ma.report(runs, qrels, "CAM@10", aspects=scales, human=qrels, progress=False)
    assert sum("ma.answers" in str(warning.message) for warning in caught) == 1


def test_a_single_run_of_answers_as_documents_does_not_warn() -> None:
    runs, qrels = answers_as_documents()
    with no_warnings():
        ma.evaluate({"s0": runs["s0"]}, qrels, "nDCG@10", progress=False)


def test_no_run_is_evaluated_again_to_recognise_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the 25 runs, each evaluated once on all judgments, at most 500 answers are evaluated alone."""
    runs, qrels = answers_as_documents(n_systems=25, n_topics=30)
    numbers_of_judgments: list[int] = []
    values_of_plan = Plan.values

    def count_judgments(self: Plan, rankings: Any) -> Any:
        numbers_of_judgments.append(len(self.judgments))
        return values_of_plan(self, rankings)

    monkeypatch.setattr(Plan, "values", count_judgments)
    with pytest.warns(MultiAspectWarning, match=r"values of nDCG@10 do not tell"):
        ma.evaluate(runs, qrels, ["nDCG@10", "P@1"], progress=False)
    assert numbers_of_judgments == [len(qrels)] * 25 + [500]


def test_a_missing_or_worst_answer_does_not_hide_the_others() -> None:
    """Each system has the lowest label on one topic, and s1 has no answer to q3: the warning is still given."""

    def label_of(system: int, topic: int) -> int:
        return 0 if topic == system else 3

    runs, qrels = answers_as_documents(n_topics=4, label=label_of)
    del runs["s1"]["q3"]
    with pytest.warns(MultiAspectWarning, match=r"ma\.answers"):
        ma.evaluate(runs, qrels, "nDCG@10", progress=False)


def silent_runs() -> Iterator[Any]:
    runs, qrels = answers_as_documents()
    free = [
        "P@1",
        "P@10",
        "RR",
        "Success@1",
        CG @ 10,
        ma.DCG @ 10,
        CAM(base=CG @ 1, aspects=SCALES),
    ]
    yield pytest.param(runs, qrels, free, id="measures that are not divided by an ideal")
    yield pytest.param({"s0": runs["s0"]}, qrels, JUDGED_MEASURES, id="a single run")
    halves = {
        name: {qid: {f"{name}-{qid}": 1.0} for qid in qids}
        for name, qids in [("s0", "ab"), ("s1", "cd")]
    }
    parts = pd.DataFrame(
        [
            (qid, docno, 5, 5, 5)
            for run in halves.values()
            for qid, pairs in run.items()
            for docno in pairs
        ],
        columns=qrels.columns,
    )
    yield pytest.param(halves, parts, JUDGED_MEASURES, id="no topic in two runs")
    shared = {**runs, "copy": {**runs["s0"]}}
    yield pytest.param(shared, qrels, JUDGED_MEASURES, id="a document in two runs")
    longer = {**runs, "s0": {**runs["s0"], "q0": {"s0-q0": 2.0, "s1-q0": 1.0}}}
    yield pytest.param(longer, qrels, JUDGED_MEASURES, id="two documents for a topic")
    padded = {
        name: {
            qid: {**documents, **{f"{name}-{n}": -n for n in range(9)}}
            for qid, documents in run.items()
        }
        for name, run in runs.items()
    }
    yield pytest.param(
        padded, qrels, JUDGED_MEASURES, id="one judged document, many retrieved: sparse judgments"
    )
    known = qrels[qrels["docno"] == "s0-" + qrels["qid"]]
    yield pytest.param(padded, known, JUDGED_MEASURES, id="one relevant document, many retrieved")
    yield pytest.param(
        runs, known, JUDGED_MEASURES, id="known items, of which one document is retrieved"
    )
    graded = qrels.assign(
        **{name: qrels[name] * qrels.index.isin(known.index) for name in ("label", *SCALES)}
    )
    yield pytest.param(runs, graded, JUDGED_MEASURES, id="known items among judged documents")
    alone, labels = answers_as_documents(n_topics=1)
    yield pytest.param(alone, labels, JUDGED_MEASURES, id="a single topic")


@pytest.mark.parametrize(("runs", "qrels", "measures"), list(silent_runs()))
@no_warnings()
def test_rankings_are_not_taken_for_answers(
    runs: Any, qrels: pd.DataFrame, measures: list[Any]
) -> None:
    ma.evaluate(runs, qrels, measures, progress=False)


def scores_with_a_wide_interval() -> pd.DataFrame:
    """Criteria of two systems on three topics: the interval of a's faithfulness would reach below 0 and above 1."""
    answers = criteria(
        ("q1", "a", 1.0, 0.9),
        ("q2", "a", 0.5, 0.5),
        ("q3", "a", 0.2, 1.0),
        ("q1", "b", 0.0, 0.1),
        ("q2", "b", 0.0, 0.0),
        ("q3", "b", 0.4, 0.3),
    )
    return ma.answers.from_criteria(answers)


def test_intervals_of_scores_stay_in_their_range() -> None:
    """The frame records the range, which selecting rows, combining and Parquet files keep."""
    scores = scores_with_a_wide_interval()
    frames = [
        scores,
        scores[scores["measure"] != "complete"],
        ma.answers.combine(scores, {"overall": CAM}),
    ]
    if pd.__version__ >= "2.1":  # which keeps attrs in Parquet files
        file = BytesIO()
        scores.to_parquet(file)
        frames.append(pd.read_parquet(file))
    for frame in frames:
        row_of_a = ma.aggregate(frame, ci=0.95).iloc[0]
        assert row_of_a["faithful 95% low"] == 0
        assert row_of_a["faithful 95% high"] == 1


def test_intervals_of_percentages_are_not_cut_at_1() -> None:
    """The values are outside of the recorded range, which is no longer theirs."""
    scores = scores_with_a_wide_interval()
    percentages = scores.assign(value=100 * scores["value"])
    with no_warnings():
        row_of_a = ma.aggregate(percentages, ci=0.95).iloc[0]
    assert row_of_a["faithful 95% high"] > 100


@pytest.mark.parametrize(
    ("labels", "scale"),
    [
        ([0, 4, 2], r"\[0, 1, 2, 3, 4\]"),
        ([20, 55.5, 90], r"\[20.0, 55.5, 90.0\]"),
        ([0, 3, 100], "100"),
        ([0, 3, 10**12], str(10**12)),
    ],
)
def test_the_example_of_grades_has_the_labels_that_occur(labels, scale) -> None:
    judged = pd.DataFrame({"name": "a", "qid": ["q1", "q2", "q3"], "clear": labels})
    with pytest.raises(MultiAspectError, match=f"as in aspects={{'clear': {scale}}}"):
        ma.answers.from_criteria(judged)
