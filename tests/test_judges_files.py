"""Files that judges of answers write: which columns are criteria, what their values mean, and which are missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import Aspect
from pt_multiaspect.cli import main
from pt_multiaspect.errors import MultiAspectError, MultiAspectWarning
from pt_multiaspect.views import text_of

FIVE = {"faithful": [1, 2, 3, 4, 5]}


def judged_frame(*labels: object) -> pd.DataFrame:
    """Return answers with these labels of the criterion faithful."""
    rows = [(f"q{number // 2}", "ab"[number % 2], label) for number, label in enumerate(labels)]
    return pd.DataFrame(rows, columns=["qid", "name", "faithful"])


# --- kind: whether a column is a criterion depends on how many of its values failed ---------------


@pytest.mark.parametrize("n_failed", [1, 24, 25, 26, 29, 49])
@pytest.mark.parametrize("word", ["N/A", "error", "could not judge", "TODO", "ungültig"])
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_criterion_stays_one_whatever_the_number_of_failures(
    n_failed: int, word: str, is_constant: bool, tmp_path: Path
) -> None:
    """N/A on 25 of the first 30 rows left the criterion out without a word, on 24 it was an error."""
    scores = ["0.5" if is_constant else f"{number % 10 / 10}" for number in range(50 - n_failed)]
    judged_frame(*[word] * n_failed, *scores).assign(other=0.5).to_csv(
        tmp_path / "judged.csv", index=False
    )
    with (
        no_warnings(),
        pytest.raises(MultiAspectError, match=rf"in faithful for a on topic q0, got '{word}'"),
    ):
        ma.answers.from_criteria(tmp_path / "judged.csv")
    with no_warnings():
        description = ma.describe(tmp_path / "judged.csv")
    assert list(description.aspects) == ["faithful", "other"]
    assert "labels are no numbers" in str(description)


def test_an_aspect_of_qrels_stays_one_whatever_the_number_of_failures() -> None:
    """The same in qrels whose labels are text."""
    for n_failed in (4, 9):
        frame = judged_frame(*["N/A"] * n_failed, *["1"] * (10 - n_failed)).rename(
            columns={"name": "docno"}
        )
        assert ma.Judgments(frame.assign(label=1)).label_names == ("relevance", "faithful")


def test_a_column_of_sentences_beside_numbers_is_named_when_it_is_left_out() -> None:
    refusals = [f"I cannot judge answer {number}" for number in range(20)]
    frame = judged_frame(*refusals, *["0.5", "0.7"] * 5).assign(other=0.5)
    with pytest.warns(
        MultiAspectWarning, match="the column faithful is left out, as it contains texts beside"
    ):
        assert set(ma.answers.from_criteria(frame)["measure"]) == {"other"}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("answer", ["42", "Oslo"] * 5),
        ("reason", ["because", "7"] * 5),
        ("model", ["4o", "3.5"] * 5),
        ("passage_id", ["d1", "17"] * 5),
        ("comment", ["", "good"] * 5),
    ],
)
def test_columns_of_texts_with_few_numbers_stay_silent(column: str, values: list[str]) -> None:
    """Only half of the values or fewer are numbers, so that the column is no criterion."""
    frame = judged_frame(*[0.5, 0.7] * 5)  # of the criterion faithful
    frame[column] = values
    with no_warnings():
        measures = ma.answers.from_criteria(frame)["measure"]
    assert set(measures) == {"faithful"}


# --- kind: truth values are grades on scales of two grades only -----------------------------------


def long_frame(*labels: object) -> pd.DataFrame:
    frame = judged_frame(*labels).rename(columns={"name": "docno", "faithful": "value"})
    return frame.assign(criterion="faithful", judge="x")


def qrels_value(frame: pd.DataFrame, aspects: Any) -> object:
    qrels = frame.rename(columns={"name": "docno"})
    return ma.Judgments(qrels).view("faithful", ma.Aspects(aspects))


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    "read",
    [
        lambda label: ma.answers.from_criteria(judged_frame(label, 3, 4, 5), aspects=FIVE),
        lambda label: ma.answers.from_criteria(judged_frame(label, label), aspects=FIVE),
        lambda label: ma.answers.from_criteria(judged_frame(label, 0.3, 0.4, 0.5)),
        lambda label: ma.from_long(long_frame(label, 3, 4, 5), aspects=FIVE),
        lambda label: qrels_value(judged_frame(label, 3, 4, 5), FIVE),
        lambda label: qrels_value(judged_frame(label, label), FIVE),
    ],
    ids=[
        "answers, among grades",
        "answers, alone",
        "answers, among values",
        "long judgments",
        "qrels, among grades",
        "qrels, alone",
    ],
)
def test_truth_values_are_refused_on_longer_scales(
    read: Callable[[object], object], value: bool
) -> None:
    """JSON true must not become 1, the lowest grade of a scale from 1 to 5 (FIVE)."""
    with pytest.raises(MultiAspectError, match="truth values"):
        read(value)


def test_truth_values_among_grades_are_described() -> None:
    description = ma.describe(judged_frame(True, 3, 4, 5), aspects=FIVE)
    assert "truth values among other labels" in str(description)


@pytest.mark.parametrize("grades", [[0, 1], [1, 2], [0, 2]])
def test_truth_values_are_the_grades_of_scales_of_two(grades: list[int]) -> None:
    aspects = {"faithful": grades}
    frame = judged_frame(True, False, False, True)
    with no_warnings():
        assert ma.answers.from_criteria(frame, aspects=aspects)["value"].tolist() == [1, 0, 0, 1]
        assert qrels_value(frame, aspects).label.tolist() == [
            grades[1],
            grades[0],
            grades[0],
            grades[1],
        ]  # type: ignore[attr-defined]
        assert ma.answers.from_criteria(frame)["value"].tolist() == [1, 0, 0, 1]
        assert "truth values" not in str(ma.describe(frame))
    falling = {"faithful": Aspect([0, 1], greater_is_better=False)}
    assert ma.answers.from_criteria(frame, aspects=falling)["value"].tolist() == [0, 1, 1, 0]


# --- kind: one way to say that a label is missing ---------------------------------------------------

ROWS = [
    ("q1", "a", 4, 5),
    ("q1", "b", 2, 1),
    ("q2", "a", 3, 4),
    ("q2", "b", 5, 2),
    ("q3", "a", 1, 1),
    ("q3", "b", 2, 2),
]
SCALES = {name: [1, 2, 3, 4, 5] for name in ("faithful", "complete")}


def with_gap(missing: object) -> pd.DataFrame:
    """Return answers of which b has no label of faithful on q1."""
    frame = pd.DataFrame(ROWS, columns=["qid", "name", "faithful", "complete"]).astype(
        {"faithful": object}
    )
    frame.loc[1, "faithful"] = missing
    return frame


def with_code(code: object) -> dict[str, Any]:
    return {name: {"grades": grades, "unjudged": [code]} for name, grades in SCALES.items()}


def values_by_answer(values: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return {(row.name, row.qid, row.measure): row.value for row in values.itertuples(index=False)}


@pytest.mark.parametrize(
    ("missing", "aspects"),
    [
        (None, SCALES),
        (float("nan"), SCALES),
        ("", SCALES),
        (" ", SCALES),
        ("N/A", with_code("N/A")),
        ("could not judge", with_code("could not judge")),
        (-1, with_code(-1)),
        ("99", with_code("99")),
    ],
)
@pytest.mark.parametrize("form", ["frame", "csv", "jsonl", "long"])
def test_missing_labels_are_left_out_however_they_are_written(
    missing: object, aspects: dict[str, Any], form: str, tmp_path: Path
) -> None:
    """null was accepted with several judges and refused with one; texts could not be declared."""
    frame = with_gap(missing)
    source: Any = frame
    if form == "csv":
        frame.to_csv(tmp_path / "judged.csv", index=False)
        source = tmp_path / "judged.csv"
    elif form == "jsonl":
        frame.to_json(tmp_path / "judged.jsonl", orient="records", lines=True)
        source = tmp_path / "judged.jsonl"
    elif form == "long":
        source = frame.melt(["qid", "name"], var_name="criterion", value_name="score")
    with pytest.warns(
        MultiAspectWarning, match=r"1 of 12 labels is missing \(b 1\) on 1 topic \(q1\)"
    ):
        values = values_by_answer(ma.answers.from_criteria(source, aspects=aspects))
    expected = values_by_answer(
        ma.answers.from_criteria(
            pd.DataFrame(ROWS, columns=["qid", "name", *SCALES]), aspects=SCALES
        )
    )
    del expected["b", "q1", "faithful"]
    assert values == expected


def test_undeclared_texts_name_the_call_that_declares_them() -> None:
    with pytest.raises(MultiAspectError) as caught:
        ma.answers.from_criteria(with_gap("N/A"), aspects=SCALES)
    call = "aspects={'faithful': {'grades': [1, 2, 3, 4, 5], 'unjudged': ['N/A']}}"
    assert call in str(caught.value)
    with pytest.raises(
        MultiAspectError, match=r"aspects=\{'faithful': \{'unjudged': \['N/A'\]\}\}"
    ):
        ma.answers.from_criteria(judged_frame(0.5, 0.7, 0.6, "N/A"))


def test_describe_proposes_texts_as_codes() -> None:
    description = ma.describe(with_gap("N/A"))
    assert description.proposed["faithful"].unjudged == ("N/A",)
    assert "labels are no numbers" in str(description)
    again = ma.describe(with_gap("N/A"), aspects=with_code("N/A"))
    assert "labels are no numbers" not in str(again)
    assert "answers without a label" in str(again)


def test_a_text_is_a_code_for_a_missing_label_in_long_judgments() -> None:
    rows = [("q1", "a", 4), ("q1", "b", "N/A"), ("q2", "a", 3)]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "value"])
    frame = frame.assign(criterion="faithful", judge="x")
    declared = {"faithful": {"grades": [1, 2, 3, 4, 5], "unjudged": ["N/A"]}}
    wide = ma.from_long(frame, aspects=declared)
    assert wide["faithful"].isna().tolist() == [False, True, False]
    with pytest.raises(MultiAspectError, match=r"Aspect\(unjudged=\['N/A'\]\)"):
        ma.from_long(frame, aspects={"faithful": [1, 2, 3, 4, 5]})


def test_a_text_is_a_code_for_a_missing_label_in_qrels() -> None:
    qrels = pd.DataFrame({"qid": "q1", "docno": ["a", "b", "c"], "faithful": [4, "N/A", 3]})
    declared = ma.Aspects({"faithful": {"grades": [1, 2, 3, 4, 5], "unjudged": ["N/A"]}})
    judgments = ma.Judgments(qrels)
    assert judgments.view("faithful", declared).known.tolist() == [True, False, True]
    with pytest.raises(MultiAspectError, match=r"Aspect\(unjudged=\['N/A'\]\)"):
        ma.Judgments(qrels).view("faithful", ma.Aspects({"faithful": [1, 2, 3, 4, 5]}))


def test_codes_in_text_survive_files_and_names(tmp_path: Path) -> None:
    scales = ma.Aspects(with_code("N/A"))
    scales.to_file(tmp_path / "scales.json")
    assert ma.Aspects.from_file(tmp_path / "scales.json") == scales
    assert Aspect(unjudged=["x", 3, "-1", "N/A "]).unjudged == (-1, 3, "N/A", "x")
    with pytest.raises(MultiAspectError, match="unjudged codes must not be grades"):
        Aspect([0, 1], unjudged=["1"])
    with pytest.raises(MultiAspectError, match="expected a sequence of numbers or texts"):
        Aspect([0, 1], unjudged="N/A")


def test_missing_labels_are_counted_over_all_criteria_and_in_every_data_set() -> None:
    rows = [
        ("q1", "a", 4, 5),
        ("q1", "b", None, 1),
        ("q2", "a", 3, None),
        ("q2", "b", 5, 2),
        ("q3", "a", 1, None),
        ("q3", "b", 2, 2),
    ]
    frame = pd.DataFrame(rows, columns=["qid", "name", "faithful", "complete"])
    message = r"3 of 12 labels are missing \(b 1, a 2\) on 3 topics \(q1, q2, q3\)"
    with pytest.warns(MultiAspectWarning, match=message):
        ma.answers.from_criteria(frame, aspects=SCALES)
    other_data = frame.replace({"complete": {5: 4}})
    with pytest.warns(MultiAspectWarning, match=message):
        ma.answers.from_criteria(other_data, aspects=SCALES)


def test_gaps_of_one_judge_are_counted_too() -> None:
    """If one of two judges gave no label, the value is that of the other, with a warning."""
    # `with_gap` returns 12 labels: of a and b on q1, q2 and q3, on two criteria with the grades
    # 1 to 5. Its argument is the label of b on q1 for faithful.
    rows = pd.concat([with_gap(None).assign(judge="x"), with_gap(3).assign(judge="y")])
    message = r"1 of 24 labels is missing \(b 1\).*by different judges"
    with pytest.warns(MultiAspectWarning, match=message):
        values = ma.answers.from_criteria(rows, aspects=SCALES)
    by_answer = values.set_index(["name", "qid", "measure"])["value"]
    assert by_answer["b", "q1", "faithful"] == (3 - 1) / (5 - 1)


def test_a_criterion_without_labels_is_an_error() -> None:
    with pytest.raises(MultiAspectError, match="expected labels of faithful, got none"):
        ma.answers.from_criteria(judged_frame(None, None), aspects=FIVE)


def test_the_shell_declares_codes_by_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with_gap("N/A").to_csv("judged.csv", index=False)
    scales = json.dumps(SCALES)
    assert main(["answers", "judged.csv", "--aspects", scales]) == 2
    assert "declare --unjudged N/A" in capsys.readouterr().err
    assert (
        main(
            [
                "answers",
                "judged.csv",
                "--aspects",
                scales,
                "--unjudged",
                "N/A",
                "-m",
                "CAM",
                "-o",
                "t.md",
            ]
        )
        == 0
    )
    assert "labels is missing (b 1)" in capsys.readouterr().err
    assert "Without 1 topic (q1), as labels are missing: b 1." in Path("t.md").read_text()
    assert (
        main(
            [
                "describe",
                "--answers",
                "judged.csv",
                "--unjudged",
                "N/A",
                "--write-aspects",
                "s.json",
            ]
        )
        == 0
    )
    assert "labels are no numbers" not in capsys.readouterr().out
    assert ma.Aspects.from_file("s.json")["faithful"].unjudged == ("N/A",)


def test_reports_name_the_missing_labels() -> None:
    """Also if the topic of the missing label has been left out of the values."""
    judged = with_gap(None)  # b has no label of faithful on q1
    with pytest.warns(MultiAspectWarning, match="labels is missing"):
        values = ma.answers.from_criteria(judged, aspects=SCALES)
    without_gap = values[values["qid"] != "q1"]
    without_gap.attrs = values.attrs
    report = ma.report(without_gap, answers=judged, aspects=SCALES, baseline="a")
    section_on_answers = text_of(report._answers, 1000)
    assert "missing" in section_on_answers


# --- kind: codes of failures are taken for grades -----------------------------------------------------


@pytest.mark.parametrize("code", [-1, 0, 8, 9, 99, -99, 999])
@pytest.mark.parametrize("as_text", [False, True], ids=["numbers", "texts"])
def test_codes_of_failures_are_proposed_as_such(code: int, as_text: bool) -> None:
    """A number beside the grades 1 to 5 marks failures of the judge; the scale is proposed without it."""
    grades = [1 + number % 5 for number in range(36)]
    labels: list[object] = [*grades, code, code, code, code]
    if as_text:
        labels = [str(label) for label in labels]

    description = ma.describe(judged_frame(*labels))

    proposed = description.proposed["faithful"]
    assert proposed.grades == (1, 2, 3, 4, 5)
    assert proposed.unjudged == (code,)
    text = " ".join(str(description).split())
    assert f"{code} is outside of the other labels, 1 to 5" in text


def test_codes_of_failures_among_values_are_proposed_as_such() -> None:
    description = ma.describe(judged_frame(*[number / 20 for number in range(20)], -1))
    assert description.proposed["faithful"] == Aspect(unjudged=[-1])


@pytest.mark.parametrize("top", [1, 2, 3, 4, 10])
def test_grades_that_start_at_0_stay_silent(top: int) -> None:
    description = ma.describe(judged_frame(*[number % (top + 1) for number in range(44)]))
    assert "outside of the other labels" not in " ".join(str(description).split())


@pytest.mark.parametrize(
    ("labels", "grades", "codes"),
    [
        ([0, 1, 2, 3, 4] * 6 + [9] * 3, (0, 1, 2, 3, 4), (9,)),
        ([0, 1] * 10 + [8], (0, 1), (8,)),
        ([1, 2, 3, 4, 5] * 6 + [8, 9, 9], (1, 2, 3, 4, 5), (8, 9)),
        ([1, 2, 3, 4, 5] * 6 + [9, 99], (1, 2, 3, 4, 5), (9, 99)),
        ([1, 2, 3, 4, 5] * 6 + [9, -1], (1, 2, 3, 4, 5), (-1, 9)),
        ([1, 2, 3, 4, 5, 6] * 6 + [9], (1, 2, 3, 4, 5, 6), (9,)),
    ],
)
def test_codes_of_surveys_are_proposed_as_such(
    labels: list[int], grades: tuple[int, ...], codes: tuple[int, ...]
) -> None:
    """With 9 for 'I don't know' on grades 1 to 5, describe proposed the grades 1 to 9."""
    proposed = ma.describe(judged_frame(*labels)).proposed["faithful"]
    assert (proposed.grades, proposed.unjudged) == (grades, codes)


def test_several_codes_are_named_in_the_plural() -> None:
    description = ma.describe(judged_frame(*[1, 2, 3, 4, 5] * 6, 8, 9, 9))
    (finding,) = description.findings.loc[description.findings["severity"] == "error", "finding"]
    assert finding == (
        "8, 9 are outside of the other labels, 1 to 5, and may be codes of failures (3 of 33 labels)"
    )


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, 3, 4, 5, 6, 7, 8, 9] * 4,
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 4,
        [1, 3, 5, 7, 9] * 6,
        [1, 2, 3, 4, 5] * 6 + [6],
        [1, 2, 3, 4, 5] * 6 + [7],
        [1, 2, 3, 4, 5, 6] * 6 + [8],  # less than 3 above
        [2, 3, 4, 5] * 6 + [9],
        [1, 2, 3, 4, 5] * 6 + [9] * 7,  # the most frequent label
    ],
)
def test_high_grades_are_no_codes_of_surveys(labels: list[int]) -> None:
    description = ma.describe(judged_frame(*labels))
    text = " ".join(str(description).split())
    assert "outside of the other labels" not in text
    assert "may be a code" not in text
    assert description.proposed["faithful"].unjudged == ()


def test_a_code_is_not_the_top_of_another_criterion() -> None:
    """Labels 1 to 5 and 99 were said to reach 99, to be declared as the top of another scale."""
    frame = judged_frame(*[1, 2, 3, 4, 5] * 6, 9, 99)
    frame["fluent"] = [1, 2, 3, 4] * 8
    (finding,) = ma.describe(frame).findings.query("aspects == 'fluent'")["finding"]
    assert "labels of faithful reach 5, declare that top" in finding


# --- kind: tables of judges with other names of columns, separators and decimals -----------------------


def long_rows(*columns: str) -> pd.DataFrame:
    """Return rows of a topic, a system, a criterion and a score under these names."""
    answers = [(f"q{topic}", system) for topic in range(4) for system in ("a", "bb")]
    rows = []
    for name in ("faithful", "complete"):
        rows += [
            (qid, system, name, (int(qid[1]) + len(system)) % 5 / 4) for qid, system in answers
        ]
    return pd.DataFrame(rows, columns=[*columns])


def test_decimal_commas_in_quotes_are_read(tmp_path: Path) -> None:
    """Spreadsheets write commas between columns, and in a column of numbers, which are then in quotes."""
    lines = [
        "qid,name,faithful,note",
        'q0,a,"0,5",a',
        'q0,b,"0,25","1,5"',
        "q1,a,1,b",
        'q1,b,"0,75","1,5"',  # `note` has other texts, so it is no criterion
    ]
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(lines) + "\n")
    with no_warnings():
        values = ma.answers.from_criteria(path)
    # Returns the answers of a and b on q0 and q1, with these values of faithful.
    with_points = judged_frame(0.5, 0.25, 1, 0.75)
    pd.testing.assert_frame_equal(values, ma.answers.from_criteria(with_points))


@pytest.mark.parametrize(
    "labels",
    [
        ["1,200", "950", "870", "2"],  # three digits follow the comma
        ["0.5", "2,5", "1", "1"],  # another number has a decimal point
    ],
    ids=["three digits", "decimal point"],
)
def test_commas_that_may_separate_thousands_are_not_decimals(
    labels: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "judged.csv"
    judged_frame(*labels).to_csv(path, index=False)
    with pytest.raises(MultiAspectError, match=r"in faithful for .*, got '(1,200|2,5)'"):
        ma.answers.from_criteria(path)


def test_parquet_is_named_as_such(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    judged_frame(0.5, 0.25).to_parquet(tmp_path / "j.parquet")
    with pytest.raises(
        MultiAspectError, match=r"j\.parquet: expected text, got Parquet; write text: pandas"
    ):
        ma.answers.from_criteria(tmp_path / "j.parquet")


@pytest.mark.parametrize(
    "name", ["reference", "ground_truth", "Expected_Output", "reference_answer"]
)
def test_gold_answers_that_are_numbers_are_no_criteria(name: str, tmp_path: Path) -> None:
    """Kind: a column beside the criteria that is a number in each row."""
    frame = judged_frame(0.5, 0.25, 1, 0.75)
    expected = ma.answers.from_criteria(frame)
    frame.assign(**{name: [7, 0, 1, 42]}).to_csv(tmp_path / "j.csv", index=False)
    with pytest.warns(
        MultiAspectWarning, match=f"the column {name} is left out, as it looks like gold answers"
    ):
        pd.testing.assert_frame_equal(ma.answers.from_criteria(tmp_path / "j.csv"), expected)
    chosen = frame.assign(**{name: [1, 0, 1, 1]})
    values = ma.answers.from_criteria(chosen, aspects={"faithful": None, name: [0, 1]})
    assert name in set(values["measure"])


@pytest.mark.parametrize(
    "columns",
    [
        ("topic", "system", "metric", "score"), ("Topic", "System", "Metric", "Score"),
        ("QID", "Run_ID", "Criterion", "Value"), ("question_id", "SYSTEM", "aspect", "Rating"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["frame", "csv"])
def test_columns_of_rows_are_matched_in_any_case(
    columns: tuple[str, ...], form: str, tmp_path: Path
) -> None:
    """A file with topic, system, metric and score was told to rename value."""
    rows = long_rows(*columns)
    expected = values_by_answer(
        ma.answers.from_criteria(long_rows("qid", "name", "criterion", "score"))
    )
    rows.to_csv(tmp_path / "judged.csv", index=False)
    source = rows if form == "frame" else tmp_path / "judged.csv"
    with no_warnings():
        assert values_by_answer(ma.answers.from_criteria(source)) == expected
        assert set(ma.describe(source).aspects) == {"faithful", "complete"}
    assert main(["answers", str(tmp_path / "judged.csv")]) == 0


@pytest.mark.parametrize("name", ["score", "rating", "Score"])
def test_one_score_per_answer_is_described(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first command of the page failed for question_id, system, score, with advice about runs."""
    rows = [(f"q{number // 2}", "ab"[number % 2], 1 + number % 5) for number in range(20)]
    pd.DataFrame(rows, columns=["question_id", "system", name]).to_csv(
        tmp_path / "j.csv", index=False
    )
    scales = str(tmp_path / "scales.json")
    assert main(["describe", "--answers", str(tmp_path / "j.csv"), "--write-aspects", scales]) == 0
    assert ma.Aspects.from_file(scales)[name].grades == (1, 2, 3, 4, 5)
    assert main(["answers", str(tmp_path / "j.csv"), "--aspects", scales]) == 0


def test_criteria_are_declared_in_any_case() -> None:
    frame = pd.DataFrame(ROWS, columns=["Topic", "System", "Correctness", "complete"])
    values = ma.answers.from_criteria(frame, aspects={"correctness": [1, 2, 3, 4, 5]})
    assert set(values["measure"]) == {"correctness"}


def test_files_with_a_row_index_are_read(tmp_path: Path) -> None:
    """df.to_csv writes an index under an empty name, which was an error about ''."""
    judged_frame(0.5, 0.6, 0.7, 0.8).to_csv(tmp_path / "judged.csv")
    with pytest.warns(MultiAspectWarning, match="looks like a row index"):
        assert set(ma.answers.from_criteria(tmp_path / "judged.csv")["measure"]) == {"faithful"}


@pytest.mark.parametrize("separator", [";", "\t"])
def test_tables_of_spreadsheets_with_decimal_commas_are_read(
    separator: str, tmp_path: Path
) -> None:
    judged_frame(0.5, 0.25, 1, 0.75).to_csv(
        tmp_path / "j.csv", index=False, sep=separator, decimal=","
    )
    with no_warnings():
        assert ma.answers.from_criteria(tmp_path / "j.csv")["value"].tolist() == [
            0.5,
            0.25,
            1,
            0.75,
        ]


@pytest.mark.parametrize(
    "name", ["latency", "latency_ms", "cost", "seed", "total_tokens", "judge_cost"]
)
def test_measurements_are_named_when_they_become_criteria(name: str) -> None:
    frame = judged_frame(0.5, 0.25, 1, 0.75).assign(**{name: [0.1, 0.2, 0.3, 0.4]})
    with pytest.warns(
        MultiAspectWarning, match=rf"unlikely to contain labels: {name}; select .*faithful"
    ):
        ma.answers.from_criteria(frame)
    with no_warnings():
        ma.answers.from_criteria(frame, aspects=["faithful"])


@pytest.mark.parametrize("as_file", [True, False], ids=["file", "frame"])
def test_an_empty_column_is_named(as_file: bool) -> None:
    """Kind: a criterion that vanishes."""
    frame = pd.DataFrame(
        {"name": ["a", "b"], "qid": ["1", "1"], "ok": [1, 0], "faithful": ["", ""]}
    )
    source = StringIO(frame.to_csv(index=False)) if as_file else frame
    with pytest.warns(
        MultiAspectWarning, match="the column faithful is empty, so it is no criterion"
    ):
        values = ma.answers.from_criteria(source)
    assert values["measure"].unique().tolist() == ["ok"]


@pytest.mark.parametrize("name", ["notes", "comment", "error", "explanation", "reference"])
def test_empty_columns_of_texts_are_no_news(name: str) -> None:
    values = ma.answers.from_criteria(StringIO(f"name,qid,ok,{name}\na,1,1,\nb,1,0,\n"))
    assert values["value"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
def test_truth_values_of_a_table_are_those_of_json(words: tuple[str, str]) -> None:
    yes, no = words
    table = StringIO(f"name,qid,ok\na,1,{yes}\nb,1,{no}\nc,1,{yes}\n")
    assert ma.answers.from_criteria(table)["value"].tolist() == [1.0, 0.0, 1.0]
    table.seek(0)
    assert ma.answers.from_criteria(table, aspects={"ok": [1, 2]})["value"].tolist() == [
        1.0,
        0.0,
        1.0,
    ]
    table.seek(0)
    with pytest.raises(
        MultiAspectError, match="expected truth values on scales of two grades only"
    ):
        ma.answers.from_criteria(table, aspects={"ok": 5})


def test_truth_values_beside_failures() -> None:
    table = "name,qid,ok\na,1,true\nb,1,N/A\nc,1,false\n"
    with pytest.raises(MultiAspectError, match=r"got 'N/A'.*'unjudged': \['N/A'\]"):
        ma.answers.from_criteria(StringIO(table))
    with pytest.warns(MultiAspectWarning, match="1 of 3 labels is missing"):
        values = ma.answers.from_criteria(
            StringIO(table), aspects={"ok": {"grades": 1, "unjudged": ["N/A"]}}
        )
    assert values["value"].tolist() == [1.0, 0.0]


def test_answers_that_are_true_or_false_are_no_labels() -> None:
    values = ma.answers.from_criteria(StringIO("name,qid,ok,answer\na,1,1,true\nb,1,0,false\n"))
    assert values["measure"].unique().tolist() == ["ok"]


def test_truth_values_beside_sentences_are_left_out_with_a_word() -> None:
    with pytest.warns(
        MultiAspectWarning, match="the column verdict is left out. If the texts are labels"
    ):
        ma.answers.from_criteria(StringIO("name,qid,ok,verdict\na,1,1,true\nb,1,0,it depends\n"))


def test_a_rare_0_may_be_a_code_or_a_grade() -> None:
    labels = [0, *[1, 2, 3, 4, 5] * 5]
    frame = pd.DataFrame({"name": "a", "qid": map(str, range(26)), "faithful": labels})
    (finding,) = (
        row for row in ma.describe(frame).findings.to_dict("records") if row["severity"] == "error"
    )
    assert (
        "0 is outside of the other labels, 1 to 5, and may be a code of failures"
        in finding["finding"]
    )
    assert "if 0 is the lowest grade, declare the grades 0 to 5 instead" in finding["finding"]
    assert "Aspect([1, 2, 3, 4, 5], unjudged=[0])" in finding["remedy"]
