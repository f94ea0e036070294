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
    if isinstance(results, list) and all(
        isinstance(result, Mapping) and "vars" in result for result in results
    ):
        has_prompts = len({result.get("promptIdx") for result in results}) > 1
        return [_row_of_promptfoo(result, has_prompts=has_prompts) for result in results]
    return []


def _row_of_deepeval(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a test case; a metric that failed has no score."""
    row = {
        "input": case.get("input"),
        "answer_text": case.get("actualOutput", case.get("actual_output")),
    }
    metrics = case.get("metricsData", case.get("metrics_data")) or []
    return row | {metric["name"]: metric.get("score") for metric in metrics}


def _row_of_promptfoo(result: Mapping[str, Any], *, has_prompts: bool) -> dict[str, Any]:
    """Return the row of a result: its named scores, or else those of its assertions by their type.

    With several prompts, a system is a provider with one of them.
    """
    variables = result["vars"]
    given = [variables[name] for name in QUESTIONS if name in variables]
    all_variables = " ".join(f"{name}={value}" for name, value in variables.items())
    if given:
        question = given[0]
    else:
        question = all_variables
    provider = result.get("provider") or {}
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    if has_prompts:
        provider = f"{provider}, prompt {result.get('promptIdx')}"
    response = result.get("response") or {}
    row = {"system": provider, "input": question, "answer_text": response.get("output")}
    scores = dict(result.get("namedScores") or {})
    if not scores:
        graded = result.get("gradingResult") or {}
        for component in graded.get("componentResults") or []:
            assertion = component.get("assertion") or {}
            name = assertion.get("metric") or assertion.get("type") or "score"
            number = 1 + sum(other == name or other.startswith(f"{name} ") for other in scores)
            scores[name if number == 1 else f"{name} {number}"] = component.get("score")
    return row | (scores or {"score": result.get("score")})


def question_column(frame: pd.DataFrame) -> str | None:
    """Return the column that names the topics of rows without a topic: an id if it is there, else a question."""
    usual = {str(column).strip().lower(): column for column in frame.columns}
    question = next((str(usual[name]) for name in QUESTIONS if name in usual), None)
    # Ids of rows differ between files, or belong to other questions; those of questions are
    # repeated in each.
    if "id" in usual and frame[usual["id"]].notna().all():
        ids = frame.groupby("name", sort=False)[usual["id"]].agg(frozenset)
        is_shared = ids.nunique() == 1
        if is_shared and (
            question is None or frame.groupby(usual["id"])[question].nunique().max() == 1
        ):
            return str(usual["id"])
    return question
