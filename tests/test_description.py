"""`describe`: what it counts, what it finds odd and what not, and how it looks."""

from __future__ import annotations

import ast
import itertools
import re
import statistics
import warnings
from collections import namedtuple
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shared_data import shared_path
from spoilt import SPOILINGS, Spoiling, run_of, sound

import pt_multiaspect as ma
from pt_multiaspect import Aspect, Aspects, MultiAspectError, MultiAspectWarning
from pt_multiaspect.datasets import load_health
from pt_multiaspect.description import Description, rules
from pt_multiaspect.description.alike import mending_calls, simplify, simplify_all
from pt_multiaspect.description.between import Cells, association, kendall
from pt_multiaspect.description.statistics import declaration
from pt_multiaspect.errors import messages_for_shell

NAN = float("nan")


def texts(description: Description) -> list[str]:
    return description.findings["finding"].tolist()


def findings_about(description: Description, says: str) -> pd.DataFrame:
    findings = description.findings
    return findings[findings["finding"].str.contains(says, regex=False)]


def label_every(qrels: pd.DataFrame, step: int, column: str, label: float) -> pd.DataFrame:
    """Return the qrels with this label in the column of the first row and each `step`-th after it."""
    is_replaced = np.arange(len(qrels)) % step == 0
    return qrels.assign(**{column: qrels[column].mask(is_replaced, label)})


def small(**labels: list[float]) -> pd.DataFrame:
    """Qrels of one topic per ten documents."""
    size = len(next(iter(labels.values())))
    ids = {
        "qid": [f"q{at // 10}" for at in range(size)],
        "docno": [f"d{at:04}x" for at in range(size)],
    }
    return pd.DataFrame({**ids, **labels})


# --- what is counted ----------------------------------------------------------------------


def test_figures_of_an_aspect() -> None:
    qrels = pd.DataFrame(
        [
            ["q1", "a", 0, 5],
            ["q1", "b", 1, NAN],
            ["q1", "c", -1, 3],  # -1 is below the scale of relevance
            ["q2", "d", 2, NAN],
            ["q3", "e", 0, 9],  # 9 is not on the scale of trust
        ],
        columns=["qid", "docno", "label", "trust"],
    )
    aspects = {"relevance": 2, "trust": Aspect([1, 3, 5], threshold=5)}
    description = ma.describe(qrels, aspects)
    assert (description.n_documents, description.n_topics) == (5, 3)
    relevance, trust = description.per_aspect.to_dict("records")
    # A label below the scale is judged (as the lowest grade) and counts as a distinct label.
    assert relevance == {
        "aspect": "relevance", "scale": "declared", "grades": "0, 1, 2", "threshold": 1,
        "judged": 5, "missing": 0, "below_scale": 1, "out_of_scale": 0,
        "distinct": 4,  # -1, 0, 1, 2
        "topics": 3,
        "positive": 2 / 5,  # b and d
        "topics_without_positive": 1,  # q3
    }  # fmt: skip
    # A label that is not on the scale is neither judged nor missing.
    assert trust == {
        "aspect": "trust", "scale": "declared", "grades": "1, 3, 5", "threshold": 5,
        "judged": 2, "missing": 2, "below_scale": 0, "out_of_scale": 1,
        "distinct": 2,  # 3, 5
        "topics": 1,  # q1
        "positive": 1 / 2,  # a, but not c
        "topics_without_positive": 2,  # q2, q3
    }  # fmt: skip


def test_counts_of_labels() -> None:
    """Each grade has a row, also one without documents; other labels say what they are."""
    qrels = pd.DataFrame(
        {
            "qid": ["q1", "q1", "q1", "q2", "q3"],
            "docno": [*"abcde"],
            "label": [0, 1, -1, 2, 0],
            "trust": [5, NAN, 3, NAN, 9],
        }
    )
    description = ma.describe(qrels, {"relevance": 2, "trust": Aspect([1, 3, 5], threshold=5)})
    counts = description.labels[["aspect", "label", "kind", "count", "share"]]
    assert counts.to_numpy(dtype=object).tolist() == [
        ["relevance", -1.0, "below the scale", 1, 0.2],
        ["relevance", 0.0, "grade", 2, 0.4],
        ["relevance", 1.0, "grade", 1, 0.2],
        ["relevance", 2.0, "grade", 1, 0.2],
        ["trust", 1.0, "grade", 0, 0.0],
        ["trust", 3.0, "grade", 1, 1 / 3],
        ["trust", 5.0, "grade", 1, 1 / 3],
        ["trust", 9.0, "out of scale", 1, 1 / 3],
    ]


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 6)), max_size=60),
    stretch=st.sampled_from([1, 70_000]),
)
def test_kendall_is_that_of_scipy_in_each_group(
    rows: list[tuple[int, int, int]], stretch: int
) -> None:
    from scipy.stats import kendalltau

    group, x, y = np.array(rows, dtype=np.intp).reshape(-1, 3).T
    # Stretched codes make tables too large to be counted without sorting.
    ours = kendall(Cells.count(group, x * stretch, y, 4))
    turned = kendall(Cells.count(group, x * stretch, y, 4).transpose())
    for at in range(4):
        inside = group == at
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy's, of groups of fewer than two elements
            expected = kendalltau(x[inside], y[inside]).statistic if inside.sum() > 1 else NAN
        np.testing.assert_allclose(ours[at], expected, atol=1e-12, equal_nan=True)
        np.testing.assert_allclose(turned[at], expected, atol=1e-12, equal_nan=True)


def test_tau_of_a_pair_of_aspects_is_the_mean_over_topics_with_its_standard_error() -> None:
    qrels = pd.DataFrame(
        {
            "qid": ["q1", "q1", "q1", "q2", "q2", "q2", "q3", "q3", "q3"],
            "docno": [*"abc"] * 3,
            "relevance": [0, 1, 2, 0, 1, 2, 0, 1, 2],
            "trust": [0, 1, 2, 0, 2, 1, 2, 1, 0],
        }
    )
    # q1 has 3 concordant pairs of documents, q2 has 2 and 1 discordant pair, q3 has 3 discordant.
    taus = [3 / 3, (2 - 1) / 3, -3 / 3]
    row = ma.describe(qrels).between.iloc[0]
    assert row["topics"] == 3
    assert row["tau"] == pytest.approx(statistics.fmean(taus))
    assert row["tau_error"] == pytest.approx(statistics.stdev(taus) / 3**0.5)


def test_tau_of_one_topic_has_no_standard_error() -> None:
    qrels = pd.DataFrame(
        {"qid": "q1", "docno": [*"abc"], "relevance": [0, 1, 2], "trust": [0, 1, 2]}
    )
    assert np.isnan(ma.describe(qrels).between["tau_error"].item())


def test_the_error_of_an_association_is_that_of_all_permutations() -> None:
    """The error is the standard deviation of the effect when y is permuted within its groups."""
    group = np.array([0, 0, 0, 0, 1, 1, 1, 2])  # the last by itself
    x = np.array([0, 0, 1, 1, 1, 0, 0, 1])
    y = np.array([0, 1, 1, 3, 2, 0, 2, 2])

    def covariance_and_error(y: np.ndarray) -> tuple[float, float]:
        cells = Cells.count(group, x, y, 3)  # 3 groups
        return association(cells, cells.x.astype(float), cells.y.astype(float))

    effects = []
    for y_of_group_0 in itertools.permutations(y[group == 0]):
        for y_of_group_1 in itertools.permutations(y[group == 1]):
            permuted = np.array([*y_of_group_0, *y_of_group_1, y[-1]])
            covariance_of_permuted, _ = covariance_and_error(permuted)
            effects.append(covariance_of_permuted)
    covariance, error = covariance_and_error(y)
    assert np.mean(effects) == pytest.approx(0, abs=1e-12)
    assert error == pytest.approx(np.std(effects))
    # The sum of products of y and the deviation of x from its mean in the group.
    expected_covariance = 0.0
    for g in (0, 1):
        deviation = x[group == g] - x[group == g].mean()
        expected_covariance += deviation @ y[group == g]
    assert covariance == pytest.approx(expected_covariance)


def test_a_scale_declared_by_its_top_grade_that_starts_at_1_is_a_finding() -> None:
    qrels = small(label=[0, 1, 2, 0, 1] * 6, trust=[1, 3, 1, 2, 1] * 6)
    findings = ma.describe(qrels, {"relevance": 2, "trust": 3}).findings
    (row,) = [row for row in findings.to_dict("records") if "top grade alone" in row["finding"]]
    assert (row["severity"], row["aspects"]) == ("warning", "trust")
    assert "[1, 2, 3]" in row["remedy"]
    for declared in ([0, 1, 2, 3], [1, 2, 3]):
        findings = ma.describe(qrels, {"relevance": 2, "trust": declared}).findings
        assert not findings["finding"].str.contains("top grade alone").any()


def test_shares_in_the_distance() -> None:
    """An aspect's share is the mean of its squared gap to the top over the sum of squared gaps."""
    qrels = small(label=[1, 2, 0, 2], trust=[4, 2, 0, 4])
    shares = ma.describe(qrels, {"relevance": 2, "trust": 4}).distance_shares
    # The gaps to the top (2, 4) are (1, 0), (0, 2), (2, 4) and (0, 0), which is left out.
    gains = shares[shares["order"] == "axes='gains'"]
    np.testing.assert_allclose(
        gains["share"], [(1 + 0 + 4 / 20) / 3, (0 + 1 + 16 / 20) / 3]
    )  # 20 = 2^2 + 4^2
    # With equal axes, the gaps are (1/2, 0), (0, 1/2) and (1, 1).
    equal = shares[shares["order"] == "axes='equal'"]
    np.testing.assert_allclose(equal["share"], [(1 + 0 + 1 / 2) / 3, (0 + 1 + 1 / 2) / 3])
    assert set(shares["documents"]) == {3}


def test_shares_in_the_distance_of_a_measure() -> None:
    """The shares are those in the distance that the measure is given: weights, gate, maximum."""
    qrels = small(label=[1, 2, 0], trust=[4, 2, 4])
    aspects = Aspects({"relevance": 2, "trust": 4})
    measures = {
        "plain": ma.TOMA(aspects=aspects),
        "weighted": ma.TOMA(
            aspects=aspects,
            distance="manhattan",
            axes="gains",
            weights={"relevance": 2, "trust": 1},
        ),
        "top": ma.TOMA(aspects=aspects, distance="chebyshev"),
        "gated": ma.TOMA(aspects=aspects, distance="manhattan", gate="relevance"),
    }
    description = ma.describe(qrels, aspects, measures=measures)
    shares = description.distance_shares.set_index(["order", "aspect"])["share"]
    # The first and the third document lack relevance only, the second lacks trust only.
    assert shares["plain", "relevance"] == pytest.approx((1 + 0 + 1) / 3)
    assert shares["weighted", "relevance"] == pytest.approx((1 + 0 + 1) / 3)
    assert shares["top", "trust"] == pytest.approx((0 + 1 + 0) / 3)
    # The gate gives the third document, which is not relevant, the lowest grade of trust too.
    assert shares["gated", "relevance"] == pytest.approx((1 + 0 + 1 / 2) / 3)


def test_nothing_at_a_distance() -> None:
    shares = ma.describe(
        small(label=[2, 2], trust=[1, 1]), {"relevance": 2, "trust": 1}
    ).distance_shares
    assert shares["share"].isna().all()
    assert set(shares["documents"]) == {0}


def test_contingency() -> None:
    description = ma.describe(small(label=[0, 1, 1, NAN], trust=[2, 2, 0, 0]))
    table = description.contingency("label", "trust")
    assert table.loc[1.0].tolist() == [1, 1]
    assert table.loc[0.0].tolist() == [0, 1]
    assert table[table.index.isna()].to_numpy().tolist() == [[1, 0]]
    with pytest.raises(MultiAspectError, match=r"\(relevance, trust\), got 'credibility'"):
        description.contingency("relevance", "credibility")


def test_judged_at_k_is_that_of_ir_measures() -> None:
    qrels = sound(n_topics=5)
    judged = run_of(qrels)
    unjudged = judged.assign(docno="u" + judged["docno"])
    run = pd.concat([judged, unjudged])
    run = run[run["qid"] != "q03"]
    run["score"] = np.random.default_rng(3).permutation(len(run)) + 0.0
    description = ma.describe(qrels, runs={"mine": run})
    # ir-measures counts topics without results as 0, `describe` leaves them out.
    retrieved_topics = qrels[qrels["qid"] != "q03"]
    measures = [ir_measures.Judged @ cutoff for cutoff in (5, 10, 20)]
    values = ir_measures.calc_aggregate(
        measures,
        retrieved_topics.rename(
            columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"}
        ),
        run.rename(columns={"qid": "query_id", "docno": "doc_id"}),
    )
    for _, row in description.judged_at.iterrows():
        for measure in measures:
            assert row[f"judged@{measure['cutoff']}"] == pytest.approx(values[measure])


def test_judged_at_k_counts_topics_with_one_retrieved_document() -> None:
    runs = {"mine": {"q1": {"d1": 1.0}, "q2": {"d1": 2.0, "new": 1.0}}}
    description = ma.describe({qid: {"d1": 1, "d2": 0} for qid in ("q1", "q2")}, runs=runs)
    assert description.judged_at["judged@5"].tolist() == [(1 + 1 / 2) / 2]


def test_figures_of_runs() -> None:
    qrels = sound(n_topics=4)  # q01 to q04, 40 documents each
    run = run_of(qrels)
    run = run[run["qid"] != "q02"]
    repeated = run.head(3).assign(score=1e6)
    of_unjudged_topic = run.head(5).assign(qid="q77")
    run = pd.concat([run, repeated, of_unjudged_topic])
    run.loc[run["qid"] == "q04", "score"] = 3.0
    (row,) = ma.describe(qrels, runs={"mine": run}).runs.to_dict("records")
    assert row == {
        "name": "mine",
        "topics": 3,
        "missed": 1,  # q02
        "unjudged_topics": 1,  # q77
        "documents": 120,  # of the three topics, each document once
        "repeated": 3,
        "tied": (40 + 3) / 120,  # those of q04, and the repeated ones, whose last score counts
    }


# --- what is accepted ---------------------------------------------------------------------


def test_everything_that_evaluation_accepts(tmp_path: Path) -> None:
    qrels = sound(n_topics=3)
    frame = ma.describe(qrels)
    Row = namedtuple("Row", ["query_id", "doc_id", "relevance", "understandability", "trust"])
    rows = [Row(*row) for row in qrels.itertuples(index=False, name=None)]
    nested: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        nested.setdefault(row.query_id, {})[row.doc_id] = dict(
            zip(Row._fields[2:], row[2:], strict=True)
        )
    for form in (rows, nested, ma.Judgments(qrels)):
        pd.testing.assert_frame_equal(ma.describe(form).per_aspect, frame.per_aspect)
    run = run_of(qrels)
    path = tmp_path / "mine.run"
    path.write_text("".join(f"{r.qid} Q0 {r.docno} 0 {r.score} tag\n" for r in run.itertuples()))
    expected = ma.describe(qrels, runs={"mine.run": run})
    for runs in (path, [str(path)], {"mine.run": path}):
        pd.testing.assert_frame_equal(ma.describe(qrels, runs=runs).judged_at, expected.judged_at)


@pytest.mark.slow
def test_aspects_in_every_form(tmp_path: Path) -> None:
    qrels = sound(n_topics=3)
    aspects = Aspects({"trust": Aspect(4, threshold=3), "relevance": 2}, name="described")
    aspects.to_file(tmp_path / "aspects.json")
    for form in (
        aspects,
        "described",
        tmp_path / "aspects.json",
        str(tmp_path / "aspects.json"),
        aspects.to_json(),
    ):
        description = ma.describe(qrels, form)
        assert description.per_aspect["aspect"].tolist() == ["trust", "relevance"]
        assert description.per_aspect["threshold"].tolist() == [3, 1]
        assert description.aspects.to_json() == aspects.to_json()
    assert ma.describe(qrels, "trust").per_aspect["aspect"].tolist() == ["trust"]
    with pytest.raises(MultiAspectError, match=r"no column.*credibility"):
        ma.describe(qrels, "credibility")


def test_names_for_tuples_of_labels() -> None:
    qrels = {"q1": {"d1": (2, 0), "d2": (1, 3)}}
    description = ma.describe(qrels, {"relevance": 2, "ease": 3})
    assert description.per_aspect["judged"].tolist() == [2, 2]
    off = ma.describe(qrels, {"relevance": 2, "ease": 1})
    assert off.per_aspect["out_of_scale"].tolist() == [0, 1]


def test_it_writes_the_declaration(tmp_path: Path) -> None:
    description = ma.describe(load_health().qrels)
    assert description.aspects == Aspects(load_health().grades)
    description.aspects.to_file(tmp_path / "health.json")
    assert ma.TOMA(aspects=tmp_path / "health.json") == ma.TOMA(aspects=load_health().grades)


@pytest.mark.every(2)
@pytest.mark.parametrize("qrels", [{}, {"q1": {}}, {"q1": {"d1": 1}}, {"q1": {"d1": NAN}}])
def test_almost_nothing_can_be_described(qrels: object) -> None:
    description = ma.describe(
        qrels, runs={"mine": {"q1": {"d1": 1.0}}}, measures=["TOMA@5", "nDCG"]
    )
    assert str(description)
    assert description.to_html()


def test_warnings_are_left_to_evaluation() -> None:
    qrels, run = sound(n_topics=3), run_of(sound(n_topics=3))
    run = pd.concat([run, run])
    ma.describe(qrels, runs=run, measures="TOMA")
    with (
        pytest.warns(MultiAspectWarning, match="repeated documents"),
        pytest.warns(MultiAspectWarning, match="inferred"),
    ):
        ma.evaluate(run, qrels, "TOMA", progress=False)


# --- rules: where they fire and where they must not ---------------------------------------


def test_nothing_is_found_on_the_demo_collection() -> None:
    health = load_health()
    assert texts(ma.describe(health.qrels)) == []
    assert (
        texts(
            ma.describe(
                health.qrels,
                health.grades,
                runs=run_of(health.qrels),
                measures=ma.TOMA(aspects=health.grades) @ 10,
            )
        )
        == []
    )


def test_nothing_is_found_on_a_sound_collection() -> None:
    qrels = sound()
    assert texts(ma.describe(qrels, runs={"mine": run_of(qrels)})) == []


@pytest.mark.every(3)
@pytest.mark.parametrize("spoiling", SPOILINGS, ids=lambda spoiling: spoiling.name)
def test_a_spoilt_collection(spoiling: Spoiling) -> None:
    qrels = sound()
    qrels, run = spoiling.spoil(qrels, run_of(qrels))
    description = ma.describe(qrels, runs={"mine": run})
    findings = findings_about(description, spoiling.says)
    assert findings[["severity", "aspects"]].to_numpy().tolist() == [
        [spoiling.severity, spoiling.aspects]
    ]
    # What is spoilt is the first finding of all.
    assert findings.index[0] == 0, str(description)


NOT_QUITE = {
    "one topic reversed": sound().assign(
        trust=lambda rows: rows["trust"].where(rows["qid"] != "q01", 4 - rows["trust"])
    ),
    "a few labels missing": sound().assign(
        trust=lambda rows: rows["trust"].where(np.arange(len(rows)) % 40 > 0)
    ),
    "judged where relevant only": sound().assign(
        trust=lambda rows: rows["trust"].where(
            (rows["label"] > 0) & (np.arange(len(rows)) % 3 > 0), 0
        )
    ),
    "nearly a copy": sound().assign(
        trust=lambda rows: rows["understandability"].where(
            np.arange(len(rows)) % 5 > 0, rows["trust"]
        )
    ),
    "nearly constant": sound().assign(
        trust=lambda rows: np.where(np.arange(len(rows)) % 10 < 9, 0, rows["trust"])
    ),
    "a rare top grade": sound().assign(
        trust=lambda rows: rows["trust"].clip(upper=3).where(np.arange(len(rows)) % 300 > 0, 4)
    ),
    "junk": sound().assign(
        label=lambda rows: rows["label"].where(np.arange(len(rows)) % 9 > 0, -2)
    ),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("case", NOT_QUITE)
def test_what_is_not_odd_enough(case: str) -> None:
    assert texts(ma.describe(NOT_QUITE[case])) == []


def test_a_reversed_scale_of_few_topics_is_a_note() -> None:
    qrels = sound(n_topics=3, seed=5).assign(trust=lambda rows: 4 - rows["trust"])
    (finding,) = findings_about(ma.describe(qrels), "may be reversed").to_dict("records")
    assert finding["severity"] == "note"


def test_a_reversed_scale_that_is_declared_so_is_none() -> None:
    """A scale of which low labels are good is not odd where `greater_is_better=False` says so."""
    sound_qrels = sound()
    qrels = sound_qrels.assign(trust=4 - sound_qrels["trust"])
    declared = {
        "relevance": None,
        "understandability": None,
        "trust": Aspect(4, greater_is_better=False),
    }
    assert texts(ma.describe(qrels, declared)) == []


@pytest.mark.slow
def test_a_recoded_copy() -> None:
    qrels = sound().assign(
        trust=lambda rows: 2 * rows["understandability"] + 1, other=lambda rows: rows["label"] > 0
    )
    description = ma.describe(qrels, "relevance,understandability,trust")
    (finding,) = findings_about(description, "one may be a recoded copy").to_dict("records")
    assert (finding["severity"], finding["aspects"]) == ("warning", "understandability, trust")
    nearly = ma.describe(
        qrels.assign(trust=qrels["understandability"].clip(1)), "relevance,understandability,trust"
    )
    assert findings_about(nearly, "copy").empty
    assert findings_about(nearly, "rank documents nearly alike")["aspects"].tolist() in (
        [],
        ["understandability, trust"],
    )


def test_equal_labels_of_constant_aspects_are_no_copy() -> None:
    assert findings_about(ma.describe(small(label=[1] * 20, trust=[1] * 20)), "one may be a").empty


def test_equal_labels_of_few_documents_are_no_copy() -> None:
    assert findings_about(ma.describe(small(label=[0, 1, 2, 1], trust=[0, 1, 2, 1])), "same").empty


def test_positives_only_are_a_note() -> None:
    (finding,) = ma.describe(small(label=[1] * 12)).findings.to_dict("records")
    assert (finding["severity"], finding["aspects"]) == ("note", "relevance")
    assert "not relevant are not in the qrels" in finding["finding"]


@pytest.mark.slow
def test_a_code_by_its_distance() -> None:
    """A label far above the others may be a code, however frequent; a declared grade is none."""
    qrels = label_every(sound(), 3, "trust", 20)  # the other labels are 0 to 4
    doubts = findings_about(ma.describe(qrels), "20, may be a code")
    assert doubts["severity"].tolist() == ["warning"]
    declared = {"relevance": 2, "understandability": 3, "trust": [0, 1, 2, 3, 4, 20]}
    assert findings_about(ma.describe(qrels, declared), "no label is between").empty


@pytest.mark.slow
def test_a_code_by_its_independence() -> None:
    qrels = sound(60)
    drawn = np.random.default_rng(7).random(len(qrels)) < 0.15
    coded = qrels.assign(trust=qrels["trust"].where(~drawn, 5))
    (finding,) = findings_about(ma.describe(coded), "may be a code").to_dict("records")
    assert "unrelated to relevance" in finding["finding"]
    # The same label on the best documents is a grade.
    graded = qrels.assign(trust=qrels["trust"].where(~(drawn & (qrels["label"] == 2)), 5))
    assert findings_about(ma.describe(graded), "may be a code").empty


def test_the_highest_label_on_less_relevant_documents_is_a_note() -> None:
    qrels = sound()
    is_fourth = np.arange(len(qrels)) % 4 == 0
    not_relevant = qrels["label"] == 0
    qrels["trust"] = qrels["trust"].mask(not_relevant & is_fourth, 5)  # 4 is the highest elsewhere
    findings = findings_about(ma.describe(qrels), "less relevant than those with 4")
    (finding,) = findings.to_dict("records")
    assert (finding["severity"], finding["aspects"]) == ("note", "trust")


def findings_about_positives(fraction: float, threshold: int) -> pd.DataFrame:
    """Return the findings about the threshold of trust if this fraction of 1000 documents reaches it."""
    is_positive = np.arange(1000) % 200 < round(200 * fraction)
    qrels = small(
        label=(np.arange(1000) % 3).tolist(),
        trust=np.where(is_positive, threshold, threshold - 1).tolist(),
    )
    aspects = {"relevance": 2, "trust": Aspect(2, threshold=threshold)}
    return findings_about(ma.describe(qrels, aspects), "are positive")


@pytest.mark.parametrize(
    ("fraction", "threshold", "percentage"),
    [(0.97, 1, "97%"), (0.85, 1, "85%"), (0.005, 2, "0.5%")],
)
def test_declared_thresholds_of_most_or_few_documents_are_notes(
    fraction: float, threshold: int, percentage: str
) -> None:
    (finding,) = findings_about_positives(fraction, threshold).to_dict("records")
    assert finding["severity"] == "note"
    assert f" ({percentage} of 1000 judged documents are positive" in finding["finding"]


@pytest.mark.parametrize(
    ("fraction", "threshold"),
    [
        (0.845, 1),
        (0.01, 2),
        (0.0, 2),  # all have one label, which is another finding
    ],
)
def test_other_declared_thresholds_are_right(fraction: float, threshold: int) -> None:
    assert findings_about_positives(fraction, threshold).empty


def warning_sentences(qrels: pd.DataFrame, base: str) -> list[str]:
    """Return the warnings of an evaluation, one sentence each."""
    run = qrels[["qid", "docno"]].assign(score=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ma.evaluate(run, qrels, ma.On(base=base, aspect="trust"), progress=False)
    texts = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, MultiAspectWarning)
    ]
    return [text for text in texts if "trust" in text and "depends on" not in text]


def graded(n_positive: int, size: int, grades: tuple[float, ...] = (0, 1, 2)) -> pd.DataFrame:
    """Documents of which so many have grades above the lowest in turn."""
    trust = [
        grades[1 + at % (len(grades) - 1)] if at < n_positive else grades[0] for at in range(size)
    ]
    return small(label=[at % 3 for at in range(size)], trust=trust)


LABEL_RULES = {
    "mostly positive": (graded(85, 100), "the threshold of trust is not declared"),
    "88 % positive": (graded(880, 1000), "the threshold of trust is not declared"),
    "not mostly positive": (graded(84, 100), None),
    "mostly positive, of enough documents": (
        graded(9, 10),
        "the threshold of trust is not declared",
    ),
    "mostly positive, of too few documents": (graded(8, 9), None),
    "rarely positive": (graded(9, 1000), "the threshold of trust is not declared"),
    "half a percent": (graded(5, 1000), "the threshold of trust is not declared"),
    "not rarely positive": (graded(10, 1000), None),
    "rarely positive, of too few documents": (graded(9, 999), None),
    "a long scale": (graded(50, 100, (0, 1, 2, 3, 4, 5)), "the threshold of trust is not declared"),
    "a scale that is not long": (graded(50, 100, (0, 1, 2, 3, 4)), None),
    "no label 0": (graded(50, 100, (1, 2, 3)), "no label of trust is 0"),
    "one label 0": (small(label=[0, 1, 2] * 3, trust=[0] + [1, 2] * 4), None),
    "all alike": (small(label=[0, 1] * 5, trust=[2] * 10), "every judged document has the label 2"),
    "not judged": (small(label=[0, 1] * 5, trust=[NAN] * 10), "all labels of trust are missing"),
    "not judged, of too few documents": (small(label=[0, 1, 0] * 3, trust=[NAN] * 9), None),
    "a fraction below": (
        small(label=[0, 1] * 5, trust=[-0.5, 0, 1, 2, 0] * 2),
        "trust has labels below",
    ),
    "a code below": (small(label=[0, 1] * 5, trust=[-3, 0, 1, 2, 0] * 2), "trust has labels below"),
    "codes of junk": (
        small(label=[0, 1] * 5, trust=[-1, -2, 1, 2, 0] * 2),
        "trust has labels below",
    ),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("case", LABEL_RULES)
def test_evaluation_warns_of_what_is_found(case: str) -> None:
    """What `describe` finds wrong with labels of trust is what an evaluation warns of, in the same words."""
    qrels, expected_beginning = LABEL_RULES[case]
    findings = ma.describe(qrels).findings
    is_serious = findings["severity"].isin(["error", "warning"])
    listed = findings[is_serious & (findings["aspects"] == "trust")]["finding"].tolist()
    warned = warning_sentences(qrels, "AP")
    if expected_beginning is None:
        assert listed == []
        assert warned == []
    else:
        (finding,) = listed
        assert finding.startswith(expected_beginning)
        (warning,) = warned
        first_sentence = warning.split(". ")[0]  # the remedy follows
        assert first_sentence == finding


def test_a_scale_that_starts_at_1() -> None:
    qrels = sound().assign(trust=lambda rows: rows["trust"] + 1)
    (finding,) = ma.describe(qrels).findings.to_dict("records")
    assert finding["finding"].startswith(
        "no label of trust is 0, but the scale is taken as 0, 1, 2, 3, 4, 5"
    )
    assert "ma.Aspect([1, 2, 3, 4, 5])" in finding["remedy"]
    declared = ma.describe(
        qrels, {"relevance": 2, "understandability": 3, "trust": [1, 2, 3, 4, 5]}
    )
    assert texts(declared) == []


def test_fractions_are_printed_as_numbers() -> None:
    description = ma.describe(small(label=[0, 1] * 5, trust=[1 / 3] * 10))
    (finding,) = findings_about(description, "every judged document").to_dict("records")
    assert finding["finding"] == "every judged document has the label 0.3333333333333333"


@pytest.mark.slow
def test_labels_below_the_scale() -> None:
    qrels = label_every(sound(), 50, "trust", -9)
    (finding,) = ma.describe(qrels).findings["finding"]
    assert finding.startswith(
        "trust has labels below its lowest grade 0, which are evaluated as that grade: -9"
    )


@pytest.mark.slow
def test_labels_below_a_declared_scale() -> None:
    """The scale proposed has them as grades, and keeps the threshold."""
    too_high = {
        "relevance": 2,
        "understandability": Aspect([1, 2, 3], threshold=3),  # the labels are 0 to 3
        "trust": 4,
    }
    description = ma.describe(sound(), too_high)
    findings = findings_about(description, "lowest grade 1, which are evaluated as that grade: 0")
    assert findings["aspects"].tolist() == ["understandability"]
    assert description.proposed["understandability"] == Aspect(3, threshold=3)


def test_labels_out_of_scale() -> None:
    description = ma.describe(sound(), {"relevance": 2, "understandability": 3, "trust": [0, 1, 3]})
    (finding,) = findings_about(description, "labels (2, 4) are not on the scale 0, 1, 3").to_dict(
        "records"
    )
    assert (finding["severity"], finding["aspects"]) == ("error", "trust")
    fixed = eval(finding["remedy"], {"ma": ma})
    assert findings_about(ma.describe(sound(), fixed), "not declared grades").empty


def test_labels_that_are_not_probabilities() -> None:
    """Labels that are declared to be probabilities are an error if any is above 1."""
    aspects = {"relevance": 2, "understandability": 3, "trust": Aspect(probabilities="identity")}
    qrels = sound()  # trust has the labels 0 to 4
    halves = qrels.assign(trust=qrels["trust"] / 2)
    (finding,) = findings_about(ma.describe(halves, aspects), " labels, up to 2").to_dict("records")
    assert (finding["severity"], finding["aspects"]) == ("error", "trust")
    quarters = qrels.assign(trust=qrels["trust"] / 4)
    assert findings_about(ma.describe(quarters, aspects), "not probabilities").empty


def test_aspects_without_relevance_are_compared_too() -> None:
    qrels = (
        sound()
        .drop(columns="label")
        .assign(trust=lambda rows: rows["trust"].where(np.arange(len(rows)) % 2 > 0))
    )
    (finding,) = findings_about(ma.describe(qrels), "missing labels count").to_dict("records")
    assert finding["aspects"] == "understandability, trust"


def test_an_aspect_that_is_never_judged() -> None:
    description = ma.describe(sound().assign(trust=np.nan))
    (finding,) = findings_about(description, "all labels of trust are missing").to_dict("records")
    assert (finding["severity"], finding["aspects"]) == ("error", "trust")
    assert list(description.proposed) == ["relevance", "understandability"]


@pytest.mark.slow
def test_columns_that_may_be_no_labels() -> None:
    qrels = sound().assign(timestamp=lambda rows: np.arange(len(rows)) + 0.5)
    assert findings_about(ma.describe(qrels), "unlikely to contain labels")["aspects"].tolist() == [
        "timestamp"
    ]
    assert findings_about(
        ma.describe(qrels, "relevance,timestamp"), "unlikely to contain labels"
    ).empty


def test_topics_without_positives() -> None:
    """They are a finding if more than a fifth of the topics have no positive document on an aspect."""
    qrels = sound(10)  # q01 to q10
    has_none = qrels["qid"].isin(["q01", "q02", "q03"])
    qrels["trust"] = qrels["trust"].mask(has_none, 0)

    def severities_and_aspects(qrels: pd.DataFrame) -> list[list[str]]:
        findings = findings_about(ma.describe(qrels), "without a positive document")
        return findings[["severity", "aspects"]].to_numpy().tolist()

    assert severities_and_aspects(qrels) == [["note", "trust"]]  # 3 of 10 topics
    assert severities_and_aspects(qrels[qrels["qid"] >= "q02"]) == [["note", "trust"]]  # 2 of 9
    assert severities_and_aspects(qrels[qrels["qid"] >= "q03"]) == []  # 1 of 8


def test_a_judged_topic_list_of_another_collection_with_the_same_numbers() -> None:
    qrels = sound()
    run = run_of(qrels).assign(docno=lambda rows: "clueweb-" + rows["docno"])
    (finding,) = ma.describe(qrels, runs={"mine": run}).findings.to_dict("records")
    assert finding["severity"] == "error"
    assert finding["finding"].startswith("less than 1 % of the top 20 of run mine is judged")


def test_missed_topics() -> None:
    qrels = sound()
    run = run_of(qrels)
    assert texts(ma.describe(qrels, runs={"mine": run[run["qid"] > "q03"]})) == []
    (finding,) = ma.describe(qrels, runs={"mine": run[run["qid"] > "q04"]}).findings.to_dict(
        "records"
    )
    assert finding["finding"] == "run mine misses 4 of 30 topics; they count as empty rankings"


def test_repeated_documents() -> None:
    qrels = sound()
    run = run_of(qrels)
    repeated = pd.concat([run, run.head(2)])
    assert texts(ma.describe(qrels, runs={"mine": repeated})) == [
        "run mine has 2 documents more than once for a topic; the last score counts"
    ]


def test_tied_documents_are_a_note() -> None:
    qrels = sound()
    run = run_of(qrels)  # 1200 different scores
    tied = run.assign(score=run["score"] // 300)  # 4 different scores
    (finding,) = ma.describe(qrels, runs={"mine": tied}).findings.to_dict("records")
    assert "of the documents of run mine have tied" in finding["finding"]
    assert finding["severity"] == "note"


def test_sparse_judgments_at_the_top() -> None:
    qrels = sound()
    is_relevant = qrels["label"] > 0
    qrels["trust"] = qrels["trust"].where(is_relevant)  # judged on relevant documents only
    run = run_of(qrels)
    run["score"] = run["score"] - 10_000 * qrels["label"]  # these are at the end of the ranking
    findings = findings_about(
        ma.describe(qrels, runs={"mine": run}), "few documents of a run's top 10 are judged"
    )
    (finding,) = findings.to_dict("records")
    assert (finding["severity"], finding["aspects"]) == ("warning", "trust")


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("judged", "run", "call"),
    [
        ("7", "007", r"^(\D*)0+(?=\d)"),
        ("topic7", "topic07", r"^(\D*)0+(?=\d)"),
        ("7", "7.0", r"\.0+$"),
        ("A1", "a1", "casefold"),
        ("7", " 7", r"\s+"),
        ("7", "\u00a07\u200b", "NFKC"),
    ],
)
def test_query_ids_that_look_alike(judged: str, run: str, call: str) -> None:
    qrels = {judged: {"d1": 1, "d2": 0}, "other": {"d1": 1, "d2": 0}}
    runs = {"mine": {run: {"d1": 1.0}, "other": {"d1": 1.0}}}
    findings = findings_about(ma.describe(qrels, runs=runs), "query ids that look like")
    assert findings["severity"].tolist() == ["error"]
    assert call in findings["remedy"].iloc[0]
    assert findings_about(
        ma.describe(qrels, runs={"mine": {judged: {"d1": 1.0}}}), "look like"
    ).empty
    assert findings_about(
        ma.describe(qrels, runs={"mine": {"x" + run: {"d1": 1.0}}}), "look like"
    ).empty


def test_the_first_document_of_a_run_may_look_like_a_judged_one() -> None:
    runs = {"mine": {"7": {"D1": 2.0, "x": 1.0}}}
    (finding,) = findings_about(
        ma.describe({"7": {"d1": 1, "d2": 0}}, runs=runs), "look like"
    ).to_dict("records")
    assert "D1" in finding["finding"]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("d1", "d1 "),
        ("D1", "d1"),
        ("d01", "d1"),
        ("1.0", "1"),
        ("0", "00"),
        (" D01", "d1"),
        ("1.0", "001"),
    ],
)
def test_documents_of_the_qrels_that_look_alike(first: str, second: str) -> None:
    qrels = pd.DataFrame({"qid": "1", "docno": [first, second, "x", "y"], "label": [1, 0, 1, 0]})
    (finding,) = findings_about(ma.describe(qrels), "document ids that look like").to_dict(
        "records"
    )
    assert finding["severity"] == "warning"
    mended: dict[str, Any] = {"qrels": qrels.copy()}
    exec(finding["remedy"], mended)
    assert mended["qrels"]["docno"].iloc[0] == mended["qrels"]["docno"].iloc[1]
    # Of different topics they are different documents.
    assert findings_about(ma.describe(qrels.assign(qid=["1", "2", "1", "1"])), "document ids").empty


IDS = st.text(alphabet="aA0 17.\t\n-é\u00a0Ⅷ", max_size=6)


@given(ids=st.lists(IDS, min_size=1, max_size=8))
@example(ids=["1.0", "001"])
@example(ids=["00", "a0"])
def test_identifiers_at_once_are_equal_where_those_one_by_one_are(ids: list[str]) -> None:
    """`simplify_all` and `simplify` may give other keys, but the same ids have equal ones."""
    keys = simplify_all(ids)
    keys_one_by_one = [simplify(text) for text in ids]
    for first, second in itertools.combinations(range(len(ids)), 2):
        are_alike = keys[first] == keys[second]
        assert are_alike == (keys_one_by_one[first] == keys_one_by_one[second])


@given(first=IDS, second=IDS)
def test_what_looks_alike_can_be_mended(first: str, second: str) -> None:
    if first != second and simplify(first) == simplify(second):
        column = pd.Series([first, second], dtype=object)
        first, second = eval(f"column{mending_calls(first, second)}", {"column": column})
        assert first == second


def findings_about_axes(measure: ma.Measure) -> pd.DataFrame:
    """Return the findings that axes of the measure's distance have unequal lengths."""
    return findings_about(ma.describe(sound(), measures=measure), "of unequal length")


@pytest.mark.slow
def test_axes_of_unequal_length() -> None:
    """Axes as long as the gains of their aspects are doubted, much so if one is twice another."""
    long_axes = {"relevance": 2, "understandability": 3, "trust": 4}
    finding = findings_about_axes(ma.TOMA(aspects=long_axes, axes="gains"))
    assert finding["severity"].tolist() == ["warning"]  # 4 is twice 2
    assert eval(finding["remedy"].iloc[0], {"ma": ma}) == ma.TOMA(aspects=long_axes)
    shorter_axes = {"relevance": 2, "understandability": 3}
    finding = findings_about_axes(ma.TOMA(aspects=shorter_axes, axes="gains"))
    assert finding["severity"].tolist() == ["note"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "measure",
    [
        ma.TOMA(aspects={"relevance": 2, "understandability": 3, "trust": 4}),  # axes="equal"
        ma.CAM(aspects={"relevance": 2, "understandability": 3, "trust": 4}),  # without distance
        ma.TOMA(
            aspects={"relevance": 2, "understandability": 3},
            weights={"relevance": 1.5, "understandability": 1},  # 2 * 1.5 = 3 * 1
            axes="gains",
        ),
    ],
    ids=["equal axes", "no axes", "weights that make them equal"],
)
def test_no_axes_of_unequal_length(measure: ma.Measure) -> None:
    assert findings_about_axes(measure).empty


def test_measures_that_cannot_be_computed() -> None:
    description = ma.describe(
        sound(), measures=["WHAM", ma.TOMA(aspects={"credibility": 2}), "CAM(base='AP')"]
    )
    findings = findings_about(description, "cannot be computed")
    assert findings["severity"].tolist() == ["error", "error"]
    assert "exactly two aspects" in findings["finding"].iloc[0]
    assert findings["remedy"].tolist() == ["help(ma.WHAM)", "help(ma.TOMA)"]
    assert description.measures["measure"].unique().tolist() == ["CAM(base='AP')"]


SCALES = {"relevance": 2, "trust": Aspect(4, threshold=2)}


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("measure", "depends"),
    [
        ("CAM", ["gains"]),
        ("CAM(base='AP')@10", ["threshold"]),
        ("CAM(base='AP(rel=1)')", []),
        ("CAM(base='ERR')", ["scale", "gains"]),
        ("MM(base='P@5')", ["threshold"]),
        ("TOMA", ["scale", "gains"]),
        ("TOMA(weighting='normalized')@1", ["scale", "gains"]),
        ("uRBP", ["threshold"]),
        ("uRBPgr", ["scale", "probabilities"]),
        ("unDCG@3", ["scale", "probabilities"]),
        ("uERR", ["scale", "probabilities"]),
        ("NLRE@5", []),
        ("NGRE", []),
        ("NWCS", ["gains"]),
        ("On(aspect='trust',base='Bpref')", ["threshold"]),
        ("On(aspect='trust',base='CG@3')", ["gains"]),
        ("On(aspect='trust',base='RBP')", ["threshold"]),
    ],
)
def test_what_values_depend_on(measure: str, depends: list[str]) -> None:
    table = ma.describe(sound(3), SCALES, measures=measure).measures
    row = table[table["aspect"] == "trust"].iloc[0]
    # A rel of its own does not depend on how the grades are laid out, but the graded ones do on the
    # scale.
    for name in ("scale", "threshold", "gains", "probabilities"):
        assert row[name] == (name in depends)
    assert row["inferred"]  # the measure was not told of the scales


def test_declared_probabilities_do_not_depend_on_the_length_of_the_scale() -> None:
    trust = Aspect([0, 1, 2, 3, 4], probabilities=[0, 0.1, 0.2, 0.9, 1])
    printed = str(
        ma.describe(sound(3), measures=ma.uRBPgr(aspects={"relevance": 2, "trust": trust}))
    )
    depends = printed[printed.index("What values depend on") :]
    assert (
        "\n- relevance: the length of the scale, the probabilities\n- trust: the probabilities"
        in depends
    )


@pytest.mark.parametrize(
    ("aspects", "columns", "expected_name"),
    [
        ({"relevance": 2, "trust": 4}, ["label", "trust"], "all aspects"),
        ({"relevance": 2}, ["label"], "relevance"),
    ],
)
def test_aspects_judged_alike_are_one_row_and_a_single_one_has_its_name(
    aspects: dict[str, int], columns: list[str], expected_name: str
) -> None:
    """In the table of judged@5, @10, @20, as in 'mine  all aspects  100.0 %'."""
    qrels = sound(3)[["qid", "docno", *columns]]
    printed = str(ma.describe(qrels, aspects, runs={"mine": run_of(qrels)}))
    assert re.search(rf"^mine +{expected_name} +100\.0 %", printed, re.MULTILINE)


def test_the_printed_row_of_a_pair_of_aspects() -> None:
    """It has the numbers of documents judged on both or one, and tau with the number of topics."""
    qrels = sound(3)  # 3 topics of 40 documents
    printed = str(ma.describe(qrels, SCALES))
    (row,) = [line for line in printed.splitlines() if line.startswith("relevance  trust ")]
    both, first_only, second_only, tau, n_topics = row.split()[2:]
    assert (both, first_only, second_only) == ("120", "0", "0")
    assert (tau, n_topics) == ("0.25", "(3)")


def ranking_judged_in_part(name: str, n_judged: int) -> pd.DataFrame:
    """Return ten documents, of which the first ones are judged ("0", "1", …)."""
    judged = [str(number) for number in range(n_judged)]
    unjudged = [f"{name}{number}" for number in range(10 - n_judged)]
    return pd.DataFrame({"qid": "q", "docno": judged + unjudged, "score": -np.arange(10.0)})


@pytest.mark.parametrize(
    ("n_judged_of_high", "n_findings"),
    [(7, 1), (6, 0)],
    ids=["70 % against 60 %", "60 % against 60 %"],
)
def test_runs_that_are_judged_unevenly(n_judged_of_high: int, n_findings: int) -> None:
    """The remedy of the finding is code that runs: two evaluations that are exact."""
    qrels = pd.DataFrame(
        {
            "qid": "q",
            "docno": [str(number) for number in range(20)],
            "relevance": [0, 1, 2, 1] * 5,
            "trust": [0, 1, 2, 3, 4] * 4,
        }
    )
    runs = {
        "low": ranking_judged_in_part("low", 6),
        "high": ranking_judged_in_part("high", n_judged_of_high),
    }
    uneven = findings_about(ma.describe(qrels, SCALES, runs=runs), "missing labels may decide")
    assert uneven["aspects"].tolist() == ["relevance, trust"] * n_findings
    for row in uneven.itertuples():
        assert row.finding.endswith("(60.0 % of run low, 70.0 % of run high)")
        calls = row.remedy.splitlines()
        assert len(calls) == 2
        for call in calls:
            result = eval(call, {"ma": ma, "qrels": qrels, "runs": runs})
            assert result.runs["exact"].all()


@pytest.mark.slow
def test_measures_that_are_told_of_the_scales_do_not_infer_them() -> None:
    qrels = sound()
    told = ma.describe(qrels, measures=ma.TOMA(aspects={"relevance": 2, "trust": 4}))
    assert texts(told) == []
    (finding,) = ma.describe(qrels, measures=["TOMA", "TOMA@5", "uRBP"]).findings.to_dict("records")
    assert finding["finding"].startswith(
        "TOMA, TOMA@5 depend on the length of scales that were inferred"
    )
    assert eval(finding["remedy"], {"ma": ma}) == ma.describe(qrels).aspects


# --- both sides of each threshold ---------------------------------------------------------

#: A row of each table of statistics in which no rule finds anything.
PAIR = {
    "first": "relevance", "second": "trust", "both": 100, "only_first": 0, "only_second": 0, "tau": 0.0,
    "tau_error": 0.01, "topics": 5, "same": "",
}  # fmt: skip
TOP = {
    "aspect": "trust",
    "other": "relevance",
    "top": 4.0,
    "next": 3.0,
    "z": 0.0,
    "expected": 0.0,
    "z_next": 0.0,
}
RUN = {
    "name": "mine", "topics": 30, "missed": 0, "unjudged_topics": 0, "documents": 1200, "repeated": 0, "tied": 0.0,
}  # fmt: skip
AT = {"name": "mine", "aspect": "trust", "judged@5": 1.0, "judged@10": 1.0, "judged@20": 1.0}


def severities_of_rule(rule: str, table: str, changes: dict[str, Any]) -> list[str]:
    """Return what the rule finds if the row about trust in this table has the changes."""
    sound_statistics = ma.describe(sound())._statistics
    per_aspect = sound_statistics.per_aspect
    is_trust = per_aspect["aspect"] == "trust"
    rows = {
        "between": PAIR,
        "top_labels": TOP,
        "per_aspect": per_aspect[is_trust].iloc[0].to_dict(),
        "runs": RUN,
        "judged_at": AT,
    }
    rows[table] = rows[table] | changes
    tables = {name: pd.DataFrame([row]) for name, row in rows.items()}
    changed = replace(
        sound_statistics,
        between=tables["between"],
        top_labels=tables["top_labels"],
        per_aspect=pd.concat([per_aspect[~is_trust], tables["per_aspect"]], ignore_index=True),
        retrieved=replace(
            sound_statistics.retrieved, runs=tables["runs"], judged_at=tables["judged_at"]
        ),
    )
    find = getattr(rules, rule)
    return [finding.severity for finding in find(changed)]


@pytest.mark.every(7)
@pytest.mark.parametrize(
    ("rule", "table", "changes", "expected_severities"),
    [
        ("find_reversed_scales", "between", {"tau": -0.2}, []),
        ("find_reversed_scales", "between", {"tau": -0.201}, ["warning"]),
        ("find_reversed_scales", "between", {"tau": -0.201, "topics": 4}, ["note"]),
        ("find_reversed_scales", "between", {"tau": -0.21, "tau_error": 0.105}, ["note"]),
        ("find_reversed_scales", "between", {"tau": -0.21, "tau_error": 0.1049}, ["warning"]),
        ("find_copied_labels", "between", {"same": "equal", "both": 10}, ["error"]),
        ("find_copied_labels", "between", {"same": "equal", "both": 9}, []),
        ("find_copied_labels", "between", {"same": "recoded", "both": 10}, ["warning"]),
        ("find_copied_labels", "between", {"tau": 0.95, "both": 10}, ["note"]),
        ("find_copied_labels", "between", {"tau": 0.95, "both": 9}, []),
        ("find_copied_labels", "between", {"tau": 0.949}, []),
        ("find_codes_on_top", "top_labels", {"expected": 6.0, "z": 1.99}, ["warning"]),
        ("find_codes_on_top", "top_labels", {"expected": 6.0, "z": 2.0}, []),
        ("find_codes_on_top", "top_labels", {"expected": 5.99, "z": 1.99}, []),
        ("find_codes_on_top", "top_labels", {"expected": -6.0, "z": -1.99}, ["warning"]),
        ("find_codes_on_top", "top_labels", {"z_next": -3.0}, []),
        ("find_codes_on_top", "top_labels", {"z_next": -3.01}, ["note"]),
        ("find_missing_positives", "per_aspect", {"topics_without_positive": 6}, []),
        ("find_missing_positives", "per_aspect", {"topics_without_positive": 7}, ["note"]),
        (
            "find_missing_positives",
            "per_aspect",
            {"topics_without_positive": 7, "positive": 0.01},
            ["note"],
        ),
        (
            "find_missing_positives",
            "per_aspect",
            {"topics_without_positive": 7, "positive": 0.0099},
            [],
        ),
        ("find_missing_positives", "per_aspect", {"topics_without_positive": 7, "judged": 0}, []),
        ("find_tied_scores", "runs", {"tied": 0.1}, []),
        ("find_tied_scores", "runs", {"tied": 0.101}, ["note"]),
        ("find_repeated_documents", "runs", {"repeated": 1}, ["warning"]),
        ("find_other_collections", "runs", {"missed": 3}, []),
        ("find_other_collections", "runs", {"missed": 4}, ["warning"]),
        ("find_other_collections", "runs", {"topics": 0}, ["error"]),
        ("find_other_collections", "runs", {"topics": 1}, []),
        ("find_other_collections", "judged_at", {"judged@20": 0.01}, []),
        ("find_other_collections", "judged_at", {"judged@20": 0.0099}, ["error"]),
        ("find_sparse_tops", "judged_at", {"judged@10": 0.5}, []),
        ("find_sparse_tops", "judged_at", {"judged@10": 0.499}, ["warning"]),
        ("find_sparse_tops", "judged_at", {"judged@10": 0.0}, []),
    ],
)
def test_both_sides_of_a_threshold(
    rule: str, table: str, changes: dict[str, Any], expected_severities: list[str]
) -> None:
    """A rule finds something in a table exactly where a figure is beyond its threshold."""
    assert severities_of_rule(rule, table, changes) == expected_severities


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("counts", "is_finding"),
    [
        ({0: 500, 1: 500, 2: 300, 4: 6}, True),  # twice the widest gap, and .46 % of the documents
        ({0: 500, 1: 500, 2: 300, 4: 7}, False),  # .54 %
        ({0: 500, 1: 500, 2: 300, 7: 700}, False),  # less than three times the scale
        ({0: 500, 1: 500, 2: 300, 8: 700}, True),
        ({0: 500, 2: 500, 4: 300, 7: 1}, False),  # less than twice the widest gap
        ({0: 500, 2: 500, 4: 300, 8: 1}, True),
        ({**dict.fromkeys(range(22), 100), 23: 1}, False),  # less than a tenth of the scale
        ({**dict.fromkeys(range(21), 100), 22: 1}, True),
        ({0: 500, 99: 1}, False),  # two labels
    ],
)
def test_labels_that_are_too_far_above(counts: dict[int, int], is_finding: bool) -> None:
    qrels = small(label=[label for label, count in counts.items() for _ in range(count)])
    assert findings_about(ma.describe(qrels), "may be a code").empty != is_finding


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        ([1, 2, 3, 4, 5] * 6 + [8] * 3, [8]),
        ([1, 2, 3, 4, 5] * 6 + [9] * 3, [9]),
        ([0, 1, 2, 3, 4] * 6 + [9] * 3, [9]),
        ([1, 2, 3, 4, 5] * 6 + [8, 9], [8, 9]),
        ([-1, 0, 1, 2] * 6 + [9] * 3, [9]),
    ],
)
def test_codes_of_surveys_are_no_grades(labels: list[int], codes: list[int]) -> None:
    """Such as 9 for "I don't know" beside grades 1 to 5."""
    description = ma.describe(small(label=labels))
    assert len(findings_about(description, "no label is between")) == 1
    proposed = description.proposed["relevance"]
    assert [code for code in proposed.unjudged if code > 0] == codes
    assert proposed.grades[-1] == max(set(labels) - set(codes))


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, 3, 4, 5, 6, 7, 8, 9] * 4,
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 4,
        [1, 2, 3, 4, 5] * 6 + [6],
        [1, 2, 3, 4, 5] * 6 + [7],
        [1, 2, 3, 4, 5] * 6 + [9] * 7,
    ],
    ids=["9 after 8", "10 after 9", "6 after 5", "7 is no code", "9 is the most frequent label"],
)
def test_high_grades_are_no_codes_of_surveys(labels: list[int]) -> None:
    description = ma.describe(small(label=labels))
    assert findings_about(description, "no label is between").empty
    assert [code for code in description.proposed["relevance"].unjudged if code > 0] == []


def test_a_declared_grade_is_no_code_of_surveys() -> None:
    qrels = small(label=[1, 2, 3, 4, 5] * 6 + [9] * 3)
    description = ma.describe(qrels, {"relevance": Aspect(range(1, 10))})
    assert findings_about(description, "may be a code").empty


def test_a_label_is_not_too_far_above_if_the_lowest_is_as_far_below() -> None:
    qrels = small(label=[0, 3] * 500 + [4] * 300 + [7])
    assert findings_about(ma.describe(qrels), "may be a code").empty


@pytest.mark.parametrize(("top", "codes"), [(8, [8]), (7, [])])
def test_labels_far_above_a_declared_scale_are_codes(top: int, codes: list[int]) -> None:
    proposed = ma.describe(small(label=[0, 1, 2, top] * 5), {"relevance": 2}).proposed["relevance"]
    assert proposed == (Aspect(2, unjudged=codes) if codes else Aspect([0, 1, 2, top]))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("n_unjudged_on_trust", "n_judged_on_trust_only", "expected_beginnings"),
    [
        (5, 0, []),
        (5, 5, []),
        (6, 0, ["only 94.0 % of the documents above"]),  # 94 of 100
        (0, 5, []),
        (0, 6, ["only 94.3 % of those judged on"]),  # 100 of 106
    ],
)
def test_documents_judged_on_one_aspect_only(
    n_unjudged_on_trust: int, n_judged_on_trust_only: int, expected_beginnings: list[str]
) -> None:
    """They are a finding if the other aspect is judged on less than 95 % of the documents."""
    relevance = [1.0, 2.0] * 50 + [NAN] * n_judged_on_trust_only
    n_judged_on_trust = len(relevance) - n_unjudged_on_trust
    trust = [NAN] * n_unjudged_on_trust + [number % 3 for number in range(n_judged_on_trust)]
    description = ma.describe(small(label=relevance, trust=trust), {"relevance": 2, "trust": 2})
    findings = findings_about(description, "missing labels count")["finding"]
    assert len(findings) == len(expected_beginnings)
    for finding, beginning in zip(findings, expected_beginnings, strict=True):
        assert finding.startswith(beginning)


def test_aspects_judged_where_documents_are_relevant() -> None:
    trust = [at % 3 for at in range(50)] + [NAN] * 50
    findings = ma.describe(
        small(label=[1] * 50 + [0] * 50, trust=trust), {"relevance": 1, "trust": 2}
    )
    assert findings_about(findings, "missing labels count").empty


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("weight_of_trust", "expected_severities"),
    [
        (1.5, ["warning"]),  # 4 * 1.5 is twice 3
        (1.4999, ["note"]),
        (0.75, []),  # 4 * 0.75 is 3
        (0.76, ["note"]),
    ],
)
def test_axes_of_which_one_is_twice_the_other(
    weight_of_trust: float, expected_severities: list[str]
) -> None:
    """An axis is as long as the highest gain of its aspect times the weight."""
    aspects = {"relevance": 3, "trust": 4}
    weights = {"relevance": 1, "trust": weight_of_trust}
    measure = ma.TOMA(aspects=aspects, axes="gains", weights=weights)
    description = ma.describe(sound(), aspects, measures=measure)
    findings = findings_about(description, "of unequal length")
    assert findings["severity"].tolist() == expected_severities


# --- remedies -----------------------------------------------------------------------------


@pytest.mark.slow
def test_remedies_are_code(tmp_path: Path) -> None:
    for spoiling in SPOILINGS:
        qrels, run = spoiling.spoil(sound(), run_of(sound()))
        for remedy in ma.describe(qrels, runs={"it's": run}, measures="TOMA").findings["remedy"]:
            ast.parse(remedy)
            if remedy.startswith("ma.Aspects"):
                assert isinstance(eval(remedy, {"ma": ma}), Aspects)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name", ["scale reversed", "copied column", "constant column", "code on top"]
)
def test_remedies_are_remedies(name: str) -> None:
    spoiling = next(spoiling for spoiling in SPOILINGS if spoiling.name == name)
    qrels, _ = spoiling.spoil(sound(), run_of(sound()))
    names: dict[str, Any] = {"ma": ma, "qrels": qrels.copy()}
    remedy = findings_about(ma.describe(qrels), spoiling.says)["remedy"].iloc[0]
    if remedy.startswith("qrels"):
        exec(remedy, names)
        mended = ma.describe(names["qrels"])
    else:
        mended = ma.describe(qrels, eval(remedy, names))
    assert texts(mended) == []


MIXED = sound().assign(
    label=lambda rows: rows["label"].where(np.arange(len(rows)) % 300 > 0, 99),
    understandability=lambda rows: 3 - rows["understandability"] + 1,
    trust=lambda rows: rows["trust"].where(np.arange(len(rows)) % 50 > 0, -9),
    copy=lambda rows: rows["trust"],
    ease=7,
)


def declaration_findings(description: Description) -> list[tuple[str, str]]:
    findings = description.findings[description.findings["remedy"].str.startswith("ma.Aspects")]
    return list(zip(findings["aspects"], findings["finding"].str[:25], strict=True))


@pytest.mark.slow
def test_remedies_together_are_one_declaration() -> None:
    """Each undid the others."""
    description = ma.describe(MIXED)
    assert len(declaration_findings(description)) >= 5
    assert declaration_findings(ma.describe(MIXED, description.proposed)) == []
    assert description.proposed == Aspects(
        {
            "relevance": Aspect(2, unjudged=[99]),
            "understandability": Aspect([1, 2, 3, 4], greater_is_better=False),
            "copy": Aspect(4, unjudged=[-9]),
        }
    )
    # Nothing of what the user has declared is undone.
    declared = {
        "relevance": Aspect(2, threshold=2, unjudged=[99]),
        "trust": Aspect([0, 1, 2, 4], threshold=4),
    }
    described = ma.describe(MIXED[["qid", "docno", "label", "trust"]], declared)
    assert described.proposed == Aspects(
        {"relevance": declared["relevance"], "trust": Aspect(4, threshold=4, unjudged=[-9])}
    )


def test_scales_stay_where_nothing_is_found() -> None:
    named = Aspects({"relevance": 2, "trust": Aspect(4, threshold=2)}, name="nothing-found")
    assert ma.describe(sound(), named).proposed == named
    assert ma.describe(sound()).proposed == ma.describe(sound()).aspects


@pytest.mark.slow
def test_labels_above_the_scale_are_not_hidden() -> None:
    """The remedy is a longer scale and never codes, which would leave the labels out."""
    too_short = {"relevance": 1, "trust": Aspect([0, 1, 2], threshold=2)}
    description = ma.describe(sound(), too_short)  # the labels reach 2 and 4
    assert description.proposed == Aspects({"relevance": 2, "trust": Aspect(4, threshold=2)})
    (finding,) = findings_about(description, "not declared grades")["finding"]
    assert "Check first that these are the labels of relevance, trust, and the top grade" in finding
    assert "relevance: " in finding
    assert "labels (2) are not on the scale 0, 1;" in finding


@pytest.mark.slow
def test_labels_above_the_scale_are_not_evaluated() -> None:
    measure = ma.CAM(aspects={"relevance": 2, "trust": 2})  # trust has labels up to 4
    with pytest.raises(MultiAspectError, match="labels of trust"):
        ma.evaluate(run_of(sound()), sound(), measure, progress=False)


@pytest.mark.slow
def test_a_rare_label_far_above_the_scale_is_proposed_as_a_code() -> None:
    coded = label_every(sound(), 50, "trust", 99)
    description = ma.describe(coded, {"relevance": 2, "trust": 4})
    assert description.proposed["trust"] == Aspect(4, unjudged=[99])


@pytest.mark.slow
def test_no_scale_is_proposed_for_labels_above_a_scale_with_gains() -> None:
    """The gains of further grades are not known."""
    aspects = {"relevance": 2, "trust": Aspect([0, 1, 2], gains=[0, 1, 5])}
    (remedy,) = findings_about(ma.describe(sound(), aspects), "not declared grades")["remedy"]
    assert remedy == "ma.describe(qrels).labels"


def test_a_reversed_scale_with_gains_and_a_threshold() -> None:
    """It was an error that the gains decrease."""
    qrels = sound().assign(trust=lambda rows: 4 - rows["trust"])
    for aspect in (Aspect(4, gains=[0, 1, 2, 3, 5]), Aspect(4, threshold=4)):
        description = ma.describe(qrels, {"relevance": 2, "trust": aspect})
        assert description.proposed["trust"] == Aspect(4, greater_is_better=False)


@pytest.mark.parametrize("greater_is_better", [True, False])
def test_labels_that_are_no_grades(greater_is_better: bool) -> None:
    """A label worse than all grades counts as judged, one between or above the grades does not."""
    labels = [1, 2, 3, 0, 2.5, 4, 9]
    grades = [1, 2, 3]
    code = 9
    if not greater_is_better:
        labels = [-label for label in labels]
        grades = [-3, -2, -1]
        code = -9
    scale = Aspect(grades, greater_is_better=greater_is_better, unjudged=[code])
    (row,) = ma.describe(small(label=labels), {"relevance": scale}).per_aspect.to_dict("records")
    assert row["judged"] == 4  # the grades 1, 2, 3, and 0, which is worse than 1
    assert row["below_scale"] == 1  # 0
    assert row["out_of_scale"] == 2  # 2.5 and 4
    assert row["missing"] == 1  # the code 9


@pytest.mark.parametrize(
    ("counts", "threshold"),
    [
        ([5, 5, 5, 35, 30, 10, 10], 4),  # (35 + 30 + 10 + 10) / 100 = 85 % reach 3: too many
        ([5, 5, 6, 34, 30, 10, 10], 3),  # (34 + 30 + 10 + 10) / 100 = 84 % reach 3
        ([100, 50, 48, 2, 0, 0, 0], 3),  # 2 / 200 = 1 % reach 3
        ([100, 50, 49, 1, 0, 0, 0], 2),  # 1 / 200 = 0.5 % reach 3: too few
    ],
)
def test_the_threshold_proposed_is_reached_by_some_documents(
    counts: list[int], threshold: int
) -> None:
    """It is the middle of the scale, or the next grade that is reached by neither most nor few."""
    labels = np.repeat(range(7), counts)  # `counts` are those of the grades 0 to 6
    description = ma.describe(small(label=labels.tolist()), {"relevance": 6})
    assert description.proposed["relevance"].threshold == threshold


def test_the_threshold_proposed_is_one() -> None:
    """A threshold that a remedy declares is accepted, also on a scale of a hundred grades."""
    qrels = sound()
    qrels["trust"] = qrels["trust"] * 20 + np.arange(len(qrels)) % 19 + 1  # labels 1 to 99
    qrels.loc[0, "trust"] = 0
    (remedy,) = findings_about(ma.describe(qrels, "relevance,trust"), "is not declared")["remedy"]
    declared = eval(remedy, {"ma": ma})
    assert texts(ma.describe(qrels, declared)) == []


# --- how it looks -------------------------------------------------------------------------

NASTY = "<script>alert('x')</script> & ein sehr, sehr langer Name eines \"Aspekts\" von Dokumenten, größer als 80"


def nasty() -> Description:
    qrels = sound().rename(columns={"trust": NASTY})
    qrels[NASTY] = qrels[NASTY].where(np.arange(len(qrels)) % 300 > 0, 99)
    runs = {f"<b>{'run' * 30}": run_of(qrels), "second": pd.concat([run_of(qrels)] * 2)}
    return ma.describe(qrels, runs=runs, measures=["TOMA", "CAM(base='AP')", "nDCG@10"])


@pytest.mark.slow
def test_text_fits_a_terminal() -> None:
    for description in (nasty(), ma.describe(load_health().qrels, measures="uRBP")):
        for line in str(description).splitlines():
            # Only code that cannot be broken may be longer: names in quotes.
            assert len(line) <= 80 or "<script>" in line, line
        assert not re.search(r"[ \t]$", str(description), re.MULTILINE)
    assert str(ma.describe(load_health().qrels)).replace("−", "-").isascii()


def test_code_in_the_text_can_be_pasted() -> None:
    """All findings whose remedy is a declaration refer to one declaration, printed below them."""
    qrels = label_every(sound(), 300, "label", 99)  # a code: its remedy is to declare it
    qrels["trust"] = (qrels["trust"] + 1) / 7  # no whole numbers: declare a scale
    description = ma.describe(qrels)
    declarations = [
        remedy for remedy in description.findings["remedy"] if remedy.startswith("ma.Aspects")
    ]
    assert len(declarations) > 1
    for remedy in declarations:
        assert eval(remedy, {"ma": ma}) == description.proposed
    printed = str(description)
    assert printed.count("declare the scales as below") == len(declarations)
    start = printed.index("ma.Aspects(")
    end = printed.index("\n\n", start)
    assert eval(printed[start:end], {"ma": ma}) == description.proposed


class _Checker(HTMLParser):
    """Checks that tags are closed, and collects tags, attributes and text."""

    VOID = {"meta", "rect", "br"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_sound_and_needs_nothing_else(tmp_path: Path) -> None:
    """Each tag is closed, names are escaped, and no script, style sheet or picture is loaded."""
    description = nasty()  # NASTY, the name of an aspect, has a script tag
    path = tmp_path / "description.html"
    text = description.to_html(path)
    assert path.read_text(encoding="utf-8") == text
    assert description._repr_html_() in text
    checker = _Checker()
    checker.feed(text)
    assert checker.open == []
    assert "script" not in checker.tags
    assert "<script" not in text
    assert NASTY in checker.text
    assert not {"src", "href"} & {name for name, _ in checker.attributes}
    assert "url(" not in text
    assert "@import" not in text


def test_html_shows_the_remedies() -> None:
    """Remedies that declare scales are shown once, as the declaration that is proposed."""
    description = nasty()
    checker = _Checker()
    checker.feed(description.to_html())
    for remedy in description.findings["remedy"]:
        assert remedy in checker.text or remedy.startswith("ma.Aspects")
    code = declaration(description.proposed)
    assert code in checker.text
    assert eval(code, {"ma": ma}) == description.proposed


def test_long_scales_are_drawn_in_ranges() -> None:
    qrels = sound().assign(trust=lambda rows: (np.arange(len(rows)) * 37) % 101)
    lines = str(ma.describe(qrels, "relevance,trust")).splitlines()
    drawn = [line.split() for line in lines if re.match(r" *\d+\.\.\d+ +#", line)]
    assert len(drawn) == 10
    assert sum(int(line[2]) for line in drawn) == len(qrels)
    assert drawn[0][0] == "0..9"
    assert drawn[-1][0] == "90..100"


WHOLE = """\
relevance
---------
declared scale 0, 1, 2, positive from 1
judged 24 of 24; topics 2 of 2; positive 66.7 %; 0 topics without a positive
  document

label                            documents  fraction
    0  ########################          8    33.3 %
    1  ########################          8    33.3 %
    2  ########################          8    33.3 %

pages
-----
declared scale 0, 1, 2, 3, 4, …, 13, 14, 15, positive from 7
judged 24 of 24; topics 2 of 2; positive 41.7 %; 0 topics without a positive
  document

 label                            documents  fraction
  0..1  ########################          4    16.7 %
  2..3  ########################          4    16.7 %
  4..5  ########################          4    16.7 %
  6..7  ########################          4    16.7 %
  8..9  ############                      2     8.3 %
10..11  ############                      2     8.3 %
12..13  ############                      2     8.3 %
14..15  ############                      2     8.3 %

trust
-----
declared scale 0, 1, positive from 1
judged 12 of 24; topics 1 of 2; positive 100.0 %; 1 topic without a positive
  document

label                            documents  fraction
    0                                    0     0.0 %
    1  ########################         12   100.0 %

Between aspects
---------------
Documents judged on both aspects or one, and the mean of Kendall's tau-b within
  topics.

first      second  both  first only  second only  tau-b (topics)
relevance  pages     24           0            0        0.07 (2)
relevance  trust     12          12            0               -
pages      trust     12          12            0               -

Share of each aspect in TOMA's distance
---------------------------------------
The mean over judged documents of gap^p / sum of gap^p; documents at distance 0
  are left out.

order         aspect                                share
axes='equal'  relevance  #######                   28.2 %
axes='equal'  pages      ##########                42.2 %
axes='equal'  trust      #######                   29.6 %
axes='gains'  relevance  ##                         6.6 %
axes='gains'  pages      #####################     89.2 %
axes='gains'  trust      #                          4.2 %

Runs
----
run     topics  missed  unjudged topics  documents  repeated  tied scores
first        2       0                0         24         0       83.3 %
second       1       1                0          6         0       66.7 %

run     aspect       judged@5  judged@10  judged@20
first   relevance     100.0 %    100.0 %    100.0 %
first   pages         100.0 %    100.0 %    100.0 %
first   trust          50.0 %     50.0 %     50.0 %
second  all aspects   100.0 %    100.0 %    100.0 %

What values depend on
---------------------
uRBPgr@5
- relevance: the length of the scale (inferred), the probabilities
- pages: the length of the scale (inferred), the probabilities
- trust: the length of the scale (inferred), the probabilities

CAM(base='AP')
- relevance: the threshold
- pages: the threshold
- trust: the order of labels at most

MDCU(themes='relevance',usability='pages')
- relevance: the gains
- pages: the gains"""


def test_a_whole_description() -> None:
    """The findings come first, then the figures, which are WHOLE."""
    number = np.arange(24)
    qrels = pd.DataFrame(
        {
            "qid": ["q1"] * 12 + ["q2"] * 12,
            "docno": [f"d{n}" for n in number],
            "label": number % 3,
            "pages": number % 16,
            "trust": [1.0] * 12 + [np.nan] * 12,  # judged on q1 only
        }
    )
    first = qrels[["qid", "docno"]].assign(score=-number // 2)  # nearly all scores are ties of two
    second = first.head(6)  # of q1 only
    scales = {"relevance": 2, "pages": Aspect(range(16), threshold=7), "trust": 1}
    measures = ["uRBPgr@5", "CAM(base='AP')", ma.MDCU(themes="relevance", usability="pages")]
    runs = {"first": first, "second": second}
    printed = str(ma.describe(qrels, scales, runs=runs, measures=measures))
    assert printed.startswith(
        "24 judged documents, 2 topics, 3 aspects\n\nFindings\n--------\n1. WARNING run second "
        "misses"
    )
    figures = printed[printed.index("relevance\n---------") :]
    assert figures == WHOLE


def test_few_labels_of_a_long_scale_are_drawn_one_by_one() -> None:
    """Labels 0 to 4 and 99 have a bar each, and are not put together as '0..9'."""
    qrels = label_every(sound(), 300, "trust", 99)
    printed = str(ma.describe(qrels))
    of_trust = printed[printed.index("\ntrust\n") :]
    # Such as "\n   99  #  4  0.3 %\n": 4 of 1200 documents.
    assert re.search(r"\n *99 .*# +4 +0\.3 %\n", of_trust)
    assert len(re.findall(r"\n *3 +#", of_trust)) == 1


@pytest.mark.slow
def test_long_tables_are_cut_short() -> None:
    qrels = sound(3)
    runs = {f"run{number}": run_of(qrels, number) for number in range(60)}
    description = ma.describe(qrels, runs=runs)
    assert len(description.runs) == 60
    for text in (str(description), description.to_html()):
        assert "run49" in text
        assert "run50" not in text
        assert text.count("and 10 more") == 2
    assert re.search("run1 +all aspects", str(description))


# --- real collections ---------------------------------------------------------------------


def clef2018() -> pd.DataFrame:
    files = {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"}
    return ma.read_qrels(
        {name: shared_path("data", "clef2018", f"{file}.txt.gz") for name, file in files.items()}
    )


def runs_of(name: str, number: int = 5) -> dict[str, pd.DataFrame]:
    path = shared_path("data", name, "runs.top100.tsv.gz")
    table = pd.read_csv(path, sep="\t", names=["run", "qid", "rank", "docno"], dtype=str)
    table["score"] = -table["rank"].astype(float)
    return {str(run): rows for run, rows in itertools.islice(table.groupby("run"), number)}


def finding_tuples(description: Description) -> list[tuple[str, str, str]]:
    rows = description.findings.to_dict("records")
    return [(row["severity"], row["aspects"], " ".join(row["finding"].split()[:6])) for row in rows]


@pytest.mark.slow
def test_findings_on_clef_2015() -> None:
    folder = ("data", "clef2015")
    qrels = ma.read_qrels(
        {
            "relevance": shared_path(*folder, "qrels.graded.txt.gz"),
            "understandability": shared_path(*folder, "qread.graded.txt.gz"),
        }
    )
    description = ma.describe(qrels, runs=runs_of("clef2015"))
    assert finding_tuples(description) == [
        ("warning", "understandability", "the threshold of understandability is not"),
        ("note", "understandability", "documents with the highest label, 3,"),
    ]
    # Understandability holds a fifth of the distance, though its scale is the longer one.
    shares = description.distance_shares.set_index(["order", "aspect"])["share"]
    assert shares["axes='equal'", "understandability"] == pytest.approx(0.208, abs=0.001)


@pytest.mark.slow
def test_findings_on_clef_2018() -> None:
    """The only warning is that of thresholds that are not declared."""
    qrels, runs = clef2018(), runs_of("clef2018")
    thresholds = (
        "warning",
        "understandability, trust",
        "the threshold of understandability, trust is",
    )
    highest_label = (
        "note",
        "understandability",
        "documents with the highest label, 10,",
    )
    assert finding_tuples(ma.describe(qrels, runs=runs)) == [thresholds, highest_label]
    declared = {
        "relevance": 2,
        "understandability": Aspect(10, threshold=5),
        "trust": Aspect(10, threshold=5),
    }
    assert finding_tuples(ma.describe(qrels, declared, runs=runs)) == [highest_label]


@pytest.mark.slow
def test_findings_on_clef_2018_with_scales_of_100() -> None:
    """They are those on the original scales of 10."""
    qrels, runs = clef2018(), runs_of("clef2018")
    generator = np.random.default_rng(0)
    for name in ("understandability", "trust"):
        noise = generator.integers(-9, 10, len(qrels))
        qrels[name] = np.clip(qrels[name] * 10 + noise, 0, 100)
    description = ma.describe(qrels, "relevance,understandability,trust", runs=runs)
    assert description.findings[["severity", "aspects"]].to_numpy().tolist() == [
        ["warning", "understandability, trust"],
        ["note", "understandability"],
    ]


def test_findings_on_a66() -> None:
    table = pd.read_csv(shared_path("data", "a66.csv")).rename(
        columns={"query": "qid", "url_id": "docno"}
    )
    qrels = table[table["assessor"] == 6][["qid", "docno", "relevance", "credibility"]]
    description = ma.describe(qrels)
    starts = findings_about(description, " is 0, but the scale is taken as ")
    assert starts["aspects"].tolist() == ["relevance, credibility"]


@pytest.mark.slow
@pytest.mark.parametrize("spoiling", SPOILINGS, ids=lambda spoiling: spoiling.name)
def test_findings_on_clef_2018_spoilt(spoiling: Spoiling) -> None:
    qrels = clef2018()
    run = next(iter(runs_of("clef2018", 1).values()))
    qrels, run = spoiling.spoil(qrels, run)
    findings = findings_about(ma.describe(qrels, runs={"mine": run}), spoiling.says)
    assert findings[["severity", "aspects"]].to_numpy().tolist() == [
        [spoiling.severity, spoiling.aspects]
    ]


@pytest.mark.slow
def test_the_remedy_for_identifiers_that_look_alike_changes_both_sides() -> None:
    """It changes qrels and all runs: those whose ids agree with the qrels before do so after it."""
    health = load_health().qrels
    qrels = health.assign(docno=health["docno"].str.upper())
    upper = qrels[["qid", "docno"]].assign(score=range(len(qrels)))
    lower = upper.assign(docno=upper["docno"].str.lower())
    expected = ma.aggregate(ma.evaluate(upper, qrels, "AP", progress=False))["AP"].item()
    names = {"qrels": qrels, "runs": {"upper": upper, "lower": lower}}
    (remedy,) = findings_about(ma.describe(qrels, runs=names["runs"]), "look like")["remedy"]
    exec(remedy, names)  # assigns to `qrels` and `runs`
    after = ma.aggregate(ma.evaluate(names["runs"], names["qrels"], "AP", progress=False))
    assert after["AP"].tolist() == [expected, expected]
    assert findings_about(ma.describe(names["qrels"], runs=names["runs"]), "look like").empty


def test_the_remedy_for_repeated_documents_keeps_the_values() -> None:
    """It removes all but the last occurrence of a document, as evaluations do with a warning."""
    qrels = load_health().qrels
    run = qrels[["qid", "docno"]].assign(score=range(len(qrels)))
    repeated = run[:3].assign(score=-1)
    names = {"runs": {"r": pd.concat([run, repeated], ignore_index=True)}}
    (remedy,) = findings_about(ma.describe(qrels, runs=names["runs"]), "more than once")["remedy"]
    with pytest.warns(ma.MultiAspectWarning, match="repeated documents"):
        expected = ma.evaluate(names["runs"], qrels, "AP", progress=False)
    exec(remedy, names)  # assigns to `runs`
    after = ma.evaluate(names["runs"], qrels, "AP", progress=False)
    pd.testing.assert_frame_equal(after, expected)


def test_a_scale_of_many_fractions_is_proposed_without_its_grades():
    # As of estimated probabilities: hundreds of lines of grades used to be printed.
    labels = np.random.default_rng(0).random(60)
    qrels = pd.DataFrame(
        {
            "qid": "q",
            "docno": np.arange(60).astype(str),
            "label": [0, 1] * 30,
            "understandability": labels,
        }
    )
    findings = ma.describe(qrels)
    assert findings.proposed["understandability"].grades is None
    again = ma.describe(qrels, findings.proposed)
    assert len(again.findings) == 0
    assert again.per_aspect.set_index("aspect").loc[
        "understandability", "positive"
    ] == pytest.approx(0.5, abs=0.1)


# --- judged answers ---------------------------------------------------------------------------

GRADES = {"faithful": [1, 2, 3, 4, 5], "complete": [1, 2, 3, 4, 5]}


def judged_answers(judges: str = "ab", n_topics: int = 12, n_systems: int = 4) -> pd.DataFrame:
    """Long rows of judges who mostly agree."""
    generator = np.random.default_rng(0)
    rows = []
    for topic, system, criterion in itertools.product(range(n_topics), range(n_systems), GRADES):
        label = int(generator.integers(1, 6))
        for judge in judges:
            moved = label + int(generator.choice([-1, 0, 0, 0, 0, 1]))
            rows.append((f"q{topic}", f"s{system}", criterion, judge, min(max(moved, 1), 5)))
    return pd.DataFrame(rows, columns=["topic", "system", "criterion", "judge", "score"])


def wide_answers(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.pivot(
        index=["topic", "system", "judge"], columns="criterion", values="score"
    ).reset_index()


def good_answers() -> dict[str, tuple[Any, Any]]:
    rows = judged_answers()
    values = rows.assign(score=(rows["score"] - 1) / 4)
    alone = rows[rows["judge"] == "a"].drop(columns="judge")
    return {
        "two judges": (rows, GRADES),
        "wide": (wide_answers(rows), GRADES),
        "dicts": (rows.to_dict("records"), GRADES),
        "values": (values, None),
        "binary values": (rows.assign(score=(rows["score"] > 2).astype(int)), None),
        "one judge": (alone, GRADES),
        "repetitions": (rows.rename(columns={"judge": "repetition"}), GRADES),
        "few answers": (rows[rows["topic"] == "q0"], GRADES),
        "equal labels": (
            rows.assign(score=rows["topic"].str[1:].astype(int) % 5 + 1)[
                rows["criterion"] == "faithful"
            ],
            {"faithful": [1, 2, 3, 4, 5]},
        ),
    }


@pytest.mark.parametrize("case", good_answers())
def test_good_judges_of_answers_have_no_findings(case: str) -> None:
    judged, aspects = good_answers()[case]
    description = ma.describe(judged, aspects)
    assert texts(description) == []
    assert "document" not in str(description)


def spoilt_answers() -> dict[str, tuple[Any, Any, str, str, str]]:
    """Rows, scales, and the severity, the beginning of the text, and a part of the remedy of a finding."""
    rows = judged_answers()
    faithful = rows["criterion"] == "faithful"
    other = np.random.default_rng(1).integers(3, 6, len(rows))
    nearly = np.where(np.arange(len(rows)) % 47 == 0, 4, 5)
    q3 = (rows["topic"] == "q3") & (rows["system"] == "s1")
    copied = pd.concat([rows, rows[faithful].assign(criterion="copy")])
    words = rows.astype({"score": object})
    words.loc[7, "score"] = "N/A"
    lacking = (
        "the labels are not in [0, 1], and no scale is declared, so they are refused as values; no "
        "label is 0, so the scale may start at 1; labels of faithful reach 5, declare that top if "
        "the scale is the same (1 to 4)"
    )
    return {
        "a scale that is not declared": (
            rows,
            None,
            "error",
            "the labels are not in [0, 1]",
            "[1, 2, 3, 4, 5]",
        ),
        "a scale that lacks its top label": (
            rows.assign(score=rows["score"].where(faithful, rows["score"].clip(upper=4))),
            None,
            "error",
            lacking,
            "[1, 2, 3, 4]",
        ),
        "a scale by its top": (
            rows,
            {"faithful": 5, "complete": 5},
            "warning",
            "no label of faithful, complete is 0",
            "[1, 2, 3",
        ),
        "percentages": (
            rows.assign(score=rows["score"] * 17.5),
            None,
            "error",
            "the labels are not in [0, 1]; divide percentages by 100 (17.5 to 87.5)",
            "/= 100",
        ),
        "words": (words, GRADES, "error", "labels are no numbers", "unjudged=['N/A']"),
        "off the scale": (
            rows.assign(score=rows["score"] + 1),
            GRADES,
            "error",
            "",
            "[1, 2, 3, 4, 5, 6]",
        ),
        "constant": (
            rows.assign(score=rows["score"].where(faithful, 5)),
            GRADES,
            "warning",
            "every judged answer has the label 5",
            "'faithful'",
        ),
        "the same labels": (
            copied,
            {**GRADES, "copy": GRADES["faithful"]},
            "error",
            "the labels are the same on all 96 answers",
            "'complete'",
        ),
        "a missing answer": (
            rows[~q3],
            GRADES,
            "warning",
            "1 of 48 answers of 1 run (s1) is missing, such as s1 on topic q3",
            "judged['system'].nunique()",
        ),
        "a missing label": (
            rows[~(q3 & faithful)],
            GRADES,
            "warning",
            "answers without a label, which have no value (1 of 48, such as s1 on topic q3)",
            "judged[~judged['topic'].astype(str).isin(['q3'])]",
        ),
        "disagreement": (
            rows.assign(score=rows["score"].where(rows["judge"] == "a", other)),
            GRADES,
            "warning",
            "judges disagree (faithful: Krippendorff's alpha is",
            "ma.analysis.judge_agreement(judged)",
        ),
        "nearly always the best": (
            rows.assign(score=nearly),
            GRADES,
            "warning",
            (
                "nearly all answers have the best label, so that runs are hardly distinguished "
                "(faithful: 96.9 %"
            ),
            "ma.describe(judged)",
        ),
        "names alike": (
            rows.replace({"system": {"s1": "s0 "}}),
            GRADES,
            "warning",
            "the judgments have",
            "judged['system']",
        ),
    }


@pytest.mark.parametrize("case", spoilt_answers())
def test_spoilt_judgments_of_answers_are_found(case: str) -> None:
    judged, aspects, severity, says, remedy = spoilt_answers()[case]
    description = ma.describe(judged, aspects)
    about = description.findings[description.findings["finding"].str.startswith(says)]
    assert severity in about["severity"].tolist(), description.findings.to_string()
    assert remedy in about["remedy"].iloc[0]
    for finding in description.findings.itertuples():
        ast.parse(str(finding.remedy))
        assert "qrels" not in str(finding.remedy)


def test_proposed_scales_of_answers_are_those_that_are_meant() -> None:
    """Values in [0, 1] stay values, although their maximum is not 1."""
    rows = judged_answers()  # with grades 1 to 5 on both criteria
    is_faithful = rows["criterion"] == "faithful"
    fractions = rows["score"] / 8  # 0.125 to 0.625
    mixed = rows.assign(score=rows["score"].where(is_faithful, fractions))
    proposed = ma.describe(mixed).proposed
    assert proposed == Aspects({"faithful": [1, 2, 3, 4, 5], "complete": Aspect()})
    scored = ma.answers.from_criteria(mixed, aspects=proposed)
    complete = scored[scored["measure"] == "complete"].set_index(["name", "qid"])["value"]
    by_hand = mixed[~is_faithful].groupby(["system", "topic"])["score"].mean()
    assert complete.to_dict() == pytest.approx(by_hand.to_dict())
    assert texts(ma.describe(mixed, proposed)) == []


def test_disagreement_without_krippendorff(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note says that judges are not compared if the package is not installed and answers suffice."""
    rows = judged_answers(judges="ab")
    random_score = np.random.default_rng(1).integers(3, 6, len(rows))
    rows["score"] = rows["score"].where(rows["judge"] == "a", random_score)
    monkeypatch.setattr("pt_multiaspect.description.answer_rules.find_spec", lambda name: None)
    notes = findings_about(ma.describe(rows, GRADES), "alpha of the judges requires krippendorff")
    assert notes[["severity", "aspects"]].to_numpy().tolist() == [["note", "faithful, complete"]]
    of_one_topic = rows[rows["topic"] == "q0"]
    assert findings_about(ma.describe(of_one_topic, GRADES), "requires krippendorff").empty


def test_answers_with_one_label_are_not_those_on_which_judges_agree() -> None:
    """The fraction of answers with equal labels is one of the answers that several judges judged."""
    by_a = judged_answers(judges="a")
    n_answer = by_a.groupby(["topic", "system"]).ngroup()  # 0 to 47, on two criteria each
    opposite = by_a["score"].map({1: 5, 2: 4, 3: 4, 4: 2, 5: 1})
    score_of_b = by_a["score"].where(n_answer < 18, opposite)
    by_b = by_a.assign(judge="b", score=score_of_b)[n_answer < 24]
    both = pd.concat([by_a, by_b])
    (finding,) = findings_about(ma.describe(both, GRADES), "judges disagree")["finding"]
    # 18 of the 24 answers with two labels; both criteria say it.
    assert finding.count("the labels of 75.0 % of 24 answers with several are equal") == 2


def test_the_judge_who_deviates_is_named() -> None:
    rows = judged_answers(judges="abc")
    is_by_c = rows["judge"] == "c"
    rows.loc[is_by_c, "score"] += 3
    rows["score"] = rows["score"].clip(upper=5)
    (finding,) = findings_about(ma.describe(rows, GRADES), "judges disagree")["finding"]
    n_criteria = 2
    assert finding.count(", and c deviates most, by +") == n_criteria


def test_answers_in_files(tmp_path: Path) -> None:
    rows = judged_answers()
    path = tmp_path / "judged.csv"
    rows.to_csv(path, index=False)
    printed = str(ma.describe(rows, GRADES))
    assert str(ma.describe(path, GRADES)) == printed
    assert str(ma.describe([path], GRADES)) == printed


def test_counts_of_answers() -> None:
    description = ma.describe(judged_answers(), GRADES)
    printed = str(description)
    # 12 topics of 4 systems are 48 answers.
    assert printed.startswith("48 judged answers, 96 judgments by 2 judges, 12 topics, 2 aspects")
    assert "48 judged answers, 96 judgments by 2 judges, 12 topics, 2 aspects" in repr(description)
    # Answers have no threshold.
    assert "positive" not in printed


@pytest.mark.parametrize(
    "argument",
    [{"runs": {}}, {"measures": "AP"}, {"topics": judged_answers()}],
    ids=["runs", "measures", "topics"],
)
def test_arguments_that_do_not_apply_to_answers_are_errors(argument: dict[str, Any]) -> None:
    with pytest.raises(MultiAspectError, match="expected none beside judged answers"):
        ma.describe(judged_answers(), **argument)


def test_qrels_with_a_column_of_systems_are_no_answers() -> None:
    qrels = small(label=[0, 1] * 10).assign(system="a")
    assert "20 judged documents" in str(ma.describe(qrels))


def percentages() -> dict[str, pd.DataFrame]:
    """Integer topics and fractional percentages; one answer lacks a label."""
    wide = pd.DataFrame(
        {
            "run_id": ["a", "a", "b", "b"],
            "qid": [1, 2, 1, 2],
            "fluent": [70.5, 80, 10, None],
            "exact": [1, 0, 1, 0],
        }
    )
    long = wide.melt(["run_id", "qid"], var_name="criterion", value_name="score")
    scores = wide[["fluent", "exact"]].to_dict("records")
    nested = wide[["run_id", "qid"]].assign(scores=scores)
    return {"wide": wide, "long": long, "nested": nested, "texts": wide.astype({"qid": str})}


def apply_remedy(remedy: str, judged: pd.DataFrame) -> pd.DataFrame:
    """Return the judgments after a remedy: an assignment to them, or an expression for some rows."""
    names = {"judged": judged}
    if remedy.startswith("judged[~"):
        return eval(remedy, names)
    exec(remedy, names)
    return names["judged"]


@pytest.mark.parametrize("form", percentages())
def test_remedies_of_answers_work(form: str) -> None:
    """After them, the percentages are fractions, and the answers without a label are left out."""
    judged = percentages()[form]  # a: 70.5 % and 80 %, b: 10 % and no label on topic 2
    findings = ma.describe(judged).findings
    is_mended = findings["finding"].str.contains("percentages|without a label")
    remedies = findings[is_mended]["remedy"]
    assert len(remedies) == 2
    for remedy in remedies:
        judged = apply_remedy(remedy, judged)
    assert ma.describe(judged).findings.query("severity == 'error'").empty
    scores = ma.answers.from_criteria(judged)
    fluent = scores[scores["measure"] == "fluent"]["value"]
    assert fluent.tolist() == [0.705, 0.1]  # topic 2 is left out


def test_remedies_in_the_shell_are_not_python() -> None:
    description = ma.describe(spoilt_answers()["nearly always the best"][0], GRADES)
    assert "ma.describe" in str(description)
    with messages_for_shell({}):
        assert "ma.describe" not in str(description)
        assert "look at the labels below" in str(description)
    qrels = {
        f"q{i}": {f"d{j}": {"relevance": j % 3, "trust": (2 - j) % 3} for j in range(9)}
        for i in range(2)
    }
    description = ma.describe(qrels)
    assert "ma.describe(qrels).contingency('relevance', 'trust')" in str(description)
    with messages_for_shell({}):
        assert "--contingency relevance trust" in str(description)
