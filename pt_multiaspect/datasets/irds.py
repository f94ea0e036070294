"""Judgments of ir_datasets, with one column per aspect and the scales of the aspects."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from numbers import Integral, Real
from typing import Any

import pandas as pd

from ..aspects import Aspect, Aspects
from ..collection.columns import CODES
from ..errors import MultiAspectError, choices, refuse_unknown, shown, warn_once

_COLUMNS = {"query_id": "qid", "doc_id": "docno", "relevance": "label", "redibility": "credibility"}

_KEYS = ("qid", "docno", "iteration", "label")

_UNSTATED = (
    "ir_datasets does not state the codes of {}: their scale is inferred unless you declare it"
)

#: The aspects by record type; relevance only if the track defines more than its grades. None is an
#: unknown scale, which is inferred.
ASPECTS_OF_RECORDS: dict[str, dict[str, Aspect | None]] = {
    # understandability: 0 very hard to 100 very easy. The task's program counts it as positive from
    # 50, and weights relevant documents by it.
    "EhealthQrel": {
        "relevance": Aspect(2, probabilities=[0, 1, 1]),
        "trustworthiness": Aspect(range(101)),
        "understandability": Aspect(100, threshold=50),
    },
    "MisinfoQrel": {"credibility": None},
    "ToucheQualityQrel": {"quality": None},
    "ToucheQualityCoherenceQrel": {"quality": None, "coherence": None},
    "ToucheQualityComparativeStanceQrel": {"quality": None},
}

#: Numeric fields that are not labels on a scale, with the reason, by record type.
CODES_OF_RECORDS: dict[str, dict[str, str]] = {
    "MisinfoQrel": {"effectiveness": f"it contains {CODES['effectiveness']}"},
    "TrecPrel": {
        "method": "it identifies a method of sampling",
        "iprob": "it is a probability of inclusion in the sample",
    },
}

_NOTES: dict[str, tuple[str, ...]] = {
    "EhealthQrel": ("iteration is 0 for pairs judged in 2016, 1 for 2017",),
    "MisinfoQrel": (
        "credibility is called redibility in ir_datasets; it is not judged where relevance is 0",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class WideQrels:
    """Result of `load` and `from_irds`: judgments and their scales.

    Attributes
    ----------
    name : str
        The name of the collection, for `from_irds` the identifier in ir_datasets.
    qrels : DataFrame
        One row per judgment: ``qid docno label``, one column per further aspect, and ``iteration``
        and text columns if there are any.
    aspects : Aspects
        The scales, for ``aspects=`` of measures. Aspects without grades are inferred from the
        qrels.
    notes : tuple of str
        Unknown properties of the labels, and omitted fields.
    run : DataFrame or None
        The rankings ``qid docno score`` whose results were judged, if the judgments are of one
        ranking per query.

    Examples
    --------
    See `load` and `from_irds`.
    """

    name: str
    qrels: pd.DataFrame
    aspects: Aspects
    notes: tuple[str, ...]
    run: pd.DataFrame | None = None

    def __repr__(self) -> str:
        lines = [f"<WideQrels {self.name}: {len(self.qrels)} judgments>", repr(self.aspects)]
        lines += [f"- {note}" for note in self.notes]
        return "\n".join(lines)


def from_irds(
    dataset: object, *, aspects: Mapping[str, Aspect | Sequence[float] | int | None] | None = None
) -> WideQrels:
    """Read the judgments of a dataset of ir_datasets that has several judged aspects.

    Scales are declared where ir_datasets or the track states them: grades of relevance as
    documented in the dataset, codes for junk as the lowest grade, CLEF eHealth's trustworthiness
    and understandability from 0 to 100. Fields that are not labels are left out, and meanings of
    codes are not guessed.

    Parameters
    ----------
    dataset : str or Dataset
        An identifier such as ``"clueweb12/b13/clef-ehealth"`` (or PyTerrier's
        ``"irds:clueweb12/…"``), which may download the judgments, or the dataset from
        ``ir_datasets.load``.
    aspects : mapping of str to Aspect, int, sequence of grades or None, optional
        Scales to add or replace, by aspect, as in ``{"quality": 3}``. This also keeps numeric
        fields that are left out otherwise. None is a scale to be inferred.

    Returns
    -------
    WideQrels
        The qrels, the scales, and notes on them.

    Raises
    ------
    MultiAspectError
        If the dataset is unknown or has no judgments, documents are judged per subtopic or per
        stance, or `aspects` has a name that is not a numeric field.
    ImportError
        If ir_datasets is not installed.

    Warns
    -----
    MultiAspectWarning
        If a numeric field is left out because it is unknown whether it contains labels.

    Notes
    -----
    Enumerations, such as Touché's stance, become text, which is not an aspect. Pairs that are
    judged twice with different labels are an error when they are evaluated: select one of them by
    ``iteration``.

    Examples
    --------
    >>> from pt_multiaspect.datasets import from_irds
    >>> judged = from_irds("clueweb12/b13/clef-ehealth")  # doctest: +SKIP
    >>> judged.aspects["understandability"].threshold  # doctest: +SKIP
    50
    >>> ma.evaluate(runs, judged.qrels, ma.uRBP(aspects=judged.aspects))  # doctest: +SKIP
    """
    name, source = _identify_dataset(dataset)
    records, definitions = _records(name, source)
    kind = type(records[0]).__name__
    qrels = _qrels_of_records(name, records)
    numeric = []
    for field in qrels.columns:
        if field not in _KEYS and isinstance(qrels[field].iloc[0], Real):
            numeric.append(field)
    added: dict[str, Any] = {}
    if aspects:
        added = dict(Aspects(aspects))
    refuse_unknown(added, ["relevance", *numeric], "fields", "aspects")
    scales: dict[str, Any] = {"relevance": _relevance(definitions)}
    scales |= ASPECTS_OF_RECORDS.get(kind, {})
    scales |= added
    left_out = [field for field in numeric if field not in scales]
    codes = CODES_OF_RECORDS.get(kind, {})
    doubtful = [field for field in left_out if field not in codes]
    if doubtful:
        warn_once(
            f"{name}: it is not known whether the fields {choices(doubtful)} of ir_datasets "
            "contain labels, so they are left out. To keep a field as an aspect, declare its "
            f"scale, as in aspects={{{doubtful[0]!r}: 2}}"
        )
    notes = [*_NOTES.get(kind, ())]
    for field in left_out:
        if field in codes:
            notes.append(f"{field} was left out: {codes[field]}")
    inferred = [field for field, scale in scales.items() if scale is None]
    unstated = [field for field in inferred if field not in added]
    if unstated:
        notes.append(_UNSTATED.format(choices(unstated)))
    return WideQrels(name, qrels.drop(columns=left_out), Aspects(scales), tuple(notes))


def _qrels_of_records(name: str, records: Sequence[Any]) -> pd.DataFrame:
    """Return records as qrels with usual names of columns, and names of enumerations as text."""
    fields = [_COLUMNS.get(field, field) for field in records[0]._fields]
    qrels = pd.DataFrame(records, columns=fields)
    for field in fields:
        if isinstance(qrels[field].iloc[0], Enum):
            texts = [value.name for value in qrels[field]]
            qrels[field] = pd.Series(texts, index=qrels.index, dtype=object)
            _check_one_row_per_pair(name, qrels, field)
    if "subtopic_id" in fields:
        raise MultiAspectError(
            f"{name} has one judgment per document and subtopic, not per document: use "
            "pt_multiaspect.from_subtopics(dataset.qrels_iter()), which makes each subtopic an "
            "aspect"
        )
    return qrels


def _identify_dataset(dataset: object) -> tuple[str, Any]:
    """Return the identifier and the dataset."""
    if not isinstance(dataset, str):
        if not hasattr(dataset, "qrels_iter"):
            raise MultiAspectError(
                "dataset: expected an identifier of ir_datasets, or a dataset with judgments, got "
                f"{shown(dataset)}"
            )
        if hasattr(dataset, "dataset_id"):
            return str(dataset.dataset_id()), dataset
        return type(dataset).__name__, dataset
    try:
        import ir_datasets
    except ImportError as error:
        raise ImportError("from_irds requires ir_datasets: pip install ir_datasets") from error
    name = dataset.removeprefix("irds:")
    try:
        loaded = ir_datasets.load(name)
    except KeyError:
        raise MultiAspectError(
            f"dataset: ir_datasets has no dataset {name!r}; see its catalogue"
        ) from None
    return name, loaded


def _records(name: str, dataset: Any) -> tuple[list[Any], Mapping[Any, str]]:
    """Return the judgments of a dataset, and its definitions of the grades of relevance."""
    with contextlib.redirect_stdout(io.StringIO()):  # Touché's reader prints the paths of its files
        if hasattr(dataset, "qrels_iter"):
            records = list(dataset.qrels_iter())
        else:
            records = []
    if not records:
        raise MultiAspectError(f"{name} has no judgments")
    if hasattr(dataset, "qrels_defs"):
        definitions = dataset.qrels_defs()
    else:
        definitions = None
    return records, definitions or {}


def _relevance(definitions: Mapping[Any, str]) -> Aspect | None:
    """Return the scale of relevance by the documented grades, None if they are not numbers.

    Negative codes mark junk and count as the lowest grade. Without a grade 0, junk is a separate
    grade with gain 0.
    """
    if all(isinstance(code, Integral) for code in definitions):
        codes = sorted(definitions)
    else:
        codes = []
    grades = [code for code in codes if code >= 0]
    if not grades:
        return None
    if len(grades) == 1 and grades[0] > 0:
        return Aspect([0, *grades])
    if grades[0] > 0 and codes[0] < 0:
        return Aspect([codes[0], *grades], gains=[0, *grades])
    return Aspect(grades)


def _check_one_row_per_pair(name: str, qrels: pd.DataFrame, field: str) -> None:
    """Check that an enumeration describes documents, not the criteria they are judged by."""
    keys = [key for key in ("qid", "docno", "iteration") if key in qrels.columns]
    if qrels.duplicated(keys).any():
        raise MultiAspectError(
            f"{name} has one judgment per document and {field}, not per document: select one "
            f"{field}, or make each a column, as in pandas.DataFrame(dataset.qrels_iter())"
            f".pivot(index=['query_id', 'doc_id'], columns={field!r}, values='relevance')"
        )
