"""Published collections with several judged aspects, by name."""

from __future__ import annotations

import importlib.resources
import json
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
        """Return the description with one line per attribute, aspect and note."""
        files = choices(self.files)
        lines = [f"{self.name}: {self.title}"]
        for name, aspect in self.aspects.items():
            lines.append(f"aspect {name}: {aspect!r}")
        lines.append(f"source: {self.source}")
        lines.append(f"files: {files}")
        lines.append(f"licence: {self.licence}")
        lines.append(f"cite: {self.citation}")
        for note in self.notes:
            lines.append(f"note: {note}")
        wrapped_lines = map(_wrap, lines)
        return "\n".join(wrapped_lines)


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
    offered = []
    for name, entry in _COLLECTIONS.items():
        if "files" in entry:
            offered.append(name)
    return sorted(offered)


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
        scales[aspect] = _aspect_of_spec(spec)
    files = entry.get("files", {})
    file_names = tuple(file["name"] for file in files.values())
    return CollectionInfo(
        name=name,
        title=entry["title"],
        aspects=Aspects(scales),
        source=_repository(entry).url,
        files=file_names,
        licence=entry["licence"],
        citation=entry["citation"],
        notes=tuple(entry.get("notes", ())),
    )


def _aspect_of_spec(spec: Any) -> Aspect:
    """Return the scale that an entry describes: by the top grade, or as in `Aspect.from_spec`."""
    if isinstance(spec, int):
        # All grades are listed: it is known that the scales start at 0.
        top_grade = spec
        return Aspect(range(top_grade + 1))
    return Aspect.from_spec(spec)


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
    description = info(name)
    files = _files(name)
    if not files:
        raise MultiAspectError(
            f"{name} is not offered, as no checksum of its files is known: get them from "
            f"{description.source}, read them with "
            "pt_multiaspect.read_qrels({'relevance': ..., ...}), and declare the scales with "
            f"aspects=pt_multiaspect.datasets.info({name!r}).aspects"
        )
    if _is_a66(_entry(name)):
        qrels, run = _read_a66(files)
    else:
        qrels = _read_one_file_per_aspect(files)
        run = None
    licence = f"licence: {description.licence}"
    citation = f"cite: {description.citation}"
    notes = (*description.notes, licence, citation)
    return WideQrels(name, qrels, description.aspects, notes, run)


def _entry(name: str) -> dict[str, Any]:
    """Return the entry of a collection in the file of collections, or raise an error."""
    refuse_unknown([name], sorted(_COLLECTIONS), "a collection")
    return _COLLECTIONS[name]


def _repository(entry: dict[str, Any]) -> Repository:
    """Return the repository of the files of a collection, at one commit."""
    return Repository(entry["repository"], entry["commit"])


def _is_a66(entry: dict[str, Any]) -> bool:
    """Return whether a collection is a66, whose one file has all labels and the ranks of a run.

    Other collections have one qrels file per aspect.
    """
    return entry.get("reader") == "a66"


def _files(name: str) -> dict[str, DataFile]:
    """Return the file of each aspect of a collection; empty if they are not offered."""
    entry = _entry(name)
    repository = _repository(entry)
    files: dict[str, DataFile] = {}
    for aspect, attributes in entry.get("files", {}).items():
        file = DataFile(repository=repository, **attributes)
        # The only file of the collection a66 has other fields than a qrels file: `a66_fields`
        # reads them.
        if _is_a66(entry):
            file = replace(file, rows=a66_fields)
        files[aspect] = file
    return files


def _read_one_file_per_aspect(files: dict[str, DataFile]) -> pd.DataFrame:
    """Read qrels files of the same pairs in the same order, as their checksums guarantee.

    Parameters
    ----------
    files : dict of str to DataFile
        The file of each aspect.
    """
    columns: dict[str, list[str] | np.ndarray] = {}
    for aspect, file in files.items():
        # The fields of each line are query, iteration, document and label.
        rows = file.rows(file.read())
        qids, _, docnos, labels = zip(*rows, strict=True)
        is_first_file = not columns
        if is_first_file:
            columns["qid"] = list(map(bytes.decode, qids))
            columns["docno"] = list(map(bytes.decode, docnos))
        column = aspect
        if aspect == "relevance":
            column = "label"
        columns[column] = np.array(labels).astype(np.int64)
    return pd.DataFrame(columns)


def _read_a66(files: dict[str, DataFile]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the rankings of ten assessors, who judge the same documents for different queries.

    Returns
    -------
    qrels, run : DataFrame
        The judgments and the rankings, with one query per assessor and topic.
    """
    (file,) = files.values()
    rows = []
    for fields in file.rows(file.read()):
        assessor, topic, rank, docno, relevance, credibility = map(bytes.decode, fields)
        qid = f"{assessor}-{topic}"
        rows.append((qid, docno, relevance, credibility, rank))
    table = pd.DataFrame(rows, columns=["qid", "docno", "label", "credibility", "rank"])
    for column in ("label", "credibility"):
        table[column] = np.array(table[column].tolist(), dtype=np.int64)

    # A document that was judged again for a query is another document of the ranking.
    is_repeated = table.duplicated(["qid", "docno"])
    names_of_repeated = table["docno"] + "-again"
    table["docno"] = table["docno"].where(~is_repeated, names_of_repeated)

    qrels = table[["qid", "docno", "label", "credibility"]]
    run = table[["qid", "docno"]]
    ranks = np.array(table["rank"].tolist(), dtype=np.float64)
    return qrels, run.assign(score=-ranks)
