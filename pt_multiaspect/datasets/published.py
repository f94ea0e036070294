"""Published collections with several judged aspects, by name."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from ..aspects import Aspect, Aspects
from ..errors import MultiAspectError, choices, refuse_unknown
from ..io.data_files import DataFile, Repository, a66_fields
from .irds import WideQrels


@dataclass(frozen=True, eq=False, repr=False)
class CollectionInfo:
    """Scales, source, licence and citation of a published collection. Result of `info`.

    Attributes
    ----------
    name : str
        The name for `load`.
    title : str
        A description of what was judged.
    aspects : Aspects
        The scales, for ``aspects=`` of measures.
    source : str
        The page of the repository, at the commit whose files are read.
    files : tuple of str
        The files in the data directory; empty if the collection is not offered for download.
    licence : str
        The licence of the files, if their repository states one.
    citation : str
        The publications to cite.
    notes : tuple of str
        Remarks on the use of the labels.

    Examples
    --------
    See `info`.
    """

    name: str
    title: str
    aspects: Aspects
    source: str
    files: tuple[str, ...]
    licence: str
    citation: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [
            f"{self.name}: {self.title}",
            *(f"aspect {name}: {aspect!r}" for name, aspect in self.aspects.items()),
            f"source: {self.source}",
            f"files: {choices(self.files)}",
            f"licence: {self.licence}",
            f"cite: {self.citation}",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(
            fill(line, 80, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
            for line in lines
        )


#: A collection without files is known, but not offered.
_COLLECTIONS: dict[str, dict[str, Any]] = json.loads(
    (importlib.resources.files(__package__) / "published.json").read_text(encoding="utf-8")
)


def names() -> list[str]:
    """List the published collections that `load` reads.

    Returns
    -------
    list of str
        The names, sorted.

    Examples
    --------
    >>> from pt_multiaspect import datasets
    >>> datasets.names()
    ['a66', 'clef-ehealth-2015', 'clef-ehealth-2018']
    """
    return sorted(name for name, entry in _COLLECTIONS.items() if "files" in entry)


def info(name: str) -> CollectionInfo:
    """Describe a published collection: scales, source, licence and citation. Nothing is downloaded.

    Parameters
    ----------
    name : str
        One of `names`, or ``"clef-ehealth-2021"``, whose scales are known but whose files are not
        offered.

    Returns
    -------
    CollectionInfo
        The description of the collection.

    Raises
    ------
    MultiAspectError
        If the name is unknown.

    Examples
    --------
    >>> from pt_multiaspect import datasets
    >>> datasets.info("clef-ehealth-2018").licence
    'none stated in the repository'

    A code that is not a grade is declared as unjudged:

    >>> datasets.info("clef-ehealth-2021").aspects["credibility"]
    Aspect(grades=[0, 1, 2], unjudged=[3])
    """
    entry = _entry(name)
    # All grades are listed: it is known that the scales start at 0.
    scales = {
        aspect: range(spec + 1) if isinstance(spec, int) else spec
        for aspect, spec in entry["scales"].items()
    }
    return CollectionInfo(
        name=name,
        title=entry["title"],
        aspects=Aspects({aspect: Aspect.from_spec(scale) for aspect, scale in scales.items()}),
        source=_repository(entry).url,
        files=tuple(file["name"] for file in entry.get("files", {}).values()),
        licence=entry["licence"],
        citation=entry["citation"],
        notes=tuple(entry.get("notes", ())),
    )


def load(name: str) -> WideQrels:
    """Read the judgments of a published collection, which are downloaded on first use.

    Files are read from the directory in the environment variable ``PT_MULTIASPECT_DATA``, by
    default the user's cache directory. Missing files are downloaded from one commit of the
    collection's repository. On every use, their content is compared with a checksum.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    WideQrels
        The qrels with one column per aspect, the scales, and notes with licence and citation; for
        ``a66`` also the run that was judged.

    Raises
    ------
    MultiAspectError
        If the name is unknown, a file cannot be downloaded (the message says which file to put
        where), or its content is not the published one.
    ImportError
        If a download is necessary and pooch, which is part of the extra ``data``, is not installed.

    See Also
    --------
    info : Scales, source, licence and citation, without the files.
    from_irds : Collections of ir_datasets.

    Examples
    --------
    >>> from pt_multiaspect import datasets
    >>> judged = datasets.load("clef-ehealth-2015")  # doctest: +SKIP
    >>> judged.qrels.head(2)  # doctest: +SKIP
           qid                docno  label  understandability
    0  qtest.1  aldf.1864_12_000027      1                  3
    1  qtest.1  aller1867_12_000032      0                  3
    >>> ma.evaluate(runs, judged.qrels, ma.uRBP(aspects=judged.aspects))  # doctest: +SKIP
    """
    known, files = info(name), _files(name)
    if not files:
        raise MultiAspectError(
            f"{name} is not offered, as no checksum of its files is known: get them from "
            f"{known.source}, "
            f"read them with pt_multiaspect.read_qrels({{'relevance': ..., ...}}), and declare the "
            "scales with "
            f"aspects=pt_multiaspect.datasets.info({name!r}).aspects"
        )
    qrels, run = _READERS[_entry(name).get("reader", "one file per aspect")](files)
    notes = (*known.notes, f"licence: {known.licence}", f"cite: {known.citation}")
    return WideQrels(name, qrels, known.aspects, notes, run)


def _entry(name: str) -> dict[str, Any]:
    refuse_unknown([name], sorted(_COLLECTIONS), "a collection")
    return _COLLECTIONS[name]


def _repository(entry: dict[str, Any]) -> Repository:
    return Repository(entry["repository"], entry["commit"])


def _files(name: str) -> dict[str, DataFile]:
    """Return the file of each aspect."""
    entry = _entry(name)
    if entry.get("reader") == "a66":
        rows: dict[str, Any] = {"rows": a66_fields}
    else:
        rows = {}
    return {
        aspect: DataFile(repository=_repository(entry), **file, **rows)
        for aspect, file in entry.get("files", {}).items()
    }


def _one_file_per_aspect(files: dict[str, DataFile]) -> tuple[pd.DataFrame, None]:
    """Read qrels files that judge the same pairs in the same order, as their checksums guarantee."""
    columns: dict[str, list[str] | np.ndarray] = {}
    for aspect, file in files.items():
        qids, _, docnos, labels = zip(*file.rows(file.read()), strict=True)
        if not columns:
            columns = {
                "qid": [qid.decode() for qid in qids],
                "docno": [docno.decode() for docno in docnos],
            }
        columns["label" if aspect == "relevance" else aspect] = np.array(labels).astype(np.int64)
    return pd.DataFrame(columns), None


def _a66(files: dict[str, DataFile]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the rankings of ten assessors, who judge the same documents for different queries."""
    (file,) = files.values()
    rows = [[field.decode() for field in fields] for fields in file.rows(file.read())]
    assessor, query, rank, docno, relevance, credibility = (
        list(column) for column in zip(*rows, strict=True)
    )
    columns = {
        "qid": [f"{judge}-{topic}" for judge, topic in zip(assessor, query, strict=True)],
        "docno": docno,
        "label": np.array(relevance, dtype=np.int64),
        "credibility": np.array(credibility, dtype=np.int64),
    }
    qrels = pd.DataFrame(columns)
    again = qrels.duplicated(["qid", "docno"])
    qrels["docno"] = qrels["docno"].where(~again, qrels["docno"] + "-again")
    return qrels, qrels[["qid", "docno"]].assign(score=-np.array(rank, dtype=np.float64))


#: Functions that read the qrels and, if one ranking per query was judged, the run.
_READERS: dict[str, Callable[[dict[str, DataFile]], tuple[pd.DataFrame, pd.DataFrame | None]]] = {
    "one file per aspect": _one_file_per_aspect,
    "a66": _a66,
}
