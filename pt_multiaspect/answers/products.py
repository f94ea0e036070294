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
    content = content.get("testRunData", content)
    cases = content.get("testCases", content.get("test_results"))
    if isinstance(cases, list):
        return [_row_of_deepeval(case) for case in cases if isinstance(case, Mapping)]
    results = content.get("results")
    if isinstance(results, Mapping):
        results = results.get("results")
    if not _are_of_promptfoo(results):
        return []
    prompts = {result.get("promptIdx") for result in results}
    has_prompts = len(prompts) > 1
    return [_row_of_promptfoo(result, has_prompts=has_prompts) for result in results]


def _row_of_deepeval(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a test case; a metric that failed has no score."""
    row = {
        "input": case.get("input"),
        "answer_text": case.get("actualOutput", case.get("actual_output")),
    }
    metrics = case.get("metricsData", case.get("metrics_data")) or []
    for metric in metrics:
        row[metric["name"]] = metric.get("score")
    return row


def _are_of_promptfoo(results: Any) -> bool:
    """Return whether results are those of promptfoo, which have variables."""
    if not isinstance(results, list):
        return False
    return all(isinstance(result, Mapping) and "vars" in result for result in results)


def _row_of_promptfoo(result: Mapping[str, Any], *, has_prompts: bool) -> dict[str, Any]:
    """Return the row of a result: its named scores, or else those of its assertions by their type.

    With several prompts, a system is a provider with one of them.
    """
    provider = result.get("provider") or {}
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    if has_prompts:
        provider = f"{provider}, prompt {result.get('promptIdx')}"
    response = result.get("response") or {}
    row = {
        "system": provider,
        "input": _question_of_promptfoo(result["vars"]),
        "answer_text": response.get("output"),
    }
    scores = dict(result.get("namedScores") or {})
    scores = scores or _assertion_scores(result)
    scores = scores or {"score": result.get("score")}
    return row | scores


def _question_of_promptfoo(variables: Mapping[str, Any]) -> Any:
    """Return the variable that is a question, or all variables as text."""
    for name in QUESTIONS:
        if name in variables:
            return variables[name]
    return " ".join(f"{name}={value}" for name, value in variables.items())


def _assertion_scores(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of assertions, of which those with one name are numbered."""
    scores: dict[str, Any] = {}
    graded = result.get("gradingResult") or {}
    for component in graded.get("componentResults") or []:
        assertion = component.get("assertion") or {}
        name = assertion.get("metric") or assertion.get("type") or "score"
        same = [other for other in scores if other == name or other.startswith(f"{name} ")]
        key = f"{name} {len(same) + 1}" if same else name
        scores[key] = component.get("score")
    return scores


def question_column(frame: pd.DataFrame) -> str | None:
    """Return the column that names the topics of rows without a topic.

    It is that of an id if it is there, else that of a question.
    """
    usual = {str(column).strip().lower(): column for column in frame.columns}
    questions = [str(usual[name]) for name in QUESTIONS if name in usual]
    question = questions[0] if questions else None
    # Ids of rows differ between files, or belong to other questions; those of questions are
    # repeated in each.
    if "id" in usual and frame[usual["id"]].notna().all():
        id_column = usual["id"]
        ids_of_systems = frame.groupby("name", sort=False)[id_column].agg(frozenset)
        is_shared = ids_of_systems.nunique() == 1
        if is_shared and _has_one_question(frame, id_column, question):
            return str(id_column)
    return question


def _has_one_question(frame: pd.DataFrame, id_column: Any, question: str | None) -> bool:
    """Return whether no id belongs to several questions."""
    if question is None:
        return True
    questions_of_ids = frame.groupby(id_column)[question].nunique()
    return bool(questions_of_ids.max() == 1)
