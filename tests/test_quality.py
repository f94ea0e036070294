"""Documents in the best runs: against a plain loop, manual results, and real runs."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_path
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect.analysis import document_quality, zero_aspect_documents
from pt_multiaspect.errors import MultiAspectError, MultiAspectWarning

ASPECTS = ma.Aspects(
    {
        "relevance": ma.Aspect([0, 1, 2], gains=[0, 1, 5], probabilities=[0, 1, 1]),
        "effort": ma.Aspect([1, 2, 3], greater_is_better=False),  # 1 is best
    }
)
GAINS = {"relevance": {0: 0, 1: 1, 2: 5}, "effort": {3: 0, 2: 1, 1: 2}}
PROBABILITIES = {"relevance": {0: 0, 1: 1, 2: 1}, "effort": {3: 0, 2: Fraction(1, 2), 1: 1}}
LOWEST = {"relevance": 0, "effort": 3}


# -- a slow reading of the paper
# ------------------------------------------------------------------------------


def best_runs(perquery, measure, qid, ties):
    """The runs that are best on a topic, with their parts."""
    rows = perquery[(perquery["measure"] == measure) & (perquery["qid"] == qid)]
    sign = -1 if measure in ("ESL", "Frustration") else 1
    best = max(sign * value for value in rows["value"])
    names = [
        name
        for name, value in zip(rows["name"], rows["value"], strict=True)
        if sign * value == best
    ]
    if ties == "first":
        names = [name for name in perquery["name"].unique() if name in names][:1]
    return {name: Fraction(1, len(names)) for name in names}


def slow(perquery, runs, qrels, first, last, ties, worth):
    """Return the number of documents at these ranks of the best runs, and their `worth`, per measure."""
    result = {}
    for measure in perquery["measure"].unique():
        documents = total = Fraction(0)
        for qid in perquery["qid"].unique():
            for name, part in best_runs(perquery, measure, qid, ties).items():
                run = runs[name].get(qid, {})
                ranked = sorted(run, key=lambda docno, run=run: (run[docno], docno), reverse=True)
                for docno in ranked[first - 1 : last]:
                    label = qrels[qid].get(docno, {})
                    labels = {aspect: label.get(aspect) for aspect in LOWEST}
                    labels = {a: LOWEST[a] if x is None else x for a, x in labels.items()}
                    documents += part
                    total += part * worth(labels)
        result[measure] = (documents, total)
    return result


QIDS, DOCNOS, NAMES = ("q1", "q2", "q10"), ("a", "b", "c", "d", "e"), ("one", "two", "three")

labels = st.fixed_dictionaries(
    {"relevance": st.sampled_from([0, 1, 2, None]), "effort": st.sampled_from([1, 2, 3, None])}
)
collections = st.fixed_dictionaries(
    {
        "qrels": st.fixed_dictionaries(
            {qid: st.dictionaries(st.sampled_from(DOCNOS), labels, min_size=1) for qid in QIDS}
        ),
        "runs": st.fixed_dictionaries(
            {
                name: st.dictionaries(
                    st.sampled_from(QIDS),
                    st.dictionaries(
                        st.sampled_from((*DOCNOS, "unjudged")), st.integers(0, 3).map(float)
                    ),
                )
                # No run is without any query, which is an error.
                .map(lambda run: run if any(run.values()) else {"q1": {"a": 1.0}})
                for name in NAMES
            }
        ),
        # 'mine' is not a measure: higher is better. Values tie often.
        "perquery": st.lists(st.integers(0, 2), min_size=27, max_size=27).map(
            lambda values: pd.DataFrame(
                [
                    (name, qid, measure, float(values.pop()))
                    for name in NAMES
                    for qid in QIDS
                    for measure in ("RR", "ESL", "nDCG@3")
                ],
                columns=["name", "qid", "measure", "value"],
            )
        ),
    }
)


@examples(25)
@given(collections, st.sampled_from(["average", "first"]), st.integers(1, 6))
def test_equal_a_plain_loop(collection, ties, cutoff):
    qrels, runs, perquery = collection["qrels"], collection["runs"], collection["perquery"]
    table = zero_aspect_documents(perquery, runs, qrels, cutoff=cutoff, aspects=ASPECTS, ties=ties)
    table = table.set_index(["measure", "ranks"])
    ranks = [(rank, rank) for rank in range(1, cutoff + 1)] + ([(1, cutoff)] if cutoff > 1 else [])
    assert len(table) == 3 * len(ranks)
    for low, high in ranks:
        results = slow(perquery, runs, qrels, low, high, ties, lambda labels: labels == LOWEST)
        for measure, (documents, zero) in results.items():
            row = table.loc[(measure, str(low) if low == high else f"{low}-{high}")]
            assert row["n_documents"] == pytest.approx(float(documents))
            assert row["n_zero"] == pytest.approx(float(zero))
            assert row["fraction"] == pytest.approx(float(zero / (cutoff * 3)))
    ranges = [(2, 3), (1, 1), (5, 9)]  # in any order, with gaps, beyond the runs
    for kind, scales in (("gains", GAINS), ("probabilities", PROBABILITIES)):
        table = document_quality(
            perquery, runs, qrels, ranges=ranges, aspects=ASPECTS, labels=kind, ties=ties
        )
        assert table["ranks"].tolist() == ["2-3", "1", "5-9"] * 3
        for index, (low, high) in enumerate(ranges):
            results = slow(
                perquery, runs, qrels, low, high, ties,
                lambda labels, scales=scales: sum(scales[aspect][label] for aspect, label in labels.items()),
            )  # fmt: skip
            for number, (measure, (documents, total)) in enumerate(results.items()):
                row = table.loc[3 * number + index]
                assert row["measure"] == measure
                assert row["n_documents"] == pytest.approx(float(documents))
                expected = float(total / documents) if documents else np.nan
                assert row["quality"] == pytest.approx(expected, nan_ok=True)


@examples(25)
@given(collections, st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference(collection, random):
    qrels, runs, perquery = collection["qrels"], collection["runs"], collection["perquery"]
    order = list(range(len(perquery)))
    random.shuffle(order)
    again = dict(reversed(runs.items()))
    for function in (zero_aspect_documents, document_quality):
        expected = function(perquery, runs, qrels, aspects=ASPECTS).sort_values(
            "measure", kind="stable"
        )
        table = function(perquery.iloc[order], again, qrels, aspects=ASPECTS).sort_values(
            "measure", kind="stable"
        )
        assert table["measure"].tolist() == expected["measure"].tolist()
        pd.testing.assert_frame_equal(
            table.reset_index(drop=True), expected.reset_index(drop=True), check_exact=True
        )


# -- by hand
# --------------------------------------------------------------------------------------------------

GOOD, HALF, BAD = (2, 1), (0, 1), (0, 0)
QRELS = pd.DataFrame(
    [(q, d, *labels) for q in ("1", "2") for d, labels in (("g", GOOD), ("h", HALF), ("b", BAD))],
    columns=["qid", "docno", "label", "credibility"],
)
RUNS = {
    "good": {"1": {"g": 3.0, "h": 2.0, "b": 1.0}, "2": {"g": 3.0, "h": 2.0, "b": 1.0}},
    "short": {"1": {"b": 1.0}},
    "unjudged": {"1": {"x": 3.0, "y": 2.0, "g": 1.0}, "2": {"x": 1.0}},
}
SCORES = {"good": (1, 0), "short": (1, 1), "unjudged": (1, 0)}


def frame(scores=SCORES, measure="AP") -> pd.DataFrame:
    rows = [
        (n, q, measure, float(v))
        for n, values in scores.items()
        for q, v in zip("12", values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


FRAME = frame()


def rename_values(column: str, names: dict[str, object]) -> pd.DataFrame:
    """The frame with other names, whatever their types."""
    return FRAME.assign(
        **{column: pd.Series([names[name] for name in FRAME[column]], dtype=object)}
    )


def test_ties_in_parts():
    # Topic 1: all three are best. Topic 2: short is, which has nothing there.
    table = zero_aspect_documents(FRAME, RUNS, QRELS, cutoff=3)
    assert table["ranks"].tolist() == ["1", "2", "3", "1-3"]
    assert table["n_documents"].tolist() == pytest.approx([1, 2 / 3, 2 / 3, 7 / 3])
    assert table["n_zero"].tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 3, 4 / 3])
    assert table["fraction"].tolist() == pytest.approx([2 / 18, 1 / 18, 1 / 18, 4 / 18])
    quality = document_quality(FRAME, RUNS, QRELS, ranges=[(1, 3)])
    assert quality.loc[0, "quality"] == pytest.approx((3 + 1 + 0 + 0 + 0 + 0 + 3) / 7)
    scales = {"relevance": 2, "credibility": 1}
    quality = document_quality(
        FRAME, RUNS, QRELS, ranges=[(1, 3)], aspects=scales, labels="probabilities"
    )
    assert quality.loc[0, "quality"] == pytest.approx((2 + 1 + 2) / 7)


@pytest.mark.parametrize(
    ("first", "documents", "zero"), [("good", 3, 1), ("short", 1, 1), ("unjudged", 3, 2)]
)
def test_ties_by_the_first(first, documents, zero):
    moved = pd.concat([FRAME[FRAME["name"] == first], FRAME[FRAME["name"] != first]])
    table = zero_aspect_documents(moved, RUNS, QRELS, cutoff=3, ties="first")
    assert table[["n_documents", "n_zero"]].iloc[-1].tolist() == [documents, zero]


def test_ties_up_to_rounding():
    third = 0.1 + 0.2  # not 0.3, by rounding
    nearly = frame({"good": (0.3, 1), "short": (third, 0), "unjudged": (0, 0)})
    table = zero_aspect_documents(nearly, RUNS, QRELS, cutoff=1)
    assert table["n_zero"].tolist() == [0.5]
    # Small values that differ are not ties.
    small = frame({"good": (2e-20, 1), "short": (1e-20, 0), "unjudged": (0, 0)})
    assert zero_aspect_documents(small, RUNS, QRELS, cutoff=1)["n_zero"].tolist() == [0]


def test_lower_is_better():
    scores = {"good": (1, 1), "short": (5, 5), "unjudged": (3, 3)}
    for measure, zero in [("ESL", 0), ("On(base='ESL')", 0), ("nDCG@3", 1), ("P", 1)]:
        table = zero_aspect_documents(frame(scores, measure), RUNS, QRELS, cutoff=1)
        assert table["n_zero"].tolist() == [zero], measure
        assert table["measure"].tolist() == [measure]


@pytest.mark.parametrize("label", ["mine", "(("])
def test_labels_that_tell_no_direction(label):
    scores = frame({"good": (1, 1), "short": (5, 5), "unjudged": (3, 3)}, label)
    for function, options in (
        (zero_aspect_documents, {"cutoff": 1}),
        (document_quality, {"ranges": [(1, 1)]}),
    ):
        with pytest.warns(
            MultiAspectWarning, match=rf"{function.__name__}: {re.escape(label)} names no known mea"
        ):
            higher = function(scores, RUNS, QRELS, **options)
        lower = function(scores, RUNS, QRELS, measures={label: "ESL"}, **options)
        pd.testing.assert_frame_equal(
            lower.assign(measure="ESL"),
            function(scores.assign(measure="ESL"), RUNS, QRELS, **options),
        )
        assert not higher.equals(lower)


def test_real_values_of_a_measure():
    perquery = ma.evaluate(RUNS, QRELS, ["nDCG@3", "ESL"], progress=False)
    table = zero_aspect_documents(perquery, RUNS, QRELS, cutoff=1)
    assert table["n_zero"].tolist() == [0, 0]
    assert table["ranks"].tolist() == ["1", "1"]  # no further row for all of one rank


def test_lowest_is_not_zero():
    qrels = {q: {"g": (4, 4), "b": (1, 1)} for q in "12"}
    aspects = {"relevance": [1, 2, 3, 4], "credibility": [1, 2, 3, 4]}
    runs = {
        "one": {q: {"b": 3.0, "x": 2.0, "g": 1.0} for q in "12"},
        "two": {q: {"g": 1.0} for q in "12"},
    }
    scores = frame({"one": (1, 1), "two": (0, 0)})
    table = zero_aspect_documents(scores, runs, qrels, cutoff=3, aspects=aspects)
    assert table["n_zero"].tolist() == [2, 2, 0, 4]
    # An unjudged document is worth as much as one of the lowest grade.
    table = document_quality(scores, runs, qrels, ranges=[(1, 1), (2, 2), (3, 3)], aspects=aspects)
    assert table["quality"].tolist() == [2, 2, 8]


def test_aspects_are_selected_and_topics_may_be_few():
    more = pd.concat([QRELS, QRELS.assign(qid="3", label=2)])
    table = document_quality(
        FRAME, RUNS, more, ranges=[(1, 1)], aspects="credibility", ties="first"
    )
    assert table[["n_documents", "quality"]].to_numpy().tolist() == [[1, 1]]
    assert zero_aspect_documents(FRAME, RUNS, more, cutoff=2)["fraction"].iloc[-1] == pytest.approx(
        1 / 4
    )


def test_forms_of_runs(tmp_path):
    path = tmp_path / "good.run"
    path.write_text(
        "".join(
            f"{q} Q0 {d} 1 {s} x\n" for q, docs in RUNS["good"].items() for d, s in docs.items()
        )
    )
    rows = pd.DataFrame([("1", "b", 1.0)], columns=["qid", "docno", "score"])
    forms = {
        "good": path,
        "short": rows,
        "unjudged": rows.assign(docno="x").itertuples(),
        "more": None,
    }
    runs = {**RUNS, "unjudged": {"1": {"x": 1.0}}}
    for function in (zero_aspect_documents, document_quality):
        forms["unjudged"] = rows.assign(docno="x").itertuples()
        pd.testing.assert_frame_equal(
            function(FRAME, forms, QRELS), function(FRAME, runs, ma.Judgments(QRELS))
        )


def test_runs_that_are_best_nowhere_are_not_read():
    scores = frame({"good": (1, 1), "short": (0, 0)})
    assert (
        zero_aspect_documents(scores, {"good": RUNS["good"], "short": None}, QRELS)["n_zero"].sum()
        == 4
    )


def test_no_documents_at_these_ranks():
    table = document_quality(FRAME, RUNS, QRELS, ranges=[(1, 3), (4, 6)])
    assert table["n_documents"].tolist() == pytest.approx([7 / 3, 0])
    assert table["quality"].isna().tolist() == [False, True]


def test_groups_of_ranks_of_the_paper():
    table = document_quality(FRAME, RUNS, QRELS)
    assert table["ranks"].tolist() == ["1-25", "26-50", "51-75", "76-100"]


def test_inferred_scales_are_named():
    with pytest.warns(
        MultiAspectWarning, match=r"document_quality .* relevance 0, 1, 2; credibility 0, 1"
    ):
        document_quality(FRAME, RUNS, QRELS, labels="probabilities")
    halves = QRELS.assign(credibility=QRELS["credibility"] / 2 + 0.5)
    with pytest.warns(MultiAspectWarning, match=r"zero_aspect_documents .* credibility 0.5, 1"):
        zero_aspect_documents(FRAME, RUNS, halves, aspects=list(ma.Judgments(halves).label_names))


@pytest.mark.slow
def test_the_best_run_of_real_ones():
    """CLEF eHealth 2015: runs chosen by relevance and understandability have less that lacks both."""
    data = shared_path("data", "clef2015")
    qrels = ma.read_qrels(
        {
            "relevance": data / "qrels.graded.txt.gz",
            "understandability": data / "qread.graded.txt.gz",
        }
    )
    table = pd.read_csv(
        data / "runs.top100.tsv.gz",
        sep="\t",
        names=["name", "qid", "rank", "docno"],
        dtype={"docno": str},
    )
    table["score"] = -table["rank"].astype(float)
    runs = dict(list(table[table["rank"] <= 5].groupby("name"))[:12])
    measures = [
        "TOMA(distance='manhattan',aspects={'relevance': 2, 'understandability': 3})@5",
        "nDCG@5",
    ]
    perquery = ma.evaluate(runs, qrels, measures, progress=False)
    zero = zero_aspect_documents(perquery, runs, qrels).set_index(["measure", "ranks"])
    assert (zero["fraction"] * 66 * 5).to_numpy() == pytest.approx(zero["n_zero"].to_numpy())
    assert zero.loc[(measures[0], "1-5"), "n_zero"] < zero.loc[(measures[1], "1-5"), "n_zero"]
    quality = document_quality(perquery, runs, qrels, ranges=[(1, 5)]).set_index("measure")[
        "quality"
    ]
    assert quality[measures[0]] > quality[measures[1]]
    assert quality.between(0, 5).all()


# -- bad input
# ------------------------------------------------------------------------------------------------

TWO = pd.concat([FRAME, FRAME.assign(measure="RR")])


@pytest.mark.parametrize("function", [zero_aspect_documents, document_quality])
@pytest.mark.parametrize(
    ("perquery", "parts"),
    [
        (FRAME[FRAME["name"] == "good"], ["two systems", "good"]),
        (FRAME[FRAME["qid"] == "1"], ["two topics", "1"]),
        (FRAME.assign(value=np.nan), ["good", "nan", "6 such values"]),
        (TWO[(TWO["name"] != "good") | (TWO["measure"] == "AP")], ["good", "no value of RR"]),
        (FRAME.iloc[1:], ["different sets of topics", "good", "topic 1"]),
        (FRAME.drop(columns="value"), ["columns name, qid, measure, value", "value is missing"]),
        (
            FRAME.replace({"name": {"good": "bm25"}}),
            ["missing are bm25", "1 such run", "good, short, unjudged"],
        ),
        (
            FRAME.replace({"qid": {"2": "7"}}),
            ["qrels: expected", "missing are 7", "1 such topic", "1, 2"],
        ),
    ],
)
def test_bad_frames(function, perquery, parts):
    with pytest.raises(MultiAspectError) as caught:
        function(perquery, RUNS, QRELS)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize("function", [zero_aspect_documents, document_quality])
@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        (
            {"perquery": rename_values("name", {"good": 1, "short": "1", "unjudged": "u"})},
            ["name has 1 and '1'", "astype"],
        ),
        ({"perquery": rename_values("qid", {"1": 2, "2": "2"})}, ["the column qid has 2 and '2'"]),
        ({"perquery": FRAME.assign(value=1j)}, ["complex", "expected numbers in the column value"]),
        (
            {"runs": list(RUNS.values())},
            ["missing are good, short, unjudged", "got run 1, run 2, run 3"],
        ),
        ({"runs": {}}, ["expected at least one run"]),
        (
            {"runs": {**RUNS, "good": {"q": {"d": 1.0}}}},
            ["run good", "no query in common", "1, 2", "q"],
        ),
        ({"runs": {**RUNS, "short": 3}}, ["run short", "int"]),
        ({"runs": {**RUNS, "short": {"1": {"d": float("nan")}}}}, ["run short", "score", "nan"]),
        ({"qrels": 3}, ["qrels", "int"]),
        ({"aspects": "trust"}, ["trust", "relevance, credibility"]),
        ({"aspects": {"relevance": 1}}, ["relevance", "above the top grade"]),
        ({"ties": "last"}, ["ties", "'average', 'first'", "last"]),
    ],
)
def test_bad_input_of_both(function, changed, parts):
    with pytest.raises(MultiAspectError) as caught:
        function(**{"perquery": FRAME, "runs": RUNS, "qrels": QRELS, **changed})
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize("cutoff", [0, -1, 2.5, True, None, "5"])
def test_bad_cutoff(cutoff):
    with pytest.raises(MultiAspectError, match=rf"cutoff: .* at least 1, got {cutoff!r}"):
        zero_aspect_documents(FRAME, RUNS, QRELS, cutoff=cutoff)


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({"labels": "grades"}, ["labels", "'gains', 'probabilities'", "grades"]),
        ({"ranges": []}, ["ranges", "[]"]),
        ({"ranges": "1-5"}, ["ranges", "1-5"]),
        ({"ranges": 5}, ["ranges", "5"]),
        ({"ranges": (1, 5)}, ["ranges", "got 1"]),
        ({"ranges": [(1, 2, 3)]}, ["got (1, 2, 3)"]),
        ({"ranges": [(0, 5)]}, ["got (0, 5)"]),
        ({"ranges": [(5, 1)]}, ["got (5, 1)"]),
        ({"ranges": [(1, 2.5)]}, ["got (1, 2.5)"]),
        ({"ranges": [(True, 2)]}, ["got (True, 2)"]),
        ({"ranges": [(6, 9), (1, 6)]}, ["got (1, 6) and (6, 9), which overlap"]),
        ({"ranges": [(1, 6), (2, 3)]}, ["got (1, 6) and (2, 3), which overlap"]),
    ],
)
def test_bad_input_of_quality(changed, parts):
    with pytest.raises(MultiAspectError) as caught:
        document_quality(FRAME, RUNS, QRELS, **changed)
    assert all(part in str(caught.value) for part in parts), str(caught.value)
