"""Suites of labelled measures by name, and tracks without a suite, as their settings are not fully known."""

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
from ..errors import MultiAspectError, choices, refuse_unknown
from ..evaluation.topics import TOPICS
from ..groups.groups import Groups
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
        return f"Suite({self.name!r}: {len(self)} measures of {', '.join(self.columns)})"

    def to_frame(self) -> pd.DataFrame:
        """Return the measures as a frame.

        Returns
        -------
        DataFrame
            Columns ``label measure better``, the last of which is ``'higher'`` or ``'lower'``.
        """
        return pd.DataFrame(self._rows(), columns=["label", "measure", "better"])

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            (label, str(measure), "lower" if lower_is_better(measure) else "higher")
            for label, measure in self.measures.items()
        ]

    @property
    def description(self) -> str:
        """The columns, measures, topics, differences and sources as text."""
        return str(self)

    def _title(self) -> str:
        return self.name

    def _blocks(self) -> list[Block]:
        listed = {
            "Columns of the qrels": [Sentence(f"{column}: {meaning}") for column, meaning in self.columns.items()],
            "Measures": [
                Sentence(f"{label} (lower is better)" if better == "lower" else label, code=measure)
                for label, measure, better in self._rows()
            ],
            "Topics of the means": [Sentence(self.about_topics)],
            "Notes": [Sentence(note) for note in self.notes],
            "Sources": [Sentence(source) for source in self.sources],
        }
        blocks: list[Block] = [Heading(f"{self.name}: {self.title}")]
        for title, sentences in listed.items():
            if sentences:
                blocks += [Sentence(f"{title}:"), Items([[sentence] for sentence in sentences])]
        return blocks


_CATALOGUE = json.loads((files(__package__) / "suites.json").read_text(encoding="utf-8"))

#: The measures, columns, notes and settings of each suite.
SUITES: dict[str, dict[str, Any]] = _CATALOGUE["suites"]

#: Tracks with several judged aspects that have no suite, and the reason.
NOT_OFFERED: dict[str, str] = _CATALOGUE["not offered"]


def suite(
    name: str,
    *,
    aspects: Aspects | Mapping[str, Any] | str | None = None,
    groups: Groups | str | None = None,
    divergence: str | Mapping[str, str] | None = None,
) -> Suite:
    """Return the measures of a published track, with its organisers' settings, or those recommended for papers.

    Parameters
    ----------
    name : str
        ``'multi-aspect'`` is our recommendation. `pt_multiaspect.suites.list_suites` lists all names.
    aspects : Aspects, mapping or str, optional
        The label scales, for ``'multi-aspect'``, which requires them. Tracks have their own.
    groups : Groups or str, optional
        The groups of documents, for the fairness tracks, which require them.
    divergence : str or dict of str to str, optional
        The divergence of each dimension of the groups, see `GFR`, for ``'ntcir-17-fairweb-1'``, which requires it.

    Returns
    -------
    Suite
        Measures by label, accepted wherever measures are: ``evaluate(runs, qrels, suite(name))``. Print
        it to see the columns that the qrels must have, the topics of the official means, and differences from the
        official values. For `pt.Experiment`, which takes lists, pass ``list(suite(name).values())``;
        its means are over all judged topics.

    Raises
    ------
    MultiAspectError
        If the suite is unknown, a setting is missing, or the suite does not accept it. For tracks whose settings
        are not known, the message says what is unknown.

    Notes
    -----
    Stability: provisional. The recommended measures, and what is known of the settings of tracks, may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {"d1": {"relevance": 2, "correctness": 2}, "d2": {"relevance": 1, "correctness": 0}},
    ...     "q2": {"d1": {"relevance": 1, "correctness": 2}},
    ... }
    >>> run = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}}
    >>> values = ma.evaluate({"run": run}, qrels, ma.suite("trec-misinfo-2022"), progress=False)
    >>> values[values["measure"] == "P@10 useful and incorrect"]  # not of q2, which has no incorrect document
      name qid                    measure  value
    4  run  q1  P@10 useful and incorrect    0.1
    >>> round(ma.aggregate(values)["nDCG useful and correct"].item(), 4)
    0.8155
    """
    known = required_settings(name)
    arguments = {"aspects": aspects, "groups": groups, "divergence": divergence}
    settings = {key: value for key, value in arguments.items() if value is not None}
    unknown = [key for key in settings if key not in known]
    if unknown:
        raise MultiAspectError(f"suite({name!r}) takes no {choices(unknown)}; omit it")
    for key, meaning in SUITES[name].get("settings", {}).items():
        if key not in settings:
            raise MultiAspectError(f"suite({name!r}) requires {key}=, {meaning}")
    entry = SUITES[name]
    measures, columns = entry["measures"], entry.get("columns", {})
    if "aspects" in settings:
        settings["aspects"] = declared = declared_aspects(settings["aspects"])
        if len(declared) < 2 or "relevance" not in declared:
            raise MultiAspectError(
                f"suite({name!r}): expected relevance and at least one other aspect, got {', '.join(declared)}"
            )
        measures = {
            label.replace("{aspect}", aspect): text.replace("{aspect}", aspect)
            for label, text in measures.items()
            for aspect in (declared if "{aspect}" in label else [""])
        }
        columns = {aspect: f"as declared: {scale!r}" for aspect, scale in declared.items()}
    parsed = {label: _with_settings(measure, settings) for label, measure in parse_all(measures).items()}
    if name == "trec-fair-2022" and not parsed["AWRF of the track"]["groups"].has_target:
        raise MultiAspectError(
            f"suite({name!r}): expected groups with a target, the track's distribution for each query, got none; "
            "declare it, Groups(..., target={qid: ...})"
        )
    texts: dict[str, Any] = {key: entry[key] for key in ("average_over", "about_topics") if key in entry}
    texts |= {key: tuple(entry.get(key, ())) for key in ("notes", "sources")}
    return Suite(name, entry["title"], parsed, columns, **texts)


def _with_settings(measure: ir_measures.Measure, settings: Mapping[str, Any]) -> ir_measures.Measure:
    used = {key: value for key, value in settings.items() if key in measure.SUPPORTED_PARAMS}
    return measure(**used) if used else measure


def required_settings(name: str) -> tuple[str, ...]:
    """Return the names of the settings of a suite, all of which are required.

    Parameters
    ----------
    name : str
        The name of a suite.

    Returns
    -------
    tuple of str

    Raises
    ------
    MultiAspectError
        If the suite is unknown.
    """
    if isinstance(name, str) and name in NOT_OFFERED:
        raise MultiAspectError(f"there is no suite for {name}: {NOT_OFFERED[name]}")
    refuse_unknown([name], SUITES, "the name of a suite", "suite")
    return tuple(SUITES[name].get("settings", ()))


def list_suites() -> pd.DataFrame:
    """List the suites, and the tracks without one.

    Returns
    -------
    DataFrame
        Columns ``name``, ``title``, ``requires``, the settings of `suite` that are required, and
        ``unknown``: empty for a suite, else the reason why there is none.

    Examples
    --------
    >>> from pt_multiaspect.suites import list_suites
    >>> list_suites()[["name", "requires"]].head(3)
                           name requires
    0              multi-aspect  aspects
    1         trec-misinfo-2020
    2  trec-misinfo-2020-recall
    """
    offered = [(name, entry["listed"], ", ".join(required_settings(name)), "") for name, entry in SUITES.items()]
    others = [(name, "", "", reason) for name, reason in NOT_OFFERED.items()]
    return pd.DataFrame([*offered, *others], columns=["name", "title", "requires", "unknown"])
