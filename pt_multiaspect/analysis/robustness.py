"""Robustness of differences between runs: topics, aspects, weights, variants, labels, judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ir_measures
import pandas as pd

from .._validation import choice
from ..collection.label_draws import parse_labels
from ..errors import MultiAspectError, choices, join_names, number_of
from ..evaluation.long_frames import is_long_frame
from ..evaluation.topic_clusters import ClusterSpec
from ..views import (
    Block,
    Cell,
    Cells,
    Column,
    Items,
    Mark,
    Row,
    Sentence,
    Table,
    View,
    decimals,
    latex_of,
)
from ._robustness_material import evaluate_material, read_material
from ._robustness_study import Study
from ._verdicts import FAILS, HOLDS, RULES, UNDECIDED
from .missing_labels import MissingLabels
from .multiverse import Multiverse
from .weightings import Weightings

#: The columns of numbers.
NUMBERS = ["difference", "low", "high", "p", "detectable", "same_sign", "significant"]

#: The number of pairs that are shown in full.
_FEW_PAIRS = 3

#: The emphasis of verdicts, and their words in a table with a column per question.
_MARKS_BY_VERDICT: dict[str, Mark] = {HOLDS: "holds", FAILS: "fails"}
_SHORT_VERDICTS = {FAILS: "does not"}


@dataclass(frozen=True, repr=False)
class Robustness(View):
    """Result of `robustness`.

    It prints as text of at most 80 columns and is shown as HTML in notebooks: up to three pairs in
    full, of more only the verdicts.

    Attributes
    ----------
    table : DataFrame
        One row per pair of runs and question: ``a b question``; ``verdict``, 'holds', 'does not
        hold' or 'undecided'; ``evidence``, what decides it, in words; and numbers, NaN where they
        do not apply: ``difference low high``, the mean of a minus that of b with its t interval,
        corrected like p (of labels, the expected difference and the interval over all values of the
        missing labels); ``p``, corrected; ``detectable``, the minimum detectable difference;
        ``same_sign`` and ``significant``, the fractions of aspects, weightings, variants or judges
        with the same sign, and of those that also have p below .05.
    left_out : dict of str to str
        The questions that cannot be answered, with the reason.
    label : str
        The measure.
    correction : str or None
        As given.
    lower_is_better : bool
        Whether lower values of the measure are better.
    weightings, multiverse, missing_labels : Weightings, Multiverse, MissingLabels or None
        The results that rows come from, None without such rows. The pairs of the table come first;
        without a baseline, the first two also have the other pairs, which are tested with them.
    judges : DataFrame or None
        One row per pair and judge: ``a b judge difference low high``, the difference of the means
        by the labels of the judge, with its t interval, not corrected; None without judges.

    Examples
    --------
    See `robustness`.
    """

    table: pd.DataFrame
    left_out: dict[str, str]
    label: str
    correction: str | None
    lower_is_better: bool
    weightings: Weightings | None = None
    multiverse: Multiverse | None = None
    missing_labels: MissingLabels | None = None
    judges: pd.DataFrame | None = None
    #: By question that applies and could not be answered: a sentence about it, for reports.
    _unanswered: Mapping[str, str] = field(default_factory=dict)
    #: A note on the clusters of topics; empty without clusters.
    _clusters: str = ""

    @property
    def summary(self) -> str:
        """The verdicts of up to three pairs in sentences, or the number of pairs by verdict."""
        if self._has_few_pairs():
            sentences = [self._verdicts_sentence(rows) for rows in self._rows_of_pairs()]
            return " ".join(sentences)
        counts = []
        for question, rows in self.table.groupby("question", sort=False):
            n_holds = (rows["verdict"] == HOLDS).sum()
            n_fails = (rows["verdict"] == FAILS).sum()
            counts.append(f"{question} in {n_holds} ({n_fails} not)")
        n_pairs = number_of(len(self._rows_of_pairs()), "pair")
        counts_of_questions = choices(counts)
        return f"Of {n_pairs}, the order on {self.label} holds for {counts_of_questions}."

    def _rows_of_pairs(self) -> list[pd.DataFrame]:
        """Return the rows of each pair of runs, one row per question."""
        return [rows for _, rows in self.table.groupby(["a", "b"], sort=False)]

    def _verdicts_sentence(self, rows: pd.DataFrame) -> str:
        """Return the claim of a pair and its verdicts, given the rows of the pair."""
        claim = self._claim(rows.iloc[0])
        verdicts = _verdicts(rows)
        return f"{claim}; this {verdicts}."

    @property
    def notes(self) -> list[str]:
        """Return sentences on how to read the rows, on the clusters, and on what is left out."""
        undecided = (
            "Where topics is undecided, the other rows say only what the order depends on: the "
            "difference itself may be due to the topics."
        )
        notes = [undecided]
        if self._clusters:
            notes.append(f"{self._clusters}.")
        for question, reason in self.left_out.items():
            notes.append(f"Left out: {question}, as {reason}.")
        return notes

    @property
    def rules(self) -> list[str]:
        """The rules of the verdicts, for the questions that have rows."""
        answered = set(self.table["question"])
        rules = []
        for question in RULES:
            if question not in answered:
                continue
            source, holds, fails = RULES[question]
            rule = f"{question} ({source}): holds if {holds}"
            # Topics alone cannot show that an order does not hold.
            if fails:
                rule += f"; does not hold if {fails}"
            rules.append(f"{rule}.")
        return rules

    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        r"""Return the table as LaTeX, which requires booktabs.

        Parameters
        ----------
        caption, label : str, optional
            The caption, as LaTeX, and the label for ``\\ref``.

        Returns
        -------
        str
            A ``table`` environment.
        """
        return latex_of(self._as_table(), caption=caption, label=label)

    def _as_table(self) -> Table:
        """Return the table that other formats show.

        Up to three pairs have one row per question, under a row with the claim. More pairs have one
        row each, with one column per question.
        """
        notes = [Sentence(note) for note in (*self.notes, *self.rules)]
        if not self._has_few_pairs():
            return _verdict_table(self.table, notes)
        lines: list[Row | Cells] = []
        for rows in self._rows_of_pairs():
            claim = self._claim(rows.iloc[0])
            lines.append(Row([claim], span=3))
            for row in rows.to_dict("records"):
                verdict = row["verdict"]
                mark = _MARKS_BY_VERDICT.get(verdict, "")
                lines.append([row["question"], Cell(verdict, mark), row["evidence"]])
        columns = [
            Column("question", left=True),
            Column("verdict", left=True),
            Column("evidence", left=True),
        ]
        return Table(columns, lines, notes=notes)

    def _has_few_pairs(self) -> bool:
        """Return whether there are at most three pairs, which are shown in full."""
        return len(self.table[["a", "b"]].drop_duplicates()) <= _FEW_PAIRS

    def _claim(self, row: pd.Series[Any]) -> str:
        """Return the claim of a pair, such as 'a is better than b by 0.1 on nDCG'."""
        a = row["a"]
        b = row["b"]
        difference = float(row["difference"])
        if not difference:
            return f"{a} and {b} are equal on {self.label}"
        is_higher = difference > 0
        if is_higher != self.lower_is_better:
            word = "better"
        else:
            word = "worse"
        distance = decimals(abs(difference))
        return f"{a} is {word} than {b} by {distance} on {self.label}"

    def _title(self) -> str:
        return f"How far it holds: {self.label}"

    def _content(self) -> list[Block]:
        """Return the verdicts, with the evidence of up to three pairs, the notes and the rules."""
        how_to_read, *further_notes = self.notes
        blocks: list[Block] = [Sentence(how_to_read)]
        if self._has_few_pairs():
            for rows in self._rows_of_pairs():
                claim = self._claim(rows.iloc[0])
                blocks += [Sentence(f"{claim}:"), _list_of(_question_lines(rows))]
        else:
            blocks += [Sentence(self.summary), _verdict_table(self.table, [])]
        blocks += map(Sentence, further_notes)
        blocks.append(Sentence("Rules; what does neither is undecided:"))
        blocks.append(_list_of(self.rules))
        return blocks


def _list_of(texts: list[str]) -> Items:
    """Return a list of sentences."""
    return Items([[Sentence(text)] for text in texts])


def _question_lines(rows: pd.DataFrame) -> list[str]:
    """Return the question, verdict and evidence of each row of a pair, as 'topics: holds; …'."""
    lines = []
    for row in rows.to_dict("records"):
        question = row["question"]
        verdict = row["verdict"]
        evidence = row["evidence"]
        lines.append(f"{question}: {verdict}; {evidence}")
    return lines


def _verdicts(rows: pd.DataFrame) -> str:
    """Return the verdicts of a pair with their questions, that of topics first.

    For example: 'holds for topics and labels, and is undecided for aspects'.
    """
    verbs = {HOLDS: "holds for", FAILS: "does not hold for", UNDECIDED: "is undecided for"}
    parts: list[str] = []
    for verdict, verb in verbs.items():
        has_verdict = rows["verdict"] == verdict
        questions = rows.loc[has_verdict, "question"].tolist()
        if not questions:
            continue
        names = join_names(questions)
        part = f"{verb} {names}"
        if "topics" in questions:
            parts.insert(0, part)
        else:
            parts.append(part)
    if len(parts) == 1:
        return parts[0]
    all_but_last = ", ".join(parts[:-1])
    return f"{all_but_last}, and {parts[-1]}"


def _verdict_table(table: pd.DataFrame, notes: Sequence[Sentence]) -> Table:
    """Return a table with one row per pair and one column per question.

    Parameters
    ----------
    table : DataFrame
        One row per pair and question.
    notes : sequence of Sentence
        The notes under the table.
    """
    answered = set(table["question"])
    questions = [question for question in RULES if question in answered]
    columns = [
        Column("a", left=True, shorten=12),
        Column("b", left=True, shorten=12),
        Column("difference", in_text="diff."),
    ]
    columns += [Column(question, left=True) for question in questions]
    lines: list[Cells] = []
    for (a, b), rows in table.groupby(["a", "b"], sort=False):
        difference = rows["difference"].iloc[0]  # the same in all rows of the pair
        cells: list[Cell | str] = [str(a), str(b), decimals(difference)]
        verdict_by_question = dict(zip(rows["question"], rows["verdict"], strict=True))
        for question in questions:
            verdict = str(verdict_by_question.get(question, ""))
            text = _SHORT_VERDICTS.get(verdict, verdict)
            mark = _MARKS_BY_VERDICT.get(verdict, "")
            cells.append(Cell(text, mark))
        lines.append(cells)
    return Table(columns, lines, elsewhere="`.table`", most=40, notes=notes)


def robustness(
    runs: Any,
    qrels: Any = None,
    measure: ir_measures.Measure | str | Mapping[str, Any] | None = None,
    *,
    topics: Any = None,
    baseline: str | None = None,
    variants: Any = None,
    judges: Any = None,
    labels: Any = "observed",
    correction: str | None = "holm",
    cluster: ClusterSpec = None,
) -> Robustness:
    """Examine what the differences between runs depend on.

    Each run is compared with the baseline; without one, the best run with each other. The claim
    that is examined is the observed sign of the difference. There is one row per question, with a
    verdict.

    Parameters
    ----------
    runs : mapping of str to run, sequence of runs, run, or frame of values
        As for `evaluate`; or values per topic, columns ``name qid measure value``, as `evaluate`,
        the functions of `answers` and `read_values` return them.
    qrels : DataFrame, dict, iterable or Judgments, optional
        Wide qrels with one numeric column per aspect. Omitted if `runs` are values.
    measure : measure, str or mapping of str to measure, optional
        The reported measure, or a mapping ``{alias: measure}``. By default the first of the values,
        or the first measure of a `report`. Missing labels require declared scales.
    topics : DataFrame or dataset of PyTerrier, optional
        The topics that pipelines run on, as for `evaluate`: only judgments of these topics count.
    baseline : str, optional
        The run that the others are compared with. By default, the best run is compared with each
        other, and p is corrected for all pairs, as the best was chosen among them.
    variants : measures, optional
        Variants of the measure, in any form that `evaluate` accepts, or labels of the frame of
        values. By default, those that differ from it in one choice; see Notes.
    judges : DataFrame or iterable of namedtuples, optional
        Judgments of at least two judges, with one row per query, document, criterion and judge, as
        for `from_long`. Where a judge has no label, the median of all judges is kept, so that a
        judge who labelled less than half of the documents does not count.
    labels : 'observed', DataFrame, dict, iterable or Judgments, default 'observed'
        What missing labels are in the expected difference, as for `analysis.missing_labels`.
    correction : {'holm', None}, default 'holm'
        The correction of the pairs, within each aspect, weighting and variant.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`, in
        all tests and intervals over topics.

    Returns
    -------
    Robustness
        ``table`` has one row per pair and question. Verdicts are not summed up.

    Raises
    ------
    MultiAspectError
        If there are fewer than two runs or topics, there is not one measure, its values are not
        averaged over topics (as for NumRet), the baseline is not a run, or a parameter is out of
        range. With `cluster`, if a topic has no cluster or several, or all topics are in one.

    Warns
    -----
    MultiAspectWarning
        If clusters leave fewer than 5 degrees of freedom; if none are given, but query ids look
        like those of groups (``106_1``, ``106_2``).

    See Also
    --------
    analysis.compare_with_baseline : The tests of topics and aspects.
    analysis.detectable_difference : The difference that the topics can show.
    analysis.weightings : All weightings of the aspects.
    analysis.multiverse : The variants of a measure.
    analysis.missing_labels : All values of the missing labels.
    analysis.judge_agreement : Krippendorff's α of the judges.

    Notes
    -----
    A row holds, does not hold, or is undecided:

    - *topics*: holds if p is below .05.
    - *aspects*: holds if the difference is significant the same way on all aspects, does not hold
      if it is the other way on one.
    - *weights* (of means over aspects): holds if 95 % of the weightings give the same sign and p
      below .05, does not hold if more than 5 % give the other sign.
    - *variants*: likewise; fewer than ten must all agree, and one that reverses the order suffices.
    - *labels*: holds if all values of the missing labels give the sign, does not hold if all give
      the other one, or the expected difference has it.
    - *judges*: holds if the labels of each give the sign, does not hold if those of most give the
      other one.

    Variants are the measure and those that differ from it in one choice: the cutoffs 5, 10 and 20;
    the options of parameters that have finitely many, such as distance, axes and weighting of TOMA,
    but not the conventions ``empty`` and ``normalized``; the gate relevance or none; of means, also
    CAM, MM and TOMA with that gate. Those with equal values count once. They are neither
    independent nor equally plausible: fractions are no probabilities.

    Tests are two-sided paired t-tests at the level .05; the detectable difference is found with
    probability .8.

    Rows that cannot be had, such as weights of a measure that is no mean, are in ``left_out``.

    Stability: provisional. The rules may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> docs = [f"d{number}" for number in range(6)]
    >>> qrels = {
    ...     f"q{n}": {
    ...         doc: {"relevance": (i + n) % 3, "credibility": (2 * i + n) % 4}
    ...         for i, doc in enumerate(docs)
    ...     }
    ...     for n in range(4)
    ... }
    >>> orders = {"old": [5, 3, 4, 1, 2, 0], "new": [0, 1, 2, 3, 5, 4]}
    >>> runs = {
    ...     name: {qid: dict(zip(docs, scores)) for qid in qrels} for name, scores in orders.items()
    ... }
    >>> measure = ma.CAM(aspects={"relevance": 2, "credibility": 3}) @ 3
    >>> found = ma.robustness(runs, qrels, {"CAM@3": measure}, baseline="old")
    >>> found.table[["a", "b", "question", "verdict"]]
         a    b  question        verdict
    0  new  old    topics      undecided
    1  new  old   aspects      undecided
    2  new  old   weights      undecided
    3  new  old  variants  does not hold
    4  new  old    labels          holds
    >>> found.table["evidence"][3]
    '4 of 6 measures give the same sign, 0 significantly; reversed by CAM gate=relevance, TOMA gate=relevance'
    """
    choice("correction", None, "holm")(correction)
    model = parse_labels(labels)
    if is_long_frame(runs):
        _refuse_with_values(qrels, topics)
        material = read_material(runs, measure, variants, cluster)
    elif qrels is None:
        raise MultiAspectError(
            "qrels: expected the judgments of the runs, got none; or give a frame of values as runs"
        )
    else:
        material = evaluate_material(runs, qrels, measure, variants, topics, cluster)

    study = Study(material, baseline, correction)
    answers_by_question = [
        study.topics(),
        study.aspects(),
        study.weights(),
        study.variants(),
        study.missing_labels(model),
    ]
    if judges is not None:
        answers_by_question.append(study.judges(judges))

    # Each question has a list of one answer per pair; the list is empty if the question cannot be
    # answered.
    answered = [answers for answers in answers_by_question if answers]
    # The rows are by pair, then by question: [[a1, b1], [a2, b2]] -> a1, a2, b1, b2.
    rows = []
    for answers_on_pair in zip(*answered, strict=True):
        rows += [answer.row() for answer in answers_on_pair]
    columns = ["a", "b", "question", "verdict", "evidence", *NUMBERS]
    return Robustness(
        table=pd.DataFrame(rows, columns=columns),
        left_out=study.left_out,
        label=material.label,
        correction=correction,
        lower_is_better=study.lower,
        weightings=study.results.get("weightings"),
        multiverse=study.results.get("multiverse"),
        missing_labels=study.results.get("missing_labels"),
        judges=study.results.get("judges"),
        _unanswered=study.unanswered,
        _clusters=study.clusters_note,
    )


def _refuse_with_values(qrels: object, topics: object) -> None:
    """Raise an error if qrels or topics are given with values, which are evaluated already."""
    if qrels is not None:
        raise MultiAspectError(
            "qrels: expected None, as runs is a frame of values; omit it, and give the measure "
            "by its name, measure=..."
        )
    if topics is not None:
        raise MultiAspectError(
            "topics: expected None, as runs is a frame of values; select its rows by qid"
        )
