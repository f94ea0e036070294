"""Files of tools that evaluate products: one row per question, criteria in columns or a list, and no system."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pt_multiaspect.cli import main

QUESTIONS = ["What is a tide?", "Why is the sky blue?", "Who wrote Emma?", "How far is the moon?"]
SCORES = {"A": [0.5, 0.25, 1.0, 0.75], "B": [1.0, 0.5, 1.0, 1.0]}


def ragas(system: str, folder: Path) -> str:
    """As ``evaluate(…).to_pandas().to_csv()`` writes."""
    frame = pd.DataFrame(
        {
            "user_input": QUESTIONS,
            "retrieved_contexts": ["['a passage']"] * 4,
            "response": [f"{system} says {number}" for number in range(4)],
            "reference": ["gold"] * 4,
            "faithfulness": SCORES[system],
            "answer_relevancy": [0.5] * 4,
        }
    )
    frame.to_csv(folder / f"{system}.csv", index=False)
    return f"{system}.csv"


def open_rag_eval(system: str, folder: Path) -> str:
    frame = pd.DataFrame(
        {
            "query_id": [f"query_{number}" for number in range(4)],
            "query": QUESTIONS,
            "retrieved_passages": ['{"[1]": "a passage"}'] * 4,
            "generated_answer": [f"{system} says [{number}]" for number in range(4)],
            "generation_score_citation_f1_score": SCORES[system],
            "generation_score_hallucination_score": [0.5] * 4,
        }
    )
    frame.to_csv(folder / f"{system}.csv", index=False)
    return f"{system}.csv"


def deepeval(system: str, folder: Path) -> str:
    cases = [
        {
            "name": f"test_case_{number}",
            "input": question,
            "actualOutput": f"{system} says {number}",
            "success": True,
            "metricsData": [
                {
                    "name": "Faithfulness",
                    "threshold": 0.5,
                    "success": True,
                    "score": score,
                    "reason": "text",
                },
                {"name": "Correctness [GEval]", "threshold": 0.5, "success": True, "score": 0.5},
            ],
        }
        for number, (question, score) in enumerate(zip(QUESTIONS, SCORES[system], strict=True))
    ]
    (folder / f"{system}.json").write_text(
        json.dumps({"testCases": cases, "conversationalTestCases": []}, indent=1)
    )
    return f"{system}.json"


def promptfoo_results(system: str, *, named: bool = True) -> list[dict[str, Any]]:
    results = []
    for number, (question, score) in enumerate(zip(QUESTIONS, SCORES[system], strict=True)):
        components = [
            {
                "pass": True,
                "score": score,
                "reason": "text",
                "assertion": {"type": "llm-rubric"},
            },
            {"pass": True, "score": 0.5, "reason": "text", "assertion": {"type": "contains"}},
        ]
        results.append(
            {
                "promptIdx": 0,
                "testIdx": number,
                "provider": {"id": f"openai:{system}", "label": ""},
                "prompt": {"raw": f"Answer: {question}", "label": "Answer: {{question}}"},
                "vars": {"question": question},
                "response": {"output": f"{system} says {number}", "tokenUsage": {"total": 12}},
                "success": True,
                "score": score,
                "latencyMs": 120,
                "cost": 0.001,
                "namedScores": {"llm-rubric": score, "contains": 0.5} if named else {},
                "gradingResult": {"pass": True, "score": score, "componentResults": components},
            }
        )
    return results


def promptfoo(system: str, folder: Path, *, named: bool = True) -> str:
    content = {
        "evalId": "eval-1",
        "results": {"version": 3, "results": promptfoo_results(system, named=named)},
    }
    (folder / f"{system}.json").write_text(json.dumps(content))
    return f"{system}.json"


def promptfoo_without_names(system: str, folder: Path) -> str:
    return promptfoo(system, folder, named=False)


@pytest.mark.parametrize(
    ("write", "criterion", "topics"),
    [
        (ragas, "faithfulness", QUESTIONS),
        (
            open_rag_eval,
            "generation_score_citation_f1_score",
            [f"query_{number}" for number in range(4)],
        ),
        (deepeval, "Faithfulness", QUESTIONS),
        (promptfoo, "llm-rubric", QUESTIONS),
        (promptfoo_without_names, "llm-rubric", QUESTIONS),
    ],
)
def test_files_of_products_are_compared(
    write: Callable[[str, Path], str],
    criterion: str,
    topics: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kind: one row per question with a column or a list of criteria, and no system."""
    monkeypatch.chdir(tmp_path)
    files = [f"{system}={write(system, tmp_path)}" for system in SCORES]
    assert main(["answers", *files, "-q", "-o", "values.csv"]) == 0
    told = capsys.readouterr().err
    values = pd.read_csv("values.csv")
    found = values[values["measure"] == criterion]
    for system, scores in SCORES.items():
        of_system = found[found["name"] == system].set_index("qid")["value"]
        assert of_system.reindex(topics).tolist() == scores
    assert values["measure"].nunique() == 2
    assert "topics: the column" in told
    assert f"criteria: {criterion}" in told
    assert main(["describe", "--answers", files[0], "--answers", files[1]]) == 0
    assert main(["answers", *files, "--baseline", "A"]) == 0
    assert main(["answers", *files, "-o", files[0].partition("=")[2]]) == 2  # it is read


def test_providers_name_the_systems_of_promptfoo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    both = [result for system in SCORES for result in promptfoo_results(system)]
    Path("both.json").write_text(json.dumps({"results": {"version": 3, "results": both}}))
    assert main(["answers", "both.json", "--baseline", "openai:A"]) == 0
    assert "openai:B" in capsys.readouterr().out
    assert main(["answers", "A=both.json"]) == 2
    assert (
        "expected answers of one system, got those of openai:A, openai:B" in capsys.readouterr().err
    )


def test_a_metric_that_failed_is_a_missing_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = deepeval("A", tmp_path)
    content = json.loads(Path(file).read_text())
    content["testCases"][0]["metricsData"][0] |= {"score": None, "error": "timeout"}
    Path(file).write_text(json.dumps({"testRunData": content}))
    assert main(["answers", f"A={file}"]) == 0
    assert "1 of 8 labels is missing (A 1)" in capsys.readouterr().err


def test_files_without_topics_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame({"text": ["a", "b"], "faithful": [1, 0.5]}).to_csv(tmp_path / "a.csv", index=False)
    assert main(["answers", f"A={tmp_path / 'a.csv'}"]) == 2
    assert (
        "expected a column of topics, such as query_id, id or question" in capsys.readouterr().err
    )


@pytest.mark.parametrize("question", ["user_input", "question", "prompt", "query"])
@pytest.mark.parametrize("is_reversed", [False, True], ids=["same order", "another order"])
def test_ids_that_number_rows_in_another_order_are_no_topics(
    question: str,
    is_reversed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If the files A and B number the same questions alike, the ids are topics, otherwise the questions are."""
    monkeypatch.chdir(tmp_path)
    a = pd.DataFrame({question: QUESTIONS, "faithfulness": SCORES["A"]})
    b = pd.DataFrame({question: QUESTIONS, "faithfulness": SCORES["B"]})
    if is_reversed:
        b = b[::-1]
    a.assign(id=range(4)).to_csv("A.csv", index=False)
    b.assign(id=range(4)).to_csv("B.csv", index=False)

    assert main(["answers", "A=A.csv", "B=B.csv", "-q", "-o", "v.csv"]) == 0

    column_of_topics = question if is_reversed else "id"
    message = f"topics: the column {column_of_topics}; criteria: faithfulness\n"
    assert message in capsys.readouterr().err
    values = pd.read_csv("v.csv").pivot(index="qid", columns="name", values="value")
    differences = sorted(values["B"] - values["A"])
    assert differences == [1 - 1, 0.5 - 0.25, 1 - 0.75, 1 - 0.5]
