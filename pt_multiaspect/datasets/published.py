"""Published collections with several judged aspects, by name."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
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
        lines = [f"{self.name}: {self.title}"]
        for name, aspect in self.aspects.items():
            lines.append(f"aspect {name}: {aspect!r}")
        lines.append(f"source: {self.source}")
        lines.append(f"files: {choices(self.files)}")
        lines.append(f"licence: {self.licence}")
        lines.append(f"cite: {self.citation}")
        for note in self.notes:
            lines.append(f"note: {note}")
        return "\n".join(map(_wrap, lines))


def _wrap(line: str) -> str:
    """Return a line as a paragraph with a hanging indent."""
    return fill(line, 80, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


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
    """Describe a published collection: scales, source, licence and citation.

    Nothing is downloaded.

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
    scales: dict[str, Aspect] = {}
    for aspect, spec in entry["scales"].items():
        if isinstance(spec, int):
            # All grades are listed: it is known that the scales start at 0.
            scales[aspect] = Aspect(range(spec + 1))
        else:
            scales[aspect] = Aspect.from_spec(spec)
    files = entry.get("files", {})
    return CollectionInfo(
        name=name,
        title=entry["title"],
        aspects=Aspects(scales),
        source=_repository(entry).url,
        files=tuple(file["name"] for file in files.values()),
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
    known = info(name)
    files = _files(name)
    if not files:
        raise MultiAspectError(
            f"{name} is not offered, as no checksum of its files is known: get them from "
            f"{known.source}, read them with pt_multiaspect.read_qrels({{'relevance': ..., ...}}), "
            f"and declare the scales with aspects=pt_multiaspect.datasets.info({name!r}).aspects"
        )
    read_files = _READERS[_reader(_entry(name))]
    qrels, run = read_files(files)
    notes = (*known.notes, f"licence: {known.licence}", f"cite: {known.citation}")
    return WideQrels(name, qrels, known.aspects, notes, run)


def _entry(name: str) -> dict[str, Any]:
    refuse_unknown([name], sorted(_COLLECTIONS), "a collection")
    return _COLLECTIONS[name]


def _repository(entry: dict[str, Any]) -> Repository:
    return Repository(entry["repository"], entry["commit"])


def _reader(entry: dict[str, Any]) -> str:
    """Return the key of the function that reads the files."""
    reader: str = entry.get("reader", "one file per aspect")
    return reader


def _files(name: str) -> dict[str, DataFile]:
    """Return the file of each aspect."""
    entry = _entry(name)
    repository = _repository(entry)
    files: dict[str, DataFile] = {}
    for aspect, file in entry.get("files", {}).items():
        files[aspect] = DataFile(repository=repository, **file)
        if _reader(entry) == "a66":
            files[aspect] = replace(files[aspect], rows=a66_fields)
    return files


def _one_file_per_aspect(files: dict[str, DataFile]) -> tuple[pd.DataFrame, None]:
    """Read qrels files of the same pairs in the same order, as their checksums guarantee."""
    columns: dict[str, list[str] | np.ndarray] = {}
    for aspect, file in files.items():
        rows = file.rows(file.read())
        qids, _, docnos, labels = zip(*rows, strict=True)
        if not columns:
            columns["qid"] = list(map(bytes.decode, qids))
            columns["docno"] = list(map(bytes.decode, docnos))
        if aspect == "relevance":
            column = "label"
        else:
            column = aspect
        columns[column] = np.array(labels).astype(np.int64)
    return pd.DataFrame(columns), None


def _a66(files: dict[str, DataFile]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the rankings of ten assessors, who judge the same documents for different queries."""
    (file,) = files.values()
    qids, docnos, ranks, labels, credibilities = [], [], [], [], []
    for fields in file.rows(file.read()):
        assessor, topic, rank, docno, relevance, credibility = map(bytes.decode, fields)
        qids.append(f"{assessor}-{topic}")
        docnos.append(docno)
        ranks.append(rank)
        labels.append(relevance)
        credibilities.append(credibility)
    columns = {
        "qid": qids,
        "docno": docnos,
        "label": np.array(labels, dtype=np.int64),
        "credibility": np.array(credibilities, dtype=np.int64),
    }
    qrels = pd.DataFrame(columns)
    is_repeated = qrels.duplicated(["qid", "docno"])
    qrels["docno"] = qrels["docno"].where(~is_repeated, qrels["docno"] + "-again")
    run = qrels[["qid", "docno"]]
    return qrels, run.assign(score=-np.array(ranks, dtype=np.float64))


#: Functions that read the qrels and, if one ranking per query was judged, the run.
_READERS: dict[str, Callable[[dict[str, DataFile]], tuple[pd.DataFrame, pd.DataFrame | None]]] = {
    "one file per aspect": _one_file_per_aspect,
    "a66": _a66,
}
