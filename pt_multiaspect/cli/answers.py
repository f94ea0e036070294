"""The command ``answers``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
import pandas as pd

from .. import reporting
from ..analysis import judge_agreement
from ..answers import argue_scores, combine, from_criteria, nugget_scores, rubric_scores
from ..answers._answer_tables import read_named_answers
from ..aspects import Aspect, Aspects
from ..collection.judged_answers import answer_keys, by_run, read_criteria
from ..errors import MultiAspectError, choices, number_of, silence_warnings
from ..evaluation.long_frames import measures_by_label
from ..evaluation.topic_structure import TopicStructure
from ..integration.measure_lists import parse_list
from ..integration.parsing import RECORD, record_measures
from . import options
from .evaluate import (
    CONFIDENCE,
    HUMAN_EXCLUDES,
    aggregate_topics,
    check_clusters_apply,
    check_interval,
    estimates_sheet,
    means_sheet,
    per_query_sheet,
    read_margin,
)
from .messages import tell
from .options import file_option, measure_option, option, output, refuse_together
from .run_names import pick_baseline
from .tables import SUFFIXES, Sheet
from .verb import Inputs, verb


@verb(
    r"""
    Examples:
      pt-multiaspect answers old=ragas_old.csv new=ragas_new.csv --baseline old
      pt-multiaspect answers assignments.jsonl --baseline bm25 -o report.html
      pt-multiaspect answers judged.csv --aspects scales.json -m MM --notes full
      pt-multiaspect answers judged.csv --aspects '{"faithful": [1, 2, 3]}' \
        --by categories.txt -o table.tex
      pt-multiaspect answers model.jsonl --human few.jsonl -o report.html

    Marks: * best value of a column, † significantly different from the baseline.
    """,
    measure_option(
        "Means of criteria to add, as in -m MM 'CAM(aspects=\"faithful,complete\")'; or "
        "ALIAS=MEASURE.",
        "combined",
    ),
    options.ASPECTS,
    file_option(
        "--human",
        multiple=True,
        help="The same answers to at least 4 topics, drawn at random, judged by people, if a model has judged "
        "JUDGED: show prediction-powered estimates. May be repeated.",
    ),
    options.UNJUDGED,
    options.BY,
    options.MACRO,
    options.CLUSTER,
    option("-q", "--perquery", is_flag=True, help="Show each topic instead of the means."),
    option(
        "--baseline", metavar="RUN", help="Test the differences between this run and the others."
    ),
    options.MARGIN,
    options.INTERVAL,
    options.NOTES_BELOW,
    option(
        "--agreement",
        is_flag=True,
        help="Show how far the judges agree instead: Krippendorff's α of each criterion, with 95 % intervals.",
    ),
    option(
        "--title", metavar="TEXT", help="The title of a report. Default: Evaluation of answers."
    ),
    output(
        {**SUFFIXES, ".html": "html", ".htm": "html"},
        "Write to a file, in the format of its suffix: .html is a report with the answers, "
        f"{choices(SUFFIXES)} are tables.",
    ),
    click.Argument(["judged"], nargs=-1, required=True, metavar="JUDGED...", type=click.Path()),
)
def answers(
    inputs: Inputs,
    combined: tuple[str, ...],
    judged: tuple[str, ...],
    unjudged: tuple[str, ...],
    perquery: bool,
    macro: bool,
    cluster: str | None,
    baseline: str | None,
    margin: tuple[str, ...],
    interval: str,
    notes: str,
    agreement: bool,
    title: str | None,
) -> object:
    """Score judged answers.

    JUDGED are files of JSON Lines, CSV or TSV with a topic (qid) and a run (name or run_id) per
    row: nuggets as nuggetizer assigns them, scores of Auto-ARGUE, questions with weight and met, or
    criteria, in [0, 1] or on the scales of --aspects: one column each, or rows with criterion and
    score, and judge if there are several. NAME=FILE names the system of a file without such a
    column, as RAGAS and open-rag-eval (CSV), DeepEval and promptfoo (JSON) write; its topics are an
    id or the text of the question.
    'pt-multiaspect describe --answers JUDGED --write-aspects FILE' proposes scales.
    """
    file = inputs.values["by"]
    check_interval(interval, baseline)
    _check_macro_and_margin(macro, file, margin, baseline)
    of_means = {
        f"--interval {interval}": interval != "none",
        "--by": file is not None,
        "--margin": bool(margin),
    }
    if agreement:
        of_scores = {
            "-m": bool(combined),
            "--human": bool(inputs.values["human"]),
            "-q": perquery,
            **of_means,
            "--baseline": baseline is not None,
            "--title": title is not None,
        }
        _check_agreement(of_scores, inputs.format)
        return _agreement_sheet(inputs, judged, unjudged, cluster)
    frame = read_files(judged, "answers")
    aspects = declare_unjudged(frame, inputs.aspects, unjudged)
    values, left_out = _scores(frame, aspects, combined)
    human = _human_scores(inputs, aspects, combined)
    known = measures_by_label(values)
    structure = TopicStructure.read(values, known, by=file, macro=macro, cluster=cluster)
    if baseline is not None:
        baseline = pick_baseline(baseline, values["name"].unique().tolist())
    if inputs.format == "html":
        _refuse_in_reports(perquery, margin)
        reporting.report(
            values, aspects=aspects, human=human, baseline=baseline, **structure.options,
            title=title or "Evaluation of answers", answers=frame, path=inputs.values["output"],
        )  # fmt: skip
        return None
    if human is not None:
        without_human = {"-q": perquery, **of_means}
        refuse_together(without_human, {"--human": True}, HUMAN_EXCLUDES)
        return estimates_sheet(human, values, baseline, structure.clusters)
    means_only = {"--baseline": baseline is not None, "--cluster": cluster is not None, **of_means}
    refuse_together(means_only, {"-q": perquery}, "{} applies to means: omit it, or {}")
    if interval != "mean" and baseline is None:
        check_clusters_apply(structure.clusters)
    means = aggregate_topics(values, interval, structure)
    if perquery:
        return per_query_sheet(values, means["name"])
    n_topics = values["qid"].nunique()
    return means_sheet(
        values, means, n_topics, interval=interval, baseline=baseline, margin=read_margin(margin),
        structure=structure, advice=left_out, notes=notes,
    )  # fmt: skip


def _check_macro_and_margin(
    macro: bool, groups: str | None, margin: Sequence[str], baseline: str | None
) -> None:
    """Raise an error for --macro without groups and --margin without a baseline."""
    refuse_together({"--macro": macro}, {"": groups is None}, "{} requires --by FILE")
    refuse_together(
        {"--margin": bool(margin)}, {"": baseline is None}, "{} requires --baseline RUN"
    )


def _check_agreement(of_scores: Mapping[str, bool], format: str) -> None:
    """Raise an error for options of scores, and for reports, beside --agreement."""
    refuse_together(of_scores, {"--agreement": True}, "{} applies to scores: omit it, or {}")
    if format == "html":
        raise click.UsageError("--agreement is a table: write a file such as agreement.csv")


def _human_scores(
    inputs: Inputs, aspects: Aspects | None, combined: Sequence[str]
) -> pd.DataFrame | None:
    """Return the scores of the answers that people judged, None without --human."""
    files = inputs.values["human"]
    if not files:
        return None
    scores, _ = _scores(read_files(files, "answers"), aspects, combined)
    return scores


def _refuse_in_reports(perquery: bool, margin: Sequence[str]) -> None:
    """Raise an error for options of tables, as a report has been asked for."""
    remedy = "applies to tables: omit it, or write another file than .html"
    if perquery:
        raise MultiAspectError(f"-q {remedy}")
    if margin:
        raise MultiAspectError(f"--margin {remedy}")


def _agreement_sheet(
    inputs: Inputs, judged: Sequence[str], unjudged: Sequence[str], cluster: str | None
) -> Sheet:
    """Return how far the judges agree on each criterion."""
    answers = read_files(judged, "answers")
    aspects = declare_unjudged(answers, inputs.aspects, unjudged)
    found = judge_agreement(answers, aspects=aspects, ci=CONFIDENCE, cluster=cluster)
    return Sheet.of(found.rename(columns={"aspect": "criterion", "n_documents": "n_answers"}))


def read_files(files: Sequence[str], what: str) -> pd.DataFrame:
    """Return the answers in files, and tell what was taken for topics and criteria in files of one system."""
    frame, notes = read_named_answers(files, what)
    if notes:
        with silence_warnings():
            _, criteria = read_criteria(frame, None, what)
        tell(f"{'; '.join(notes)}; criteria: {choices(criteria)}")
    return frame


def declare_unjudged(
    frame: pd.DataFrame, aspects: Aspects | None, codes: Sequence[str]
) -> Aspects | None:
    """Return the scales of all criteria with further codes that mean that there is no label."""
    if not codes:
        return aspects
    _, criteria = read_criteria(frame.mask(frame.astype(str).isin(codes)), aspects, "answers")
    scales = {}
    for name in criteria:
        spec = {} if aspects is None else aspects[name].to_spec()
        if isinstance(spec, int):
            spec = {"grades": spec}
        scales[name] = Aspect(**{**spec, "unjudged": [*spec.get("unjudged", ()), *codes]})
    return Aspects(scales)


def _keep_complete_topics(
    values: pd.DataFrame, answers: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Return the values of the topics for which no answer lacks a value, and a note on the others."""
    measures = pd.Series(values["measure"].unique(), name="measure")
    expected = answers.drop_duplicates().merge(measures, how="cross")
    given = pd.MultiIndex.from_frame(values[["name", "qid", "measure"]])
    lacking = expected[~pd.MultiIndex.from_frame(expected).isin(given)]
    if not len(lacking):
        return values, []
    topics = lacking["qid"].unique()
    kept = values[~values["qid"].isin(topics)].reset_index(drop=True)
    if not len(kept):
        raise MultiAspectError(
            "answers: expected a topic on which all answers have all labels, got none"
        )
    by_topic = f"{number_of(len(topics), 'topic')} ({choices(topics)})"
    return kept, [f"Without {by_topic}, as labels are missing: {by_run(lacking)}."]


def _scores(
    frame: pd.DataFrame, aspects: Aspects | None, combined: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the scores of answers, by what their columns contain, and combined ones, and notes."""
    readers = {"nuggets": nugget_scores, "met": rubric_scores}
    parts = [read(frame) for column, read in readers.items() if column in frame.columns]
    if {"request_id", "metric"} <= {
        *frame.columns
    }:  # of Auto-ARGUE; elsewhere, a metric is a criterion
        parts.append(argue_scores(frame))
    has_criteria = not parts or aspects is not None
    if has_criteria:
        parts.append(from_criteria(frame.drop(columns="nuggets", errors="ignore"), aspects=aspects))
    values = pd.concat(parts, ignore_index=True)
    left_out: list[str] = []
    if has_criteria:
        values, left_out = _keep_complete_topics(values, answer_keys(frame, "answers"))
    record_measures(
        values, {label: record for part in parts for label, record in part.attrs[RECORD].items()}
    )
    return (combine(values, parse_list(list(combined))) if combined else values), left_out
