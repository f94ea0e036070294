"""Suites of labelled measures by name, and tracks without a suite, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import ir_measures
import pandas as pd

from ..aspects import Aspects
from ..aspects.parameter import declared_aspects
from ..errors import MultiAspectError, parameter, refuse_unknown
from ..evaluation.topics import TOPICS
from ..integration.aggregators import lower_is_better
from ..integration.parsing import parse_all
from ..views import Block, Heading, Items, Sentence, View


@dataclass(frozen=True, eq=False, repr=False)
class Suite(View, Mapping[str, ir_measures.Measure]):
    """A mapping of labels to measures, accepted wherever measures are.

    Parameters
    ----------
    name : str
        The name, as in ``suite(name)``.
    title : str
        The track and task.
    measures : dict of str to ir_measures.Measure
        The measures by label.
    columns : dict of str to str
        The label columns that the qrels must have, with the meaning of their labels.
    average_over : {'judged', 'positive'}
        The topics that count for each measure, see `evaluate`.
    about_topics : str
        The topics of the official means.
    notes : tuple of str
        Possible differences from the official values, and errors of the official programs.
    sources : tuple of str
        The publications of the measures and settings.

    Notes
    -----
    Stability: provisional. It is the result of `suite`, which may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> ma.suite("trec-misinfo-2022")
    Suite('trec-misinfo-2022': 7 measures of relevance, correctness)
    >>> print(ma.suite("trec-misinfo-2022")["P@10 useful and incorrect"])
    TOMA(base='P',order='trec-misinfo-useful-incorrect')@10
    """

    name: str
    title: str
    measures: dict[str, ir_measures.Measure]
    columns: dict[str, str]
    average_over: str = TOPICS[0]
    about_topics: str = "All judged topics."
    notes: tuple[str, ...] = field(default=())
    sources: tuple[str, ...] = field(default=())

    def __getitem__(self, label: str) -> ir_measures.Measure:
        return self.measures[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def __repr__(self) -> str:
        columns = ", ".join(self.columns)
        return f"Suite({self.name!r}: {len(self)} measures of {columns})"

    def to_frame(self) -> pd.DataFrame:
        """Return the measures as a frame.

        Returns
        -------
        DataFrame
            Columns ``label measure better``, the last of which is ``'higher'`` or ``'lower'``.
        """
        return pd.DataFrame(self._rows(), columns=["label", "measure", "better"])

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for label, measure in self.measures.items():
            if lower_is_better(measure):
                better = "lower"
            else:
                better = "higher"
            rows.append((label, str(measure), better))
        return rows

    @property
    def description(self) -> str:
        """The columns, measures, topics, differences and sources as text."""
        return str(self)

    def _title(self) -> str:
        return self.name

    def _blocks(self) -> list[Block]:
        columns = []
        for column, meaning in self.columns.items():
            columns.append(Sentence(f"{column}: {meaning}"))
        measures = []
        for label, measure, better in self._rows():
            if better == "lower":
                label = f"{label} (lower is better)"
            measures.append(Sentence(label, code=measure))
        sections = {
            "Columns of the qrels": columns,
            "Measures": measures,
            "Topics of the means": [Sentence(self.about_topics)],
            "Notes": list(map(Sentence, self.notes)),
            "Sources": list(map(Sentence, self.sources)),
        }
        blocks: list[Block] = [Heading(f"{self.name}: {self.title}")]
        for title, sentences in sections.items():
            if sentences:
                blocks.append(Sentence(f"{title}:"))
                blocks.append(Items([[sentence] for sentence in sentences]))
        return blocks


_CATALOGUE = json.loads((files(__package__) / "suites.json").read_text(encoding="utf-8"))

#: The measures, columns and notes of each suite.
SUITES: dict[str, dict[str, Any]] = _CATALOGUE["suites"]

#: Tracks with several judged aspects that have no suite, and the reason.
NOT_OFFERED: dict[str, str] = _CATALOGUE["not offered"]


def suite(
    name: str,
    *,
    aspects: Aspects | Mapping[str, Any] | str | None = None,
) -> Suite:
    """Return the measures of a published track as its organisers set them, or recommended ones.

    Parameters
    ----------
    name : str
        ``'multi-aspect'`` is our recommendation. `pt_multiaspect.suites.list_suites` lists all
        names.
    aspects : Aspects, mapping or str, optional
        The label scales, for ``'multi-aspect'``, which requires them. Tracks have their own.

    Returns
    -------
    Suite
        Measures by label, accepted wherever measures are: ``evaluate(runs, qrels, suite(name))``.
        Print it to see the columns that the qrels must have, the topics of the official means, and
        differences from the official values. For `pt.Experiment`, which takes lists, pass
        ``list(suite(name).values())``; its means are over all judged topics.

    Raises
    ------
    MultiAspectError
        If the suite is unknown, or requires aspects or has its own. For tracks without a suite, the
        message gives the reason.

    Notes
    -----
    Stability: provisional. The recommended measures, and what is known of the settings of tracks,
    may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {
    ...         "d1": {"relevance": 2, "correctness": 2},
    ...         "d2": {"relevance": 1, "correctness": 0},
    ...     },
    ...     "q2": {"d1": {"relevance": 1, "correctness": 2}},
    ... }
    >>> run = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}}
    >>> values = ma.evaluate({"run": run}, qrels, ma.suite("trec-misinfo-2022"), progress=False)
    >>> # None of q2, which has no incorrect document.
    >>> values[values["measure"] == "P@10 useful and incorrect"]
      name qid                    measure  value
    4  run  q1  P@10 useful and incorrect    0.1
    >>> round(ma.aggregate(values)["nDCG useful and correct"].item(), 4)
    0.8155
    """
    needs_aspects = requires_aspects(name)
    entry = SUITES[name]
    if needs_aspects and aspects is None:
        raise MultiAspectError(
            f"the suite {name} requires {parameter('aspects')}, the label scales, as in "
            f"{parameter('aspects', {'relevance': 2, 'credibility': 3})}"
        )
    if not needs_aspects and aspects is not None:
        raise MultiAspectError(
            f"the suite {name} declares its own label scales: omit {parameter('aspects')}"
        )
    if aspects is None:
        parsed = parse_all(entry["measures"])
        columns = entry["columns"]
    else:
        declared = declared_aspects(aspects)
        if len(declared) < 2 or "relevance" not in declared:
            raise MultiAspectError(
                f"the suite {name}: expected relevance and at least one other aspect, got "
                f"{', '.join(declared)}"
            )
        texts_by_label = _texts_of_aspects(entry["measures"], declared)
        parsed = {}
        for label, measure in parse_all(texts_by_label).items():
            parsed[label] = measure(aspects=declared)
        columns = {aspect: f"as declared: {scale!r}" for aspect, scale in declared.items()}
    return Suite(name, entry["title"], parsed, columns, **_texts_of_entry(entry))


def _texts_of_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the optional texts of an entry of the catalogue, as arguments of `Suite`."""
    texts: dict[str, Any] = {}
    for key in ("average_over", "about_topics"):
        if key in entry:
            texts[key] = entry[key]
    for key in ("notes", "sources"):
        texts[key] = tuple(entry.get(key, ()))
    return texts


def _texts_of_aspects(measures: Mapping[str, str], aspects: Aspects) -> dict[str, str]:
    """Return measures by label; those whose label contains ``{aspect}`` once per aspect."""
    texts: dict[str, str] = {}
    for label, text in measures.items():
        if "{aspect}" not in label:
            texts[label] = text
            continue
        for aspect in aspects:
            texts[label.replace("{aspect}", aspect)] = text.replace("{aspect}", aspect)
    return texts


def requires_aspects(name: str) -> bool:
    """Return whether a suite requires the label scales; the others have their own.

    Parameters
    ----------
    name : str
        The name of a suite.

    Returns
    -------
    bool

    Raises
    ------
    MultiAspectError
        If the suite is unknown.
    """
    if isinstance(name, str) and name in NOT_OFFERED:
        raise MultiAspectError(f"there is no suite for {name}: {NOT_OFFERED[name]}")
    refuse_unknown([name], SUITES, "the name of a suite", "suite")
    return bool(SUITES[name].get("requires_aspects", False))


def list_suites() -> pd.DataFrame:
    """List the suites, and the tracks without one.

    Returns
    -------
    DataFrame
        Columns ``name``, ``title``, ``requires``, which is ``'aspects'`` if `suite` requires the
        label scales, and ``unknown``: empty for a suite, else the reason why there is none.

    Examples
    --------
    >>> from pt_multiaspect.suites import list_suites
    >>> list_suites()[["name", "requires"]].head(3)
                           name requires
    0              multi-aspect  aspects
    1         trec-misinfo-2020
    2  trec-misinfo-2020-recall
    """
    rows = []
    for name, entry in SUITES.items():
        if requires_aspects(name):
            requires = "aspects"
        else:
            requires = ""
        rows.append((name, entry["listed"], requires, ""))
    for name, reason in NOT_OFFERED.items():
        rows.append((name, "", "", reason))
    return pd.DataFrame(rows, columns=["name", "title", "requires", "unknown"])
