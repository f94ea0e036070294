"""The known figures, through the doors users take: nothing here calls an inner function."""

from __future__ import annotations

import ast
import gzip
import math
from typing import Any

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, Measure, SetF, nDCG
from shared_data import golden, shared_path

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    GAM,
    MM,
    NGRE,
    NLRE,
    NWCS,
    TOMA,
    WHAM,
    Aspect,
    Aspects,
    DistanceOrder,
    On,
)
from pt_multiaspect import uRBP as URBP
from pt_multiaspect import uRBPgr as URBPgr

Labels = dict[str, dict[str, dict[str, float]]]
Run = dict[str, dict[str, float]]


def rank_documents(docnos: str | list[str]) -> dict[str, float]:
    """A run of one query that ranks the documents as given."""
    return {docno: -float(rank) for rank, docno in enumerate(docnos, 1)}


def per_query(
    measures: list[Measure], qrels: object, run: object
) -> dict[tuple[Measure, str], float]:
    """Every value `ir_measures.iter_calc` gives."""
    return {(m.measure, m.query_id): m.value for m in ir_measures.iter_calc(measures, qrels, run)}


# --- Maistro et al. 2021, Table 1: the orders -------------------------------------------------

DISTANCES = {"EUCL": "euclidean", "MANH": "manhattan", "CHEB": "chebyshev"}
ORDERS = [f"row{row}/{name}" for row in (1, 2, 3) for name in DISTANCES]


def test_table_1_has_nine_orders() -> None:
    assert sorted(golden("toma_table1.json")) == sorted(ORDERS)


def scales_and_labels(
    embedding: dict[str, list[float]], embedded: str
) -> tuple[Aspects, dict[str, dict[float, float]]]:
    """Return the scales of the aspects of a table, and the label of each of its values by aspect.

    The values are the grades themselves, or the gains of the grades 0, 1, 2, …
    """
    if embedded == "grades":
        aspects = Aspects({aspect: Aspect(values) for aspect, values in embedding.items()})
        labels = {
            aspect: {value: value for value in values} for aspect, values in embedding.items()
        }
    else:
        aspects = Aspects(
            {aspect: Aspect(len(values) - 1, gains=values) for aspect, values in embedding.items()}
        )
        labels = {
            aspect: {value: grade for grade, value in enumerate(values)}
            for aspect, values in embedding.items()
        }
    return aspects, labels


@pytest.mark.parametrize("embedded", ["grades", "gains"])
@pytest.mark.parametrize(
    ("name", "axes"),
    [*((name, "gains") for name in ORDERS), *((name, "equal") for name in ORDERS[:3])],
)
def test_table_1(name: str, axes: str, embedded: str) -> None:
    """The classes of tuples of relevance and correctness by three distances ("row1/EUCL", …).

    Row 1 has aspects of equal spans; in rows 2 and 3 the longer axis is the more important aspect.
    """
    entry = golden("toma_table1.json")[name]
    aspects, labels = scales_and_labels(entry["embedding"], embedded)
    expected = []
    for tuples in entry["classes_best_first"]:
        expected.append({(labels["relevance"][r], labels["correctness"][c]) for r, c in tuples})
    distance = DISTANCES[name.split("/")[1]]
    order = DistanceOrder(aspects, distance, axes=axes, gate="relevance")
    classes = order.to_list()
    assert [set(tuples) for tuples in classes] == expected
    assert [len(tuples) for tuples in classes] == [len(tuples) for tuples in expected]
    assert order.n_classes == len(expected)
    assert order.n_classes == entry["n_classes"]
    for class_index, tuples in enumerate(reversed(expected)):  # from the worst class, 0
        assert set(order.classes(sorted(tuples)).tolist()) == {class_index}
    # What the gate makes impossible counts as the worst tuple.
    most_correct = labels["correctness"][entry["embedding"]["correctness"][-1]]
    assert order.classes([(labels["relevance"][0], most_correct)]).tolist() == [0]
    ungated = DistanceOrder(aspects, distance, axes=axes)
    assert ungated.n_classes == entry["n_classes_full_product"]
    assert len(ungated.to_list()) == entry["n_classes_full_product"]


# --- Maistro et al. 2021, Table 3: TOMA, CAM, MM ----------------------------------------------

# Document 1 is marginally relevant and correct, 2 highly relevant and partially correct, 3 highly
# relevant and not correct.
TABLE_3_LABELS = {
    "1": {"relevance": 1, "correctness": 2},
    "2": {"relevance": 3, "correctness": 1},
    "3": {"relevance": 3, "correctness": 0},
}
TOMA_ASPECTS = Aspects({"relevance": 3, "correctness": Aspect(2, gains=[0, 1.5, 3])})
CAM_ASPECTS = Aspects(
    {
        "relevance": Aspect(3, gains=[0, 5, 10, 15], threshold=2),
        "correctness": Aspect(2, gains=[0, 5, 10], threshold=2),
    }
)
BASES = {"AP": AP, "NDCG": nDCG}
RANKINGS = [
    "123",
    "132",
    "213",
    "231",
    "312",
    "321",
    "12",
    "13",
    "21",
    "23",
    "31",
    "32",
    "1",
    "2",
    "3",
]


def table_3_measures(base: Measure | str, axes: str) -> dict[str, Measure]:
    return {
        **{
            name: TOMA(
                base=base,
                distance=distance,
                axes=axes,
                positives="top-half",
                gate="relevance",
                aspects=TOMA_ASPECTS,
            )
            for name, distance in DISTANCES.items()
        },
        "CAM": CAM(base=base, aspects=CAM_ASPECTS),
        "MM": MM(base=base, aspects=CAM_ASPECTS),
        "WHAM": WHAM(base=base, aspects=CAM_ASPECTS),
        "GAM": GAM(base=base, aspects=CAM_ASPECTS),
        "rel": On(aspect="relevance", base=base, aspects=CAM_ASPECTS),
        "cor": On(aspect="correctness", base=base, aspects=CAM_ASPECTS),
    }


def values_of_table_3(base: str, as_string: bool, axes: str) -> dict[str, dict[str, float]]:
    """Return the value of each measure by ranking; each ranking is a topic with the same judgments."""
    measures = table_3_measures(BASES[base], axes)
    if as_string:
        measures = {
            name: ir_measures.parse_measure(str(measure)) for name, measure in measures.items()
        }
    qrels = dict.fromkeys(RANKINGS, TABLE_3_LABELS)
    run = {ranking: rank_documents(ranking) for ranking in RANKINGS}
    values = per_query(list(measures.values()), qrels, run)
    return {
        ranking: {name: values[measure, ranking] for name, measure in measures.items()}
        for ranking in RANKINGS
    }


@pytest.mark.parametrize("axes", ["equal", "gains"])
@pytest.mark.parametrize("as_string", [False, True], ids=["objects", "strings"])
@pytest.mark.parametrize("base", BASES)
def test_table_3(base: str, as_string: bool, axes: str) -> None:
    """TOMA and CAM as the paper prints them, and all measures as the file has them, for 15 rankings."""
    table = golden("toma_table3.json")
    printed, exact = table["paper"][base], table["oracle"][base]
    assert sorted(printed) == sorted(exact) == sorted(RANKINGS)
    values = values_of_table_3(base, as_string, axes)
    for ranking in RANKINGS:
        for name in ("EUCL", "MANH", "CHEB", "CAM"):
            assert round(values[ranking][name], 4) == printed[ranking][name], (ranking, name)
        for name, value in exact[ranking].items():
            assert values[ranking][name] == pytest.approx(value, abs=1e-9), (ranking, name)


@pytest.mark.parametrize("axes", ["equal", "gains"])
@pytest.mark.parametrize("as_string", [False, True], ids=["objects", "strings"])
@pytest.mark.parametrize("base", BASES)
def test_means_of_table_3(base: str, as_string: bool, axes: str) -> None:
    """WHAM with equal weights is MM, and GAM the geometric mean of relevance and correctness."""
    for values in values_of_table_3(base, as_string, axes).values():
        assert values["WHAM"] == values["MM"]
        geometric_mean = math.sqrt(values["rel"] * values["cor"])
        assert values["GAM"] == pytest.approx(geometric_mean, abs=1e-12)


@pytest.mark.slow
def test_table_3_prints_other_mm_values_than_eq_6() -> None:
    """24 of the printed cells are wrong, and known to be: nothing reproduces them by accident."""
    table = golden("toma_table3.json")
    assert len(table["not_reproduced"]) == 24
    for cell in table["not_reproduced"]:
        value = MM(base=BASES[cell["measure"]], aspects=CAM_ASPECTS).calc_aggregate(
            {"q": TABLE_3_LABELS}, {"q": rank_documents(cell["ranking"])}
        )
        assert value == pytest.approx(cell["eq_value"], abs=1e-9)
        assert abs(value - cell["paper"]) > 1e-3


@pytest.mark.parametrize("axes", ["equal", "gains"])
@pytest.mark.parametrize("name", DISTANCES)
def test_table_3_classes(name: str, axes: str) -> None:
    """The class of each tuple, of which the file has keys such as "('3', '3/2')".

    The first is the grade of relevance, and the second the gain of correctness as a text.
    """
    table = golden("toma_table3.json")
    order = DistanceOrder(TOMA_ASPECTS, DISTANCES[name], axes=axes, gate="relevance")
    assert order.n_classes == table["n_classes"][name]
    grade_of_gain = {"0": 0, "3/2": 1, "3": 2}
    for key, expected_class in table["class_weights"][name].items():
        relevance, gain_of_correctness = ast.literal_eval(key)
        labels = (int(relevance), grade_of_gain[gain_of_correctness])
        assert order.classes([labels]).tolist() == [expected_class], key


# --- Zuccon 2016 on CLEF eHealth 2015: RBP, uRBP, uRBPgr ----------------------------------------

CLEF_2015 = Aspects(
    {
        "relevance": Aspect([0, 1, 2], probabilities=[0, 1, 1]),
        "understandability": Aspect([0, 1, 2, 3], probabilities=[0, 0.4, 0.8, 1], threshold=2),
    }
)
CLEF_MEASURES = {
    "RBP": URBP(p=0.8, aspects="relevance"),
    "uRBP": URBP(p=0.8, aspects=CLEF_2015),
    "uRBPgr": URBPgr(p=0.8, aspects=CLEF_2015),
}


def clef_2015_qrels() -> pd.DataFrame:
    """The two label files side by side, read here so that this does not rest on read_qrels."""
    columns = {}
    for aspect, name in (
        ("label", "qrels.graded.txt.gz"),
        ("understandability", "qread.graded.txt.gz"),
    ):
        with gzip.open(shared_path("data", "clef2015", name), "rt") as lines:
            rows = [line.split() for line in lines]
        columns[aspect] = pd.Series({(topic, docno): int(label) for topic, _, docno, label in rows})
    return pd.DataFrame(columns).rename_axis(["qid", "docno"]).reset_index()


@pytest.fixture(scope="module")
def clef_2015() -> pd.DataFrame:
    """Per-query values of all 68 runs, from one pt.Experiment."""
    runs = pd.read_csv(
        shared_path("data", "clef2015", "runs.top100.tsv.gz"),
        sep="\t",
        names=["name", "qid", "rank", "docno"],
        dtype={"name": str, "qid": str, "docno": str},
        keep_default_na=False,
        quoting=3,
    )
    runs["score"] = -runs["rank"]
    qrels = clef_2015_qrels()
    assert qrels["qid"].nunique() == 66
    frames = {
        name: frame[["qid", "docno", "score"]] for name, frame in runs.groupby("name", sort=False)
    }
    topics = pd.DataFrame({"qid": qrels["qid"].unique(), "query": "?"})
    table = pt.Experiment(
        list(frames.values()),
        topics,
        qrels,
        list(CLEF_MEASURES.values()),
        names=list(frames),
        perquery=True,
    )
    assert isinstance(table, pd.DataFrame)
    wide = table.pivot(index=["name", "qid"], columns="measure", values="value")
    return wide.rename(columns={str(measure): name for name, measure in CLEF_MEASURES.items()})


@pytest.mark.slow
def test_clef_2015_runs(clef_2015: pd.DataFrame) -> None:
    figures = golden("clef2015_runs.json")["runs"]
    expected = {name: entry["correct"] for name, entry in figures.items() if entry["run_available"]}
    means = clef_2015.groupby("name").mean()
    assert len(means) == len(expected) == 68
    for name, values in expected.items():
        assert len(values) == 3
        assert means.loc[name].to_dict() == pytest.approx(values, abs=1e-6), name


@pytest.mark.slow
def test_clef_2015_topics(clef_2015: pd.DataFrame) -> None:
    figures = golden("clef2015_topics.json")["runs"]
    assert len(figures) == 6
    for name, topics in figures.items():
        values = clef_2015.loc[name]
        assert len(topics) == len(values) == 66
        for topic, entry in topics.items():
            row = values.loc[topic, list(CLEF_MEASURES)].tolist()
            assert row == pytest.approx(entry["correct"], abs=1e-6), (name, topic)


@pytest.mark.slow
def test_clef_2015_rbp_is_rbp_of_relevance(clef_2015: pd.DataFrame) -> None:
    """`On` over ir-measures' RBP is the plain uRBP of one aspect."""
    name = clef_2015.index.get_level_values("name")[0]
    runs = pd.read_csv(
        shared_path("data", "clef2015", "runs.top100.tsv.gz"),
        sep="\t",
        names=["name", "qid", "rank", "docno"],
        dtype=str,
        keep_default_na=False,
        quoting=3,
    )
    run = runs[runs["name"] == name].assign(score=lambda frame: -frame["rank"].astype(int))
    measure = On(base="RBP(rel=1,p=0.8)")
    values = pt.Evaluate(run, clef_2015_qrels(), [measure], perquery=True)
    for qid, scores in values.items():
        assert scores[str(measure)] == pytest.approx(clef_2015.loc[(name, qid), "RBP"], abs=1e-12)


# --- Lioma et al. 2017 on A66: NLRE, NGRE, NWCS, CAM, WHAM --------------------------------------

A66 = Aspects(
    {
        "relevance": Aspect([1, 2, 3, 4], threshold=3),
        "credibility": Aspect([1, 2, 3, 4], threshold=3),
    }
)
A66_MEASURES = {
    "nlre_stable": NLRE(aspects=A66),
    "ngre_stable": NGRE(mu=0.5, nu=0.5, aspects=A66),
    "nwcs_joint": NWCS(aspects=A66),
    "nwcs_separate": NWCS(
        ideal="separate", weights={"relevance": 1, "credibility": 1}, aspects=A66
    ),
    "ndcg": On(aspect="relevance", base=nDCG, aspects=A66),
    "ap": On(aspect="relevance", base=AP, aspects=A66),
    "f1": On(aspect="credibility", base=SetF, aspects=A66),
}
A66_COMBINED = {
    (name, weights): measure(
        base=base,
        aspects=A66,
        **(
            {}
            if weights is None
            else {"weights": {"relevance": weights, "credibility": 1 - weights}}
        ),
    )
    for name, measure, base in (
        ("CAM nDCG", CAM, nDCG),
        ("WHAM nDCG", WHAM, nDCG),
        ("CAM SetF", CAM, SetF),
        ("WHAM SetF", WHAM, SetF),
    )
    for weights in (None, 0.25)
}


def a66() -> tuple[dict[str, Any], Labels, Run]:
    rankings = golden("a66.json")["rankings"]
    qrels: Labels = {
        key: {
            f"d{number}": {"relevance": relevance, "credibility": credibility}
            for number, (relevance, credibility) in enumerate(
                zip(entry["relevance"], entry["credibility"], strict=True)
            )
        }
        for key, entry in rankings.items()
    }
    return (
        rankings,
        qrels,
        {key: rank_documents(list(documents)) for key, documents in qrels.items()},
    )


def ndcg_by_hand(labels: list[int]) -> float:
    def dcg(gains: list[int]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))

    return dcg(labels) / dcg(sorted(labels, reverse=True))


def f1_by_hand(labels: list[int]) -> float:
    """All judged documents are retrieved, so recall is 1 wherever a label is positive."""
    precision = sum(label >= 3 for label in labels) / len(labels)
    return 2 * precision / (precision + 1)


def combine(family: str, relevance: float, credibility: float, weight: float) -> float:
    """Return the weighted mean of the values of two aspects: arithmetic (CAM) or harmonic (WHAM)."""
    if family == "CAM":
        return weight * relevance + (1 - weight) * credibility
    if relevance == 0 or credibility == 0:
        return 0.0
    return 1 / (weight / relevance + (1 - weight) / credibility)


def test_a66_rank_errors_and_cumulative_scores() -> None:
    rankings, qrels, run = a66()
    assert len(rankings) == 100
    values = per_query(list(A66_MEASURES.values()), qrels, run)
    for key, entry in rankings.items():
        for name, measure in A66_MEASURES.items():
            assert values[measure, key] == pytest.approx(entry[name], abs=1e-9), (key, name)


def test_a66_figures_of_single_aspects() -> None:
    """Those of the file are nDCG of relevance and F1 of credibility."""
    rankings, _, _ = a66()
    for entry in rankings.values():
        assert ndcg_by_hand(entry["relevance"]) == pytest.approx(entry["ndcg"], abs=1e-9)
        assert f1_by_hand(entry["credibility"]) == pytest.approx(entry["f1"], abs=1e-9)


def test_a66_score_aggregation() -> None:
    """CAM and WHAM of the file's figures, and of the figures worked out here for the other aspect."""
    rankings, qrels, run = a66()
    values = per_query(list(A66_COMBINED.values()), qrels, run)
    n_zeros = 0
    for key, entry in rankings.items():
        relevance_and_credibility = {
            "nDCG": (entry["ndcg"], ndcg_by_hand(entry["credibility"])),
            "SetF": (f1_by_hand(entry["relevance"]), entry["f1"]),
        }
        for (name, declared_weight), measure in A66_COMBINED.items():
            family, base = name.split()  # such as "CAM nDCG"
            weight = 0.5 if declared_weight is None else declared_weight
            expected = combine(family, *relevance_and_credibility[base], weight)
            # A harmonic mean of the file's ten decimals, near 0, is good to their rounding.
            assert values[measure, key] == pytest.approx(expected, abs=1e-9), (key, name, weight)
            if expected == 0:
                n_zeros += 1
    assert n_zeros > 0  # some rankings have no positive document in one aspect


@pytest.mark.parametrize("part", ["all100", "without_assessor_6"])
def test_a66_means(part: str) -> None:
    _, qrels, run = a66()
    means = golden("a66.json")["means"][part]
    if part == "without_assessor_6":
        qrels = {key: documents for key, documents in qrels.items() if not key.startswith("6-")}
        assert len(qrels) == 90
    results = ir_measures.calc_aggregate(list(A66_MEASURES.values()), qrels, run)
    for name, measure in A66_MEASURES.items():
        assert results[measure] == pytest.approx(means[name], abs=1e-9), name
        assert measure.calc_aggregate(qrels, run) == pytest.approx(means[name], abs=1e-9), name


def test_a66_published_means() -> None:
    """Of the means the paper prints, these come out; no deterministic tie rule gives the others."""
    _, qrels, run = a66()
    means = {name: measure.calc_aggregate(qrels, run) for name, measure in A66_MEASURES.items()}
    assert round(means["nwcs_separate"], 4) == 0.9413
    assert (round(means["nlre_stable"], 4), round(means["ngre_stable"], 4)) == (0.9334, 0.8503)
    assert round(means["nwcs_joint"], 4) == 0.9625
    kept = {key: documents for key, documents in qrels.items() if not key.startswith("6-")}
    assert round(A66_MEASURES["f1"].calc_aggregate(kept, run), 4) == 0.4786
    upside_down = {
        key: {docno: -score for docno, score in documents.items()} for key, documents in run.items()
    }
    assert round(A66_MEASURES["ap"].calc_aggregate(kept, upside_down), 4) == 0.7842
    assert round(A66_MEASURES["ndcg"].calc_aggregate(kept, upside_down), 4) == 0.9323


# --- The official evaluator of the TREC Health Misinformation tracks --------------------------


def track_frames(
    kind: str = "two",
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], dict[str, dict[str, float]]]:
    two = golden("trec_eval_extension.json")[kind]
    columns = ["docno", "label", "credibility", "correctness"][: 1 + len(two["qrels"][0][1:])]
    qrels = pd.DataFrame(two["qrels"], columns=columns).assign(qid="1")
    runs = {
        name: pd.DataFrame(run["docnos"], columns=["docno", "score"]).assign(qid="1")
        for name, run in two["runs"].items()
    }
    return qrels, runs, {name: run["values"] for name, run in two["runs"].items()}


@pytest.mark.slow
def test_the_tracks_names_give_the_official_values() -> None:
    qrels, runs, official = track_frames()
    assert len(runs) == 7
    names = ["nlre", "cam", "cam_map", "nwcs"]
    frame = ma.evaluate(runs, qrels, names, progress=False)
    assert sorted(frame["measure"].unique()) == sorted(names)
    for row in frame.itertuples():
        assert round(row.value, 4) == official[row.name][row.measure], row
    topics = pd.DataFrame({"qid": ["1"], "query": ["one"]})
    table = pt.Experiment(list(runs.values()), topics, qrels, names, names=list(runs)).set_index(
        "name"
    )
    assert sorted(table.columns) == sorted(names)
    for name, values in official.items():
        assert table.loc[name, names].round(4).to_dict() == values, name


@pytest.mark.slow
def test_the_tracks_names_for_three_aspects() -> None:
    """The official weights are .3333 each, so its CAM is .9999 times the mean; NWCS divides by these weights."""
    qrels, runs, official = track_frames("three")
    names = ["cam_three_ndcg", "cam_map_three", "nwcs_three"]
    topics = pd.DataFrame({"qid": ["1"], "query": ["one"]})
    table = pt.Experiment(list(runs.values()), topics, qrels, names, names=list(runs)).set_index(
        "name"
    )
    frame = ma.evaluate(runs, qrels, names, progress=False)
    assert len(frame) == 21
    for row in frame.itertuples():
        weights = 1 if row.measure == "nwcs_three" else 0.9999
        assert row.value * weights == pytest.approx(official[row.name][row.measure], abs=5.1e-5), (
            row
        )
        assert table.loc[row.name, row.measure] == row.value


def test_the_tracks_nlre_of_three_aspects_is_refused() -> None:
    """It is normalised by another sum, so that reading it as NLRE gave other values without a sign."""
    qrels, runs, official = track_frames("three")
    name = "run_random"
    ours = NLRE(aspects={"relevance": 3, "credibility": 3, "correctness": 3}).calc_aggregate(
        qrels, runs[name]
    )
    assert abs(ours - official[name]["nlre_three"]) > 0.02
    with pytest.raises(ma.MultiAspectError, match="values differ from NLRE; use NLRE"):
        ma.evaluate(runs, qrels, ["nlre_three"], progress=False)


@pytest.mark.slow
def test_the_tracks_measures_as_objects() -> None:
    qrels, runs, official = track_frames()
    aspects = {"relevance": 3, "credibility": 3}
    measures = {
        "nlre": NLRE(aspects=aspects),
        "cam": CAM(base=nDCG, aspects=aspects),
        "cam_map": CAM(base=AP, aspects=aspects),
        "nwcs": NWCS(ideal="judged", aspects=aspects),
    }
    for name, run in runs.items():
        for short, measure in measures.items():
            assert round(measure.calc_aggregate(qrels, run), 4) == official[name][short], (
                name,
                short,
            )
    # The other ideals see the retrieved documents only.
    replaced = runs["run_near_perfect_replacement"]
    for ideal in ("joint", "separate"):
        assert (
            NWCS(ideal=ideal, aspects=aspects).calc_aggregate(qrels, replaced)
            > official["run_near_perfect_replacement"]["nwcs"]
        )


def test_cam_map_counts_the_first_aspect_where_the_last_found_nothing() -> None:
    """The official evaluator prints 0 here."""
    qrels = {
        "1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}}
    }
    assert CAM(base=AP).calc_aggregate(qrels, {"1": {"d1": 1.0}}) == 0.5


def test_judged_ideal_is_as_long_as_the_run() -> None:
    """The ideal of NWCS(ideal="judged") ranks as many judged documents as are retrieved."""
    qrels = {"1": {f"d{i}": {"relevance": 1} for i in range(4)}}
    judged = NWCS(ideal="judged", aspects={"relevance": 1})
    two_relevant = {"1": {"d0": 2.0, "d3": 1.0}}
    assert judged.calc_aggregate(qrels, two_relevant) == 1.0
    one_relevant = {"1": {"d0": 2.0, "x": 1.0}}
    ideal_of_two = 1 + 1 / math.log2(3)
    assert judged.calc_aggregate(qrels, one_relevant) == pytest.approx(1 / ideal_of_two)
    assert (judged @ 1).calc_aggregate(qrels, one_relevant) == 1.0


def test_unjudged_documents_fill_a_judged_ideal_where_the_lowest_grade_has_a_gain() -> None:
    judged = NWCS(ideal="judged", aspects={"relevance": Aspect(1, gains=[1, 3])})
    qrels = {"1": {"d0": {"relevance": 1}}}  # the gain 3; all others have the gain 1
    nine_unjudged = {f"x{i}": -float(i) for i in range(9)}
    sum_of_discounts = sum(1 / math.log2(1 + rank) for rank in range(1, 10))
    ideal = sum_of_discounts + (3 - 1)  # d0 at the first rank, whose discount is 1
    value = judged.calc_aggregate(qrels, {"1": nine_unjudged})
    assert value == pytest.approx(sum_of_discounts / ideal)
    assert judged.calc_aggregate(qrels, {"1": {"d0": 1.0, **nine_unjudged}}) == 1.0
