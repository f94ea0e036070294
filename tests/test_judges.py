"""Judgments of several judges: `from_long`, agreement, differences by judge, and Judged@k per aspect."""

from __future__ import annotations

import itertools
import json
import re
import statistics
import sys
import warnings
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from scipy.stats import ttest_1samp

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.analysis import judge_agreement

# -- Judged@k per aspect
# ----------------------------------------------------------------------------------

QRELS = pd.DataFrame(
    [
        ("q1", "d1", 1, 0),
        ("q1", "d2", 0, np.nan),
        ("q1", "d3", np.nan, 1),
        ("q1", "d4", 2, 9),
        ("q2", "d1", 2, np.nan),
    ],
    columns=["qid", "docno", "label", "credibility"],
)
RUN = {"q1": {"d1": 5.0, "d2": 4.0, "d9": 3.0, "d3": 2.0, "d4": 1.0}, "q2": {"d1": 1.0}}
SCALES = ma.Aspects({"relevance": 2, "credibility": ma.Aspect(1, unjudged=[9])})


def values_of(measure: object, qrels: pd.DataFrame = QRELS) -> list[float]:
    return ma.evaluate({"run": RUN}, qrels, measure, progress=False)["value"].tolist()


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("k", "relevance", "credibility"),
    [(1, [1, 1], [1, 0]), (2, [1, 1], [1 / 2, 0]), (3, [2 / 3, 1], [1 / 3, 0]), (5, [3 / 5, 1], [2 / 5, 0]),
     (100, [3 / 5, 1], [2 / 5, 0])],
)  # fmt: skip
def test_judged_is_the_fraction_of_the_top_with_a_label_on_the_aspect(
    k, relevance, credibility
) -> None:
    for aspect, expected in (("relevance", relevance), ("credibility", credibility)):
        measure = ma.On(aspect=aspect, base="Judged", aspects=SCALES) @ k
        assert values_of(measure) == expected
        assert values_of(str(measure)) == expected
        assert (
            values_of(ma.On(aspect=aspect, base=ir_measures.Judged @ k, aspects=SCALES)) == expected
        )


def test_judged_without_a_cutoff_is_that_of_ir_measures() -> None:
    assert values_of("Judged") == values_of(ma.On(base="Judged")) == [3 / 5, 1]


def test_judged_counts_labels_that_are_no_integers() -> None:
    """ir-measures, which computed it before, refused these."""
    fractions = QRELS.assign(credibility=QRELS["credibility"] / 4)
    assert values_of(ma.On(aspect="credibility", base="Judged@2"), fractions) == [1 / 2, 0]


def test_judged_breaks_ties_as_all_measures_of_evaluate() -> None:
    tied = {"q1": {"d1": 1.0, "d9": 1.0}, "q2": {"d1": 1.0}}
    values = ma.evaluate({"run": tied}, QRELS, ["Judged@1", "On(base='Judged')@1"], progress=False)
    assert values[values["qid"] == "q1"]["value"].tolist() == [
        0.0,
        0.0,
    ]  # docno descending, as in trec_eval


def test_judged_in_an_experiment() -> None:
    run = pd.DataFrame(
        [(qid, docno, score) for qid, docs in RUN.items() for docno, score in docs.items()],
        columns=["qid", "docno", "score"],
    )
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": ["one", "two"]})
    measure = ma.On(aspect="credibility", base="Judged", aspects=SCALES) @ 2
    for form in (measure, str(measure)):
        table = pt.Experiment([pt.Transformer.from_df(run)], topics, QRELS, [form, "Judged@2"])
        assert table[str(measure)].tolist() == [0.25]


def test_judged_is_explained() -> None:
    """Each judged document among the five retrieved contributes 1/5."""
    qrels = pd.DataFrame(
        [
            ("q1", "d1", 1, 0),
            ("q1", "d2", 0, np.nan),  # not judged on credibility
            ("q1", "d3", np.nan, 1),
            ("q1", "d4", 2, 9),  # the code of documents that were not judged
        ],
        columns=["qid", "docno", "label", "credibility"],
    )
    scales = ma.Aspects({"relevance": 2, "credibility": ma.Aspect(1, unjudged=[9])})
    run = {"q1": {"d1": 5.0, "d2": 4.0, "unknown": 3.0, "d3": 2.0, "d4": 1.0}}
    measure = ma.On(aspect="credibility", base="Judged", aspects=scales)

    ranks = measure.explain(run, qrels, "q1").ranks

    contributions = dict(zip(ranks["docno"], ranks["contribution"], strict=True))
    assert contributions == {"d1": 1 / 5, "d2": 0, "unknown": 0, "d3": 1 / 5, "d4": 0}


# -- from_long
# -------------------------------------------------------------------------------------------

Row = tuple[str, str, str, str, float]


def long(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["qid", "docno", "criterion", "judge", "value"])


def draw_labels(rng: np.random.Generator, n_judges: int, grades: list[float]) -> list[Row]:
    """Labels of some judges on some documents, in random order."""
    rows = [
        (f"q{q}", f"d{d}", criterion, f"judge {judge}", float(rng.choice(grades)))
        for q in range(2) for d in range(4) for criterion in ("correct", "fluent") for judge in range(n_judges)
        if rng.random() < 0.7
    ]  # fmt: skip
    return [rows[row] for row in rng.permutation(len(rows))]


def reference(rows: list[Row], combine: str) -> dict[tuple[str, str, str], float]:
    """Return the result of `from_long`, by loops."""
    labels = defaultdict(list)
    for qid, docno, criterion, _, value in rows:
        labels[qid, docno, criterion].append(value)
    how = {
        "median": statistics.median_low,
        "mean": lambda values: float(sum(Fraction(repr(value)) for value in values) / len(values)),
        "majority": lambda values: min(statistics.multimode(values)),
    }
    return {key: how[combine](values) for key, values in labels.items()}


@pytest.mark.every(4)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.errors.MultiAspectWarning")
@pytest.mark.parametrize("combine", ["median", "mean", "majority"])
@pytest.mark.parametrize(
    "grades", [[0, 1, 2, 3], [0, 1], [1, 2, 3, 4, 5], [0.1, 0.2, 0.3, 0.7]], ids=str
)
def test_from_long_equals_the_reference(combine: str, grades: list[float]) -> None:
    rng = np.random.default_rng(len(grades))
    scales = {"correct": ma.Aspect(grades), "fluent": ma.Aspect(grades)}
    for n_judges in (1, 2, 3, 5, 8):
        rows = draw_labels(rng, n_judges, grades)
        wide = ma.from_long(long(rows), aspects=scales, combine=combine)
        expected = reference(rows, combine)
        values = {
            (row.qid, row.docno, criterion): getattr(row, criterion)
            for row in wide.itertuples() for criterion in ("correct", "fluent")
            if not np.isnan(getattr(row, criterion))
        }  # fmt: skip
        assert values == expected  # exactly
        # All labels are grades of the scales it returns.
        ma.evaluate(
            {"r": {"q0": {"d0": 1.0}}}, wide, ma.CAM(aspects=wide.attrs["aspects"]), progress=False
        )


def test_rows_are_in_any_order() -> None:
    rows = draw_labels(np.random.default_rng(1), 3, [0, 1, 2])
    first, second = (
        ma.from_long(long(order), aspects={"correct": 2, "fluent": 2}).sort_values(["qid", "docno"])
        for order in (rows, rows[::-1])
    )
    pd.testing.assert_frame_equal(first.reset_index(drop=True), second.reset_index(drop=True))


def test_the_scale_is_that_of_all_judges() -> None:
    """The highest grade is never the median: inferred from the medians, the scale was 0, 1."""
    rows = [
        ("q1", "d1", "relevance", judge, value)
        for judge, value in zip("abc", (0, 1, 2), strict=True)
    ]
    rows += [("q1", "d2", "relevance", judge, 0) for judge in "abc"]
    wide = ma.from_long(long(rows))
    assert wide["label"].tolist() == [1, 0]
    assert ma.Aspects(json.loads(wide.attrs["aspects"]))["relevance"].grades == (0, 1, 2)
    assert wide.attrs["notes"] == [
        "relevance: median of 3 judges, 3 labels per document (2 documents)",
        "relevance: the scale was inferred as 0, 1, 2",
    ]


def test_codes_are_left_out_before_labels_are_combined() -> None:
    rows = [
        ("q1", "d1", "relevance", judge, value)
        for judge, value in zip("abc", (-1, 2, 2), strict=True)
    ]
    rows += [("q1", "d2", "relevance", judge, -1) for judge in "abc"]
    with pytest.raises(MultiAspectError, match=r"relevance: expected.*0.*got -1.*unjudged=\[-1\]"):
        ma.from_long(long(rows))
    wide = ma.from_long(
        long(rows), aspects={"relevance": ma.Aspect(2, unjudged=[-1])}, combine="mean"
    )
    assert wide["label"].tolist()[0] == 2
    assert np.isnan(wide["label"].tolist()[1])


def test_means_keep_what_the_scale_declares() -> None:
    labels = {"a": [0, 1, 2, 0], "b": [1, 2, 2, 0]}
    rows = [
        ("q1", f"d{n}", "relevance", judge, label)
        for judge in labels
        for n, label in enumerate(labels[judge])
    ]
    declared = ma.Aspect(
        [0, 1, 2], gains=[0, 1, 3], probabilities=[0, 0.2, 1], threshold=2, unjudged=[9]
    )
    wide = ma.from_long(long(rows), combine="mean", aspects={"relevance": declared})
    aspect = ma.Aspects(json.loads(wide.attrs["aspects"]))["relevance"]
    assert aspect.grades == (0, 0.5, 1, 1.5, 2)
    assert aspect.gains == (0, 0.5, 1, 2, 3)
    assert aspect.probabilities == pytest.approx((0, 0.1, 0.2, 0.6, 1))
    assert (aspect.threshold, aspect.unjudged) == (2, (9,))


def test_means_on_a_scale_where_lower_is_better() -> None:
    """Two judges give the labels 1 (easy) and 2: their mean, 1.5, becomes a grade between these."""
    labels = long([("q1", "d1", "difficulty", "a", 1), ("q1", "d1", "difficulty", "b", 2)])
    aspect = ma.Aspect([1, 2, 3], greater_is_better=False, threshold=2)
    wide = ma.from_long(labels, combine="mean", aspects={"difficulty": aspect})
    grades = ma.Aspects(json.loads(wide.attrs["aspects"]))["difficulty"].grades
    assert grades == (3, 2, 1.5, 1)  # from the lowest grade, the hardest text


def test_medians_on_a_scale_where_lower_is_better() -> None:
    """The median of two labels is the lower grade, which is the harder text: of 1 and 2 it is 2."""
    labels = long([("q1", "d1", "difficulty", "a", 1), ("q1", "d1", "difficulty", "b", 2)])
    aspect = ma.Aspect([1, 2, 3], greater_is_better=False, threshold=2)
    wide = ma.from_long(labels, aspects={"difficulty": aspect})
    assert wide["difficulty"].tolist() == [2]


def test_means_of_two_grades_warn() -> None:
    rows = [
        ("q1", "d1", "correct", judge, value) for judge, value in zip("abc", (0, 1, 1), strict=True)
    ]
    with pytest.warns(ma.MultiAspectWarning, match="only if all judges agree"):
        ma.from_long(long(rows), combine="mean", aspects={"correct": 1})


def two_equal_judges(criterion: str, labels: list[int]) -> pd.DataFrame:
    """Judges who agree on the label of each document."""
    rows = []
    for number, label in enumerate(labels):
        rows.append(("q1", f"d{number}", criterion, "a", label))
        rows.append(("q1", f"d{number}", criterion, "b", label))
    return long(rows)


@pytest.mark.parametrize(
    ("criterion", "scale", "labels", "message"),
    [
        pytest.param(
            "correct", [1, 2, 3, 4, 5], [2, 3, 4, 5] * 3, r"second grade.*100%.*threshold=3",
            id="grades from 1: all labels are at least 2",
        ),
        pytest.param(
            "trust", 2, [1, 2] * 6, r"second grade on, 1,.*100%.*threshold=1\)",
            id="grades from 0: all labels are at least 1",
        ),
    ],
)  # fmt: skip
def test_means_that_nearly_all_reach_the_default_threshold_warn(
    criterion: str, scale: Any, labels: list[int], message: str
) -> None:
    """The default threshold, the second grade, would make all documents positive for binary measures."""
    with pytest.warns(ma.MultiAspectWarning, match=message):
        ma.from_long(
            two_equal_judges(criterion, labels), combine="mean", aspects={criterion: scale}
        )


def test_means_with_a_declared_threshold_do_not_warn() -> None:
    labels = two_equal_judges("correct", [2, 3, 4, 5] * 3)
    scale = ma.Aspect([1, 2, 3, 4, 5], threshold=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ma.from_long(labels, combine="mean", aspects={"correct": scale})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("label", "grades"), [(np.nan, [1, 2, 3]), (1, [1])])
def test_means_without_labels_and_of_one_grade_are_not_doubted(
    label: float, grades: list[int]
) -> None:
    rows = [("q1", f"d{n}", "correct", judge, label) for n in range(12) for judge in "ab"]
    rows += [("q1", f"d{n}", "trust", judge, n % 3) for n in range(12) for judge in "ab"]
    declared = {"correct": grades, "trust": ma.Aspect(2, threshold=1)}
    wide = ma.from_long(long(rows), combine="mean", aspects=declared)
    assert wide["correct"].tolist() == pytest.approx([label] * 12, nan_ok=True)


def test_majorities_of_two_judges_warn() -> None:
    """Two judges who disagree have no majority: the lower label is taken, with a warning."""
    labels = long(
        [
            ("q1", "d0", "correct", "a", 0),
            ("q1", "d0", "correct", "b", 2),
            ("q1", "d1", "correct", "a", 1),
            ("q1", "d1", "correct", "b", 3),
        ]
    )
    with pytest.warns(ma.MultiAspectWarning, match=r"2 of 2 documents.*majority"):
        wide = ma.from_long(labels, combine="majority", aspects={"correct": 3})
    assert wide["correct"].tolist() == [0, 1]
    assert wide.attrs["notes"][0].endswith("2 without a majority")


def test_scales_that_may_start_at_1_warn() -> None:
    rows = [("q1", f"d{n}", "correct", "a", n) for n in range(1, 6)]
    with pytest.warns(ma.MultiAspectWarning, match=r"correct is 0.*grades=\[1, 2, 3, 4, 5\]"):
        ma.from_long(long(rows))


def test_the_scales_are_named_and_survive_parquet(tmp_path) -> None:
    rows = [("q1", "d1", "correct", judge, 4) for judge in "ab"]
    scale = ma.Aspect([1, 2, 3, 4, 5], threshold=4)
    wide = ma.from_long(long(rows), aspects={"correct": scale}, name="from-long")
    assert ma.On(aspect="correct", base="P@1", aspects="from-long") == ma.On(
        aspect="correct", base="P@1", aspects=ma.Aspects({"correct": scale}, name="from-long")
    )
    json.dumps(wide.attrs)
    run = {"q1": {"d1": 1.0}}
    for aspects in ("from-long", wide.attrs["aspects"]):
        assert ma.On(aspect="correct", base="P@1", aspects=aspects).calc_aggregate(wide, run) == 1


def test_columns_by_other_names_and_frames() -> None:
    rows = [
        ("q1", "d1", "label", "a", 1),
        ("q1", "d1", "label", "b", 1),
        ("q1", "d2", "label", "b", None),
    ]
    frame = long(rows).rename(
        columns={
            "qid": "query_id",
            "docno": "doc_id",
            "criterion": "aspect",
            "judge": "model",
            "value": "grade",
        }
    )
    polars = pytest.importorskip("polars")
    as_polars = polars.DataFrame({column: frame[column].tolist() for column in frame})
    for form in (frame, as_polars, list(frame.itertuples(index=False))):
        wide = ma.from_long(form, criterion="aspect", value="grade", judge="model")
        assert list(wide.columns) == ["qid", "docno", "label"]
        assert wide["docno"].tolist() == ["d1", "d2"]
        assert np.isnan(wide["label"][1])


def test_in_an_experiment() -> None:
    rows = [
        ("q1", "d1", criterion, judge, 2) for criterion in ("relevance", "fluent") for judge in "ab"
    ]
    rows += [
        ("q1", "d2", criterion, judge, 0) for criterion in ("relevance", "fluent") for judge in "ab"
    ]
    wide = ma.from_long(long(rows), aspects={"relevance": 2, "fluent": 2}, name="experiment-long")
    run = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [1.0, 2.0]})
    topics = pd.DataFrame({"qid": ["q1"], "query": ["one"]})
    table = pt.Experiment(
        [pt.Transformer.from_df(run)],
        topics,
        wide,
        ["CAM(base='P@1',aspects='experiment-long')", "P@2"],
    )
    assert table["P@2"].tolist() == [0.5]
    assert table["CAM(base='P@1',aspects='experiment-long')"].tolist() == [0]


ONE = ("q1", "d1", "correct", "a", 1)
CASES: list[tuple[list[tuple[Any, ...]], dict[str, Any], str]] = [
    (
        [ONE, ("q1", "d1", "correct", "a", 2)],
        {},
        "expected one label for document d1, query q1, criterion correct, judge a, got several",
    ),
    ([ONE, ("q1", "d1", "correct", "b", 2)], {"judge": None}, "name the column of judges"),
    (
        [("q1", "d1", "correct", "a", 6)],
        {"aspects": {"correct": 5}},
        (
            "invalid label 6 for document d1, query q1, criterion correct, judge a: expected one of "
            "the grades"
        ),
    ),
    ([("q1", "d1", "correct", "a", 0)], {"aspects": {"correct": [1, 2, 3]}}, "invalid label 0"),
    (
        [("q1", "d1", "correct", "a", "4/5"), ("q1", "d2", "correct", "a", "4")],
        {},
        "label '4/5' for document d1",
    ),
    ([("q1", "d1", "correct", "a", np.inf)], {}, "invalid label inf"),
    (
        [ONE],
        {"aspects": {"corect": 5}},
        "expected criteria .correct., got corect. Did you mean correct",
    ),
    ([ONE], {"aspects": "correct"}, "expected scales by criterion"),
    ([ONE, ("q1", "d2", "Correct ", "a", 1)], {}, "expected criteria with different names"),
    (
        [("q1", "d1", criterion, "a", 1) for criterion in ("label", "relevance")],
        {},
        "got 'label' and 'relevance'",
    ),
    ([("q1", "d1", "qid", "a", 1)], {}, "'qid' cannot be the name of an aspect"),
    ([("q1", "d1", "correct", None, 1)], {}, "expected a judge in every row"),
    ([ONE], {"judge": "assessor"}, "expected columns of the frame .*, got assessor"),
    ([ONE], {"criterion": "value"}, "expected distinct columns, got several value"),
    ([ONE], {"criterion": None}, r"long judgments: expected columns of the frame .* got None"),
    (
        [ONE],
        {"judge": ["judge"]},
        r"long judgments: expected columns of the frame .* got \['judge'\]",
    ),
    ([ONE], {"combine": "max"}, "combine: expected one of 'median', 'mean', 'majority', got 'max'"),
    ([], {}, "expected at least one row"),
]


@pytest.mark.parametrize(("rows", "options", "message"), CASES)
def test_invalid_judgments(
    rows: list[tuple[Any, ...]], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(MultiAspectError, match=message):
        ma.from_long(long(rows), **options)


def test_equal_labels_of_a_judge_count_once() -> None:
    rows = [("q1", "d1", "correct", "a", 0)] * 3 + [
        ("q1", "d1", "correct", "b", 1),
        ("q1", "d1", "correct", "c", 1),
    ]
    assert ma.from_long(long(rows), aspects={"correct": 1})["correct"].tolist() == [1]


# -- agreement
# -------------------------------------------------------------------------------------------


def alpha_by_hand(rows: list[Row], criterion: str) -> float:
    """Krippendorff's α for ordinal labels, from pairs of labels (Krippendorff 2013, §12.3)."""
    units = defaultdict(list)
    for qid, docno, aspect, _, value in rows:
        if aspect == criterion:
            units[qid, docno].append(value)
    units = {key: values for key, values in units.items() if len(values) > 1}
    n_of = Counter(value for values in units.values() for value in values)
    grades, n = sorted(n_of), sum(n_of.values())

    def distance(first: float, second: float) -> float:
        low, high = sorted((first, second))
        between = sum(n_of[grade] for grade in grades if low <= grade <= high)
        return (between - (n_of[low] + n_of[high]) / 2) ** 2

    observed = sum(
        sum(distance(*pair) for pair in itertools.permutations(values, 2)) / (len(values) - 1)
        for values in units.values()
    )
    expected = sum(distance(*pair) for pair in itertools.permutations(n_of.elements(), 2)) / (n - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("criterion", ["correct", "fluent"])
def test_agreement_equals_alpha_by_hand(criterion: str) -> None:
    """On random labels. Documents with a label of one judge only do not count, but are told."""
    pytest.importorskip("krippendorff")
    for seed in range(20):
        rows = draw_labels(np.random.default_rng(seed), 4, [0, 1, 2, 5])
        table = judge_agreement(long(rows), aspects={"fluent": [0, 1, 2, 5]})
        agreement = table.set_index("aspect").loc[criterion]
        assert agreement["alpha"] == pytest.approx(alpha_by_hand(rows, criterion), abs=1e-9)

        judges_of_document = defaultdict(set)
        for qid, docno, row_criterion, judge, _label in rows:
            if row_criterion == criterion:
                judges_of_document[qid, docno].add(judge)
        shared = [judges for judges in judges_of_document.values() if len(judges) > 1]
        assert agreement["n_documents"] == len(shared)
        assert agreement["n_judges"] == len(set.union(*shared))
        assert agreement["n_labels"] == sum(len(judges) for judges in shared)
        assert agreement["n_single"] == len(judges_of_document) - len(shared)


def test_agreement_leaves_codes_out() -> None:
    """The label 9 of d3 means "not judged": the judges agree on the other three documents."""
    pytest.importorskip("krippendorff")
    labels_of_a = [
        ("q1", f"d{number}", "correct", "a", label) for number, label in enumerate([0, 1, 2, 9])
    ]
    labels_of_b = [
        ("q1", f"d{number}", "correct", "b", label) for number, label in enumerate([0, 1, 2, 0])
    ]
    labels = long([*labels_of_a, *labels_of_b])

    table = judge_agreement(labels, aspects={"correct": ma.Aspect(2, unjudged=[9])})
    (row,) = table.to_dict("records")
    assert row == {
        "aspect": "correct",
        "alpha": 1,
        "n_documents": 3,
        "n_judges": 2,
        "n_labels": 6,
        "n_single": 1,
    }

    with_9_as_label = judge_agreement(labels)
    assert with_9_as_label["alpha"][0] < 1


@pytest.mark.parametrize(
    ("values", "why"), [((1, 1), "all labels are equal"), ((1, None), "no document has labels")]
)
def test_undefined_agreement_warns(values, why) -> None:
    pytest.importorskip("krippendorff")
    rows = [
        ("q1", "d1", "correct", judge, value) for judge, value in zip("ab", values, strict=True)
    ]
    with pytest.warns(ma.MultiAspectWarning, match=f"α of correct is undefined: {why}"):
        table = judge_agreement(long(rows))
    assert np.isnan(table["alpha"][0])


def test_agreement_requires_judges_and_the_library(monkeypatch) -> None:
    rows = [("q1", "d1", "correct", judge, 1) for judge in "ab"]
    with pytest.raises(MultiAspectError, match="expected a column of judges"):
        judge_agreement(long(rows).drop(columns="judge"))
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(ImportError, match=r"pt-multiaspect\[judges\]"):
        judge_agreement(long(rows))


# -- differences by judge
# --------------------------------------------------------------------------------

SCALES_OF_JUDGES = {"relevance": 3, "fluent": ma.Aspect([1, 2, 3], threshold=2)}


def world(seed: int = 0, n_judges: int = 3, noise: float = 1.0) -> tuple[dict[str, Any], list[Row]]:
    """Five runs on six topics, and judges whose labels differ from the truth at random."""
    rng = np.random.default_rng(seed)
    rows, runs = [], {f"run {n}": {} for n in range(5)}
    for qid in (f"q{n}" for n in range(6)):
        truth = rng.integers(0, 4, 8)
        for n, run in enumerate(runs.values()):
            score = truth + rng.normal(0, 1 + n, 8)
            run[qid] = {f"d{d}": float(score[d]) for d in range(8)}
        for judge in range(n_judges):
            for d in range(8):
                seen = int(np.clip(truth[d] + round(rng.normal(0, noise)), 0, 3))
                rows.append((qid, f"d{d}", "relevance", f"judge {judge}", seen))
                rows.append((qid, f"d{d}", "fluent", f"judge {judge}", int(rng.integers(1, 4))))
    return runs, rows


MEASURES = {
    "TOMA": ma.TOMA(base="nDCG@5", aspects=SCALES_OF_JUDGES),
    "CAM": ma.CAM(base="P@3", aspects=SCALES_OF_JUDGES),
    "nDCG": "nDCG@5",
    "ESL": "ESL(wanted=2)",
}


def by_judge(
    runs: dict[str, Any], rows: list[Row], measure: Any, baseline: str = "run 0"
) -> pd.DataFrame:
    """The differences of a measure by the labels of each judge; all labels together are the qrels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scales that are inferred
        qrels = ma.from_long(long(rows))
        found = ma.robustness(
            runs, qrels, measure, baseline=baseline, variants="AP", judges=long(rows)
        )
    assert found.judges is not None
    return found.judges


@pytest.mark.every(2)
@pytest.mark.parametrize("label", MEASURES)
def test_differences_are_those_of_the_labels_of_each_judge(label: str) -> None:
    """Each judge by the public functions: wide qrels of one judge, evaluated, and paired differences."""
    runs, rows = world()
    all_labels = long(rows)
    differences = by_judge(runs, rows, {label: MEASURES[label]})
    n_other_runs, n_judges = 4, 3
    assert len(differences) == n_other_runs * n_judges
    for judge, table in differences.groupby("judge"):
        qrels = ma.from_long(all_labels[all_labels["judge"] == judge], aspects=SCALES_OF_JUDGES)
        values = ma.evaluate(runs, qrels, {label: MEASURES[label]}, progress=False)
        by_topic = values.pivot(index="qid", columns="name", values="value")
        for row in table.itertuples():
            of_topics = by_topic[row.a] - by_topic[row.b]
            assert row.difference == pytest.approx(of_topics.mean(), abs=1e-12)
            interval = ttest_1samp(of_topics, 0).confidence_interval(0.95)
            assert (row.low, row.high) == pytest.approx((interval.low, interval.high))


def test_differences_do_not_depend_on_the_order_of_labels() -> None:
    runs, rows = world()
    first, second = (by_judge(runs, order, MEASURES["CAM"]) for order in (rows, rows[::-1]))
    columns = ["a", "b", "judge"]
    pd.testing.assert_frame_equal(
        first.sort_values(columns, ignore_index=True),
        second.sort_values(columns, ignore_index=True),
    )


def test_two_judges_can_reverse_the_order() -> None:
    rows = [
        (qid, "d1", "relevance", judge, label)
        for qid in ("q1", "q2")
        for judge, label in (("x", 2), ("y", 0))
    ]
    rows += [(qid, "d2", "relevance", judge, 1) for qid in ("q1", "q2") for judge in "xy"]
    runs = {docno: {qid: {docno: 1.0} for qid in ("q1", "q2")} for docno in ("d1", "d2")}
    measure = ma.On(base="CG", aspects={"relevance": 2}) @ 1
    found = by_judge(runs, rows, measure, baseline="d1").set_index("judge")
    assert found[["difference", "low", "high"]].to_numpy().tolist() == [[-1, -1, -1], [1, 1, 1]]


def test_few_labels_of_a_judge_keep_the_documents() -> None:
    """Judge 2 judged d0 only, and agrees with the others, so the differences are the same by all judges.

    Evaluated on the judge's own documents alone, coverage would look like disagreement.
    """
    runs, rows = world(noise=0.0)
    kept = []
    for row in rows:
        _qid, docno, criterion, judge, _label = row
        if criterion == "relevance" and (judge != "judge 2" or docno == "d0"):
            kept.append(row)
    differences = by_judge(runs, kept, "nDCG")
    n_distinct = differences.groupby(["a", "b"])["difference"].nunique()
    assert (n_distinct == 1).all()


def test_where_a_judge_has_no_label_the_median_of_all_is_kept() -> None:
    """Run d1 retrieves the document d1, run d2 the document d2; the value is the gain, which is the label.

    On d1, x has 2 and y 0, whose median is the lower label, 0. On d2, x and z have 1.
    """
    rows = []
    for qid in ("q1", "q2"):
        rows.append((qid, "d1", "relevance", "x", 2))
        rows.append((qid, "d1", "relevance", "y", 0))
        rows.append((qid, "d2", "relevance", "x", 1))
        rows.append((qid, "d2", "relevance", "z", 1))
    runs = {
        "d1": {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}},
        "d2": {"q1": {"d2": 1.0}, "q2": {"d2": 1.0}},
    }
    measure = ma.On(base="CG", aspects={"relevance": 2}) @ 1

    table = by_judge(runs, rows, measure, baseline="d2")

    differences = dict(zip(table["judge"], table["difference"], strict=True))
    assert differences == {
        "x": 2 - 1,
        "y": 0 - 1,  # of d2, y has no label: the median of all is 1
        "z": 0 - 1,  # of d1, z has no label: the median of all is 0
    }


def test_scales_are_those_of_the_labels_of_all_judges() -> None:
    """Also for a judge who never gives the top grade."""
    runs, rows = world()
    strict = [(*row[:4], min(row[4], 2)) if row[3] == "judge 1" else row for row in rows]
    inferred = by_judge(runs, strict, ma.TOMA(aspects=["relevance", "fluent"]) @ 5)
    declared = by_judge(runs, strict, ma.TOMA(aspects={"relevance": 3, "fluent": 3}) @ 5)
    pd.testing.assert_frame_equal(inferred, declared)


def test_what_cannot_be_compared() -> None:
    runs, rows = world()
    labels = long(rows)
    labels = labels[labels["criterion"] == "relevance"]
    qrels = ma.from_long(labels)

    def message_of(judges: pd.DataFrame) -> str:
        with pytest.raises(MultiAspectError) as caught:
            ma.robustness(runs, qrels, "AP", judges=judges)
        return str(caught.value)

    one_judge = labels[labels["judge"] == "judge 1"]
    assert re.search(r"expected.*two judges, got judge 1", message_of(one_judge))

    one_topic = labels[labels["qid"] == "q1"]
    assert "expected at least two topics" in message_of(one_topic)

    # Judge 0 judged d0 to d3, judge 1 the other documents.
    first_documents = labels["docno"] < "d4"
    of_judge_0 = labels[(labels["judge"] == "judge 0") & first_documents]
    of_judge_1 = labels[(labels["judge"] == "judge 1") & ~first_documents]
    no_common_document = pd.concat([of_judge_0, of_judge_1])
    assert "judges cannot be compared" in message_of(no_common_document)

    without_judges = labels[labels["judge"] == "judge 0"].drop(columns="judge")
    assert "expected a column of judges" in message_of(without_judges)
