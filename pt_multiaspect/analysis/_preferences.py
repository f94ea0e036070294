"""Preferences between runs: reading them, and how well assessors agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..collection.frames import as_frame
from ..errors import MultiAspectError, choices, number_of, refuse_unknown, tally
from ..evaluation.long_frames import check_filled

#: The columns of preferences, and of scores from which they are made.
PREFERENCES, SCORES = ["qid", "a", "b", "preferred"], ["qid", "name", "score"]


@dataclass(frozen=True)
class Preferences:
    """Preferences between pairs of runs, sorted by topic, pair and assessor."""

    #: The rows of topics and of both runs in the values, a before b.
    topic: Ints
    a: Ints
    b: Ints
    #: 1 if a is preferred, −1 if b is, 0 if neither.
    sign: Ints
    assessor: Ints
    #: What was left out, in sentences.
    notes: tuple[str, ...]

    def rows(self, kept: Bools) -> Preferences:
        """Return some of the preferences."""
        arrays = {name: getattr(self, name)[kept] for name in ("topic", "a", "b", "sign", "assessor")}
        return replace(self, **arrays)

    def strict(self) -> Preferences:
        """Return those that are no ties."""
        return self.rows(self.sign != 0)

    def agreement_of_assessors(self) -> dict[str, float]:
        """Return the agreement of assessors with each other, and that of the best possible measure.

        Empty if there are fewer than two assessors.
        """
        if len(np.unique(self.assessor)) < 2:
            return {}
        keys = np.column_stack([self.topic, self.a, self.b])
        _, pair = np.unique(keys, axis=0, return_inverse=True)
        pair = pair.reshape(-1)  # NumPy 2.0 keeps a dimension
        n_all, n_a, n_b = (np.bincount(pair, weights) for weights in (None, self.sign > 0, self.sign < 0))
        is_strict = self.sign != 0
        others = (n_a - n_b)[pair] - self.sign
        credits = (1 + np.sign(others * self.sign)) / 2
        is_compared = is_strict & (n_all[pair] > 1)
        return {
            "assessors": float(credits[is_compared].mean()) if is_compared.any() else np.nan,
            "attainable": float(np.maximum(n_a, n_b).sum() / is_strict.sum()) if is_strict.any() else np.nan,
        }


def read_preferences(preferences: Any, names: list[Any], qids: list[Any]) -> Preferences:
    """Read preferences, or scores from which the preferences of all pairs of a topic and assessor are made.

    Parameters
    ----------
    preferences : DataFrame
        Columns ``qid a b preferred`` or ``qid name score``, and perhaps ``assessor``.
    names, qids : list
        The runs and topics of the values, by row.

    Raises
    ------
    MultiAspectError
        If columns are missing or cells empty, a run is unknown or compared with itself, the preferred run is
        neither of the two, an assessor contradicts itself or scores a run twice, or no topic has values.
    """
    frame = as_frame(preferences, "preferences")
    is_scored = set(SCORES) <= set(frame.columns)
    if is_scored == (set(PREFERENCES) <= set(frame.columns)):
        raise MultiAspectError(
            f"preferences: expected the columns {choices(PREFERENCES)}, or {choices(SCORES)}, and perhaps "
            f"assessor, got {choices(frame.columns)}"
        )
    columns = [*(SCORES if is_scored else PREFERENCES), *(["assessor"] if "assessor" in frame else [])]
    check_filled(frame, columns)
    table = pd.DataFrame({name: frame[name].map(str) for name in columns if name != "score"})
    table = table.reset_index(drop=True)
    if "assessor" not in table:
        table["assessor"] = ""
    if is_scored:
        table["score"] = pd.to_numeric(frame["score"], errors="coerce").to_numpy(np.float64)
    table = _pairs_of_scores(table) if is_scored else _sign_preferences(table)
    unknown = {*table["a"], *table["b"]} - set(map(str, names))
    refuse_unknown(sorted(unknown), map(str, names), "runs of the values", "preferences")
    has_values = table["qid"].isin(set(map(str, qids)))
    if not has_values.any():
        raise MultiAspectError(
            f"preferences: expected topics of the values ({choices(qids)}), got {choices(table['qid'].unique())}"
        )
    notes = []
    if not has_values.all():
        n_topics = table.loc[~has_values, "qid"].nunique()
        notes.append(
            f"{number_of(int((~has_values).sum()), 'preference')} on {number_of(n_topics, 'topic')} without values "
            "left out."
        )
    return _arrays(table[has_values], names, qids, notes)


def _sign_preferences(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns ``qid a b assessor sign`` of preferences, a before b."""
    a, b, preferred = (table[name].to_numpy(dtype=object) for name in ("a", "b", "preferred"))
    for is_wrong, message in (
        ((a == "tie") | (b == "tie"), "a run must not be named 'tie', the word for no preference"),
        (a == b, "expected two different runs"),
        (~((preferred == a) | (preferred == b) | (preferred == "tie")), "expected one of both runs, or 'tie'"),
    ):
        if is_wrong.any():
            row = table.loc[is_wrong].iloc[0]
            raise MultiAspectError(
                f"preferences: {message}, got {row['preferred']} of {row['a']} and {row['b']} on topic "
                f"{row['qid']} {tally(int(is_wrong.sum()), 'row')}"
            )
    swapped = a > b
    sides = {"a": np.where(swapped, b, a), "b": np.where(swapped, a, b)}
    sign = (preferred == sides["a"]).astype(np.intp) - (preferred == sides["b"])
    return table[["qid", "assessor"]].assign(**sides, sign=sign)


def _pairs_of_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns ``qid a b assessor sign`` of all pairs of the scores of a topic and assessor."""
    for is_wrong, message in (
        (~np.isfinite(table["score"]), "expected finite numbers in the column score"),
        (
            table.duplicated(["qid", "name", "assessor"]),
            "expected one score per run, topic and assessor; name several assessors in the column assessor",
        ),
    ):
        if is_wrong.any():
            row = table[is_wrong].iloc[0]
            raise MultiAspectError(
                f"preferences: {message}; see {row['name']} on topic {row['qid']} "
                f"{tally(int(is_wrong.sum()), 'row')}"
            )
    pairs = table.merge(table, on=["qid", "assessor"], suffixes=("", "_b"))
    pairs = pairs[pairs["name"] < pairs["name_b"]]
    sign = np.sign(pairs["score"] - pairs["score_b"]).astype(np.intp)
    return pairs[["qid", "assessor"]].assign(a=pairs["name"], b=pairs["name_b"], sign=sign)


def _arrays(table: pd.DataFrame, names: list[Any], qids: list[Any], notes: list[str]) -> Preferences:
    """Return preferences as arrays, each assessor's preference of a pair once."""
    keys = ["qid", "a", "b", "assessor"]
    distinct = table.drop_duplicates([*keys, "sign"]).sort_values(keys)
    contradictory = distinct[distinct.duplicated(keys)]
    if len(contradictory):
        qid, a, b, assessor = contradictory[keys].iloc[0]
        by = f" by the assessor {assessor}" if assessor else "; name several assessors in the column assessor"
        raise MultiAspectError(
            f"preferences: expected one preference between {a} and {b} on topic {qid}, got contradictory ones{by} "
            f"{tally(len(contradictory), 'row')}"
        )
    if len(distinct) < len(table):
        n_repeated = len(table) - len(distinct)
        notes = [*notes, f"{number_of(n_repeated, 'repeated preference')} of the same assessor left out."]
    topic_row, name_row = ({str(name): row for row, name in enumerate(axis)} for axis in (qids, names))
    return Preferences(
        topic=np.asarray(distinct["qid"].map(topic_row), dtype=np.intp),
        a=np.asarray(distinct["a"].map(name_row), dtype=np.intp),
        b=np.asarray(distinct["b"].map(name_row), dtype=np.intp),
        sign=np.asarray(distinct["sign"], dtype=np.intp),
        assessor=np.asarray(pd.factorize(distinct["assessor"])[0], dtype=np.intp),
        notes=tuple(notes),
    )


def credits_of(differences: Floats, sign: Ints) -> Floats:
    """Return the credit of each measure for strict preferences, preferences × measures: 1, 0, ½ for its ties."""
    return np.asarray((1 + np.sign(differences) * sign[:, None]) / 2)
