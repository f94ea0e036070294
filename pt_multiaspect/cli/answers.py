"""The command ``answers``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    check_interval,
    estimates_sheet,
    means_sheet,
    per_query_sheet,
    read_margin,
    refuse_unused_clusters,
)
from .messages import tell
from .options import file_option, measure_option, option, output, refuse_together, refuse_without
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
        help="The same answers to at least 4 topics, drawn at random, judged by people, if a "
        "model has judged JUDGED: show prediction-powered estimates. May be repeated.",
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
        help="Show how far the judges agree instead: Krippendorff's α of each criterion, with "
        "95 % intervals.",
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
    groups_file = inputs.values["by"]
    check_interval(interval, baseline)
    _check_macro_and_margin(macro, groups_file, margin, baseline)
    options_of_means = {
        f"--interval {interval}": interval != "none",
        "--by": groups_file is not None,
        "--margin": bool(margin),
    }
    if agreement:
        options_of_scores = {
            "-m": bool(combined),
            "--human": bool(inputs.values["human"]),
            "-q": perquery,
            **options_of_means,
            "--baseline": baseline is not None,
            "--title": title is not None,
        }
        _check_agreement(options_of_scores, inputs.format)
        return _agreement_sheet(inputs, judged, unjudged, cluster)

    frame = read_files(judged, "answers")
    aspects = declare_unjudged(frame, inputs.aspects, unjudged)
    values, missing_labels = _scores(frame, aspects, combined)
    human = _human_scores(inputs, aspects, combined)
    structure = TopicStructure.read(
        values, measures_by_label(values), by=groups_file, macro=macro, cluster=cluster
    )
    if baseline is not None:
        baseline = pick_baseline(baseline, values["name"].unique().tolist())
    # The output is one of four: a report, estimates, values of topics, or means.
    if inputs.format == "html":
        _refuse_in_reports(perquery, margin)
        _write_report(inputs, frame, values, human, aspects, baseline, structure, title)
        return None
    if human is not None:
        options_of_tables = {"-q": perquery, **options_of_means}  # of other tables
        refuse_together(options_of_tables, {"--human": True}, HUMAN_EXCLUDES)
        return estimates_sheet(human, values, baseline, structure.clusters)
    if perquery:
        _check_perquery(baseline, cluster, options_of_means)
        means = aggregate_topics(values, interval, structure)
        return per_query_sheet(values, means["name"])  # with the runs in the order of the means
    if interval != "mean" and baseline is None:
        refuse_unused_clusters(structure.clusters)  # they affect intervals and tests only
    means = aggregate_topics(values, interval, structure)
    return means_sheet(
        values, means, values["qid"].nunique(), interval=interval, baseline=baseline,
        margin=read_margin(margin), structure=structure, advice=missing_labels, notes=notes,
    )  # fmt: skip


def _write_report(
    inputs: Inputs,
    answers: pd.DataFrame,
    values: pd.DataFrame,
    human: pd.DataFrame | None,
    aspects: Aspects | None,
    baseline: str | None,
    structure: TopicStructure,
    title: str | None,
) -> None:
    """Write the report on the values of judged answers to --output.

    The parameters are those of `pt_multiaspect.report`, as far as they have their names.
    """
    reporting.report(
        values,
        aspects=aspects,
        human=human,
        baseline=baseline,
        **structure.options,
        title=title or "Evaluation of answers",
        answers=answers,
        path=inputs.values["output"],
    )


def _check_macro_and_margin(
    macro: bool, groups: str | None, margin: Sequence[str], baseline: str | None
) -> None:
    """Raise an error for --macro without groups and --margin without a baseline."""
    refuse_without({"--macro": macro}, "--by FILE", is_given=groups is not None)
    with_margin = {"--margin": bool(margin)}
    refuse_without(with_margin, "--baseline RUN", is_given=baseline is not None)


def _check_perquery(
    baseline: str | None, cluster: str | None, options_of_means: Mapping[str, bool]
) -> None:
    """Raise an error for options that -q excludes, as values of topics have no means or tests.

    `options_of_means` tells of each whether it is given.
    """
    excluded = {
        "--baseline": baseline is not None,
        "--cluster": cluster is not None,
        **options_of_means,
    }
    refuse_together(excluded, {"-q": True}, "{} applies to means: omit it, or {}")


def _check_agreement(options_of_scores: Mapping[str, bool], format: str) -> None:
    """Raise an error for options that --agreement excludes.

    Parameters
    ----------
    options_of_scores : mapping of str to bool
        The options that apply to scores, and whether each is given.
    format : str
        The format of the output, which must not be that of a report.
    """
    message = "{} applies to scores: omit it, or {}"
    refuse_together(options_of_scores, {"--agreement": True}, message)
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
    """Return the table of how far the judges agree on each criterion.

    Parameters
    ----------
    inputs : Inputs
        The options, with the scales.
    judged : sequence of str
        The files of judged answers.
    unjudged : sequence of str
        The labels that mean that there is none.
    cluster : str or None
        The value of --cluster.
    """
    answers = read_files(judged, "answers")
    aspects = declare_unjudged(answers, inputs.aspects, unjudged)
    agreement = judge_agreement(answers, aspects=aspects, ci=CONFIDENCE, cluster=cluster)
    heads = {"aspect": "criterion", "n_documents": "n_answers"}
    return Sheet.of(agreement.rename(columns=heads))


def read_files(files: Sequence[str], what: str) -> pd.DataFrame:
    """Return the judged answers in files, one row per judgment.

    Files of one system may have any columns: print which are taken for topics and criteria.

    Parameters
    ----------
    files : sequence of str
        Paths, or NAME=FILE.
    what : str
        The beginning of errors.
    """
    frame, notes = read_named_answers(files, what)
    if notes:
        with silence_warnings():
            _, criteria = read_criteria(frame, None, what)
        columns = "; ".join(notes)
        tell(f"{columns}; criteria: {choices(criteria)}")
    return frame


def declare_unjudged(
    frame: pd.DataFrame, aspects: Aspects | None, codes: Sequence[str]
) -> Aspects | None:
    """Return the scales of all criteria, in which codes such as N/A mean that there is no label.

    Parameters
    ----------
    frame : DataFrame
        The judged answers.
    aspects : Aspects or None
        The declared scales, which are returned if there are no codes.
    codes : sequence of str
        The codes.
    """
    if not codes:
        return aspects
    is_code = frame.astype(str).isin(codes)
    _, criteria = read_criteria(frame.mask(is_code), aspects, "answers")
    scales = {}
    for name in criteria:
        spec: dict[str, Any] = {}
        if aspects is not None:
            spec = _full_spec(aspects[name])
        declared_codes = spec.get("unjudged", ())
        spec["unjudged"] = [*declared_codes, *codes]
        scales[name] = Aspect(**spec)
    return Aspects(scales)


def _full_spec(aspect: Aspect) -> dict[str, Any]:
    """Return the parameters of an aspect, also if its short form is the highest grade alone."""
    spec = aspect.to_spec()
    if isinstance(spec, int):
        return {"grades": spec}
    return dict(spec)


def _keep_complete_topics(
    values: pd.DataFrame, answers: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Return the values of the topics for which no answer lacks a value, and notes on the others.

    Parameters
    ----------
    values : DataFrame
        One row per run (name), topic (qid) and measure.
    answers : DataFrame
        The run and the topic of each answer, as columns name and qid.
    """
    measures = pd.Series(values["measure"].unique(), name="measure")
    # One row for each value that there should be: name, qid, measure.
    expected = answers.drop_duplicates().merge(measures, how="cross")
    expected_keys = pd.MultiIndex.from_frame(expected)
    present_keys = pd.MultiIndex.from_frame(values[["name", "qid", "measure"]])
    is_present = expected_keys.isin(present_keys)
    missing = expected[~is_present]
    if missing.empty:
        return values, []
    topics = missing["qid"].unique()
    of_complete_topic = ~values["qid"].isin(topics)
    kept = values[of_complete_topic].reset_index(drop=True)
    if kept.empty:
        raise MultiAspectError(
            "answers: expected a topic on which all answers have all labels, got none"
        )
    n_topics = number_of(len(topics), "topic")
    note = f"Without {n_topics} ({choices(topics)}), as labels are missing: {by_run(missing)}."
    return kept, [note]


def _scores(
    frame: pd.DataFrame, aspects: Aspects | None, combined: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the scores of answers, and notes on topics that are left out.

    The columns of the answers decide which scores these are.

    Parameters
    ----------
    frame : DataFrame
        The judged answers.
    aspects : Aspects or None
        The scales of criteria.
    combined : sequence of str
        Means of criteria to add.

    Returns
    -------
    DataFrame
        One row per run, topic and score.
    list of str
        The notes.
    """
    parts = _scores_of_products(frame)
    notes: list[str] = []
    # Other columns are criteria if there are no such scores, or if their scales are declared.
    has_criteria = len(parts) == 0 or aspects is not None
    if has_criteria:
        criteria = frame.drop(columns="nuggets", errors="ignore")
        parts.append(from_criteria(criteria, aspects=aspects))
    values = pd.concat(parts, ignore_index=True)
    if has_criteria:
        values, notes = _keep_complete_topics(values, answer_keys(frame, "answers"))
    # Each part has a record of the measures of its labels, which joining drops.
    recorded_measures: dict[str, Any] = {}
    for part in parts:
        recorded_measures |= part.attrs[RECORD]
    record_measures(values, recorded_measures)
    if combined:
        values = combine(values, parse_list(list(combined)))
    return values, notes


def _scores_of_products(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the scores of answers with columns of nuggets, of questions or of Auto-ARGUE."""
    parts = []
    if "nuggets" in frame.columns:
        parts.append(nugget_scores(frame))
    if "met" in frame.columns:
        parts.append(rubric_scores(frame))
    # A column metric alone names the criteria of any judge.
    has_requests = "request_id" in frame.columns
    if has_requests and "metric" in frame.columns:
        parts.append(argue_scores(frame))
    return parts
