"""Reports: what the page contains equals what the package computes, and nothing in it is run or fetched."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import sys

import ir_measures
import numpy as np
import pandas as pd
import pytest
from report_world import MEASURES, NASTY, SCALES, SYSTEMS, Page, world

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.analysis import compare_with_baseline, correlation, discriminative_power
from pt_multiaspect.measures.definitions import sentence
from pt_multiaspect.reporting import Report, payload
from pt_multiaspect.reporting import page as pages
from pt_multiaspect.reporting.payload import choose_extent, rankings_payload
from pt_multiaspect.reporting.record import installed_versions

BASELINE = NASTY[0]


@pytest.fixture(scope="module")
def report() -> Report:
    runs, qrels = world()
    return ma.report(
        runs,
        qrels,
        MEASURES,
        aspects=SCALES,
        baseline=BASELINE,
        title="<u>R</u> & co",
        progress=False,
    )


@pytest.fixture(scope="module")
def text(report) -> str:
    pytest.importorskip("vl_convert")
    return report.to_html()


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


@pytest.fixture(scope="module")
def perquery() -> pd.DataFrame:
    """The same values, computed without a report."""
    runs, qrels = world()
    base = {
        f"nDCG@10 {name}": ma.On(aspect=name, base="nDCG@10", aspects=SCALES) for name in SCALES
    }
    return ma.evaluate(runs, qrels, {**MEASURES, **base}, progress=False)


# -- numbers
# -------------------------------------------------------------------------------------------------


def test_values_and_means_are_those_of_an_evaluation(page, perquery):
    data = page.data
    labels = [measure["label"] for measure in data["measures"]]
    assert labels == perquery["measure"].unique().tolist()
    table = perquery.pivot(index=["measure", "name"], columns="qid", values="value")
    expected = ma.aggregate(perquery, ci=0.95)
    assert tuple(data["runs"]) == SYSTEMS == tuple(expected["name"])
    for column, label in enumerate(labels):
        for row, name in enumerate(SYSTEMS):
            assert data["values"][column][row] == table.loc[(label, name), data["queries"]].tolist()
        assert data["means"][column] == expected[label].tolist()
        low, high = (expected[f"{label} 95% {end}"].tolist() for end in ("low", "high"))
        assert data["ends"][column] == [low, high]
    assert [measure["lower"] for measure in data["measures"]] == [
        label == "ESL" for label in labels
    ]


def test_the_table_of_systems_shows_means_and_intervals(page, perquery):
    expected = ma.aggregate(perquery, ci=0.95)
    head, *rows = page.tables["table"]
    assert [cell.strip() for cell in head][-2:] == ["nDCG@10 relevance", "nDCG@10 <b>cred"]
    assert head[1].strip() == "TOMA"  # the measure of the summary
    assert "ESL  ↓" in head
    labels = perquery["measure"].unique().tolist()
    for row, (_, values) in zip(rows, expected.iterrows(), strict=True):
        assert row[0] == values["name"]
        shown = [
            f"{values[label]:.4f} [{values[f'{label} 95% low']:.4f}, "
            f"{values[f'{label} 95% high']:.4f}]"
            for label in labels
        ]
        assert [re.sub(" +", " ", cell).strip() for cell in row[1:]] == shown


def test_the_best_values_are_those_of_each_direction(page, perquery):
    expected = ma.aggregate(perquery).set_index("name")
    begin = next(
        column for column, (_, attrs) in enumerate(page.elements) if attrs.get("id") == "table"
    )
    spans = [
        attrs for tag, attrs in page.elements[begin:] if tag == "span" and "aria-label" not in attrs
    ]
    marked = [
        attrs.get("class") for attrs in spans if attrs.get("class") in (None, "best", "second")
    ]
    n = len(perquery["measure"].unique())
    cells = np.array(marked[: len(SYSTEMS) * n], dtype=object).reshape(len(SYSTEMS), n)
    for column, label in enumerate(expected):
        best = expected[label].min() if label == "ESL" else expected[label].max()
        assert (cells[:, column] == "best").tolist() == (expected[label] == best).tolist()


@pytest.mark.parametrize("baseline", SYSTEMS)
def test_p_values_and_verdicts_are_those_of_each_baseline(page, perquery, baseline):
    tests = page.data["tests"]
    against = SYSTEMS.index(baseline)
    labels = [measure["label"] for measure in page.data["measures"]]
    verdicts = []
    for row in compare_with_baseline(perquery, baseline).itertuples():
        index, name = labels.index(row.measure), SYSTEMS.index(row.name)
        assert tests["p"][index][against][name] == pytest.approx(row.p, rel=1e-5)
        gain = -row.difference if row.measure == "ESL" else row.difference
        expected = "." if not row.significant else "+" if gain > 0 else "-"
        verdicts.append(expected)
        assert tests["verdicts"][index][against][name] == expected
    assert baseline != "bm25" or "+" in verdicts
    assert baseline != "dense" or "-" in verdicts


def test_comparisons_with_every_baseline_at_once(report):
    parts = [compare_with_baseline(report.perquery, name) for name in SYSTEMS]
    keys = ["measure", "baseline", "name"]
    expected = pd.concat(parts).sort_values(keys, ignore_index=True)
    expected = expected.drop(columns=["low", "high", "wins", "losses", "ties"])
    pd.testing.assert_frame_equal(report.comparisons.sort_values(keys, ignore_index=True), expected)
    power = discriminative_power(report.perquery, "t")
    pd.testing.assert_frame_equal(report.power.table, power.table)


def test_correlations_and_power(page, report, perquery):
    expected = correlation(perquery)
    pd.testing.assert_frame_equal(report.correlations, expected)
    _, *rows = page.tables["matrix"]
    shown = [[float(cell.replace("−", "-")) for cell in row[1:]] for row in rows]
    np.testing.assert_allclose(shown, expected, atol=0.0051)
    power = discriminative_power(perquery, "t", alpha=0.05).table
    rows = page.tables[""]
    begin = next(index for index, row in enumerate(rows) if "Required difference" in row) + 1
    rows = rows[begin : begin + len(power)]
    assert [row[2].strip() for row in rows] == [f"{value:.4f}" for value in power["power"]]


# -- rankings
# ------------------------------------------------------------------------------------------------


@pytest.mark.every(6)
@pytest.mark.parametrize("label", MEASURES)
def test_contributions_and_labels_are_those_of_explanations(page, label):
    data, (runs, qrels) = page.data, world()
    index = [measure["label"] for measure in data["measures"]].index(label)
    parts = data["contributions"][index]
    unit = 10.0 ** -parts["decimals"]
    assert data["depth"] == 10
    for run, name in enumerate(SYSTEMS[:3]):
        for topic, query in enumerate(data["topics"][:3]):
            qid = data["queries"][query]
            expected = ma.explain(MEASURES[label], {name: runs[name]}, qrels, qid)
            top = expected.ranks.head(10)
            documents = data["ranks"][run][topic]
            assert [data["documents"][topic][at] for at in documents] == top["docno"].tolist()
            contributions = parts["ranks"][run][topic] + [0] * 10
            np.testing.assert_allclose(
                np.array(contributions[:10]) * unit, top["contribution"], atol=0.5001 * unit
            )
            for aspect, column in enumerate(expected.labels):
                labels = [data["labels"][aspect][topic][at] for at in documents]
                np.testing.assert_array_equal(np.array(labels, dtype=float), top[column])
            offset = parts.get("offset")
            assert (0 if offset is None else offset[run][topic]) == pytest.approx(expected.offset)
    assert "explained" not in parts


@pytest.mark.parametrize(
    ("measure", "gain"),
    [(ma.DCG, 1e5), (ma.CG, 1e14), (ma.CG, 1e30), (ma.DCG, 1e-7)],
    ids=["large", "larger", "huge", "small"],
)
def test_contributions_sum_to_the_value_as_it_is_shown(measure, gain):
    labels = [1, 0, 0, 1, 1, 0]
    qrels = {"q": {f"d{n}": {"relevance": label} for n, label in enumerate(labels)}}
    runs = {"run": {"q": {docno: -float(n) for n, docno in enumerate(qrels["q"])}}}
    scales = {"relevance": ma.Aspect([0, 1], gains=[0, gain])}
    measure = ma.On(base=measure, aspects=scales)
    values = ma.evaluate(runs, qrels, {"it": measure}, progress=False)["value"].to_numpy()
    data = rankings_payload(
        runs, ma.Judgments(qrels), None, {"it": measure}, values[:, None, None], 10
    )
    parts = data["contributions"][0]
    amounts = np.array(parts["ranks"][0][0], dtype=float) * 10.0 ** -parts["decimals"]
    total = amounts.sum() + (parts["offset"][0][0] if "offset" in parts else 0)
    assert total == pytest.approx(
        values[0], rel=1e-3 if gain < 1 else 1e-9, abs=5e-4 if gain == 1 else 0
    )
    assert len(amounts) <= 5
    assert all(abs(number) < 2**53 for number in parts["ranks"][0][0])


def test_ties_that_ir_measures_breaks_differently_are_said():
    qrels = {"q": {"a": {"relevance": 1}, "b": {"relevance": 0}}}
    runs = {"tied": {"q": {"a": 1.0, "b": 1.0}}}
    judgments = ma.Judgments(qrels)
    measures = {"RR@1": ir_measures.RR @ 1, "ERR@5": ir_measures.ERR @ 5}
    values = np.array([[[1.0]], [[0.25]]])
    data = rankings_payload(runs, judgments, None, measures, values, 10)
    assert data["contributions"][0]["explained"] == [[0, 0, 0.0]]
    assert "uses 4 as the highest grade" in data["contributions"][1]
    assert data["ranks"] == [[[0, 1]]]
    assert data["documents"] == [["b", "a"]]


def test_wrong_contributions_of_a_measure_are_said_and_not_shown():
    class _Wrong(ma.LinearMeasure):
        """Its range limits a sum, which its contributions exceed."""

        SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}

        def linear(self, target):
            return ma.forms.Linear(target, target.gain, ma.forms.Flat(), depth=self.cutoff)

        def breakdown(self, ranking, target):
            from dataclasses import replace

            stated = super().breakdown(ranking, target)
            return replace(stated, contribution=2 * stated.contribution)

    runs, qrels = {"run": {"q": {"a": 1.0}}}, {"q": {"a": {"relevance": 1}}}
    measure = ma.register(_Wrong)
    try:
        data = rankings_payload(
            runs, ma.Judgments(qrels), None, {"wrong": measure}, np.array([[[1.0]]]), 10
        )
    finally:
        ir_measures.measures.registry.pop(measure.NAME)
    assert "sum to 2 for topic q, expected its value, 1" in data["contributions"][0]


def test_the_extent_is_bounded():
    rng = np.random.default_rng(0)
    for shape in ((10, 50, 50), (20, 100, 250), (3, 5, 10), (400, 1000, 1)):
        values = rng.random(shape)
        values[:, :, 0] = 0.5  # the systems do not differ on the first topic
        depth, topics = choose_extent(values, 10)
        numbers = shape[0] * shape[1] * len(topics) * depth
        assert numbers <= max(payload.MOST_CONTRIBUTIONS, 5 * shape[0] * shape[1])
        assert 5 <= depth <= 10
        if len(topics) < shape[2]:
            assert depth == 5
            assert 0 not in topics
    assert choose_extent(rng.random((10, 50, 50)), 10)[0] == 10
    assert len(choose_extent(rng.random((20, 100, 250)), 10)[1]) == 40
    assert choose_extent(rng.random((2, 2, 2)), 3)[0] == 3


@pytest.mark.slow
def test_topics_that_are_left_out_are_said(monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(payload, "MOST_CONTRIBUTIONS", 5 * 3 * 5 * 4)
    runs, qrels = world()
    text = ma.report(runs, qrels, "TOMA@5", aspects=SCALES, progress=False).to_html()
    page = Page(text)
    assert len(page.data["topics"]) == 4
    assert len(page.data["ranks"][0]) == 4
    assert "The first 5 ranks of each ranking are in this page, for the 4 of 6 topics" in page.text


# -- names and networks
# --------------------------------------------------------------------------------------


def test_names_are_texts_everywhere(page):
    assert [tag for tag, _ in page.elements].count("script") == 3
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "i", "u", "b", "iframe", "object", "link", "base", "form"}
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert page.data["runs"] == list(SYSTEMS)
    assert "<" not in page.scripts[0]
    assert page.scripts[0].isascii()
    for name in (*SYSTEMS, "q0<i>", "d0-0</td>", "<u>R</u> & co"):
        assert name in page.text or name in str(page.data)
    heads = [row[0] for row in page.tables["table"][1:]]
    assert heads == list(SYSTEMS)


def test_definitions_say_base_and_aspect(page):
    assert (
        f"nDCG@10 on relevance: {sentence(ir_measures.nDCG)} Only the first 10 ranks count."
        in page.text
    )
    assert "nDCG@10 on <b>cred: " in page.text
    assert "On(aspect='<b>cred')@10" in page.text


def test_definitions_say_what_measures_compute(page):
    for measure in (ma.TOMA, ma.MM):
        assert f"{measure.SHORT_DESC} Base " in page.text
        assert f"Range 0 to 1. Source: {measure.CITATION}." in page.text


def test_definitions_print_scales_in_one_table(page):
    """Not as JSON in each measure."""
    definitions = page.text.split("Definitions")[-1].split("Versions, measures and options")[0]
    assert "{" not in definitions
    assert "TOMA@5" in definitions
    assert "MM(base='P')@5" in definitions


def test_versions_measures_and_options_are_recorded(page):
    """Measures in full, as other programs do not know the names of scales."""
    record = page.text.split("Versions, measures and options")[1]
    for name, version in installed_versions().items():
        assert f"{name}{version}" in record
    scales = "{'relevance': 2, '<b>cred': 3}"
    assert f"MM(base='P',aspects={scales})@5" in record
    assert "testpaired t-test, Holm" in record
    assert "significance level0.05" in record


@pytest.mark.filterwarnings(
    "ignore:.*someone's names no known measure:pt_multiaspect.MultiAspectWarning"
)
def test_of_values_the_record_has_their_definitions_too():
    pytest.importorskip("vl_convert")
    runs, qrels = world(n_topics=3)
    measure = ma.MM(aspects=ma.Aspects(SCALES)) @ 5
    values = ma.evaluate(runs, qrels, {"ours": measure, "AP": "AP"}, progress=False)
    values["measure"] = values["measure"].replace("AP", "someone's")
    text = Page(ma.report(values).to_html()).text
    record = text.split("Versions, measures and options")[1]
    assert str(measure) in record
    assert "someone'svalues as given" in record


def test_a_heat_map_of_few_systems_is_not_drawn():
    pytest.importorskip("vl_convert")
    runs, qrels = world(SYSTEMS[:4], n_topics=3)
    few = ma.report(runs, qrels, ["TOMA@5", "MM@5"], aspects=SCALES, progress=False)
    text = Page(few.to_html())
    assert "matrix" not in text.tables
    assert "Correlations are shown for at least 5 systems." in text.text
    assert few.correlations is not None


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("aspects", "expected"),
    [
        ({"relevance": 2, "<b>cred": ma.Aspect(3, threshold=2)}, "Label scales"),
        (
            ma.Aspects({"relevance": 2, "<b>cred": ma.Aspect(3, threshold=2)}, name="page_1"),
            "page_1",
        ),
        (None, "Label scales (inferred from the judgments: relevance, <b>cred)"),
    ],
)
def test_definitions_print_the_scales(aspects, expected):
    """Names of scales, or measures on inferred scales, do not tell what was computed."""
    pytest.importorskip("vl_convert")
    runs, qrels = world(n_topics=2)
    other = ma.Aspects({"relevance": ma.Aspect(2, threshold=2)}, name="page_2")
    measures = [ma.TOMA @ 5, ma.MM(base="P", aspects=other) @ 5]
    warned = (
        pytest.warns(MultiAspectWarning, match="inferred")
        if aspects is None
        else contextlib.nullcontext()
    )
    with warned:
        text = Page(
            ma.report(runs, qrels, measures, aspects=aspects, progress=False).to_html()
        ).text
    definitions = text.split("Definitions")[-1]
    lowest = 1 if aspects is None else 2
    words = f"relevance0, 1, 2 (positive from 1)<b>cred0, 1, 2, 3 (positive from {lowest})"
    assert definitions.count(f"{expected}{words}") == 1
    assert definitions.count("page_2relevance0, 1, 2 (positive from 2)") == 1
    assert definitions.count("on the scales “page_2”") == 1
    assert definitions.count("positive from") == 3


def test_nothing_is_fetched_and_only_two_scripts_may_run(page):
    links = [
        attrs[name]
        for _, attrs in page.elements
        for name in ("src", "href", "action")
        if name in attrs
    ]
    assert links
    assert all(link.startswith("#") for link in links)
    policy = next(
        attrs["content"] for tag, attrs in page.elements if tag == "meta" and "http-equiv" in attrs
    )
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    (allowed,) = re.findall(r"script-src ([^;]*)", policy)
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in page.scripts[1:]
    ]
    assert allowed == " ".join(f"'sha256-{digest}'" for digest in digests)


@pytest.mark.slow
def test_a_name_that_is_no_unicode_can_be_written(tmp_path):
    pytest.importorskip("vl_convert")
    runs, qrels = world(("\udcff.run", "other"), n_topics=2)
    ma.report(runs, qrels, "TOMA@5", aspects=SCALES, progress=False, path=tmp_path / "report.html")
    assert (
        Page((tmp_path / "report.html").read_text(encoding="utf-8")).tables["table"][1][0]
        == r"\udcff.run"
    )


# -- other worlds
# --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_defaults_and_single_systems_topics_and_aspects(tmp_path):
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other"), n_topics=2)
    several = ma.report(runs, qrels, aspects=SCALES, progress=False)
    gated = "TOMA-gated@10"
    assert several.labels == [gated, "CAM@10", "MM@10", "nDCG@10 relevance", "nDCG@10 <b>cred"]
    with pytest.warns(MultiAspectWarning, match="aspects does not declare <b>cred"):
        single = ma.report(runs, qrels, aspects={"relevance": 2}, progress=False)
    assert single.labels == ["AP", "RR", "nDCG@10 relevance"]
    assert "weights" in several.robustness.left_out
    assert "aspects" in single.robustness.left_out
    alone = ma.report(
        {"one": runs["one"]}, qrels, aspects=SCALES, progress=False, path=tmp_path / "alone.html"
    )
    assert (alone.comparisons, alone.correlations, alone.power) == (None, None, None)
    page = Page((tmp_path / "alone.html").read_text(encoding="utf-8"))
    assert page.data["tests"] is None
    assert "require at least two systems" in page.text
    topic = ma.report(runs, qrels[qrels["qid"] == "q0<i>"], aspects=SCALES, progress=False)
    assert topic.comparisons is None
    page = Page(topic.to_html())
    assert page.data["ends"] == [None] * 5
    assert (
        "Intervals, tests, correlations and discriminative power require at least two topics."
        in page.text
    )
    judged = qrels.rename(columns={"label": "<i>use"})
    scales = {{"relevance": "<i>use"}.get(name, name): scale for name, scale in SCALES.items()}
    assert ma.report(runs, judged, aspects=scales, progress=False).labels[0] == "TOMA@10"


@pytest.mark.slow
def test_the_same_measure_of_relevance_is_listed_once():
    runs, qrels = world(("one", "other"), n_topics=2)
    report = ma.report(runs, qrels, ["nDCG@10", "TOMA@5"], aspects=SCALES, progress=False)
    assert report.labels == ["nDCG@10", "TOMA@5", "nDCG@10 <b>cred"]
    assert report.aspects == {"relevance": "nDCG@10", "<b>cred": "nDCG@10 <b>cred"}
    measures = {"mine": ma.On(aspect="<b>cred", base="nDCG@10", aspects=SCALES)}
    report = ma.report(runs, qrels, measures, aspects=SCALES, progress=False)
    assert report.labels == ["mine", "nDCG@10 relevance"]
    gains = ma.Aspects({"relevance": ma.Aspect(2, gains=[0, 1, 9]), "<b>cred": 3})
    with pytest.warns(MultiAspectWarning, match="labels of relevance"):
        report = ma.report(runs, qrels, ["nDCG@10"], aspects=gains, progress=False)
    assert report.labels == ["nDCG@10", "nDCG@10 relevance", "nDCG@10 <b>cred"]


@pytest.mark.slow
def test_aspects_may_be_names_and_runs_iterators():
    runs, qrels = world(("one", "other"), n_topics=2)
    columns = ["query_id", "doc_id", "score"]
    with pytest.warns(MultiAspectWarning, match=r"depends on.*scales"):
        report = ma.report(
            {name: run.set_axis(columns, axis=1).itertuples(index=False) for name, run in runs.items()},
            qrels, ["TOMA@5", "AP"], aspects=["<b>cred"], progress=False,
        )  # fmt: skip
    assert list(report.aspects) == ["<b>cred"]
    with pytest.warns(MultiAspectWarning, match=r"depends on.*scales"):
        expected = ma.aggregate(
            ma.evaluate(runs, qrels, ma.TOMA(aspects=["<b>cred"]) @ 5, progress=False)
        )
    assert report.systems["TOMA@5"].tolist() == expected.iloc[:, 1].tolist()


def test_columns_without_names_get_those_of_the_aspects():
    qrels = {qid: {"d1": (1, 0), "d2": (0, 1)} for qid in ("q1", "q2")}
    runs = {
        "one": {qid: {"d1": 1.0} for qid in qrels},
        "other": {qid: {"d2": 1.0} for qid in qrels},
    }
    report = ma.report(
        runs, qrels, "CAM", aspects={"relevance": 1, "credibility": 1}, progress=False
    )
    assert report.systems["nDCG@10 relevance"].tolist() == [1, 0]
    assert report.systems["nDCG@10 credibility"].tolist() == [0, 1]
    assert report.systems["CAM"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"baseline": "bm26"},
            r"baseline: expected one of the runs .* got bm26. Did you mean bm25\?",
        ),
        ({"measures": "nothing"}, "nothing"),
        (
            {"measures": {"AP": "AP", "AP 95% low": "AP"}},
            "the alias 'AP 95% low'",
        ),
        (
            {"aspects": {"relevance": 2, "crd": 1}},
            "no column for the aspect crd; expected aspects among relevance, <b>cred",
        ),
    ],
)
def test_errors_come_before_the_evaluation(options, message, monkeypatch):
    monkeypatch.setattr(
        "pt_multiaspect.reporting.build.evaluate", lambda *_, **__: pytest.fail("evaluated")
    )
    runs, qrels = world(("bm25", "dense"), n_topics=2)
    options = {"aspects": SCALES, "progress": False, **options}
    with pytest.raises(MultiAspectError, match=message):
        ma.report(runs, qrels, **options)


def test_a_folder_that_does_not_exist_is_named_before_the_evaluation(tmp_path, cli, monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(
        "pt_multiaspect.reporting.build.evaluate", lambda *_, **__: pytest.fail("evaluated")
    )
    runs, qrels = world(("bm25", "dense"), n_topics=2)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ma.report(runs, qrels, aspects=SCALES, path=tmp_path / "nowhere" / "report.html")
    code, _, err = cli("report", "-o", "nowhere/report.html", "runs")
    assert code == 2
    assert "--output: there is no directory nowhere; create it first" in err


def test_runs_and_qrels_swapped():
    runs, qrels = world(("bm25",), n_topics=2)
    with pytest.raises(MultiAspectError, match="swapped"):
        ma.report(qrels, runs, progress=False)


@pytest.mark.slow
def test_a_missing_extra_is_named_before_the_evaluation(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    pages.vega.cache_clear()
    runs, qrels = world(("bm25", "dense"), n_topics=2)
    with pytest.raises(ImportError, match=r"pt-multiaspect\[report\]"):
        ma.report(runs, qrels, aspects=SCALES, path=tmp_path / "report.html")
    report = ma.report(runs, qrels, aspects=SCALES, progress=False)
    with pytest.raises(ImportError, match=r"pt-multiaspect\[report\]"):
        report.to_html()


def test_what_is_printed_and_shown(report):
    assert repr(report) == "<Report: 5 systems, 6 topics, 7 measures>"
    assert max(map(len, str(report).splitlines())) <= 80
    shown = report._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)" in shown


# -- the command
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_writes_the_page(cli, trec_files):
    pytest.importorskip("vl_convert")
    measures = {"TOMA": "TOMA(gate='relevance')@5", "ESL": "ESL(wanted=1)"}
    given = [f"{alias}={measure}" for alias, measure in measures.items()]
    options = ["-m", *given, "--aspects", "scales.json", "--baseline", "runs/beta.run"]
    code, out, err = cli("report", *options, "--title", "Ours", "-o", "ours.html", "runs")
    assert (code, out, err) == (0, "", "pt-multiaspect: wrote ours.html\n")
    page = Page((trec_files / "ours.html").read_text(encoding="utf-8"))
    scales = ma.Aspects.from_file(trec_files / "scales.json")
    runs = {path.stem: path for path in sorted((trec_files / "runs").iterdir())}
    qrels = ma.read_qrels({name: trec_files / f"{name}.txt" for name in scales})
    report = ma.report(
        runs, qrels, measures, aspects=scales, baseline="beta", title="Ours", progress=False
    )
    assert page.data == Page(report.to_html()).data
    assert page.data["runs"][page.data["baseline"]] == "beta"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "report.pdf"], "expected a file that ends in .html, .htm, got report.pdf"),
        ([], "missing --output: give the file to write"),
        (["-o", "r.html", "--baseline", "none"], "--baseline: expected one of the runs"),
        (
            ["-o", "r.html", "--aspects", '{"relevance": 2, "x": 1}'],
            "--aspects declares x, but the qrels have",
        ),
    ],
)
def test_errors_of_the_command(cli, options, message):
    code, out, err = cli("report", *options, "runs")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_plain_measures_warn_if_lower_labels_are_better() -> None:
    qrels = {qid: {"d1": {"relevance": 0}, "d2": {"relevance": 1}} for qid in ("q1", "q2")}
    runs = {
        name: {qid: {docno: 1.0} for qid in qrels} for name, docno in {"a": "d1", "b": "d2"}.items()
    }
    scales = {"relevance": ma.Aspect([0, 1], greater_is_better=False)}
    with pytest.warns(ma.MultiAspectWarning, match=r"AP: .*labels of relevance"):
        ma.report(runs, qrels, ["AP"], aspects=scales, progress=False)


@pytest.mark.slow
def test_text_does_not_speak_of_bold_values() -> None:
    """The meaning of marks is stated where they are shown, not in text."""
    runs, qrels = world(("one", "other"))
    report = ma.report(runs, qrels, "TOMA@5", aspects=SCALES, progress=False)
    assert "in bold" in report._repr_html_()
    assert "bold" not in str(report)
