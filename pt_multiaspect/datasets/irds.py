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

#: Names of columns, by field of ir_datasets (one of which is misspelt).
_COLUMNS_OF_FIELDS = {
    "query_id": "qid",
    "doc_id": "docno",
    "relevance": "label",
    "redibility": "credibility",
}

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

#: Notes on the judgments, by record type.
_NOTES_OF_RECORDS: dict[str, tuple[str, ...]] = {
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
        """Return the name and size, the scales, and the notes."""
        n_judgments = len(self.qrels)
        lines = [f"<WideQrels {self.name}: {n_judgments} judgments>", repr(self.aspects)]
        for note in self.notes:
            lines.append(f"- {note}")
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
    record_type = type(records[0]).__name__
    qrels = _qrels_of_records(name, records)
    numeric_fields = _numeric_fields(qrels)
    declared: dict[str, Any] = {}
    if aspects:
        declared = dict(Aspects(aspects))
    refuse_unknown(declared, ["relevance", *numeric_fields], "fields", "aspects")

    # Declared scales replace those of the track, which replace those of ir_datasets.
    scales: dict[str, Any] = {"relevance": _relevance(definitions)}
    scales |= ASPECTS_OF_RECORDS.get(record_type, {})
    scales |= declared

    left_out = [field for field in numeric_fields if field not in scales]
    notes = list(_NOTES_OF_RECORDS.get(record_type, ()))
    notes += _notes_on_left_out(name, record_type, left_out)
    without_scale = []
    for field, scale in scales.items():
        if scale is None and field not in declared:
            without_scale.append(field)
    if without_scale:
        listed = choices(without_scale)
        notes.append(
            f"ir_datasets does not state the codes of {listed}: their scale is inferred unless you "
            "declare it"
        )
    return WideQrels(name, qrels.drop(columns=left_out), Aspects(scales), tuple(notes))


def _numeric_fields(qrels: pd.DataFrame) -> list[str]:
    """Return the columns beside ids and relevance that contain numbers."""
    numeric = []
    for field in qrels.columns:
        is_other_field = field not in ("qid", "docno", "iteration", "label")
        if is_other_field and isinstance(qrels[field].iloc[0], Real):
            numeric.append(field)
    return numeric


def _warn_of_unexplained_fields(name: str, fields: Sequence[str]) -> None:
    """Warn that numeric fields of a dataset are left out, as they may not be labels."""
    listed = choices(fields)
    first = fields[0]
    warn_once(
        f"{name}: it is not known whether the fields {listed} of ir_datasets "
        "contain labels, so they are left out. To keep a field as an aspect, declare its "
        f"scale, as in aspects={{{first!r}: 2}}"
    )


def _notes_on_left_out(name: str, record_type: str, fields: Sequence[str]) -> list[str]:
    """Return why fields are left out, one note each; warn of those without a known reason."""
    reasons = CODES_OF_RECORDS.get(record_type, {})
    notes = []
    unexplained = []
    for field in fields:
        if field in reasons:
            notes.append(f"{field} was left out: {reasons[field]}")
        else:
            unexplained.append(field)
    if unexplained:
        _warn_of_unexplained_fields(name, unexplained)
    return notes


def _qrels_of_records(name: str, records: Sequence[Any]) -> pd.DataFrame:
    """Return records as qrels with usual names of columns, and names of enumerations as text."""
    fields = records[0]._fields
    columns = [_COLUMNS_OF_FIELDS.get(field, field) for field in fields]
    qrels = pd.DataFrame(records, columns=columns)
    for column in columns:
        is_enumeration = isinstance(qrels[column].iloc[0], Enum)
        if is_enumeration:
            texts = [value.name for value in qrels[column]]
            qrels[column] = pd.Series(texts, index=qrels.index, dtype=object)
            # Such names may be aspects, with one row per document and aspect.
            _check_one_row_per_pair(name, qrels, column)
    if "subtopic_id" in columns:
        raise MultiAspectError(
            f"{name} has one judgment per document and subtopic, not per document: use "
            "pt_multiaspect.from_subtopics(dataset.qrels_iter()), which makes each subtopic an "
            "aspect"
        )
    return qrels


def _identify_dataset(dataset: object) -> tuple[str, Any]:
    """Return the identifier and the dataset of ir_datasets, which is loaded by an identifier."""
    if isinstance(dataset, str):
        name = dataset.removeprefix("irds:")
        return name, _load_dataset(name)
    if not hasattr(dataset, "qrels_iter"):
        description = shown(dataset)
        raise MultiAspectError(
            "dataset: expected an identifier of ir_datasets, or a dataset with judgments, got "
            f"{description}"
        )
    if hasattr(dataset, "dataset_id"):
        return str(dataset.dataset_id()), dataset
    type_name = type(dataset).__name__
    return type_name, dataset


def _load_dataset(name: str) -> Any:
    """Return a dataset of ir_datasets, or raise an error if there is none of this name."""
    try:
        import ir_datasets
    except ImportError as error:
        raise ImportError("from_irds requires ir_datasets: pip install ir_datasets") from error
    try:
        return ir_datasets.load(name)
    except KeyError:
        raise MultiAspectError(
            f"dataset: ir_datasets has no dataset {name!r}; see its catalogue"
        ) from None


def _records(name: str, dataset: Any) -> tuple[list[Any], Mapping[Any, str]]:
    """Return the judgments of a dataset as namedtuples, and the meaning of each relevance grade.

    There are no meanings if the dataset does not define them.
    """
    records: list[Any] = []
    if hasattr(dataset, "qrels_iter"):
        # Touché's reader prints the paths of its files.
        with contextlib.redirect_stdout(io.StringIO()):
            records = list(dataset.qrels_iter())
    if not records:
        raise MultiAspectError(f"{name} has no judgments")
    definitions = None
    if hasattr(dataset, "qrels_defs"):
        definitions = dataset.qrels_defs()
    if definitions is None:
        definitions = {}
    return records, definitions


def _relevance(definitions: Mapping[Any, str]) -> Aspect | None:
    """Return the scale of relevance by the documented codes, None if they are not numbers.

    Negative codes mark junk and count as the lowest grade. Without a grade 0, junk is a separate
    grade with gain 0.

    Parameters
    ----------
    definitions : mapping of int to str
        The codes and their meanings.
    """
    are_numbers = all(isinstance(code, Integral) for code in definitions)
    if not are_numbers:
        return None
    codes = sorted(definitions)
    grades = [code for code in codes if code >= 0]
    if not grades:
        return None
    has_zero = grades[0] == 0
    if has_zero:
        return Aspect(grades)
    if len(grades) == 1:
        return Aspect([0, *grades])  # a scale has at least two grades
    # Without 0, the lowest negative code is the lowest grade, worth as little as 0.
    has_negative_code = codes[0] < 0
    if has_negative_code:
        return Aspect([codes[0], *grades], gains=[0, *grades])
    return Aspect(grades)


def _check_one_row_per_pair(name: str, qrels: pd.DataFrame, field: str) -> None:
    """Raise an error if documents have several rows, one per value of the enumeration `field`."""
    keys = [key for key in ("qid", "docno", "iteration") if key in qrels.columns]
    has_repeated_keys = qrels.duplicated(keys).any()
    if has_repeated_keys:
        raise MultiAspectError(
            f"{name} has one judgment per document and {field}, not per document: select one "
            f"{field}, or make each a column, as in pandas.DataFrame(dataset.qrels_iter())"
            f".pivot(index=['query_id', 'doc_id'], columns={field!r}, values='relevance')"
        )
