"""`describe`: what it counts, what it finds odd and what not, and how it looks."""

from __future__ import annotations

import ast
import itertools
import re
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
            ["q1", "c", -1, 3],
            ["q2", "d", 2, NAN],
            ["q3", "e", 0, 9],
        ],
        columns=["qid", "docno", "label", "trust"],
    )
    aspects = {"relevance": 2, "trust": Aspect([1, 3, 5], threshold=5)}
    description = ma.describe(qrels, aspects)
    assert (description.n_documents, description.n_topics) == (5, 3)
    relevance, trust = description.per_aspect.to_dict("records")
    assert relevance == {
        "aspect": "relevance", "scale": "declared", "grades": "0, 1, 2", "threshold": 1, "judged": 5, "missing": 0,
        "below_scale": 1, "out_of_scale": 0, "distinct": 4, "topics": 3, "positive": 0.4,
        "topics_without_positive": 1,
    }  # fmt: skip
    assert trust == {
        "aspect": "trust", "scale": "declared", "grades": "1, 3, 5", "threshold": 5, "judged": 2, "missing": 2,
        "below_scale": 0, "out_of_scale": 1, "distinct": 2, "topics": 1, "positive": 0.5,
        "topics_without_positive": 2,
    }  # fmt: skip
    counts = (
        description.labels[["aspect", "label", "kind", "count", "share"]]
        .to_numpy(dtype=object)
        .tolist()
    )
    assert counts == [
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
    labels = {"relevance": [0, 1, 2] * 3, "trust": [0, 1, 2, 0, 2, 1, 2, 1, 0]}
    qrels = pd.DataFrame({"qid": np.repeat(["q1", "q2", "q3"], 3), "docno": [*"abc"] * 3, **labels})
    row = ma.describe(qrels).between.iloc[0]
    taus = [1, 1 / 3, -1]
    assert row["topics"] == 3
    assert row["tau"] == pytest.approx(sum(taus) / 3)
    variance = (
        sum((tau - sum(taus) / 3) ** 2 for tau in taus) / 2
    )  # of the sample: divided by n - 1
    assert row["tau_error"] == pytest.approx((variance / 3) ** 0.5)
    assert np.isnan(ma.describe(qrels.head(3)).between["tau_error"].item())


def test_the_error_of_an_association_is_that_of_all_permutations() -> None:
    group = np.array([0, 0, 0, 0, 1, 1, 1, 2])  # the last by itself
    x, y = np.array([0, 0, 1, 1, 1, 0, 0, 1]), np.array([0, 1, 1, 3, 2, 0, 2, 2])

    def effect(y: np.ndarray) -> float:
        cells = Cells.count(group, x, y, 3)
        return association(cells, cells.x.astype(float), cells.y.astype(float))[0]

    parts = [list(itertools.permutations(y[group == at])) for at in (0, 1)]
    effects = [
        effect(np.array([*first, *second, y[-1]])) for first in parts[0] for second in parts[1]
    ]
    cells = Cells.count(group, x, y, 3)
    covariance, error = association(cells, cells.x.astype(float), cells.y.astype(float))
    assert np.mean(effects) == pytest.approx(0, abs=1e-12)
    assert error == pytest.approx(np.std(effects))
    assert covariance == pytest.approx(
        sum((x[group == g] - x[group == g].mean()) @ y[group == g] for g in (0, 1))
    )


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
    # Gaps of (relevance 2, trust 4): (1, 0), (0, 2), (2, 4); the fourth document is at distance 0.
    qrels = small(label=[1, 2, 0, 2], trust=[4, 2, 0, 4])
    shares = ma.describe(qrels, {"relevance": 2, "trust": 4}).distance_shares
    equal, gains = (shares[shares["order"] == f"axes='{axes}'"] for axes in ("equal", "gains"))
    np.testing.assert_allclose(equal["share"], [(1 + 0 + 0.5) / 3, (0 + 1 + 0.5) / 3])
    np.testing.assert_allclose(gains["share"], [(1 + 0 + 4 / 20) / 3, (0 + 1 + 16 / 20) / 3])
    assert set(shares["documents"]) == {3}


def test_shares_in_the_distance_of_a_measure() -> None:
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
    shares = ma.describe(qrels, aspects, measures=measures).distance_shares.set_index(
        ["order", "aspect"]
    )["share"]
    # Gaps, equal axes: (1/2, 0), (0, 1/2), (1, 0).
    assert shares["plain", "relevance"] == pytest.approx(2 / 3)
    assert shares["weighted", "relevance"] == pytest.approx(2 / 3)
    assert shares["top", "trust"] == pytest.approx(1 / 3)
    assert shares["gated", "relevance"] == pytest.approx((1 + 0 + 0.5) / 3)


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
    run = pd.concat(
        [run_of(qrels), run_of(qrels, seed=2).assign(docno=lambda rows: "u" + rows["docno"])]
    )
    run = run[run["qid"] != "q03"]
    run["score"] = np.random.default_rng(3).permutation(len(run)) + 0.0
    description = ma.describe(qrels, runs={"mine": run})
    measures = [ir_measures.Judged @ cutoff for cutoff in (5, 10, 20)]
    standard = qrels.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
    values = ir_measures.calc_aggregate(
        measures,
        standard[standard["query_id"] != "q03"],
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
    qrels = sound(n_topics=4)
    run = run_of(qrels)[lambda rows: rows["qid"] != "q02"]
    run = pd.concat([run, run.head(3).assign(score=1e6), run.head(5).assign(qid="q77")])
    run.loc[run["qid"] == "q04", "score"] = 3.0
    (row,) = ma.describe(qrels, runs={"mine": run}).runs.to_dict("records")
    assert row == {
        "name": "mine", "topics": 3, "missed": 1, "unjudged_topics": 1, "documents": 120, "repeated": 3,
        "tied": 43 / 120,
    }  # fmt: skip


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
    qrels = sound().assign(trust=lambda rows: 4 - rows["trust"])
    aspects = ["relevance", "understandability", ("trust", Aspect(4, greater_is_better=False))]
    declared = dict(entry if isinstance(entry, tuple) else (entry, None) for entry in aspects)
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
    qrels = sound().assign(trust=lambda rows: rows["trust"].where(np.arange(len(rows)) % 3 > 0, 20))
    assert findings_about(ma.describe(qrels), "20, may be a code")["severity"].tolist() == [
        "warning"
    ]
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
    qrels = sound().assign(
        trust=lambda rows: rows["trust"].where(
            ~((rows["label"] == 0) & (np.arange(len(rows)) % 4 == 0)), 5
        )
    )
    (finding,) = findings_about(ma.describe(qrels), "less relevant than those with 4").to_dict(
        "records"
    )
    assert (finding["severity"], finding["aspects"]) == ("note", "trust")


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("share", "threshold", "says"),
    [
        (0.97, 1, "97%"),
        (0.85, 1, "85%"),
        (0.845, 1, None),
        (0.01, 2, None),
        (0.005, 2, "0.5%"),
        (0.0, 2, None),
    ],
)
def test_declared_thresholds_are_notes(share: float, threshold: int, says: str | None) -> None:
    positive = np.arange(1000) % 200 < round(200 * share)
    qrels = small(
        label=(np.arange(1000) % 3).tolist(),
        trust=np.where(positive, threshold, threshold - 1).tolist(),
    )
    findings = findings_about(
        ma.describe(qrels, {"relevance": 2, "trust": Aspect(2, threshold=threshold)}),
        "are positive",
    )
    # With no positive document all have one label, which is another finding.
    assert findings["severity"].tolist() == ["note"] * (says is not None)
    assert (
        says is None
        or f" ({says} of 1000 judged documents are positive" in findings["finding"].iloc[0]
    )


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
    """One said nothing of 88 % positive documents, the other nothing of .5 %, and each blamed something else."""
    qrels, says = LABEL_RULES[case]
    findings = ma.describe(qrels).findings
    listed = findings[
        (findings["aspects"] == "trust") & findings["severity"].isin(["error", "warning"])
    ]
    assert [text.startswith(str(says)) for text in listed["finding"]] == [True] * (says is not None)
    warned = warning_sentences(qrels, "AP")
    assert [text.partition(". ")[0] for text in warned] == listed["finding"].tolist()


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
    qrels = sound().assign(
        trust=lambda rows: rows["trust"].where(np.arange(len(rows)) % 50 > 0, -9)
    )
    (finding,) = ma.describe(qrels).findings.to_dict("records")
    assert finding["finding"].startswith(
        "trust has labels below its lowest grade 0, which are evaluated as that grade: -9"
    )
    low = ma.describe(
        sound(), {"relevance": 2, "understandability": Aspect([1, 2, 3], threshold=3), "trust": 4}
    )
    assert findings_about(low, "lowest grade 1, which are evaluated as that grade: 0")[
        "aspects"
    ].tolist() == ["understandability"]
    # They are not hidden, and the threshold stays.
    assert low.proposed["understandability"] == Aspect(3, threshold=3)


def test_labels_out_of_scale() -> None:
    description = ma.describe(sound(), {"relevance": 2, "understandability": 3, "trust": [0, 1, 3]})
    (finding,) = findings_about(description, "labels (2, 4) are not on the scale 0, 1, 3").to_dict(
        "records"
    )
    assert (finding["severity"], finding["aspects"]) == ("error", "trust")
    fixed = eval(finding["remedy"], {"ma": ma})
    assert findings_about(ma.describe(sound(), fixed), "not declared grades").empty


def test_labels_that_are_not_probabilities() -> None:
    qrels = sound().assign(trust=lambda rows: rows["trust"] / 2)
    aspects = {"relevance": 2, "understandability": 3, "trust": Aspect(probabilities="identity")}
    (finding,) = findings_about(ma.describe(qrels, aspects), " labels, up to 2").to_dict("records")
    assert (finding["severity"], finding["aspects"]) == ("error", "trust")
    assert findings_about(
        ma.describe(qrels.assign(trust=qrels["trust"] / 2), aspects), "not probabilities"
    ).empty


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
    qrels = sound(10).assign(
        trust=lambda rows: rows["trust"].where(~rows["qid"].isin(["q01", "q02", "q03"]), 0)
    )
    assert findings_about(ma.describe(qrels), "without a positive document")[
        "aspects"
    ].tolist() == ["trust"]
    assert (
        findings_about(
            ma.describe(qrels[qrels["qid"] > "q01"]), "without a positive document"
        ).to_dict("records")[0]["severity"]
        == "note"
    )
    assert findings_about(
        ma.describe(qrels[qrels["qid"] > "q02"]), "without a positive document"
    ).empty


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


def test_repeated_and_tied_documents() -> None:
    qrels = sound()
    run = run_of(qrels)
    repeated = ma.describe(qrels, runs={"mine": pd.concat([run, run.head(2)])})
    assert texts(repeated) == [
        "run mine has 2 documents more than once for a topic; the last score counts"
    ]
    tied = ma.describe(qrels, runs={"mine": run.assign(score=lambda rows: rows["score"] // 300)})
    assert [
        text.partition("of the documents of run mine have tied")[1] != "" for text in texts(tied)
    ] == [True]
    assert tied.findings["severity"].tolist() == ["note"]


def test_sparse_judgments_at_the_top() -> None:
    qrels = sound().assign(trust=lambda rows: rows["trust"].where(rows["label"] > 0))
    run = run_of(qrels).assign(score=lambda rows: rows["score"] - 10_000 * qrels["label"])
    (finding,) = findings_about(
        ma.describe(qrels, runs={"mine": run}), "few documents of a run's top 10 are judged"
    ).to_dict("records")
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
    codes = pd.factorize(np.array(simplify_all(ids), dtype=object))[0]
    assert (
        codes.tolist()
        == pd.factorize(np.array([simplify(text) for text in ids], dtype=object))[0].tolist()
    )


@given(first=IDS, second=IDS)
def test_what_looks_alike_can_be_mended(first: str, second: str) -> None:
    if first != second and simplify(first) == simplify(second):
        column = pd.Series([first, second], dtype=object)
        first, second = eval(f"column{mending_calls(first, second)}", {"column": column})
        assert first == second


@pytest.mark.slow
def test_axes_of_unequal_length() -> None:
    qrels = sound()

    def unequal_axes(measure: Any) -> pd.DataFrame:
        return findings_about(ma.describe(qrels, measures=measure), "of unequal length")

    aspects = {"relevance": 2, "understandability": 3, "trust": 4}
    assert unequal_axes(ma.TOMA(aspects=aspects)).empty
    assert unequal_axes(ma.CAM(aspects=aspects)).empty
    assert unequal_axes(ma.TOMA(aspects=aspects, axes="gains"))["severity"].tolist() == ["warning"]
    assert unequal_axes(ma.TOMA(aspects={"relevance": 2, "understandability": 3}, axes="gains"))[
        "severity"
    ].tolist() == ["note"]
    weights = {"relevance": 1.5, "understandability": 1}
    assert unequal_axes(
        ma.TOMA(aspects={"relevance": 2, "understandability": 3}, weights=weights, axes="gains")
    ).empty
    remedy = unequal_axes(ma.TOMA(aspects=aspects, axes="gains"))["remedy"].iloc[0]
    assert eval(remedy, {"ma": ma}) == ma.TOMA(aspects=aspects)


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


def test_aspects_judged_alike_are_one_row_and_a_single_one_has_its_name() -> None:
    for aspects, first in (
        ({"relevance": 2, "trust": 4}, "all aspects"),
        ({"relevance": 2}, "relevance"),
    ):
        qrels = sound(3)[
            ["qid", "docno", *({"relevance": "label"}.get(name, name) for name in aspects)]
        ]
        printed = str(ma.describe(qrels, aspects, runs={"mine": run_of(qrels)}))
        assert re.search(rf"^mine +{first} +100\.0 %", printed, re.MULTILINE)
    assert re.search(
        r"^relevance +trust +120 +0 +0 +0\.25 \(3\)$",
        str(ma.describe(sound(3), SCALES)),
        re.MULTILINE,
    )


@pytest.mark.parametrize(("better", "n_findings"), [(7, 1), (6, 0)])
def test_runs_that_are_judged_unevenly(better: int, n_findings: int) -> None:
    """Of runs whose top 10 are judged by .6 and .7 or less, the first finding is code that runs."""
    labels = [f"{docno}" for docno in range(20)]
    qrels = pd.DataFrame(
        {"qid": "q", "docno": labels, "relevance": [0, 1, 2, 1] * 5, "trust": [0, 1, 2, 3, 4] * 4}
    )
    runs = {
        name: pd.DataFrame(
            {
                "qid": "q",
                "docno": [*labels[:number], *(f"{name}{row}" for row in range(10 - number))],
                "score": -np.arange(10.0),
            }
        )
        for name, number in {"low": 6, "high": better}.items()
    }
    findings = ma.describe(qrels, SCALES, runs=runs).findings
    uneven = findings[findings["finding"].str.contains("missing labels may decide")]
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


@pytest.mark.every(7)
@pytest.mark.parametrize(
    ("rule", "table", "changes", "severities"),
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
    rule: str, table: str, changes: dict[str, Any], severities: list[str]
) -> None:
    statistics = ma.describe(sound())._statistics
    per_aspect = statistics.per_aspect[lambda rows: rows["aspect"] == "trust"].iloc[0].to_dict()
    rows = {
        "between": PAIR,
        "top_labels": TOP,
        "per_aspect": per_aspect,
        "runs": RUN,
        "judged_at": AT,
    }
    tables = {
        name: pd.DataFrame([row | (changes if name == table else {})]) for name, row in rows.items()
    }
    tables["per_aspect"] = pd.concat(
        [statistics.per_aspect[lambda rows: rows["aspect"] != "trust"], tables["per_aspect"]],
        ignore_index=True,
    )
    brought = replace(
        statistics.retrieved, runs=tables.pop("runs"), judged_at=tables.pop("judged_at")
    )
    apply = getattr(rules, rule)
    assert [
        finding.severity for finding in apply(replace(statistics, retrieved=brought, **tables))
    ] == severities


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
        ([1, 2, 3, 4, 5] * 6 + [8] * 3, (8,)),
        ([1, 2, 3, 4, 5] * 6 + [9] * 3, (9,)),
        ([0, 1, 2, 3, 4] * 6 + [9] * 3, (9,)),
        ([1, 2, 3, 4, 5] * 6 + [8, 9], (8, 9)),
        ([-1, 0, 1, 2] * 6 + [9] * 3, (9,)),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 4, ()),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 4, ()),
        ([1, 2, 3, 4, 5] * 6 + [6], ()),
        ([1, 2, 3, 4, 5] * 6 + [7], ()),
        ([1, 2, 3, 4, 5] * 6 + [9] * 7, ()),
    ],
)
def test_codes_of_surveys_are_no_grades(labels: list[int], codes: tuple[int, ...]) -> None:
    """With 9 for 'I don't know' on grades 1 to 5, the grades 1 to 9 were proposed."""
    description = ma.describe(small(label=labels))
    findings = findings_about(description, "no label is between")
    proposed = description.proposed["relevance"]
    assert [code for code in proposed.unjudged if code > 0] == list(codes)
    assert len(findings) == bool(codes)
    if codes:
        assert proposed.grades[-1] == max(label for label in labels if label < 8)


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
    ("missing", "extra", "says"),
    [
        (5, 0, []),
        (5, 5, []),
        (6, 0, ["only 94.0 % of the documents above"]),
        (0, 5, []),
        (0, 6, ["only 94.3 % of those judged on"]),
    ],
)
def test_documents_judged_on_one_aspect_only(missing: int, extra: int, says: list[str]) -> None:
    trust = [NAN] * missing + [at % 3 for at in range(100 - missing + extra)]
    qrels = small(label=[1.0 + at % 2 for at in range(100)] + [NAN] * extra, trust=trust)
    findings = findings_about(
        ma.describe(qrels, {"relevance": 2, "trust": 2}), "missing labels count"
    )["finding"].tolist()
    assert [text[: len(start)] for text, start in zip(findings, says, strict=True)] == says


def test_aspects_judged_where_documents_are_relevant() -> None:
    trust = [at % 3 for at in range(50)] + [NAN] * 50
    findings = ma.describe(
        small(label=[1] * 50 + [0] * 50, trust=trust), {"relevance": 1, "trust": 2}
    )
    assert findings_about(findings, "missing labels count").empty


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("weight", "severity"), [(1.5, "warning"), (1.4999, "note"), (0.75, None), (0.76, "note")]
)
def test_axes_of_which_one_is_twice_the_other(weight: float, severity: str | None) -> None:
    measure = ma.TOMA(
        aspects={"relevance": 3, "trust": 4},
        axes="gains",
        weights={"relevance": 1, "trust": weight},
    )
    findings = findings_about(
        ma.describe(sound(), {"relevance": 3, "trust": 4}, measures=measure), "of unequal length"
    )
    assert findings["severity"].tolist() == ([severity] if severity else [])


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
    """The remedy was to declare codes, which would have hidden thousands of labels."""
    description = ma.describe(sound(), {"relevance": 1, "trust": Aspect([0, 1, 2], threshold=2)})
    assert description.proposed == Aspects({"relevance": 2, "trust": Aspect(4, threshold=2)})
    (finding,) = findings_about(description, "not declared grades")["finding"]
    assert "Check first that these are the labels of relevance, trust, and the top grade" in finding
    assert "relevance: " in finding
    assert "labels (2) are not on the scale 0, 1;" in finding
    with pytest.raises(MultiAspectError, match="labels of trust"):
        ma.evaluate(
            run_of(sound()), sound(), ma.CAM(aspects={"relevance": 2, "trust": 2}), progress=False
        )
    coded = sound().assign(
        trust=lambda rows: rows["trust"].where(np.arange(len(rows)) % 50 > 0, 99)
    )
    assert ma.describe(coded, {"relevance": 2, "trust": 4}).proposed["trust"] == Aspect(
        4, unjudged=[99]
    )
    gains = {"relevance": 2, "trust": Aspect([0, 1, 2], gains=[0, 1, 5])}
    (finding,) = findings_about(ma.describe(sound(), gains), "not declared grades")["remedy"]
    assert finding == "ma.describe(qrels).labels"


def test_a_reversed_scale_with_gains_and_a_threshold() -> None:
    """It was an error that the gains decrease."""
    qrels = sound().assign(trust=lambda rows: 4 - rows["trust"])
    for aspect in (Aspect(4, gains=[0, 1, 2, 3, 5]), Aspect(4, threshold=4)):
        description = ma.describe(qrels, {"relevance": 2, "trust": aspect})
        assert description.proposed["trust"] == Aspect(4, greater_is_better=False)


@pytest.mark.parametrize("turned", [False, True])
def test_labels_that_are_no_grades(turned: bool) -> None:
    """At the lowest grade, at a code and below the scale they are none of these."""
    sign = -1 if turned else 1
    labels = [sign * label for label in (1, 2, 3, 0, 2.5, 4, 9)]
    scale = Aspect(
        sorted(sign * grade for grade in (1, 2, 3)),
        greater_is_better=not turned,
        unjudged=[sign * 9],
    )
    (row,) = ma.describe(small(label=labels), {"relevance": scale}).per_aspect.to_dict("records")
    assert (row["judged"], row["out_of_scale"], row["below_scale"], row["missing"]) == (4, 2, 1, 1)


@pytest.mark.parametrize(
    ("counts", "threshold"),
    [
        ([5, 5, 5, 35, 30, 10, 10], 4),  # 85 % from 3 on
        ([5, 5, 6, 34, 30, 10, 10], 3),
        ([100, 50, 48, 2, 0, 0, 0], 3),  # 1 % from 3 on
        ([100, 50, 49, 1, 0, 0, 0], 2),
    ],
)
def test_the_threshold_proposed_is_reached_by_some_documents(
    counts: list[int], threshold: int
) -> None:
    qrels = small(label=np.repeat(range(7), counts).tolist())
    assert ma.describe(qrels, {"relevance": 6}).proposed["relevance"].threshold == threshold


def test_the_threshold_proposed_is_one() -> None:
    qrels = sound().assign(trust=lambda rows: rows["trust"] * 20 + np.arange(len(rows)) % 19 + 1)
    qrels.loc[0, "trust"] = 0
    (remedy,) = findings_about(ma.describe(qrels, "relevance,trust"), "is not declared")["remedy"]
    assert texts(ma.describe(qrels, eval(remedy, {"ma": ma}))) == []


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
    qrels = sound().assign(trust=lambda rows: (rows["trust"] + 1) / 7)
    qrels["label"] = qrels["label"].where(np.arange(len(qrels)) % 300 > 0, 99)
    description = ma.describe(qrels)
    declaring = [
        remedy for remedy in description.findings["remedy"] if remedy.startswith("ma.Aspects")
    ]
    assert len(declaring) > 1
    assert {eval(remedy, {"ma": ma}) for remedy in declaring} == {description.proposed}
    printed = str(description)
    assert printed.count("declare the scales as below") == len(declaring)
    code = printed[printed.index("ma.Aspects(") :].partition("\n\n")[0]
    assert eval(code, {"ma": ma}) == description.proposed


class _Checker(HTMLParser):
    VOID = {"meta", "rect", "br"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_sound_and_needs_nothing_else(tmp_path: Path) -> None:
    description = nasty()
    text = description.to_html(tmp_path / "description.html")
    assert (tmp_path / "description.html").read_text(encoding="utf-8") == text
    checker = _Checker()
    checker.feed(text)
    assert checker.open == []
    assert "script" not in checker.open
    assert "<script" not in text
    assert NASTY in checker.text
    assert not {"src", "href"} & {name for name, _ in checker.attributes}
    assert "url(" not in text
    assert "@import" not in text
    assert description._repr_html_() in text
    for finding in description.findings["remedy"]:
        assert finding in checker.text or finding.startswith("ma.Aspects")
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
    n, rows = 24, np.arange(24)
    qrels = pd.DataFrame(
        {"qid": np.repeat(["q1", "q2"], n // 2), "docno": [f"d{row}" for row in rows]}
    )
    qrels = qrels.assign(label=rows % 3, pages=rows % 16, trust=np.where(rows < 12, 1.0, np.nan))
    first = qrels[["qid", "docno"]].assign(score=-rows // 2)
    scales = {"relevance": 2, "pages": Aspect(range(16), threshold=7), "trust": 1}
    measures = ["uRBPgr@5", "CAM(base='AP')", ma.MDCU(themes="relevance", usability="pages")]
    described = ma.describe(
        qrels, scales, runs={"first": first, "second": first.head(6)}, measures=measures
    )
    printed = str(described)
    assert printed.startswith(
        "24 judged documents, 2 topics, 3 aspects\n\nFindings\n--------\n1. WARNING run second "
        "misses"
    )
    assert printed[printed.index("relevance\n---------") :] == WHOLE


def test_few_labels_of_a_long_scale_are_drawn_one_by_one() -> None:
    qrels = sound().assign(
        trust=lambda rows: rows["trust"].where(np.arange(len(rows)) % 300 > 0, 99)
    )
    printed = str(ma.describe(qrels))
    assert re.search(r"\n *99 .*# +4 +0\.3 %\n", printed)
    assert len(re.findall(r"\n *3 +#", printed[printed.index("\ntrust\n") :])) == 1


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
def test_findings_on_clef_2018_and_on_scales_of_100() -> None:
    qrels, runs = clef2018(), runs_of("clef2018")
    expected = [
        ("warning", "understandability, trust", "the threshold of understandability, trust is"),
        ("note", "understandability", "documents with the highest label, 10,"),
    ]
    assert finding_tuples(ma.describe(qrels, runs=runs)) == expected
    declared = {
        "relevance": 2,
        "understandability": Aspect(10, threshold=5),
        "trust": Aspect(10, threshold=5),
    }
    assert finding_tuples(ma.describe(qrels, declared, runs=runs)) == expected[1:]
    generator = np.random.default_rng(0)
    for name in ("understandability", "trust"):
        qrels[name] = np.clip(qrels[name] * 10 + generator.integers(-9, 10, len(qrels)), 0, 100)
    long = finding_tuples(ma.describe(qrels, "relevance,understandability,trust", runs=runs))
    assert [(severity, aspect) for severity, aspect, _ in long] == [
        ("warning", "understandability, trust"),
        ("note", "understandability"),
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
def test_the_remedy_for_identifiers_that_look_alike_changes_both_sides():
    """Or runs that were right would be wrong."""
    qrels = load_health().qrels
    qrels = qrels.assign(docno=qrels["docno"].str.upper())
    upper = qrels[["qid", "docno"]].assign(score=range(len(qrels)))
    runs = {"upper": upper, "lower": upper.assign(docno=upper["docno"].str.lower())}
    (remedy,) = ma.describe(qrels, runs=runs).findings.query("finding.str.contains('look like')")[
        "remedy"
    ]
    expected = ma.aggregate(ma.evaluate(upper, qrels, "AP", progress=False))["AP"].item()
    exec(remedy)
    after = ma.aggregate(ma.evaluate(runs, qrels, "AP", progress=False))
    assert after["AP"].tolist() == [expected, expected]
    assert not ma.describe(qrels, runs=runs).findings["finding"].str.contains("look like").any()


def test_the_remedy_for_repeated_documents_keeps_the_values():
    qrels = load_health().qrels
    run = qrels[["qid", "docno"]].assign(score=range(len(qrels)))
    runs = {"r": pd.concat([run, run[:3].assign(score=-1)], ignore_index=True)}
    (remedy,) = ma.describe(qrels, runs=runs).findings.query(
        "finding.str.contains('more than once')"
    )["remedy"]
    with pytest.warns(ma.MultiAspectWarning, match="repeated documents"):
        expected = ma.evaluate(runs, qrels, "AP", progress=False)
    exec(remedy)
    pd.testing.assert_frame_equal(ma.evaluate(runs, qrels, "AP", progress=False), expected)


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
    """Values in [0, 1] stay values, whatever the largest one is."""
    rows = judged_answers()
    values = pd.Series(rows["score"] / 8)
    mixed = rows.assign(score=rows["score"].where(rows["criterion"] == "faithful", values))
    description = ma.describe(mixed)
    assert description.proposed == Aspects({"faithful": [1, 2, 3, 4, 5], "complete": Aspect()})
    scored = ma.answers.from_criteria(mixed, aspects=description.proposed)
    complete = scored[scored["measure"] == "complete"].set_index(["name", "qid"])["value"]
    by_hand = mixed[mixed["criterion"] == "complete"].groupby(["system", "topic"])["score"].mean()
    assert complete.to_dict() == pytest.approx(by_hand.to_dict())
    # Repaired, nothing is left.
    assert texts(ma.describe(mixed, description.proposed)) == []


def test_disagreement_without_krippendorff(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = judged_answers()
    other = rows["score"].where(
        rows["judge"] == "a", np.random.default_rng(1).integers(3, 6, len(rows))
    )
    monkeypatch.setattr("pt_multiaspect.description.answer_rules.find_spec", lambda name: None)
    rows = rows.assign(score=other)
    found = findings_about(ma.describe(rows, GRADES), "alpha of the judges requires krippendorff")
    assert found[["severity", "aspects"]].values.tolist() == [["note", "faithful, complete"]]
    few = rows[rows["topic"] == rows["topic"].iloc[0]]
    assert findings_about(ma.describe(few, GRADES), "requires krippendorff").empty


def test_answers_with_one_label_are_not_those_on_which_judges_agree() -> None:
    """24 of 48 answers have two judges, who agree on 18; of all answers, 7 in 8 would have equal labels."""
    alone = judged_answers(judges="a")
    of_answer = alone.groupby(["topic", "system"]).ngroup()
    other = alone["score"].where(of_answer < 18, 6 - alone["score"] + (alone["score"] == 3))
    rows = pd.concat([alone, alone.assign(judge="b", score=other)[of_answer < 24]])
    found = findings_about(ma.describe(rows, GRADES), "judges disagree")
    (finding,) = found["finding"]
    assert finding.count("the labels of 75.0 % of 24 answers with several are equal") == 2


def test_the_judge_who_deviates_is_named() -> None:
    rows = judged_answers(judges="abc")
    lenient = rows["score"].where(rows["judge"] != "c", rows["score"] + 3).clip(upper=5)
    found = findings_about(ma.describe(rows.assign(score=lenient), GRADES), "judges disagree")
    (finding,) = found["finding"]
    assert finding.count(", and c deviates most, by +") == 2


def test_answers_in_files_and_beside_what_does_not_apply(tmp_path: Path) -> None:
    rows = judged_answers()
    rows.to_csv(tmp_path / "judged.csv", index=False)
    description = ma.describe(tmp_path / "judged.csv", GRADES)
    assert (
        str(description)
        == str(ma.describe(rows, GRADES))
        == str(ma.describe([tmp_path / "judged.csv"], GRADES))
    )
    assert str(description).startswith(
        "48 judged answers, 96 judgments by 2 judges, 12 topics, 2 aspects"
    )
    assert "96 judged answers" in repr(description)
    assert "positive" not in str(description)
    for others in ({"runs": {}}, {"measures": "AP"}, {"topics": rows}):
        with pytest.raises(MultiAspectError, match="expected none beside judged answers"):
            ma.describe(rows, **others)
    # A column of runs beside documents is no sign of answers.
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


@pytest.mark.parametrize("form", percentages())
def test_remedies_of_answers_work(form: str) -> None:
    judged = percentages()[form]
    found = ma.describe(judged).findings
    remedies = found[found["finding"].str.contains("percentages|without a label")]["remedy"]
    assert len(remedies) == 2
    for remedy in remedies:
        names = {"judged": judged}
        exec(f"result = {remedy}" if remedy.startswith("judged[~") else remedy, names)
        judged = names.get("result", judged)
    assert ma.describe(judged).findings.query("severity == 'error'").empty
    scores = ma.answers.from_criteria(judged)
    assert scores[scores["measure"] == "fluent"]["value"].tolist() == [0.705, 0.1]


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
