"""Comparison of two runs on one topic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..errors import MultiAspectError, number_of, shown
from ..views import Block, Cells, Column, Heading, Sentence, Table, View, crop, decimals
from .explained_topic import ExplainedTopic
from .view import DOCNO, bars_of

#: Number of documents that are shown, and length of run names in column heads.
_MOST_DOCUMENTS, _NAME = 20, 20


class Comparison(View):
    """The difference between the values of two runs on one topic, document by document.

    Returned by `Explanation.compare`. It prints as text of at most 80 columns and is shown as HTML in notebooks.

    Parameters
    ----------
    a, b : Explanation
        The explanations, of the same measure, topic and judgments.

    Attributes
    ----------
    a, b : Explanation
        The explanations compared.
    difference : float
        The value of `a` minus that of `b`.
    documents : DataFrame
        One row per document that either run retrieves: ``docno``, its labels, ``rank_a rank_b`` (missing where it
        is not retrieved), ``contribution_a contribution_b difference`` and ``note``. The largest absolute
        differences come first. Contributions that belong to no document, and offsets that differ, have rows without
        a docno. The differences sum to `difference`.
    ranks : DataFrame
        The comparison by rank: ``rank docno_a contribution_a docno_b contribution_b difference note``. The
        differences sum to `difference`, too.

    Examples
    --------
    >>> from pt_multiaspect import TOMA
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> measure = TOMA(aspects={"relevance": 1, "credibility": 1})
    >>> a = measure.explain({"a": {"q1": {"d2": 2.0, "d1": 1.0}}}, qrels, "q1")
    >>> b = measure.explain({"b": {"q1": {"d1": 2.0, "d2": 1.0}}}, qrels, "q1")
    >>> a.compare(b).documents[["docno", "rank_a", "rank_b", "difference"]].round(3)
      docno  rank_a  rank_b  difference
    0    d2       1       2       0.281
    1    d1       2       1      -0.140
    """

    def __init__(self, a: ExplainedTopic, b: ExplainedTopic) -> None:
        _check(a, b)
        self.a, self.b = a, b
        self.difference = a.value - b.value
        self.documents = _documents(a, b)
        self.ranks = _ranks(a, b)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the runs."""
        same = self.a.run == self.b.run
        return ("a", "b") if same else (self.a.run, self.b.run)

    def __repr__(self) -> str:
        difference = f"{' - '.join(self.names)} {decimals(self.difference)}"
        return f"<Comparison: {self.a.label} for topic {self.a.qid}, {difference}>"

    def _blocks(self) -> list[Block]:
        a, b, documents = self.a, self.b, self.documents
        values = [f"{name} {decimals(side.value)}" for name, side in zip(self.names, (a, b), strict=True)]
        retrieved = documents["docno"].notna()
        differing = documents[retrieved & (documents["difference"] != 0)]
        shown = pd.concat([differing.head(_MOST_DOCUMENTS), documents[~retrieved]])
        hidden = differing["difference"].iloc[_MOST_DOCUMENTS:]
        numbers = shown[["contribution_a", "contribution_b", "difference"]].to_numpy(dtype=np.float64).tolist()
        names = [
            note if pd.isna(docno) else docno for docno, note in zip(shown["docno"], shown["note"], strict=True)
        ]
        ranks = [["-" if pd.isna(rank) else str(rank) for rank in shown[f"rank_{side}"]] for side in "ab"]
        drawn = bars_of([amounts[-1] for amounts in numbers])
        rows: list[Cells] = [
            [name, *run_ranks, *map(decimals, amounts), bar]
            for name, *run_ranks, amounts, bar in zip(names, *ranks, numbers, drawn, strict=True)
        ]
        heads = [
            Column(f"{what} {name}", in_text=f"{what} {crop(name, _NAME)}")
            for what in ("rank in", "contribution in")
            for name in self.names
        ]
        between = Column(" - ".join(self.names), in_text=" - ".join(crop(name, _NAME) for name in self.names))
        columns = [DOCNO, *heads, between, Column("", left=True, redundant=True)]
        same = int((retrieved & (documents["difference"] == 0)).sum())
        notes = []
        if len(hidden):
            total = decimals(float(hidden.sum()))
            notes.append(Sentence(f"... {number_of(len(hidden), 'more document')}: {total}"))
        if same:
            notes.append(Sentence(f"{number_of(same, 'document')} without a difference"))
        return [
            Heading(a.label),
            Sentence(f"topic {a.qid}: {', '.join(values)}, {' - '.join(self.names)} {decimals(self.difference)}"),
            Table(columns, rows, notes=notes),
        ]

    def _title(self) -> str:
        return f"{self.a.label}, topic {self.a.qid}"


def _check(a: ExplainedTopic, b: ExplainedTopic) -> None:
    if not isinstance(b, ExplainedTopic):
        raise MultiAspectError(
            f"compare: expected the explanation of another run, as explain returns it, got {shown(b)}"
        )
    if a.measure != b.measure or a.qid != b.qid:
        raise MultiAspectError(
            f"compare: expected two explanations of one measure and one topic, got {a.label} for topic {a.qid} and "
            f"{b.label} for topic {b.qid}"
        )
    labels = a.judged.merge(b.judged, how="outer", left_index=True, right_index=True, suffixes=("_a", "_b"))
    for column in a.labels:
        labels_a, labels_b = (labels[f"{column}_{side}"].to_numpy(dtype=np.float64) for side in "ab")
        wrong = np.flatnonzero(~np.isclose(labels_a, labels_b, equal_nan=True))
        if len(wrong):
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got the {column} labels "
                f"{labels_a[wrong[0]]:g} and {labels_b[wrong[0]]:g} for document {labels.index[wrong[0]]}"
            )
        if a.scales[column] != b.scales[column]:
            raise MultiAspectError(
                f"compare: expected explanations on the same qrels, got scales of {column} that were inferred as "
                f"{a.scales[column].scale} and {b.scales[column].scale}; declare the scales, or explain both runs "
                "on the same qrels"
            )


def _documents(a: ExplainedTopic, b: ExplainedTopic) -> pd.DataFrame:
    docnos = list(dict.fromkeys([*a.retrieved, *b.retrieved]))
    positions = [{docno: position for position, docno in enumerate(run.retrieved)} for run in (a, b)]
    singles = [run.ranks["contribution"].to_numpy()[: _n_single(run)] for run in (a, b)]
    columns: dict[str, Any] = {"docno": docnos, **_labels(a, b, docnos)}
    contributions, notes = [], [""] * len(docnos)
    for side, position_of, single, name in zip("ab", positions, singles, ("first", "second"), strict=True):
        ranked = [position_of.get(docno) for docno in docnos]
        columns[f"rank_{side}"] = pd.array([pd.NA if at is None else at + 1 for at in ranked], dtype="Int64")
        contributions.append([0.0 if at is None or at >= len(single) else float(single[at]) for at in ranked])
        for row, at in enumerate(ranked):
            if at is not None and at >= len(single):
                notes[row] = f"in a row of several ranks of the {name} run"
    documents = pd.DataFrame({**columns, **_sides(*contributions), "note": notes})
    order = np.argsort(-documents["difference"].abs().to_numpy(), kind="stable")
    rest = _rest(a, b)
    if rest.empty:
        return documents.iloc[order].reset_index(drop=True)
    rest["rank_a"] = rest["rank_b"] = pd.array([pd.NA] * len(rest), dtype="Int64")
    rest["docno"] = pd.Series([None] * len(rest), dtype=object)
    for column in documents.columns.difference(rest.columns):
        rest[column] = np.nan
    rest = rest[documents.columns]
    return rest if documents.empty else pd.concat([documents.iloc[order], rest], ignore_index=True)


def _labels(a: ExplainedTopic, b: ExplainedTopic, docnos: list[str]) -> dict[str, Any]:
    ranks = pd.concat([a.ranks, b.ranks])
    known = ranks[ranks["docno"].notna()].drop_duplicates("docno").set_index("docno")
    return {column: known[column].reindex(docnos).to_numpy() for column in a.labels}


def _sides(a: Any, b: Any) -> dict[str, Any]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return {"contribution_a": a, "contribution_b": b, "difference": a - b}


def _n_single(explanation: ExplainedTopic) -> int:
    return int(explanation.ranks["rank"].notna().sum())


def _rest(a: ExplainedTopic, b: ExplainedTopic) -> pd.DataFrame:
    """Return amounts that belong to no document, and the offsets if they differ."""
    amounts: dict[str, list[float]] = {}
    for side, explanation in enumerate((a, b)):
        rest = explanation.ranks[explanation.ranks["rank"].isna()]
        for note, contribution in zip(rest["note"], rest["contribution"].tolist(), strict=True):
            amounts.setdefault(note, [0.0, 0.0])[side] += contribution
    if a.offset != b.offset:
        amounts["offset"] = [a.offset, b.offset]
    sides = _sides([amount_a for amount_a, _ in amounts.values()], [amount_b for _, amount_b in amounts.values()])
    return pd.DataFrame({**sides, "note": pd.Series(list(amounts), dtype=object)})


def _ranks(a: ExplainedTopic, b: ExplainedTopic) -> pd.DataFrame:
    singles = [explanation.ranks.iloc[: _n_single(explanation)] for explanation in (a, b)]
    n = max(map(len, singles))
    columns: dict[str, Any] = {"rank": pd.array(range(1, n + 1), dtype="Int64")}
    contributions = []
    for side, single in zip("ab", singles, strict=True):
        columns[f"docno_{side}"] = pd.Series([*single["docno"].tolist(), *[None] * (n - len(single))], dtype=object)
        contributions.append(np.append(single["contribution"].to_numpy(), np.zeros(n - len(single))))
    ranks = pd.DataFrame({**columns, **_sides(*contributions), "note": pd.Series([""] * n, dtype=object)})
    rest = _rest(a, b)
    if rest.empty:
        return ranks
    rest["rank"] = pd.array([pd.NA] * len(rest), dtype="Int64")
    rest["docno_a"] = rest["docno_b"] = pd.Series([None] * len(rest), dtype=object)
    rest = rest[ranks.columns]
    return rest if ranks.empty else pd.concat([ranks, rest], ignore_index=True)
