"""Reports: what the page contains equals what the package computes, and nothing in it is run or fetched."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import itertools
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


def classes_of_values(page: Page, n_columns: int) -> np.ndarray:
    """The class (best, second or None) of each value in the table of systems, a row per system.

    A cell (td) has a span with the value, one with its mark, and the interval.
    """
    begin = page.elements.index(("table", {"id": "table"}))
    end = begin + [tag for tag, _ in page.elements[begin:]].index("tbody")
    after_head = page.elements[end:]
    classes = []
    for (tag, _), (_, attributes_of_value) in itertools.pairwise(after_head):
        if tag == "td":
            classes.append(attributes_of_value.get("class"))
    n_values = len(SYSTEMS) * n_columns
    return np.array(classes[:n_values], dtype=object).reshape(len(SYSTEMS), n_columns)


def test_the_best_values_are_those_of_each_direction(page, perquery):
    """The lowest mean of ESL is best, and the highest of all other measures."""
    means = ma.aggregate(perquery).set_index("name")
    classes = classes_of_values(page, len(means.columns))
    for column, label in enumerate(means):
        best = means[label].min() if label == "ESL" else means[label].max()
        is_best = (means[label] == best).tolist()
        assert (classes[:, column] == "best").tolist() == is_best


@pytest.mark.parametrize("baseline", SYSTEMS)
def test_p_values_and_verdicts_are_those_of_each_baseline(page, perquery, baseline):
    """The verdict on a system is + or - if it is significantly better or worse than the baseline, else a dot."""
    labels = [measure["label"] for measure in page.data["measures"]]
    p_values = page.data["tests"]["p"]
    verdicts = page.data["tests"]["verdicts"]
    against = SYSTEMS.index(baseline)

    for row in compare_with_baseline(perquery, baseline).itertuples():
        measure = labels.index(row.measure)
        system = SYSTEMS.index(row.name)
        assert p_values[measure][against][system] == pytest.approx(row.p, rel=1e-5)

        is_better = row.difference < 0 if row.measure == "ESL" else row.difference > 0
        if not row.significant:
            expected = "."
        elif is_better:
            expected = "+"
        else:
            expected = "-"
        assert verdicts[measure][against][system] == expected


@pytest.mark.parametrize(
    ("baseline", "verdict"),
    [
        pytest.param("bm25", "+", id="some system is better than the worst"),
        pytest.param("dense", "-", id="some system is worse than the best"),
    ],
)
def test_some_verdicts_are_not_dots(page, baseline, verdict):
    against = SYSTEMS.index(baseline)
    found = "".join("".join(of_measure[against]) for of_measure in page.data["tests"]["verdicts"])
    assert verdict in found


def test_comparisons_with_every_baseline_at_once(report):
    parts = [compare_with_baseline(report.perquery, name) for name in SYSTEMS]
    keys = ["measure", "baseline", "name"]
    expected = pd.concat(parts).sort_values(keys, ignore_index=True)
    expected = expected.drop(columns=["low", "high", "wins", "losses", "ties"])
    pd.testing.assert_frame_equal(report.comparisons.sort_values(keys, ignore_index=True), expected)
    power = discriminative_power(report.perquery, "t")
    pd.testing.assert_frame_equal(report.power.table, power.table)


def test_correlations_are_shown_in_two_decimals(page, report, perquery):
    expected = correlation(perquery)
    pd.testing.assert_frame_equal(report.correlations, expected)
    _head, *rows = page.tables["matrix"]
    shown = [[float(cell.replace("−", "-")) for cell in row[1:]] for row in rows]
    np.testing.assert_allclose(shown, expected, atol=0.0051)


def test_discriminative_power_is_shown_in_four_decimals(page, perquery):
    power = discriminative_power(perquery, "t", alpha=0.05).table["power"]
    # Tables without an id are collected under "": this one is below its head.
    rows = page.tables[""]
    (head,) = [row for row in rows if "Required difference" in row]
    begin = rows.index(head) + 1
    rows_of_power = rows[begin : begin + len(power)]
    shown = [row[head.index("Fraction")].strip() for row in rows_of_power]
    assert shown == [f"{value:.4f}" for value in power]


# -- rankings
# ------------------------------------------------------------------------------------------------


@pytest.mark.every(6)
@pytest.mark.parametrize("label", MEASURES)
def test_contributions_and_labels_are_those_of_explanations(page, label):
    """The data of the page have what `explain` says of the first 10 ranks: three systems, three topics."""
    data = page.data
    runs, qrels = world()
    index = [measure["label"] for measure in data["measures"]].index(label)
    of_measure = data["contributions"][index]
    assert "explained" not in of_measure
    unit = 10.0 ** -of_measure["decimals"]  # contributions are stored as multiples of it
    assert data["depth"] == 10

    for run, name in enumerate(SYSTEMS[:3]):
        for topic, query in enumerate(data["topics"][:3]):
            explanation = ma.explain(
                MEASURES[label], {name: runs[name]}, qrels, data["queries"][query]
            )
            top = explanation.ranks.head(10)

            # Documents are stored by their positions in the list of the topic's documents.
            positions = data["ranks"][run][topic]
            docnos = [data["documents"][topic][position] for position in positions]
            assert docnos == top["docno"].tolist()

            # Zeros at the end are not stored.
            stored = of_measure["ranks"][run][topic]
            contributions = np.zeros(10)
            contributions[: len(stored[:10])] = stored[:10]
            np.testing.assert_allclose(
                contributions * unit, top["contribution"], atol=0.5001 * unit
            )

            for aspect, column in enumerate(explanation.labels):
                labels = [data["labels"][aspect][topic][position] for position in positions]
                np.testing.assert_array_equal(np.array(labels, dtype=float), top[column])

            offset = of_measure["offset"][run][topic] if "offset" in of_measure else 0
            assert offset == pytest.approx(explanation.offset)


def contributions_of_one_topic(runs, qrels, measure):
    """The contributions to a measure in the data of a report, and its value, of one run on one topic."""
    (value,) = ma.evaluate(runs, qrels, {"it": measure}, progress=False)["value"]
    values = np.array([[[value]]])  # measures, systems, topics
    depth = 10
    data = rankings_payload(runs, ma.Judgments(qrels), None, {"it": measure}, values, depth)
    return data["contributions"][0], value


@pytest.mark.parametrize(
    ("base", "gain", "tolerance"),
    [
        pytest.param(ma.DCG, 1e5, 1e-9, id="large"),
        pytest.param(ma.CG, 1e14, 1e-9, id="larger"),
        pytest.param(ma.CG, 1e30, 1e-9, id="huge"),
        pytest.param(ma.DCG, 1e-7, 1e-3, id="small"),  # stored with four digits
    ],
)
def test_contributions_sum_to_the_value_as_it_is_shown(base, gain, tolerance):
    """Contributions are stored as multiples of a power of ten that fits the values of the measure.

    The integers stay below 2⁵³, up to which the numbers of scripts are exact.
    """
    qrels = {
        "q": {
            "d0": {"relevance": 1},
            "d1": {"relevance": 0},
            "d2": {"relevance": 0},
            "d3": {"relevance": 1},
            "d4": {"relevance": 1},
            "d5": {"relevance": 0},
        }
    }
    run = {"q": {"d0": 6.0, "d1": 5.0, "d2": 4.0, "d3": 3.0, "d4": 2.0, "d5": 1.0}}
    scales = {"relevance": ma.Aspect([0, 1], gains=[0, gain])}
    measure = ma.On(base=base, aspects=scales)

    of_measure, value = contributions_of_one_topic({"run": run}, qrels, measure)

    stored = of_measure["ranks"][0][0]  # of the one run and topic
    assert len(stored) <= 5  # the relevant document at rank 5 is the last that contributes
    assert all(abs(number) < 2**53 for number in stored)
    unit = 10.0 ** -of_measure["decimals"]
    offset = of_measure["offset"][0][0] if "offset" in of_measure else 0
    total = np.array(stored, dtype=float).sum() * unit + offset
    assert total == pytest.approx(value, rel=tolerance, abs=0)


def test_ties_that_ir_measures_breaks_differently_are_said():
    """ir-measures ranks a before b for RR, this package b before a, as documents with equal scores are by docno.

    So the ranking in the page does not explain the value of RR: its contributions are marked.
    """
    qrels = {"q": {"a": {"relevance": 1}, "b": {"relevance": 0}}}
    runs = {"tied": {"q": {"a": 1.0, "b": 1.0}}}
    measures = {"RR@1": ir_measures.RR @ 1, "ERR@5": ir_measures.ERR @ 5}
    values = np.array([[[1.0]], [[0.25]]])  # of ir-measures: measures, systems, topics

    data = rankings_payload(runs, ma.Judgments(qrels), None, measures, values, 10)

    # The ranking: positions in the list of the topic's documents, for one run and one topic.
    assert data["documents"] == [["b", "a"]]
    assert data["ranks"] == [[[0, 1]]]
    run, topic, explained_value = 0, 0, 0.0
    rr, err = data["contributions"]
    assert rr["explained"] == [[run, topic, explained_value]]
    assert "uses 4 as the highest grade" in err


def test_wrong_contributions_of_a_measure_are_said_and_not_shown():
    """A user's measure whose contributions do not sum to its value gets a sentence instead of contributions."""

    class _Wrong(ma.LinearMeasure):
        """A sum of gains, whose stated contributions are twice as large."""

        SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}

        def linear(self, target):
            return ma.forms.Linear(target, target.gain, ma.forms.Flat(), depth=self.cutoff)

        def breakdown(self, ranking, target):
            right = super().breakdown(ranking, target)
            return dataclasses.replace(right, contribution=2 * right.contribution)

    runs = {"run": {"q": {"a": 1.0}}}
    qrels = {"q": {"a": {"relevance": 1}}}
    values = np.array([[[1.0]]])  # measures, systems, topics
    measure = ma.register(_Wrong)
    try:
        data = rankings_payload(runs, ma.Judgments(qrels), None, {"wrong": measure}, values, 10)
    finally:
        ir_measures.measures.registry.pop(measure.NAME)
    (of_wrong,) = data["contributions"]
    assert "sum to 2 for topic q, expected its value, 1" in of_wrong


@pytest.mark.parametrize(
    ("n_measures", "n_systems", "n_topics"),
    [(10, 50, 50), (20, 100, 250), (3, 5, 10), (400, 1000, 1)],
)
def test_the_extent_is_bounded(n_measures, n_systems, n_topics):
    """Of large experiments a page has fewer ranks, then fewer topics: those on which systems differ."""
    values = np.random.default_rng(0).random((n_measures, n_systems, n_topics))
    values[:, :, 0] = 0.5  # the systems do not differ on the first topic

    depth, topics = choose_extent(values, 10)

    n_contributions = n_measures * n_systems * len(topics) * depth
    one_topic_at_depth_5 = n_measures * n_systems * 5
    assert n_contributions <= max(payload.MOST_CONTRIBUTIONS, one_topic_at_depth_5)
    assert 5 <= depth <= 10
    if len(topics) < n_topics:
        assert depth == 5
        assert 0 not in topics


def test_the_extent_of_some_experiments():
    rng = np.random.default_rng(0)
    measures_systems_topics = (10, 50, 50)
    depth, _ = choose_extent(rng.random(measures_systems_topics), 10)
    assert depth == 10  # all ranks

    measures_systems_topics = (20, 100, 250)
    _, topics = choose_extent(rng.random(measures_systems_topics), 10)
    assert len(topics) == 40

    depth, _ = choose_extent(rng.random((2, 2, 2)), 3)
    assert depth == 3  # as asked for, although less than 5


@pytest.mark.slow
def test_topics_that_are_left_out_are_said(monkeypatch):
    """The limit leaves room for four of six topics."""
    pytest.importorskip("vl_convert")
    n_systems, n_measures, depth, n_topics = 5, 3, 5, 4  # TOMA@5, and nDCG@10 of both aspects
    monkeypatch.setattr(payload, "MOST_CONTRIBUTIONS", n_systems * n_measures * depth * n_topics)
    runs, qrels = world()

    page = Page(ma.report(runs, qrels, "TOMA@5", aspects=SCALES, progress=False).to_html())

    assert len(page.data["topics"]) == n_topics
    rankings_of_first_system = page.data["ranks"][0]
    assert len(rankings_of_first_system) == n_topics
    assert "The first 5 ranks of each ranking are in this page, for the 4 of 6 topics" in page.text


# -- names and networks
# --------------------------------------------------------------------------------------


def test_names_are_texts_everywhere(page):
    """Names of systems, topics, documents and the title contain HTML, none of which becomes an element."""
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 3  # those of the page itself: data, charts, behaviour
    tags_of_names = {"img", "i", "u", "b"}
    other_dangerous_tags = {"iframe", "object", "link", "base", "form"}
    assert not set(tags) & (tags_of_names | other_dangerous_tags)
    attributes = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in attributes if name.startswith("on")]  # such as onerror

    # The data: no sign within it can end the script.
    data_script = page.scripts[0]
    assert "<" not in data_script
    assert data_script.isascii()

    # Readers see the names as they are.
    assert page.data["runs"] == list(SYSTEMS)
    qid, docno, title = "q0<i>", "d0-0</td>", "<u>R</u> & co"
    for name in (*SYSTEMS, qid, docno, title):
        assert name in page.text or name in str(page.data)
    _head, *rows = page.tables["table"]
    assert [row[0] for row in rows] == list(SYSTEMS)


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
    ("aspects", "head", "threshold"),
    [
        pytest.param(
            {"relevance": 2, "<b>cred": ma.Aspect(3, threshold=2)},
            "Label scales",
            2,
            id="declared scales",
        ),
        pytest.param(
            ma.Aspects({"relevance": 2, "<b>cred": ma.Aspect(3, threshold=2)}, name="page_1"),
            "page_1",
            2,
            id="scales with a name",
        ),
        pytest.param(
            None,
            "Label scales (inferred from the judgments: relevance, <b>cred)",
            1,
            id="inferred scales",
        ),
    ],
)
def test_definitions_print_the_scales(aspects, head, threshold):
    """Names of scales, or measures on inferred scales, do not tell what was computed: the page does, once each.

    `page.text` has no blanks between elements.
    """
    pytest.importorskip("vl_convert")
    runs, qrels = world(n_topics=2)
    other = ma.Aspects({"relevance": ma.Aspect(2, threshold=2)}, name="page_2")
    measures = [ma.TOMA @ 5, ma.MM(base="P", aspects=other) @ 5]
    expected_warning = contextlib.nullcontext()
    if aspects is None:
        expected_warning = pytest.warns(MultiAspectWarning, match="inferred")
    with expected_warning:
        report = ma.report(runs, qrels, measures, aspects=aspects, progress=False)

    definitions = Page(report.to_html()).text.split("Definitions")[-1]

    relevance = "relevance" + "0, 1, 2 (positive from 1)"
    credibility = "<b>cred" + f"0, 1, 2, 3 (positive from {threshold})"
    assert definitions.count(head + relevance + credibility) == 1
    assert definitions.count("page_2" + "relevance" + "0, 1, 2 (positive from 2)") == 1
    assert definitions.count("on the scales “page_2”") == 1
    assert definitions.count("positive from") == 3


def test_nothing_is_fetched_and_only_two_scripts_may_run(page):
    """Links lead to places of the page; its policy allows the two scripts of the page by their digests."""
    links = []
    for _, attributes in page.elements:
        links += [attributes[name] for name in ("src", "href", "action") if name in attributes]
    assert links
    assert all(link.startswith("#") for link in links)

    (policy,) = [
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and "http-equiv" in attributes
    ]
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy

    _data, *scripts_that_run = page.scripts  # the data are JSON
    digests = []
    for script in scripts_that_run:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        digests.append(f"'sha256-{digest}'")
    (allowed,) = re.findall(r"script-src ([^;]*)", policy)
    assert allowed == " ".join(digests)


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
def test_default_measures_of_several_aspects():
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other"), n_topics=2)
    report = ma.report(runs, qrels, aspects=SCALES, progress=False)
    assert report.labels == [
        "TOMA-gated@10",  # by relevance, the first aspect
        "CAM@10",
        "MM@10",
        "nDCG@10 relevance",
        "nDCG@10 <b>cred",
    ]
    assert "weights" in report.robustness.left_out

    # No gate without an aspect that is called relevance.
    judged_use = qrels.rename(columns={"label": "<i>use"})
    scales = {"<i>use": SCALES["relevance"], "<b>cred": SCALES["<b>cred"]}
    report = ma.report(runs, judged_use, aspects=scales, progress=False)
    assert report.labels[0] == "TOMA@10"


@pytest.mark.slow
def test_default_measures_of_one_aspect():
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other"), n_topics=2)
    with pytest.warns(MultiAspectWarning, match="aspects does not declare <b>cred"):
        report = ma.report(runs, qrels, aspects={"relevance": 2}, progress=False)
    assert report.labels == ["AP", "RR", "nDCG@10 relevance"]
    assert "aspects" in report.robustness.left_out


@pytest.mark.slow
def test_a_report_of_one_system_has_no_comparisons(tmp_path):
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other"), n_topics=2)
    path = tmp_path / "alone.html"
    report = ma.report({"one": runs["one"]}, qrels, aspects=SCALES, progress=False, path=path)
    assert report.comparisons is None
    assert report.correlations is None
    assert report.power is None
    page = Page(path.read_text(encoding="utf-8"))
    assert page.data["tests"] is None
    assert "require at least two systems" in page.text


@pytest.mark.slow
def test_a_report_of_one_topic_has_no_intervals_and_comparisons():
    pytest.importorskip("vl_convert")
    runs, qrels = world(("one", "other"), n_topics=2)
    one_topic = qrels[qrels["qid"] == "q0<i>"]
    report = ma.report(runs, one_topic, aspects=SCALES, progress=False)
    assert report.comparisons is None
    page = Page(report.to_html())
    assert page.data["ends"] == [None] * len(report.labels)
    message = "Intervals, tests, correlations and discriminative power require at least two topics."
    assert message in page.text


@pytest.mark.slow
def test_the_same_measure_of_relevance_is_listed_once():
    """A report adds nDCG@10 of each aspect, unless a given measure is the same by any other label."""
    runs, qrels = world(("one", "other"), n_topics=2)

    report = ma.report(runs, qrels, ["nDCG@10", "TOMA@5"], aspects=SCALES, progress=False)
    assert report.labels == ["nDCG@10", "TOMA@5", "nDCG@10 <b>cred"]
    assert report.aspects == {"relevance": "nDCG@10", "<b>cred": "nDCG@10 <b>cred"}

    measures = {"mine": ma.On(aspect="<b>cred", base="nDCG@10", aspects=SCALES)}
    report = ma.report(runs, qrels, measures, aspects=SCALES, progress=False)
    assert report.labels == ["mine", "nDCG@10 relevance"]


@pytest.mark.slow
def test_a_measure_of_other_gains_is_not_that_of_relevance():
    """nDCG@10 reads the labels, that of the aspect the declared gains: both are listed, with a warning."""
    runs, qrels = world(("one", "other"), n_topics=2)
    scales = ma.Aspects({"relevance": ma.Aspect(2, gains=[0, 1, 9]), "<b>cred": 3})
    with pytest.warns(MultiAspectWarning, match="labels of relevance"):
        report = ma.report(runs, qrels, ["nDCG@10"], aspects=scales, progress=False)
    assert report.labels == ["nDCG@10", "nDCG@10 relevance", "nDCG@10 <b>cred"]


@pytest.mark.slow
def test_aspects_may_be_names_and_runs_iterators():
    runs, qrels = world(("one", "other"), n_topics=2)
    columns = ["query_id", "doc_id", "score"]
    iterators = {
        name: run.set_axis(columns, axis=1).itertuples(index=False) for name, run in runs.items()
    }
    aspects = ["<b>cred"]

    with pytest.warns(MultiAspectWarning, match=r"depends on.*scales"):
        report = ma.report(iterators, qrels, ["TOMA@5", "AP"], aspects=aspects, progress=False)

    assert list(report.aspects) == aspects
    with pytest.warns(MultiAspectWarning, match=r"depends on.*scales"):
        perquery = ma.evaluate(runs, qrels, {"it": ma.TOMA(aspects=aspects) @ 5}, progress=False)
    assert report.systems["TOMA@5"].tolist() == ma.aggregate(perquery)["it"].tolist()


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
