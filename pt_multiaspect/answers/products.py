"""Results of evaluation tools for products: RAGAS, open-rag-eval, DeepEval and promptfoo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

#: Columns with the text of a question.
QUESTIONS = ("user_input", "question", "query", "input", "prompt")


def rows_of_product(content: Any) -> list[dict[str, Any]]:
    """Return one row per question of the JSON of DeepEval or promptfoo; none of other JSON.

    A row contains the question as ``input``, the answer as ``answer_text``, each criterion by its
    name and, of promptfoo, the provider as ``system``.
    """
    if not isinstance(content, Mapping):
        return []
    # Test cases of DeepEval may be wrapped in an object of the test run.
    test_run = content.get("testRunData", content)
    test_cases = _either(test_run, "testCases", "test_results")
    if isinstance(test_cases, list):
        return _rows_of_deepeval(test_cases)
    # Results of promptfoo may be wrapped in an object with statistics.
    results = test_run.get("results")
    if isinstance(results, Mapping):
        results = results.get("results")
    if _are_of_promptfoo(results):
        return _rows_of_promptfoo(results)
    return []


def _either(record: Mapping[str, Any], key: str, alternative: str) -> Any:
    """Return the value of the first of two keys that a JSON object has; None without them."""
    if key in record:
        return record[key]
    return record.get(alternative)


def _rows_of_deepeval(test_cases: list[Any]) -> list[dict[str, Any]]:
    """Return the row of each test case; a metric that failed has the score None.

    Keys are in camel case or in snake case.
    """
    rows = []
    for case in test_cases:
        if not isinstance(case, Mapping):
            continue
        row = {
            "input": case.get("input"),
            "answer_text": _either(case, "actualOutput", "actual_output"),
        }
        metrics = _either(case, "metricsData", "metrics_data") or []
        for metric in metrics:
            name = metric["name"]
            row[name] = metric.get("score")
        rows.append(row)
    return rows


def _are_of_promptfoo(results: Any) -> bool:
    """Return whether results are those of promptfoo, which have variables."""
    if not isinstance(results, list):
        return False
    return all(isinstance(result, Mapping) and "vars" in result for result in results)


def _rows_of_promptfoo(results: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the row of each result; with several prompts, a system is a provider with a prompt."""
    prompts = {result.get("promptIdx") for result in results}
    has_several_prompts = len(prompts) > 1
    rows = []
    for result in results:
        row = _row_of_promptfoo(result, name_prompt=has_several_prompts)
        rows.append(row)
    return rows


def _row_of_promptfoo(result: Mapping[str, Any], *, name_prompt: bool) -> dict[str, Any]:
    """Return the row of a result, with one column per score.

    The scores are its named scores, or else those of its assertions, or else the only score. With
    `name_prompt`, the name of the system contains the number of the prompt.
    """
    provider = result.get("provider") or {}
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    system = provider
    if name_prompt:
        prompt = result.get("promptIdx")
        system = f"{provider}, prompt {prompt}"
    response = result.get("response") or {}
    row = {
        "system": system,
        "input": _question_of_promptfoo(result["vars"]),
        "answer_text": response.get("output"),
    }
    scores = result.get("namedScores")
    if not scores:
        scores = _assertion_scores(result)
    if not scores:
        scores = {"score": result.get("score")}
    row.update(scores)
    return row


def _question_of_promptfoo(variables: Mapping[str, Any]) -> Any:
    """Return the variable that is a question, or else all variables as text."""
    for name in QUESTIONS:
        if name in variables:
            return variables[name]
    assignments = [f"{name}={value}" for name, value in variables.items()]
    return " ".join(assignments)


def _assertion_scores(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the score of each assertion by its metric or type.

    Further assertions of the same name are numbered: ``llm-rubric``, ``llm-rubric 2``.
    """
    scores: dict[str, Any] = {}
    grading = result.get("gradingResult") or {}
    components = grading.get("componentResults") or []
    for component in components:
        assertion = component.get("assertion") or {}
        name = assertion.get("metric") or assertion.get("type") or "score"
        # The name itself, and the numbered ones.
        prefix = f"{name} "
        same_names = [key for key in scores if key == name or key.startswith(prefix)]
        n_same = len(same_names)
        key = name
        if n_same > 0:
            key = f"{name} {n_same + 1}"
        scores[key] = component.get("score")
    return scores


def question_column(frame: pd.DataFrame) -> str | None:
    """Return the column that names the topics of rows without a topic, None if there is none.

    It is a column of ids if these are ids of questions, else the text of the question.
    """
    column_by_name = {str(column).strip().lower(): column for column in frame.columns}
    question = None
    for name in QUESTIONS:
        if name in column_by_name:
            question = str(column_by_name[name])
            break
    if "id" in column_by_name and _has_ids_of_questions(frame, column_by_name["id"], question):
        return str(column_by_name["id"])
    return question


def _has_ids_of_questions(frame: pd.DataFrame, id_column: Any, question: str | None) -> bool:
    """Return whether a column contains ids of questions rather than ids of rows.

    Ids of questions are the same for all systems, and each belongs to one question.
    """
    if frame[id_column].isna().any():
        return False
    ids_by_system = frame.groupby("name", sort=False)[id_column]
    id_sets = ids_by_system.agg(frozenset)
    if id_sets.nunique() != 1:
        return False
    return _has_one_question(frame, id_column, question)


def _has_one_question(frame: pd.DataFrame, id_column: Any, question: str | None) -> bool:
    """Return whether each id belongs to one question; True without a column of questions."""
    if question is None:
        return True
    questions_by_id = frame.groupby(id_column)[question]
    n_questions = questions_by_id.nunique()
    return bool(n_questions.max() == 1)
