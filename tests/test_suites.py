"""Suites of tracks: the organisers' measures, on manually derived qrels evaluated by other programs."""

from __future__ import annotations

import html
import json
import pickle

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import reference as ref
from ir_measures import AP, P, Rprec, nDCG
from shared_data import golden, shared_path

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.integration.parsing import parse
from pt_multiaspect.orders import correctness, trec_misinfo_label
from pt_multiaspect.suites import Suite, list_suites
from pt_multiaspect.suites.catalogue import NOT_OFFERED, SUITES

#: The judgments of a world with every combination of labels of useful documents: as the tracks
#: write them.
CODES = {
    2020: ("answer", (-1, 0, 1, 2)),
    2021: ("supportiveness", (-2, 0, 1, 2)),
    2022: ("answer", (-1, 0, 1, 2)),
}
ANSWERS = {2020: ("yes", "no"), 2021: ("helpful", "unhelpful"), 2022: ("yes", "no")}


def world(year: int) -> tuple[pd.DataFrame, dict[str, str], pd.DataFrame]:
    """Judgments of eight topics, the answers of the topics, and a run without ties."""
    rng = np.random.default_rng(year)
    column, codes = CODES[year]
    useful = [0, 1] if year == 2020 else [0, 1, 2]
    credible = [-1, 0, 1] if year == 2020 else [-2, 0, 1, 2]
    answers = {f"t{n}": ANSWERS[year][n % 2] for n in range(8)}
    rows = []
    for topic in answers:
        # Some topics lack correct, incorrect or credible documents, as in the tracks.
        some = rng.choice(codes, size=2, replace=False)
        for document in range(12):
            usefulness = int(rng.choice(useful))
            judged = (
                int(rng.choice(some)),
                int(rng.choice(credible[:2] if topic < "t3" else credible)),
            )
            rows.append(
                (topic, f"d{document:02}", usefulness, *(judged if usefulness else (-1, -1)))
            )
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "relevance", column, "credibility"])
    # Not useful for any run: an ordinary topic with no useful document.
    qrels.loc[qrels["qid"] == "t7", ["relevance", column, "credibility"]] = [0, -1, -1]
    run = qrels[["qid", "docno"]].assign(score=rng.permutation(len(qrels)) + 1.0)
    unjudged = [(topic, f"x{n}", n * 9 + 0.5) for topic in answers for n in range(8)]
    run = pd.concat(
        [run.sample(frac=0.8, random_state=year), pd.DataFrame(unjudged, columns=run.columns)]
    )
    return qrels, answers, run[run["qid"] != "t6"]


def verdict(year: int, code: int, answer: str) -> str:
    """Return whether the answer of a document is correct, as in the READMEs of the tracks."""
    says = {
        2020: {1: "yes", 2: "no"},
        2021: {2: "helpful", 0: "unhelpful"},
        2022: {1: "yes", 0: "no"},
    }[year].get(code)
    return "neither" if says is None else "correct" if says == answer else "incorrect"


def derive_qrels(rows: pd.DataFrame, labels: list[int]) -> pd.DataFrame:
    """The rows of a derived qrels file: those with a positive label."""
    frame = pd.DataFrame({"query_id": rows["qid"], "doc_id": rows["docno"], "relevance": labels})
    return frame[frame["relevance"] > 0]


def official(
    measure: ir_measures.Measure, qrels: pd.DataFrame, run: pd.DataFrame, topics=None
) -> float:
    """The mean over the topics of the derived file (or `topics`), as trec_eval -c computes it."""
    run = run.rename(columns={"qid": "query_id", "docno": "doc_id"})
    topics = sorted(set(qrels["query_id"])) if topics is None else topics
    values = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
    return sum(values.get(topic, 0.0) for topic in topics) / len(topics)


def compatibility(qrels: pd.DataFrame, run: pd.DataFrame, topics=None) -> float:
    """The mean as the tracks' program computes it: overlaps to depth 1000, which ir-measures does not sum."""
    values = []
    for topic in sorted(set(qrels["query_id"])) if topics is None else topics:
        judged, ranked = qrels[qrels["query_id"] == topic], run[run["qid"] == topic]
        weights = dict(zip(judged["doc_id"], judged["relevance"], strict=True))
        scores = dict(zip(ranked["docno"], ranked["score"], strict=True))
        values.append(ref.compatibility(scores, weights, 0.95))
    return sum(values) / len(values)


def expected(
    year: int, qrels: pd.DataFrame, answers: dict[str, str], run: pd.DataFrame
) -> dict[str, float]:
    """The measures of a track by the book: derived files, and ir-measures on each of them."""
    column, _ = CODES[year]
    said = [
        verdict(year, code, answers[qid])
        for qid, code in zip(qrels["qid"], qrels[column], strict=True)
    ]
    useful = (qrels["relevance"] > 0).to_numpy()
    right = useful & (np.array(said) == "correct")
    wrong = useful & (np.array(said) == "incorrect")
    credible = useful & (qrels["credibility"] > 0).to_numpy()
    files = {
        "useful": qrels["relevance"].tolist(),
        "useful and correct": right.astype(int).tolist(),
        "useful and incorrect": wrong.astype(int).tolist(),
        "useful and credible": (useful & credible).astype(int).tolist(),
        "useful, correct and credible": (right & credible).astype(int).tolist(),
    }
    files = {name: derive_qrels(qrels, labels) for name, labels in files.items()}

    def cam(parts: list[np.ndarray], rows: np.ndarray) -> float:
        topics = sorted(set(qrels.loc[rows, "qid"]))
        scores = [
            official(AP, derive_qrels(qrels, (part & rows).astype(int).tolist()), run, topics)
            for part in parts
        ]
        return sum(scores) / len(scores)

    values = {f"nDCG {name}": official(nDCG, file, run) for name, file in files.items()}
    values |= {f"P@10 {name}": official(P @ 10, file, run) for name, file in files.items()}
    values["Rprec useful and incorrect"] = official(Rprec, files["useful and incorrect"], run)
    rows = right if year == 2020 else right | credible
    values["CAM(AP) correct, credible"] = cam([right, credible], rows)
    values["CAM(AP) useful, credible"] = cam([useful, credible], useful)
    values["CAM(AP) useful, correct, credible"] = cam([useful, right, credible], useful)
    codes = getattr(ma.orders, f"trec_misinfo_{year}")().apply(label_qrels(year, qrels, answers))[
        "code"
    ]
    for name, sign in (("helpful", 1), ("harmful", -1)):
        values[f"{name} compatibility"] = compatibility(
            derive_qrels(qrels, (sign * codes).tolist()), run
        )
    both = sorted(set(qrels.loc[codes > 0, "qid"]) & set(qrels.loc[codes < 0, "qid"]))
    sides = [
        compatibility(derive_qrels(qrels, (sign * codes).tolist()), run, both) for sign in (1, -1)
    ]
    values["helpful minus harmful"] = sides[0] - sides[1]
    return values


def label_qrels(year: int, qrels: pd.DataFrame, answers: dict[str, str]) -> pd.DataFrame:
    """The wide qrels that a suite evaluates."""
    return qrels.assign(correctness=correctness(qrels, answers, year))


@pytest.mark.every(4)
@pytest.mark.filterwarnings("ignore:.*no documents for:pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize(
    "name",
    ["trec-misinfo-2020", "trec-misinfo-2020-recall", "trec-misinfo-2021", "trec-misinfo-2022"],
)
def test_a_track_suite_gives_the_means_on_derived_qrels(name: str) -> None:
    year = int(name.split("-")[2])
    qrels, answers, run = world(year)
    wanted = expected(year, qrels, answers, run)
    suite = ma.suite(name)
    values = ma.evaluate({"run": run}, label_qrels(year, qrels, answers), suite, progress=False)
    means = ma.aggregate(values).iloc[0]
    for label in suite:
        assert means[label] == pytest.approx(wanted[label], abs=1e-9), label
    # Over all judged topics, means are other ones.
    everywhere = ma.evaluate(
        {"run": run},
        label_qrels(year, qrels, answers),
        suite,
        average_over="judged",
        progress=False,
    )
    assert len(everywhere) == len(suite) * 8 > len(values)
    lower = ma.aggregate(everywhere).iloc[0]
    assert all(lower[label] < means[label] for label in suite if label != "helpful minus harmful")


@pytest.mark.parametrize(
    ("year", "ap_of_credibility"),
    [
        (2021, (1 / 1 + 2 / 3) / 2),  # of the documents "credible" and "both"
        (2020, 1 / 3),  # of "both" alone, the credible document that is correct too
    ],
)
def test_the_mistake_of_2020_is_one_of_that_year(year: int, ap_of_credibility: float) -> None:
    """In 2020, the organisers counted credible documents only if they were correct."""
    qrels = {
        "q": {
            "right": {"correctness": 2, "credibility": 0},
            "credible": {"correctness": 1, "credibility": 1},
            "both": {"correctness": 2, "credibility": 1},
        }
    }
    run = {"q": {"credible": 3.0, "right": 2.0, "both": 1.0}}
    ap_of_correctness = (1 / 2 + 2 / 3) / 2  # of the documents "right" and "both"
    measure = ma.suite(f"trec-misinfo-{year}")["CAM(AP) correct, credible"]
    value = measure.calc_aggregate(qrels, run)
    assert value == pytest.approx((ap_of_correctness + ap_of_credibility) / 2)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", [*SUITES])
def test_every_suite_can_be_used(name: str) -> None:
    suite = make_suite(name)
    assert suite.name == name
    assert suite.description == str(suite)
    for sentence in (suite.about_topics, *suite.notes):
        assert sentence.endswith(".")
    assert dict(pickle.loads(pickle.dumps(suite))) == dict(suite)
    assert suite.to_frame()["label"].tolist() == list(suite)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", [*SUITES])
def test_the_measures_of_every_suite_are_described_and_read_back(name: str) -> None:
    suite = make_suite(name)
    for label, measure in suite.items():
        assert label in suite.description
        assert str(measure) in html.unescape(suite._repr_html_())
        assert parse(str(measure)) == [measure]
        # pt.Experiment(..., suite) iterates over the labels: they must not be other measures.
        try:
            measures_of_label = parse(label)
        except MultiAspectError:
            continue
        assert measures_of_label == [measure], label


@pytest.mark.every(2)
@pytest.mark.parametrize("name", [*SUITES])
def test_every_suite_lists_the_columns_that_it_needs(name: str) -> None:
    suite = make_suite(name)
    required = set()
    for measure in suite.values():
        required |= set(getattr(measure, "required_aspects", ["relevance"]))
    assert required == set(suite.columns)


def make_suite(name: str) -> Suite:
    if name == "multi-aspect":
        return ma.suite(name, aspects={"relevance": 2, "credibility": 1})
    return ma.suite(name)


def test_tracks_with_unknown_settings_are_not_offered() -> None:
    for name, reason in NOT_OFFERED.items():
        assert name not in SUITES
        with pytest.raises(MultiAspectError) as raised:
            ma.suite(name)
        assert name in str(raised.value)
        assert reason in str(raised.value)
    table = list_suites()
    assert table["name"].tolist() == [*SUITES, *NOT_OFFERED]
    assert (table["unknown"] == "").sum() == len(SUITES)


def test_unknown_settings_of_the_shared_notes_are_named() -> None:
    notes = json.loads(shared_path("collections", "suites.json").read_text())
    for track in (
        "trec-decision-2019",
        "clef-ehealth-2016",
        "clef-ehealth-2017",
        "clef-ehealth-2020",
    ):
        assert "unknown" in notes[track]
        assert track in NOT_OFFERED
    for track in (
        "trec-misinfo-2020",
        "trec-misinfo-2021",
        "trec-misinfo-2022",
        "clef-ehealth-2015",
    ):
        assert "unknown" not in notes[track]
        assert track in SUITES


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (
            lambda: ma.suite("trec-misinfo-2012"),
            ["suite: expected the name of a suite", "got trec-misinfo-2012", "Did you mean"],
        ),
        (lambda: ma.suite(2020), ["expected the name of a suite", "got 2020"]),
        (lambda: ma.suite("multi-aspect"), ["requires aspects="]),
        (lambda: ma.suite("multi-aspect", aspects={"relevance": 2}), ["at least one other aspect"]),
        (lambda: ma.suite("multi-aspect", aspects="relevance,credibility"), ["with their scales"]),
        (
            lambda: ma.suite("trec-misinfo-2020", aspects={"relevance": 1}),
            ["declares its own label scales: omit aspects="],
        ),
        (
            lambda: ma.suite("ntcir-17-fairweb-1"),
            ["there is no suite", "evaluate groups of documents"],
        ),
        (lambda: trec_misinfo_label("credible"), ["label: expected one of 'useful-correct"]),
    ],
)
def test_errors(call, parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as raised:
        call()
    for part in parts:
        assert part in str(raised.value)


def test_incorrect_documents_are_better_at_the_end() -> None:
    harm = ma.suite("trec-misinfo-2021")["P@10 useful and incorrect"]
    assert harm.lower_is_better
    assert not ma.suite("trec-misinfo-2020-recall")["Rprec useful and incorrect"].lower_is_better
    assert pickle.loads(pickle.dumps(harm)).lower_is_better
    order = trec_misinfo_label("useful-incorrect")
    assert ma.Order.from_json(order.to_json()).lower_is_better
    assert "lower_is_better=True" in repr(order)
    qrels = {
        "q": {"d": {"relevance": 1, "correctness": 0}, "e": {"relevance": 1, "correctness": 2}}
    }
    with pytest.raises(MultiAspectError, match="not labels to train on"):
        ma.aggregate_labels(qrels, harm)


QRELS = {
    "both": {"d1": {"relevance": 1, "credibility": 1}},
    "one": {"d1": {"relevance": 1, "credibility": 0}},
    "none": {"d1": {"relevance": 0, "credibility": 0}},
}
RUN = {qid: {"d1": 1.0} for qid in QRELS}


@pytest.mark.filterwarnings("ignore:.*no documents for:pt_multiaspect.MultiAspectWarning")
def test_an_experiment_averages_a_suite_over_all_judged_topics() -> None:
    qrels, answers, run = world(2021)
    wide = label_qrels(2021, qrels, answers).rename(columns={"relevance": "label"})
    suite = ma.suite("trec-misinfo-2021")
    topics = pd.DataFrame({"qid": qrels["qid"].unique(), "query": "?"})
    table = pt.Experiment([run], topics, wide, list(suite.values()), names=["run"]).set_index(
        "name"
    )
    wanted = ma.aggregate(
        ma.evaluate({"run": run}, wide, suite, average_over="judged", progress=False)
    ).iloc[0]
    for label, measure in suite.items():
        assert table.loc["run", str(measure)] == pytest.approx(wanted[label], abs=1e-12), label


# --- other tracks -------------------------------------------------------------------------------


def test_touche_is_not_the_organisers_script() -> None:
    """The suite is standard nDCG@5; the script leaves out unjudged documents after the first five.

    Without them the suite has the script's value of topic 1.
    """
    figures = golden("touche_ndcg.json")
    qrels = pd.DataFrame(figures["qrels"], columns=["qid", "docno", "relevance"]).assign(quality=1)
    rows = []
    for qid, docnos in figures["run"].items():
        for rank, docno in enumerate(docnos):
            rows.append((qid, docno, -rank))
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    suite = ma.suite("touche-2021")
    assert "not the organisers' values" in suite.description
    measure = {"nDCG@5": suite["nDCG@5 relevance"]}
    values = ma.evaluate({"run": run}, qrels, suite, progress=False)
    of_relevance = values[values["measure"] == "nDCG@5 relevance"].set_index("qid")["value"]
    assert of_relevance.round(4).to_dict() == {
        "1": 0.5209,
        "2": 0.0,
        "3": 0.0,
    }  # topic 4 has no gain
    first_five = run.groupby("qid").head(5)
    judged = first_five.merge(qrels[["qid", "docno"]])
    values = ma.evaluate({"run": judged}, qrels, measure, progress=False).set_index("qid")["value"]
    (script,) = [case["per topic"] for case in figures["cases"] if case["k"] == 5]
    assert values["1"] == pytest.approx(script["1"], abs=1e-8)


@pytest.mark.slow
def test_fair_ranking_gives_the_official_ndcg() -> None:
    cases = golden("awrf.json")["cases"]
    suite = ma.suite("trec-fair-2022")
    checked = 0
    for number, case in enumerate(cases):
        values = case.get("values", {})
        if case.get("depth") != 500 or not values or None in values.values():
            continue
        qrels = {"q": dict.fromkeys(case["relevant"], 1)}
        run = {"q": {docno: float(-rank) for rank, docno in enumerate(case["run"])}}
        means = ma.aggregate(ma.evaluate({"run": run}, qrels, suite, progress=False)).iloc[0]
        assert means["nDCG of the track"] == pytest.approx(values["ndcg"], abs=1e-6), number
        checked += 1
    assert checked >= 5


@pytest.mark.slow
def test_clef_ehealth_2015_gives_the_correct_figures_on_real_runs() -> None:
    """The figures without the slip of ubire, on one published run; trec_eval's measures by ir-measures."""
    columns = {
        "relevance": shared_path("data", "clef2015", "qrels.graded.txt.gz"),
        "understandability": shared_path("data", "clef2015", "qread.graded.txt.gz"),
    }
    qrels = ma.read_qrels(columns)
    runs = pd.read_csv(
        shared_path("data", "clef2015", "runs.top100.tsv.gz"),
        sep="\t",
        names=["name", "qid", "rank", "docno"],
        dtype={"name": str, "qid": str, "docno": str},
        keep_default_na=False,
        quoting=3,
    )
    figures = golden("clef2015_runs.json")["runs"]
    name = runs["name"].iloc[0]
    run = runs[runs["name"] == name].assign(score=lambda frame: -frame["rank"])[
        ["qid", "docno", "score"]
    ]
    suite = ma.suite("clef-ehealth-2015")
    values = ma.evaluate({name: run}, qrels, suite, progress=False)
    assert values["qid"].nunique() == 66
    means = ma.aggregate(values).iloc[0]
    for label, figure in figures[name]["correct"].items():
        assert means[f"{label} 0.8"] == pytest.approx(figure, abs=1e-6), label
    plain = qrels.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
    ours = ir_measures.calc_aggregate(
        [P @ 10, nDCG @ 10, AP], plain, run.rename(columns={"qid": "query_id", "docno": "doc_id"})
    )
    assert [means["P@10"], means["nDCG@10"], means["AP@1000"]] == pytest.approx(
        list(map(ours.get, [P @ 10, nDCG @ 10, AP]))
    )


def test_multi_aspect_evaluates_each_aspect_and_all_together() -> None:
    suite = ma.suite("multi-aspect", aspects={"relevance": 1, "credibility": 1})
    means = ma.aggregate(ma.evaluate({"run": RUN}, QRELS, suite, progress=False)).iloc[0]
    assert means["nDCG@10 relevance"] == pytest.approx(2 / 3)
    assert means["nDCG@10 credibility"] == pytest.approx(1 / 3)
    assert means["CAM normalised"] == pytest.approx(2 / 3)
    assert means["MM of the aspects"] == pytest.approx(1 / 3)
    assert means["judged@10 relevance"] == 1


def test_a_mean_without_topics_is_an_error() -> None:
    qrels = {"q": {"d1": {"relevance": 1, "correctness": 2}}}
    with pytest.raises(MultiAspectError, match=r"no topic.*P@10 useful and incorrect"):
        ma.evaluate(
            {"run": {"q": {"d1": 1.0}}}, qrels, ma.suite("trec-misinfo-2022"), progress=False
        )


def test_a_report_refuses_topics_that_differ_between_measures() -> None:
    chosen = ma.suite("trec-misinfo-2021")
    with pytest.raises(MultiAspectError, match=r"judged.*pass dict\(suite\)"):
        ma.report({"a": {"q": {"d": 1.0}}}, QRELS, chosen)


def test_supportiveness_is_not_correctness() -> None:
    qrels = pd.DataFrame(
        [("101", "d1", 2, 2, 1)], columns=["qid", "docno", "label", "supportiveness", "credibility"]
    )
    run = pd.DataFrame([("101", "d1", 1.0)], columns=["qid", "docno", "score"])
    with pytest.raises(
        MultiAspectError, match=r"aspect correctness.*orders\.correctness .* from supportiveness"
    ):
        ma.evaluate({"run": run}, qrels, ma.suite("trec-misinfo-2021"), progress=False)


def test_entries_of_the_catalogue_have_no_other_keys() -> None:
    """A misspelt key would be left out without a sign."""
    required = {"listed", "title", "measures"}
    optional = {"requires_aspects", "columns", "average_over", "about_topics", "notes", "sources"}
    for name, entry in SUITES.items():
        assert required <= set(entry) <= required | optional, name
        assert ("columns" in entry) == (name != "multi-aspect")
        assert entry.get("requires_aspects", True) is True
