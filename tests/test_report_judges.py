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
    if not request.node.name.startswith("test_intervals_of_agreement"):
        monkeypatch.setattr("pt_multiaspect.analysis.judges._RESAMPLES", 40)


def labels(judges: str = "ab", seed: int = 0) -> pd.DataFrame:
    """Random labels of two criteria by each judge, of 24 answers: of three systems on eight topics."""
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


def test_numbers_of_labels_and_how_they_became_values() -> None:
    text = section(plain_report())  # of the labels 1 to 5 of two judges
    scale = (
        "faithful and complete: the labels 1, 2, 3, 4, 5 became the values 0, 0.25, 0.5, 0.75, 1."
    )
    assert scale in text
    # 24 answers (3 systems, 8 topics), 2 criteria, 2 judges.
    assert "96 labels of 24 answers by 2 judges (a, b)." in text
    assert "Several labels of an answer are combined by their mean." in text


def test_agreement_by_criterion_with_its_interval() -> None:
    pytest.importorskip("krippendorff")
    text = section(plain_report())
    n_answers = 24
    for row in judge_agreement(labels(), aspects=SCALES, ci=0.95).to_dict("records"):
        alpha = decimals(row["alpha"])
        interval = f"[{decimals(row['low'])}, {decimals(row['high'])}]"
        assert f"{row['aspect']} {alpha} {interval} {n_answers}" in text


def test_differences_by_the_labels_of_each_judge_alone() -> None:
    report = plain_report()  # compares the best system with short
    text = section(report)
    best = report.robustness.table["a"][0]
    assert f"labels of {best} − short on CAM" in text
    judged = labels()
    judged["value"] = (judged["score"] - 1) / 4
    means = judged.groupby(["judge", "system"])["value"].mean()
    for judge in "ab":
        difference = means[judge, best] - means[judge, "short"]
        assert f" {judge} {decimals(difference)}" in text


def test_values_of_labels_are_rounded_to_four_digits() -> None:
    few = labels("a").assign(score=lambda rows: rows["score"].clip(upper=4))
    to_four = {name: [1, 2, 3, 4] for name in SCALES}
    report = ma.report(ma.answers.from_criteria(few, aspects=to_four), answers=few, aspects=to_four)
    assert "1, 2, 3, 4 became the values 0, 0.3333, 0.6667, 1." in section(report)


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["median", "majority"])
def test_the_combination_is_the_one_that_gives_the_values(method: str) -> None:
    """The section finds out how the labels of several judges were combined to the values."""
    judged = labels("abc", seed=4)
    is_a = judged["judge"] == "a"
    is_c = judged["judge"] == "c"
    judged.loc[is_c, "score"] = judged.loc[is_a, "score"].to_numpy()
    text = said(judged, scores(judged, method))
    # c agrees with a on all answers, so their label is both the majority and the median of three.
    assert "Several labels of an answer are combined by their median." in text


def test_values_of_other_labels_are_doubted() -> None:
    judged = labels()
    assert "The values are not those that from_criteria makes of these labels" in said(
        judged, scores(labels(seed=1))
    )


def test_one_label_per_answer_and_criteria_without_grades() -> None:
    """Scores of one judge in [0, 1] are values as they are; there is no agreement to report."""
    judged = labels("a").drop(columns="judge")
    judged["score"] = judged["score"] / 5
    values = ma.answers.combine(ma.answers.from_criteria(judged), CAM)
    report = ma.report(values, answers=judged, baseline="short")
    # Labels of two criteria for 24 answers.
    expected = "faithful and complete: values in [0, 1], as given. 48 labels of 24 answers."
    assert section(report) == expected


@pytest.mark.filterwarnings("ignore:judged. on 8 topics")
def test_a_judge_without_labels_of_one_topic() -> None:
    """The row of a judge has the difference, the number of topics, and what labels are missing."""
    judged = labels()
    kept = judged[(judged["judge"] == "a") | (judged["topic"] != "q0")]
    report = ma.report(scores(kept), answers=kept, aspects=SCALES, baseline="short")
    text = section(report)
    best = report.robustness.table["a"][0]
    # b lacks two criteria of three systems on one of eight topics.
    missing = "6 (long 2, short 2, third 2)"
    assert f" b {difference_by(kept, 'b', best)} 7 {missing}" in text
    assert f" a {difference_by(kept, 'a', best)} 8 0 " in text
    counts = "90 labels of 24 answers by 2 judges (a, b); 6 are missing (long 2, short 2, third 2)."
    assert counts in text


@pytest.mark.filterwarnings("ignore:judged. on 8 topics")
def test_a_judge_of_one_system_has_no_difference() -> None:
    judged = labels()
    kept = judged[(judged["judge"] == "a") | (judged["system"] == "long")]
    text = said(kept, scores(kept))  # compares with short
    # b has no topic with both systems, and lacks 2 criteria of 8 topics for each of two systems.
    difference, n_topics, n_missing = "–", 0, 32
    assert f" b {difference} {n_topics} {n_missing} (short 16, third 16)" in text
    assert "64 labels of 24 answers by 2 judges (a, b)." in text  # 48 of a, 16 of b


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
    judged = labels("abc", seed)
    is_kept = np.random.default_rng(seed).random(len(judged)) > 0.1
    kept, missing = judged[is_kept], judged[~is_kept]
    values = ma.answers.combine(ma.answers.from_criteria(kept, aspects=SCALES), CAM)

    report = ma.report(values, answers=kept, aspects=SCALES, baseline="short")

    text = section(report)
    best = report.robustness.table["a"][0]
    for judge in "abc":
        # The difference over the topics on which the judge gave all labels of both systems.
        assert f" {judge} {difference_by(kept, judge, best)} " in text
        n_missing_by_system = missing.loc[missing["judge"] == judge, "system"].value_counts()
        for system, n_missing in n_missing_by_system.items():
            assert f"{system} {n_missing}" in text
    assert f"{len(missing)} are missing (" in text


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
    """Judge b judges long on four topics and short on the others: the means are not comparable."""
    judged = labels()
    is_early = judged["topic"].isin(["q0", "q1", "q2", "q3"])
    is_late_long = ~is_early & (judged["system"] == "long")
    is_early_short = is_early & (judged["system"] == "short")
    is_left_out = (judged["judge"] == "b") & (is_late_long | is_early_short)
    kept = judged[~is_left_out]
    text = said(kept, scores(kept))  # compares with short
    difference, n_topics = "–", 0
    assert f" b {difference} {n_topics} " in text


@pytest.mark.parametrize("marked_by", ["NaN", "a code"])
def test_missing_and_unjudged_labels_are_none(marked_by: str) -> None:
    """Labels that are missing, or a code that is declared as unjudged, count as missing labels."""
    judged = labels().astype({"score": float})
    is_missing = (judged["judge"] == "b") & (judged["topic"] == "q3")
    if marked_by == "NaN":
        aspects = SCALES
        judged.loc[is_missing, "score"] = np.nan
    else:
        aspects = ma.Aspects({name: ma.Aspect([1, 2, 3, 4, 5], unjudged=[-9]) for name in SCALES})
        judged.loc[is_missing, "score"] = -9
    message = r"6 of 96 labels are missing \(long 2, short 2, third 2\) on 1 topic \(q3\)"
    with pytest.warns(MultiAspectWarning, match=message):
        values = ma.answers.from_criteria(judged, aspects=aspects)

    combined = ma.answers.combine(values, CAM)
    report = ma.report(combined, answers=judged, aspects=aspects, baseline="short")

    text = section(report)
    counts = "90 labels of 24 answers by 2 judges (a, b); 6 are missing (long 2, short 2, third 2)."
    assert counts in text
    # The row of judge b: the difference, the number of topics, and the missing labels, such as
    # b −0.0357 7 6 (long 2, short 2, third 2)
    assert re.search(r" b −?[0-9.]+ 7 6 \(long 2, short 2, third 2\)", text)


@pytest.mark.parametrize(
    ("topics", "counts", "difference"),
    [
        # The medians of short are 1, 1 and 5, that is the values 0, 0 and 1; those of long are 0.
        (["q0", "q1", "q2"], "36 labels of 6 answers by 2 judges", "0.3333"),
        (["q0", "q1"], "24 labels of 4 answers by 2 judges", "0.0000"),
    ],
    ids=["all topics", "two topics"],
)
def test_each_judge_is_combined_as_all_are_and_over_the_topics_of_the_report(
    topics: list[str], counts: str, difference: str
) -> None:
    """The labels of each judge are combined as those of all, over the topics that have values."""
    pytest.importorskip("krippendorff")
    labels_by_answer = {  # the labels that each judge gave in three repetitions
        ("q0", "long"): [1, 1, 1],
        ("q1", "long"): [1, 1, 1],
        ("q2", "long"): [1, 1, 1],
        ("q0", "short"): [1, 1, 5],
        ("q1", "short"): [1, 1, 5],
        ("q2", "short"): [5, 5, 5],
    }
    rows = [
        (topic, system, "faithful", judge, repetition, label)
        for (topic, system), repeated in labels_by_answer.items()
        for judge in "xy"
        for repetition, label in enumerate(repeated)
    ]
    columns = ["topic", "system", "criterion", "judge", "repetition", "score"]
    judged = pd.DataFrame(rows, columns=columns)
    aspects = {"faithful": [1, 2, 3, 4, 5]}
    values = ma.answers.from_criteria(judged, aspects=aspects, combine_judges="median")

    some_values = values[values["qid"].isin(topics)]
    report = ma.report(some_values, answers=judged, aspects=aspects, baseline="long")

    text = section(report)
    assert "combined by their median" in text
    assert counts in text
    assert f"all {difference} x {difference} y {difference}" in text


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
    """In the shell, the advice to look at the agreement of judges is a command, not Python code."""
    pytest.importorskip("krippendorff")
    monkeypatch.chdir(tmp_path)
    parts = []
    for seed in range(6):  # random labels, on topics of other names each
        part = labels(seed=seed)
        parts.append(part.assign(topic=part["topic"] + f"-{seed}"))
    pd.concat(parts).to_csv("judged.csv", index=False)

    assert main(["describe", "--answers", "judged.csv"]) == 0

    out = capsys.readouterr().out
    assert "pt-multiaspect answers JUDGED --agreement" in out
    assert "ma.analysis.judge_agreement" not in out


# -- intervals of α
# ------------------------------------------------------------------------------------------


def test_intervals_of_agreement_are_over_topics() -> None:
    """Copies of all labels on further topics make the interval as narrow as that many topics do."""
    pytest.importorskip("krippendorff")
    judged = labels()
    once = judge_agreement(judged, aspects=SCALES, ci=0.8, seed=3)
    copies = [judged.assign(topic=judged["topic"] + str(copy)) for copy in range(4)]
    four_times = judge_agreement(pd.concat(copies), aspects=SCALES, ci=0.8)
    ratio_of_widths = (four_times["high"] - four_times["low"]) / (once["high"] - once["low"])
    expected_ratio = 1 / 4**0.5  # as of the standard error of a mean
    assert ratio_of_widths.to_numpy() == pytest.approx(expected_ratio, abs=0.12)


def test_intervals_of_agreement_contain_alpha_and_grow_with_confidence() -> None:
    pytest.importorskip("krippendorff")
    judged = labels()
    narrow = judge_agreement(judged, aspects=SCALES, ci=0.8, seed=3)
    assert (narrow["low"] <= narrow["alpha"]).all()
    assert (narrow["alpha"] <= narrow["high"]).all()
    wide = judge_agreement(judged, aspects=SCALES, ci=0.99, seed=3)
    assert (wide["low"] < narrow["low"]).all()


def test_agreement_does_not_depend_on_the_order_of_rows() -> None:
    pytest.importorskip("krippendorff")
    judged = labels()
    shuffled = judged.sample(frac=1, random_state=1)
    expected = judge_agreement(judged, aspects=SCALES)["alpha"]
    assert judge_agreement(shuffled, aspects=SCALES)["alpha"].to_numpy() == pytest.approx(
        expected.to_numpy()
    )


def test_agreement_on_one_topic_has_no_interval() -> None:
    pytest.importorskip("krippendorff")
    judged = labels()
    one_topic = judged[judged["topic"] == "q0"]
    agreement = judge_agreement(one_topic, aspects=SCALES, ci=0.95)
    assert agreement[["low", "high"]].isna().all(axis=None)


def test_a_confidence_above_1_is_refused() -> None:
    with pytest.raises(ma.MultiAspectError, match="ci"):
        judge_agreement(labels(), ci=2)
