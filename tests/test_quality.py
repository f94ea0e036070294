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


def lacks_everything(labels) -> bool:
    """The label of a document without any good aspect."""
    return labels == LOWEST


def add_gains(labels) -> int:
    return sum(GAINS[aspect][label] for aspect, label in labels.items())


def add_probabilities(labels) -> Fraction:
    return sum(PROBABILITIES[aspect][label] for aspect, label in labels.items())


@examples(25)
@given(collections, st.sampled_from(["average", "first"]), st.integers(1, 6))
def test_zero_aspect_documents_equals_a_plain_loop(collection, ties, cutoff):
    """The table has a row for each rank, and one for all ranks where these are more than one."""
    qrels, runs, perquery = collection["qrels"], collection["runs"], collection["perquery"]
    table = zero_aspect_documents(perquery, runs, qrels, cutoff=cutoff, aspects=ASPECTS, ties=ties)
    rows = table.set_index(["measure", "ranks"])

    ranges = {str(rank): (rank, rank) for rank in range(1, cutoff + 1)}
    if cutoff > 1:
        ranges[f"1-{cutoff}"] = (1, cutoff)
    n_measures, n_topics = 3, 3
    assert len(rows) == n_measures * len(ranges)
    for ranks, (first, last) in ranges.items():
        expected = slow(perquery, runs, qrels, first, last, ties, lacks_everything)
        for measure, (n_documents, n_zero) in expected.items():
            row = rows.loc[(measure, ranks)]
            assert row["n_documents"] == pytest.approx(float(n_documents))
            assert row["n_zero"] == pytest.approx(float(n_zero))
            assert row["fraction"] == pytest.approx(float(n_zero / (cutoff * n_topics)))


@examples(25)
@given(collections, st.sampled_from(["average", "first"]))
def test_document_quality_equals_a_plain_loop(collection, ties):
    """Ranges of ranks may come in any order, with gaps, and reach beyond the runs."""
    qrels, runs, perquery = collection["qrels"], collection["runs"], collection["perquery"]
    ranges = {"2-3": (2, 3), "1": (1, 1), "5-9": (5, 9)}
    measures = perquery["measure"].unique()
    for labels, worth in (("gains", add_gains), ("probabilities", add_probabilities)):
        table = document_quality(
            perquery,
            runs,
            qrels,
            ranges=list(ranges.values()),
            aspects=ASPECTS,
            labels=labels,
            ties=ties,
        )
        assert table["measure"].tolist() == list(np.repeat(measures, len(ranges)))
        assert table["ranks"].tolist() == list(ranges) * len(measures)
        rows = table.set_index(["measure", "ranks"])
        for ranks, (first, last) in ranges.items():
            expected = slow(perquery, runs, qrels, first, last, ties, worth)
            for measure, (n_documents, total) in expected.items():
                row = rows.loc[(measure, ranks)]
                quality = float(total / n_documents) if n_documents else np.nan
                assert row["n_documents"] == pytest.approx(float(n_documents))
                assert row["quality"] == pytest.approx(quality, nan_ok=True)


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

# In both topics, g is good, h is credible only, and b lacks both aspects, as x and y, which are
# not judged.
QRELS = pd.DataFrame(
    [
        ("1", "g", 2, 1),
        ("1", "h", 0, 1),
        ("1", "b", 0, 0),
        ("2", "g", 2, 1),
        ("2", "h", 0, 1),
        ("2", "b", 0, 0),
    ],
    columns=["qid", "docno", "label", "credibility"],
)
RUNS = {
    "good": {"1": {"g": 3.0, "h": 2.0, "b": 1.0}, "2": {"g": 3.0, "h": 2.0, "b": 1.0}},
    "short": {"1": {"b": 1.0}},
    "unjudged": {"1": {"x": 3.0, "y": 2.0, "g": 1.0}, "2": {"x": 1.0}},
}
#: The values of the runs on topics 1 and 2: on topic 1 all are best, on topic 2 short is.
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


# The best runs of FRAME, by rank. On topic 1 all three tie, so that each counts 1/3:
#   good      g h b
#   short     b
#   unjudged  x y g     (x and y are not judged)
# On topic 2 short is best, which retrieves nothing there. Only g and h have a positive label.


def test_ties_in_parts():
    """The documents of runs that tie count in equal parts."""
    table = zero_aspect_documents(FRAME, RUNS, QRELS, cutoff=3)
    n_topics, cutoff = 2, 3

    rank_1, rank_2, rank_3, all_ranks = table.to_dict("records")
    assert [row["ranks"] for row in (rank_1, rank_2, rank_3, all_ranks)] == ["1", "2", "3", "1-3"]
    assert rank_1["n_documents"] == pytest.approx(3 / 3)
    assert rank_1["n_zero"] == pytest.approx(2 / 3)  # b, x
    assert rank_2["n_documents"] == pytest.approx(2 / 3)
    assert rank_2["n_zero"] == pytest.approx(1 / 3)  # y
    assert rank_3["n_documents"] == pytest.approx(2 / 3)
    assert rank_3["n_zero"] == pytest.approx(1 / 3)  # b
    assert all_ranks["n_documents"] == pytest.approx(7 / 3)
    assert all_ranks["n_zero"] == pytest.approx(4 / 3)
    for row in (rank_1, rank_2, rank_3, all_ranks):
        assert row["fraction"] == pytest.approx(row["n_zero"] / (n_topics * cutoff))


def test_quality_of_ties_in_parts():
    """The quality is the mean over the documents of the three runs, seven in all."""
    (row,) = document_quality(FRAME, RUNS, QRELS, ranges=[(1, 3)]).to_dict("records")
    good = (2 + 1) + (0 + 1) + 0  # the gains of g, h, b
    short = 0
    unjudged = 0 + 0 + (2 + 1)
    assert row["quality"] == pytest.approx((good + short + unjudged) / 7)

    scales = {"relevance": 2, "credibility": 1}
    (row,) = document_quality(
        FRAME, RUNS, QRELS, ranges=[(1, 3)], aspects=scales, labels="probabilities"
    ).to_dict("records")
    good = (1 + 1) + (0 + 1) + 0  # the probabilities of g, h, b
    unjudged = 0 + 0 + (1 + 1)
    assert row["quality"] == pytest.approx((good + short + unjudged) / 7)


@pytest.mark.parametrize(
    ("first", "n_documents", "n_zero"),
    [
        pytest.param("good", 3, 1, id="good retrieves g h b, of which b lacks all aspects"),
        pytest.param("short", 1, 1, id="short retrieves b"),
        pytest.param(
            "unjudged", 3, 2, id="unjudged retrieves x y g, of which x and y are unjudged"
        ),
    ],
)
def test_ties_by_the_first(first, n_documents, n_zero):
    """Of the runs that tie on topic 1, only the one that comes first in the frame counts."""
    first_rows = FRAME[FRAME["name"] == first]
    other_rows = FRAME[FRAME["name"] != first]
    table = zero_aspect_documents(
        pd.concat([first_rows, other_rows]), RUNS, QRELS, cutoff=3, ties="first"
    )
    all_ranks = table.set_index("ranks").loc["1-3"]
    assert all_ranks["n_documents"] == n_documents
    assert all_ranks["n_zero"] == n_zero


def test_ties_up_to_rounding():
    """Values that differ by rounding tie, however small; values that differ by more do not."""
    rounded = 0.1 + 0.2
    assert rounded != 0.3
    nearly = frame({"good": (0.3, 1), "short": (rounded, 0), "unjudged": (0, 0)})
    table = zero_aspect_documents(nearly, RUNS, QRELS, cutoff=1)
    # Rank 1 of topic 1: g (good) and b (short) in parts of 1/2, of topic 2: g.
    assert table["n_zero"].tolist() == [0.5]

    small = frame({"good": (2e-20, 1), "short": (1e-20, 0), "unjudged": (0, 0)})
    table = zero_aspect_documents(small, RUNS, QRELS, cutoff=1)
    assert table["n_zero"].tolist() == [0]


@pytest.mark.parametrize(
    ("measure", "n_zero"),
    [
        pytest.param("ESL", 0, id="lowest value: good, which has g at rank 1"),
        pytest.param("On(base='ESL')", 0, id="lowest value, by On"),
        pytest.param("nDCG@3", 1, id="highest value: short, which has b at rank 1 of topic 1"),
        pytest.param("P", 1, id="highest value, by a measure without cutoff"),
    ],
)
def test_lower_is_better(measure, n_zero):
    """The name of the measure says whether the run with the lowest or the highest value is best."""
    scores = {"good": (1, 1), "unjudged": (3, 3), "short": (5, 5)}
    table = zero_aspect_documents(frame(scores, measure), RUNS, QRELS, cutoff=1)
    assert table["measure"].tolist() == [measure]
    assert table["n_zero"].tolist() == [n_zero]


@pytest.mark.parametrize("label", ["mine", "(("])
@pytest.mark.parametrize(
    ("function", "options"),
    [(zero_aspect_documents, {"cutoff": 1}), (document_quality, {"ranges": [(1, 1)]})],
)
def test_labels_that_tell_no_direction(function, options, label):
    """Of a label that names no measure, higher is better, with a warning, unless `measures` says what it is."""
    scores = {"good": (1, 1), "short": (5, 5), "unjudged": (3, 3)}
    labelled = frame(scores, label)

    message = rf"{function.__name__}: {re.escape(label)} names no known mea"
    with pytest.warns(MultiAspectWarning, match=message):
        undeclared = function(labelled, RUNS, QRELS, **options)

    declared = function(labelled, RUNS, QRELS, measures={label: "ESL"}, **options)
    as_esl = function(frame(scores, "ESL"), RUNS, QRELS, **options)
    pd.testing.assert_frame_equal(declared.assign(measure="ESL"), as_esl)
    assert not undeclared.equals(declared)


def test_real_values_of_a_measure():
    """By both measures the run good is best, which has the good document g at rank 1."""
    perquery = ma.evaluate(RUNS, QRELS, ["nDCG@3", "ESL"], progress=False)
    table = zero_aspect_documents(perquery, RUNS, QRELS, cutoff=1)
    assert table["n_zero"].tolist() == [0, 0]
    # One row per measure: with a cutoff of 1 there is no row for all ranks.
    assert table["ranks"].tolist() == ["1", "1"]


def test_lowest_is_not_zero():
    """On scales from 1 to 4, the lowest label is 1; an unjudged document (x) has it, too."""
    grades = [1, 2, 3, 4]
    aspects = {"relevance": grades, "credibility": grades}
    judged = {"good": (4, 4), "bad": (1, 1)}
    qrels = {"1": judged, "2": judged}
    best = {"bad": 3.0, "x": 2.0, "good": 1.0}
    runs = {
        "best": {"1": best, "2": best},
        "other": {"1": {"good": 1.0}, "2": {"good": 1.0}},
    }
    scores = frame({"best": (1, 1), "other": (0, 0)})

    zero = zero_aspect_documents(scores, runs, qrels, cutoff=3, aspects=aspects)
    n_zero = dict(zip(zero["ranks"], zero["n_zero"], strict=True))
    assert n_zero == {"1": 2, "2": 2, "3": 0, "1-3": 4}  # over two topics: bad, x, good

    ranges = [(1, 1), (2, 2), (3, 3)]
    quality = document_quality(scores, runs, qrels, ranges=ranges, aspects=aspects)
    assert quality["quality"].tolist() == [1 + 1, 1 + 1, 4 + 4]  # sums of both labels


def test_aspects_are_selected():
    """Of the run good, rank 1 of topic 1 is g: with relevance its quality would be 2 + 1."""
    table = document_quality(
        FRAME, RUNS, QRELS, ranges=[(1, 1)], aspects="credibility", ties="first"
    )
    (row,) = table.to_dict("records")
    assert row["n_documents"] == 1  # short, the best run of topic 2, retrieves nothing there
    assert row["quality"] == 1


def test_topics_without_values_are_ignored():
    """Topic 3 has judgments, but no values of the measure: only topics 1 and 2 count."""
    more = pd.concat([QRELS, QRELS.assign(qid="3", label=2)])

    (row,) = document_quality(
        FRAME, RUNS, more, ranges=[(1, 1)], aspects="credibility", ties="first"
    ).to_dict("records")
    assert row["n_documents"] == 1
    assert row["quality"] == 1

    table = zero_aspect_documents(FRAME, RUNS, more, cutoff=2)
    both_ranks = table.set_index("ranks").loc["1-2"]
    n_zero = 3 / 3  # b, x and y on topic 1, each in a run that counts 1/3
    assert both_ranks["fraction"] == pytest.approx(n_zero / (2 * 2))  # 2 topics, 2 ranks


@pytest.mark.parametrize("function", [zero_aspect_documents, document_quality])
def test_forms_of_runs(function, tmp_path):
    """A run may be a file, a frame or an iterator; a run without values is not read."""
    path = tmp_path / "good.run"
    with path.open("w") as file:
        for qid, scores in RUNS["good"].items():
            for docno, score in scores.items():
                file.write(f"{qid} Q0 {docno} 1 {score} x\n")
    short = pd.DataFrame([("1", "b", 1.0)], columns=["qid", "docno", "score"])
    unjudged = short.assign(docno="x")
    forms = {
        "good": path,
        "short": short,
        "unjudged": unjudged.itertuples(),
        "not in the frame of values": None,
    }
    as_dicts = {
        "good": RUNS["good"],
        "short": {"1": {"b": 1.0}},
        "unjudged": {"1": {"x": 1.0}},
    }
    pd.testing.assert_frame_equal(
        function(FRAME, forms, QRELS), function(FRAME, as_dicts, ma.Judgments(QRELS))
    )


def test_runs_that_are_best_nowhere_are_not_read():
    """The run short, which is not best on any topic, may even be missing."""
    scores = frame({"good": (1, 1), "short": (0, 0)})
    runs = {"good": RUNS["good"], "short": None}
    table = zero_aspect_documents(scores, runs, QRELS)
    # The best run has b at rank 3 of both topics: 2 documents, in the row of rank 3 and that of all.
    assert table["n_zero"].sum() == 2 + 2


def test_no_documents_at_these_ranks():
    """The quality of ranks at which no best run has a document is NaN."""
    table = document_quality(FRAME, RUNS, QRELS, ranges=[(1, 3), (4, 6)])
    # On topic 1 three runs with 3, 1 and 3 documents tie, each counts 1/3; on topic 2 the best run
    # retrieves nothing.
    assert table["n_documents"].tolist() == pytest.approx([(3 + 1 + 3) / 3, 0])
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
    cutoff = 5
    runs = dict(list(table[table["rank"] <= cutoff].groupby("name")))
    twelve_runs = dict(list(runs.items())[:12])  # enough, and quicker than all
    both_aspects = "TOMA(distance='manhattan',aspects={'relevance': 2, 'understandability': 3})@5"
    relevance = "nDCG@5"
    perquery = ma.evaluate(twelve_runs, qrels, [both_aspects, relevance], progress=False)

    zero = zero_aspect_documents(perquery, twelve_runs, qrels).set_index(["measure", "ranks"])
    n_topics = 66
    n_zero = zero["n_zero"]
    assert (zero["fraction"] * n_topics * cutoff).to_numpy() == pytest.approx(n_zero.to_numpy())
    assert n_zero[both_aspects, "1-5"] < n_zero[relevance, "1-5"]

    table = document_quality(perquery, twelve_runs, qrels, ranges=[(1, 5)])
    quality = table.set_index("measure")["quality"]
    assert quality[both_aspects] > quality[relevance]
    assert quality.between(0, 2 + 3).all()


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
