"""The section Answers of a report, and the agreement of judges in the shell, against values by hand."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.analysis import judge_agreement
from pt_multiaspect.cli import main
from pt_multiaspect.errors import MultiAspectWarning
from pt_multiaspect.views import decimals, text_of

SCALES = ma.Aspects({"faithful": [1, 2, 3, 4, 5], "complete": [1, 2, 3, 4, 5]})
CAM = {"CAM": ma.CAM(aspects="faithful,complete")}


@pytest.fixture(autouse=True)
def _intervals_of_few_samples(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Draw fewer bootstrap samples for α, except where its intervals are the point."""
    if request.node.name != "test_intervals_of_agreement_are_over_topics":
        monkeypatch.setattr("pt_multiaspect.analysis.judges._RESAMPLES", 40)


def labels(judges: str = "ab", seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (f"q{topic}", name, criterion, judge, int(rng.integers(1, 6)))
        for topic in range(8)
        for name in ("long", "short", "third")
        for criterion in SCALES
        for judge in judges
    ]
    return pd.DataFrame(rows, columns=["topic", "system", "criterion", "judge", "score"])


def section(report: Any) -> str:
    """The section, in one line."""
    return " ".join(text_of(report._answers, 1000).split())


def said(judged: pd.DataFrame, values: pd.DataFrame, **options: Any) -> str:
    """The section of a report that compares with short."""
    return section(ma.report(values, answers=judged, aspects=SCALES, baseline="short", **options))


@functools.cache
def plain_report() -> Any:
    """The report of the labels of two judges, which several tests read."""
    return ma.report(scores(labels()), answers=labels(), aspects=SCALES, baseline="short")


def scores(judged: pd.DataFrame, combine: str = "mean") -> pd.DataFrame:
    return ma.answers.combine(
        ma.answers.from_criteria(judged, aspects=SCALES, combine_judges=combine), CAM
    )


def test_labels_judges_agreement_and_each_judge_alone() -> None:
    pytest.importorskip("krippendorff")
    judged, report = labels(), plain_report()
    text = section(report)
    assert (
        "faithful and complete: the labels 1, 2, 3, 4, 5 became the values 0, 0.25, 0.5, 0.75, 1."
        in text
    )
    assert "96 labels of 24 answers by 2 judges (a, b)." in text
    assert "Several labels of an answer are combined by their mean." in text
    for row in judge_agreement(judged, aspects=SCALES, ci=0.95).to_dict("records"):
        ends = f"[{decimals(row['low'])}, {decimals(row['high'])}]"
        assert f"{row['aspect']} {decimals(row['alpha'])} {ends} 24" in text
    best = report.robustness.table["a"][0]
    assert f"labels of {best} − short on CAM" in text
    for judge in "ab":
        of_judge = judged[judged["judge"] == judge].pivot_table(
            index="system", values="score", aggfunc=lambda given: ((given - 1) / 4).mean()
        )["score"]
        assert f" {judge} {decimals(of_judge[best] - of_judge['short'])}" in text


def test_values_of_labels_are_rounded_to_four_digits() -> None:
    few = labels("a").assign(score=lambda rows: rows["score"].clip(upper=4))
    to_four = {name: [1, 2, 3, 4] for name in SCALES}
    report = ma.report(ma.answers.from_criteria(few, aspects=to_four), answers=few, aspects=to_four)
    assert "1, 2, 3, 4 became the values 0, 0.3333, 0.6667, 1." in section(report)


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["median", "majority"])
def test_the_combination_is_the_one_that_gives_the_values(method: str) -> None:
    judged = labels("abc", seed=4)
    judged.loc[judged["judge"] == "c", "score"] = judged.loc[
        judged["judge"] == "a", "score"
    ].to_numpy()
    text = said(judged, scores(judged, method))
    # The majority of two equal labels of three is their median.
    assert "Several labels of an answer are combined by their median." in text


def test_values_of_other_labels_are_doubted() -> None:
    judged = labels()
    assert "The values are not those that from_criteria makes of these labels" in said(
        judged, scores(labels(seed=1))
    )


def test_one_label_per_answer_and_criteria_without_grades() -> None:
    judged = labels("a").drop(columns="judge").assign(score=lambda rows: rows["score"] / 5)
    values = ma.answers.combine(ma.answers.from_criteria(judged), CAM)
    report = ma.report(values, answers=judged, baseline="short")
    text = section(report)
    assert text == "faithful and complete: values in [0, 1], as given. 48 labels of 24 answers."


@pytest.mark.filterwarnings("ignore:judged. on 8 topics")
def test_a_judge_of_some_answers_only() -> None:
    judged = labels()
    kept = judged[(judged["judge"] == "a") | (judged["topic"] != "q0")]
    report = ma.report(scores(kept), answers=kept, aspects=SCALES, baseline="short")
    best = report.robustness.table["a"][0]
    text = section(report)
    assert f" b {difference_by(kept, 'b', best)} 7 6 (long 2, short 2, third 2)" in text
    assert f" a {difference_by(kept, 'a', best)} 8 0 " in text
    assert (
        "90 labels of 24 answers by 2 judges (a, b); 6 are missing (long 2, short 2, third 2)."
        in text
    )
    without = judged[(judged["judge"] == "a") | (judged["system"] == "long")]
    text = said(without, scores(without))
    assert " b – 0 32 (short 16, third 16)" in text
    assert "64 labels of 24 answers by 2 judges (a, b)." in text


def difference_by(judged: pd.DataFrame, judge: str, best: str) -> str:
    """The difference of the means over the topics on which a judge gave both systems both labels."""
    of_judge = judged[(judged["judge"] == judge) & judged["system"].isin([best, "short"])]
    values = (
        of_judge.pivot(index="topic", columns=["system", "criterion"], values="score").dropna() / 4
    )
    return decimals(values[best].mean(axis=1).mean() - values["short"].mean(axis=1).mean())


@pytest.mark.filterwarnings("ignore:.* labels are missing", "ignore:judged. on")
@pytest.mark.parametrize("seed", range(3))
def test_each_judge_has_a_difference_where_labels_are_missing(seed: int) -> None:
    """All three were `not all answers`."""
    judged = labels("abc", seed)
    kept = judged[np.random.default_rng(seed).random(len(judged)) > 0.1]
    values = ma.answers.from_criteria(kept, aspects=SCALES)
    values = ma.answers.combine(values, CAM)
    report = ma.report(values, answers=kept, aspects=SCALES, baseline="short")
    text, best = section(report), report.robustness.table["a"][0]
    for judge in "abc":
        lacking = judged.merge(kept, how="left", indicator=True).query(
            "_merge == 'left_only' and judge == @judge"
        )
        counts = lacking["system"].value_counts(sort=False)
        assert f" {judge} {difference_by(kept, judge, best)} " in text
        assert all(f"{name} {count}" in text for name, count in counts.items())
    assert f"{len(judged) - len(kept)} are missing (" in text


def test_topics_of_answers_that_are_not_shown_are_named() -> None:
    judged, values = labels(), scores(labels())
    some = values[~values["qid"].isin(["q2", "q5"])]
    assert "2 topics of the answers are not in this report: q2, q5." in said(judged, some)
    assert "not in this report" not in section(plain_report())


def test_low_agreement_is_called_low() -> None:
    pytest.importorskip("krippendorff")
    text = section(plain_report())
    assert "It is low, below 0.667, on faithful and complete: values depend on who judges." in text
    judged = labels()
    faithful = judged["criterion"] == "faithful"
    by_b = faithful & (judged["judge"] == "b")
    judged.loc[by_b, "score"] = judged.loc[faithful & (judged["judge"] == "a"), "score"].to_numpy()
    assert "It is low, below 0.667, on complete: values" in said(judged, scores(judged))
    judged.loc[judged["judge"] == "b", "score"] = judged.loc[
        judged["judge"] == "a", "score"
    ].to_numpy()
    assert "It is low" not in said(judged, scores(judged))


def test_agreement_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pt_multiaspect.reporting.answers.find_spec", lambda name: None)
    said_in_section = said(labels(), scores(labels()))
    assert "agreement of judges requires krippendorff: pip install" in said_in_section


@pytest.mark.filterwarnings("ignore:judged. on 8 topics")
def test_judges_of_different_answers_have_no_difference() -> None:
    """The means of a judge would be over other topics for each run."""
    judged = labels()
    of_b = (judged["judge"] == "b") & (judged["system"] != "third")
    early = judged["topic"].isin(["q0", "q1", "q2", "q3"])
    kept = judged[~of_b | (early == (judged["system"] == "long"))]
    values = scores(kept)
    assert " b – 0 " in said(kept, values)


def test_missing_and_unjudged_labels_are_none() -> None:
    judged = labels().astype({"score": float})
    judged.loc[(judged["judge"] == "b") & (judged["topic"] == "q3"), "score"] = np.nan
    missing = r"6 of 96 labels are missing \(long 2, short 2, third 2\) on 1 topic \(q3\)"
    with pytest.warns(MultiAspectWarning, match=missing):
        values = scores(judged)
    text = said(judged, values)
    assert (
        "90 labels of 24 answers by 2 judges (a, b); 6 are missing (long 2, short 2, third 2)."
        in text
    )
    assert re.search(r" b −?[0-9.]+ 7 6 \(long 2, short 2, third 2\)", text)
    coded = ma.Aspects({name: ma.Aspect([1, 2, 3, 4, 5], unjudged=[-9]) for name in SCALES})
    judged["score"] = judged["score"].fillna(-9)
    with pytest.warns(MultiAspectWarning, match=missing):
        values = ma.answers.combine(ma.answers.from_criteria(judged, aspects=coded), CAM)
    report = ma.report(values, answers=judged, aspects=coded, baseline="short")
    assert section(report) == text


def test_each_judge_is_combined_as_all_are_and_over_the_topics_of_the_report() -> None:
    pytest.importorskip("krippendorff")
    rows = [
        (f"q{topic}", name, "faithful", judge, repetition, label)
        for topic in range(3)
        for name, given in (("long", [1, 1, 1]), ("short", [5, 5, 5] if topic == 2 else [1, 1, 5]))
        for judge in "xy"
        for repetition, label in enumerate(given)
    ]
    judged = pd.DataFrame(
        rows, columns=["topic", "system", "criterion", "judge", "repetition", "score"]
    )
    aspects = {"faithful": [1, 2, 3, 4, 5]}
    values = ma.answers.from_criteria(judged, aspects=aspects, combine_judges="median")
    report = ma.report(values, answers=judged, aspects=aspects, baseline="long")
    text = section(report)
    assert "combined by their median" in text
    assert "all 0.3333 x 0.3333 y 0.3333" in text
    some = values[values["qid"] != "q2"]
    report = ma.report(some, answers=judged, aspects=aspects, baseline="long")
    text = section(report)
    assert "24 labels of 4 answers by 2 judges" in text
    assert "all 0.0000 x 0.0000 y 0.0000" in text


@pytest.mark.parametrize(
    "aspects", [None, {"faithful": [0, 1, 2, 3, 4, 5], "complete": [0, 1, 2, 3, 4, 5]}]
)
def test_scales_that_do_not_give_the_values_are_doubted(aspects: Any) -> None:
    judged = labels("a").drop(columns="judge")
    report = ma.report(scores(judged), answers=judged, aspects=aspects, baseline="short")
    text = section(report)
    doubt = "The values are not those that from_criteria makes of these labels: check labels and scales."
    assert text == f"48 labels of 24 answers. {doubt}"


def test_a_judge_of_one_criterion_has_a_difference_on_it() -> None:
    judged = labels()
    kept = judged[
        (judged["judge"] == "a") | (judged["criterion"] == "faithful") | (judged["topic"] == "q0")
    ]
    values = ma.answers.from_criteria(kept, aspects=SCALES)
    report = ma.report(
        values, measures={"faithful": "higher", "complete": "higher"}, answers=kept, aspects=SCALES
    )
    text = section(report)
    assert "on faithful" in text
    assert "labels missing" not in text


def test_repetitions_are_said_to_count_as_judges() -> None:
    pytest.importorskip("krippendorff")
    judged = labels("a")
    several = pd.concat([judged.assign(repetition=number) for number in (1, 2)])
    assert "Each repetition counts as a judge." in said(several, scores(several))
    assert "repetition" not in section(plain_report())


def test_pages_of_nuggets_and_values_without_answers_have_no_such_section(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    values = scores(labels())
    assert 'id="answers"' not in ma.report(values, baseline="short").to_html()
    assert 'id="answers"' in plain_report().to_html()
    nuggets = [
        {
            "qid": f"q{topic}",
            "run_id": name,
            "nuggets": [{"text": "a", "importance": "vital", "assignment": given}],
        }
        for topic in range(3)
        for name, given in (("x", "support"), ("y", "not_support"))
    ]
    report = ma.report(ma.answers.nugget_scores(nuggets), answers=nuggets, baseline="y")
    assert 'id="answers"' not in report.to_html()


def test_without_krippendorff_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pt_multiaspect.reporting.answers.find_spec", lambda name: None)
    judged = labels()
    assert "The agreement of judges requires" in said(judged, scores(judged))


# -- the shell
# -----------------------------------------------------------------------------------------------


def test_the_agreement_of_judges_in_the_shell(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    pytest.importorskip("krippendorff")
    monkeypatch.chdir(tmp_path)
    labels().to_csv("judged.csv", index=False)
    SCALES.to_file("scales.json")
    assert (
        main(["answers", "judged.csv", "--aspects", "scales.json", "--agreement", "-o", "a.json"])
        == 0
    )
    found = pd.DataFrame(json.loads(Path("a.json").read_text()))
    expected = judge_agreement(labels(), aspects=SCALES, ci=0.95)
    expected = expected.rename(columns={"aspect": "criterion", "n_documents": "n_answers"})
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    for options, message in (
        (["--interval", "mean"], "--interval mean applies to scores: omit it, or --agreement"),
        (["--title", "x"], "--title applies to scores"),
        (["-o", "a.html"], "--agreement is a table: write a file such as agreement.csv"),
    ):
        assert main(["answers", "judged.csv", "--agreement", *options]) == 2
        assert message in capsys.readouterr().err
    assert main(["answers", "judged.csv", "--agreement", "--interval", "mean"]) == 2
    assert "--interval mean applies to scores: omit it, or --agreement" in capsys.readouterr().err


def test_the_remedy_for_disagreement_is_a_command(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    pytest.importorskip("krippendorff")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    many = pd.concat([labels(seed=seed).assign(topic=lambda rows: rows["topic"] + str(rng.integers(10**9)))
                      for seed in range(6)])  # fmt: skip
    many.to_csv("judged.csv", index=False)
    assert main(["describe", "--answers", "judged.csv"]) == 0
    out = capsys.readouterr().out
    assert "pt-multiaspect answers JUDGED --agreement" in out
    assert "ma.analysis.judge_agreement" not in out


# -- intervals of α
# ------------------------------------------------------------------------------------------


def test_intervals_of_agreement_are_over_topics() -> None:
    pytest.importorskip("krippendorff")
    judged = labels()
    found = judge_agreement(judged, aspects=SCALES, ci=0.8, seed=3)
    assert ((found["low"] <= found["alpha"]) & (found["alpha"] <= found["high"])).all()
    wide = judge_agreement(judged, aspects=SCALES, ci=0.99, seed=3)
    assert (wide["low"] < found["low"]).all()
    shuffled = judge_agreement(judged.sample(frac=1, random_state=1), aspects=SCALES)
    assert shuffled["alpha"].to_numpy() == pytest.approx(
        judge_agreement(judged, aspects=SCALES)["alpha"].to_numpy()
    )
    one = judge_agreement(judged[judged["topic"] == "q0"], aspects=SCALES, ci=0.95)
    assert one[["low", "high"]].isna().all(axis=None)
    # Copies of all labels on further topics halve the variance of a sample of topics, not more.
    copies = pd.concat([judged.assign(topic=judged["topic"] + str(copy)) for copy in range(4)])
    narrow = judge_agreement(copies, aspects=SCALES, ci=0.8)
    ratio = (narrow["high"] - narrow["low"]) / (found["high"] - found["low"])
    assert ratio.to_numpy() == pytest.approx(0.5, abs=0.12)
    with pytest.raises(ma.MultiAspectError, match="ci"):
        judge_agreement(judged, ci=2)
