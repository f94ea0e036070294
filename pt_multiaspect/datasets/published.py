"""Published collections with several judged aspects, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill

import numpy as np
import pandas as pd

from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..errors import MultiAspectError, choices, refuse_unknown
from ..io.data_files import DataFile, Repository, first_fields
from .irds import WideQrels

__all__ = ["CollectionInfo", "info", "load", "names"]


@dataclass(frozen=True, eq=False, repr=False)
class CollectionInfo:
    """Scales, source, licence and citation of a published collection. Result of `info`.

    Attributes
    ----------
    name : str
        The name for `load`.
    title : str
        What was judged.
    aspects : Aspects
        The scales, for ``aspects=`` of measures.
    source : str
        The page of the repository, at the commit whose files are read.
    files : tuple of str
        The files in the data directory; empty if the collection is not offered for download.
    licence : str
        The licence of the files, as far as their repository states one.
    citation : str
        What to cite.
    notes : tuple of str
        What to know before using the labels.

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


@dataclass(frozen=True)
class _Published:
    """An entry of the catalogue."""

    title: str
    scales: dict[str, Aspect]
    repository: Repository
    licence: str
    citation: str
    notes: tuple[str, ...] = ()
    #: By aspect. A collection without files is known, but not offered.
    files: tuple[tuple[str, DataFile], ...] = ()
    #: Reads the qrels and, if one ranking per query was judged, the run.
    read: Callable[[dict[str, DataFile]], tuple[pd.DataFrame, pd.DataFrame | None]] | None = None


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
    return sorted(name for name, entry in _COLLECTIONS.items() if entry.files)


def info(name: str) -> CollectionInfo:
    """Describe a published collection: scales, source, licence and citation. Nothing is downloaded.

    Parameters
    ----------
    name : str
        One of `names`, or ``"clef-ehealth-2021"``, whose scales are known but whose files are not offered.

    Returns
    -------
    CollectionInfo
        What is known of the collection.

    Raises
    ------
    MultiAspectError
        If the name is unknown.

    Examples
    --------
    >>> from pt_multiaspect import datasets
    >>> datasets.info("clef-ehealth-2018").licence
    'none stated in the repository'

    A code that is no grade is declared as unjudged:

    >>> datasets.info("clef-ehealth-2021").aspects["credibility"]
    Aspect(grades=[0, 1, 2], unjudged=[3])
    """
    entry = _entry(name)
    return CollectionInfo(
        name=name,
        title=entry.title,
        aspects=Aspects(entry.scales),
        source=entry.repository.url,
        files=tuple(file.name for _, file in entry.files),
        licence=entry.licence,
        citation=entry.citation,
        notes=entry.notes,
    )


def load(name: str) -> WideQrels:
    """Read the judgments of a published collection, which are downloaded on first use.

    Files are looked for in the directory that the environment variable ``PT_MULTIASPECT_DATA`` names, by default
    the user's cache directory. Missing ones are downloaded from one commit of the collection's repository. On every
    use, their content is compared with a checksum.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    WideQrels
        The qrels with one column per aspect, the scales, and notes with licence and citation; for ``a66`` also the
        run that was judged.

    Raises
    ------
    MultiAspectError
        If the name is unknown, a file cannot be downloaded (the message says which file to put where), or it does
        not contain what was published.
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
    entry = _entry(name)
    if entry.read is None:
        raise MultiAspectError(
            f"{name} is not offered, as no checksum of its files is known: get them from {entry.repository.url}, "
            f"read them with pt_multiaspect.read_qrels({{'relevance': ..., ...}}), and declare the scales with "
            f"aspects=pt_multiaspect.datasets.info({name!r}).aspects"
        )
    qrels, run = entry.read(dict(entry.files))
    known = info(name)
    notes = (*known.notes, f"licence: {known.licence}", f"cite: {known.citation}")
    return WideQrels(name, qrels, known.aspects, notes, run)


def _entry(name: str) -> _Published:
    refuse_unknown([name], sorted(_COLLECTIONS), "a collection")
    return _COLLECTIONS[name]


def _one_file_per_aspect(files: dict[str, DataFile]) -> tuple[pd.DataFrame, None]:
    """Read qrels files that judge the same pairs in the same order, as their checksums guarantee."""
    columns: dict[str, list[str] | np.ndarray] = {}
    for aspect, file in files.items():
        qids, _, docnos, labels = zip(*file.rows(file.read()), strict=True)
        if not columns:
            columns = {"qid": [qid.decode() for qid in qids], "docno": [docno.decode() for docno in docnos]}
        columns["label" if aspect == "relevance" else aspect] = np.array(labels).astype(np.int64)
    return pd.DataFrame(columns), None


def _a66(files: dict[str, DataFile]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the rankings of ten assessors, who judge the same documents: each has queries of their own."""
    (file,) = files.values()
    rows = [[field.decode() for field in fields] for fields in file.rows(file.read())]
    assessor, query, rank, docno, relevance, credibility = (list(column) for column in zip(*rows, strict=True))
    qrels = pd.DataFrame(
        {
            "qid": [f"{judge}-{topic}" for judge, topic in zip(assessor, query, strict=True)],
            "docno": docno,
            "label": np.array(relevance, dtype=np.int64),
            "credibility": np.array(credibility, dtype=np.int64),
        }
    )
    again = qrels.duplicated(["qid", "docno"])
    qrels["docno"] = qrels["docno"].where(~again, qrels["docno"] + "-again")
    return qrels, qrels[["qid", "docno"]].assign(score=-np.array(rank, dtype=np.float64))


_CLEF_2015 = Repository("CLEFeHealth/CLEFeHealth2015Task2", "8db9d1df91865a657cae25b5d664e1627ba728b1")
_CLEF_2018 = Repository("CLEFeHealth/CLEFeHealth2018IRtask", "b60a08c4490b676f24d4dc1131dd5a3e40abad93")
_CLEF_2021 = Repository("CLEFeHealth/CHS-2021", "a88b66a63ce8bbad021a93a3a5fba33a67c84e53")
_A66 = Repository("diku-irlab/A66", "152d5689a419a4b052bcbc81cbe3d16862d01a00")

_NO_LICENCE = "none stated in the repository"

_COLLECTIONS: dict[str, _Published] = {
    "clef-ehealth-2015": _Published(
        title="CLEF eHealth 2015 task 2: 66 topics, 8713 judged pairs",
        # The organisers' evaluate.sh: binary relevance from 1, uRBP from 2, uRBPgr with the gains 0, .4, .8, 1.
        scales={
            "relevance": Aspect(2, probabilities=[0, 1, 1]),
            "understandability": Aspect(3, threshold=2, probabilities=[0, 0.4, 0.8, 1]),
        },
        repository=_CLEF_2015,
        licence="GPL-2",
        citation=(
            "Palotti, Zuccon, Goeuriot, Kelly, Hanbury, Jones, Lupu, Pecina: CLEF eHealth Evaluation Lab 2015, "
            "Task 2: Retrieving Information about Medical Symptoms. CLEF 2015 Working Notes, CEUR Vol-1391"
        ),
        notes=(
            "the thresholds and probabilities are those of the task's evaluation: uRBP and uRBPgr with p=0.8",
            "understandability: 0 very technical and difficult to 3 very easy",
        ),
        # Every group's folder has the same files of judgments.
        files=(
            (
                "relevance",
                DataFile(
                    "clef2015/qrels.graded.txt",
                    _CLEF_2015,
                    "evaluation/evals_html/FDUSGInfo_EN_Run/qrels/qrels.clef2015.test.graded.txt",
                    "c37b537cc69becc056495fcb8f0214d9ac5d68e96c99225477c115b0a98570d7",
                ),
            ),
            (
                "understandability",
                DataFile(
                    "clef2015/qread.graded.txt",
                    _CLEF_2015,
                    "evaluation/evals_html/YorkU_EN_Run/qrels/qread.clef2015.test.graded.txt",
                    "09971fb0b4fd791e2a4e0050a9778c2ab8d701618b80d0beca791113ba84d369",
                ),
            ),
        ),
        read=_one_file_per_aspect,
    ),
    "clef-ehealth-2018": _Published(
        title="CLEF eHealth 2018 consumer health search: 50 topics, 26 025 judged pairs",
        scales={"relevance": Aspect(2), "understandability": Aspect(10), "trust": Aspect(10)},
        repository=_CLEF_2018,
        licence=_NO_LICENCE,
        citation=(
            "Jimmy, Zuccon, Palotti, Goeuriot, Kelly: Overview of the CLEF 2018 Consumer Health Search Task. "
            "CLEF 2018 Working Notes, CEUR Vol-2125"
        ),
        notes=(
            "whether 10 is the best grade of understandability and trust is not stated; it is in earlier years",
            "from which grade on a document counts is not stated: here, from 1; or declare Aspect(10, threshold=5)",
        ),
        files=tuple(
            (
                aspect,
                DataFile(
                    f"clef2018/{name}.txt",
                    _CLEF_2018,
                    f"assessments/Final assessment/CLEF2018_{name}_20180914.txt",
                    sha256,
                ),
            )
            for aspect, name, sha256 in (
                ("relevance", "qrel", "3e20fb1c705be8e4ca63e9f3a81b4490de11657904fcdeeae3c2b2eb2139d56e"),
                ("understandability", "qread", "bca21b4ee03622298164c22375340963d9c204cfd952e6c3dae7e5fb37f98ad5"),
                ("trust", "qtrust", "0a971363ece15ad54980ff2f36ca03635ac3ca64936c2a78bfcdb2a978a4243a"),
            )
        ),
        read=_one_file_per_aspect,
    ),
    "clef-ehealth-2021": _Published(
        title="CLEF eHealth 2021 consumer health search: 50 topics, 250 documents each",
        scales={
            "relevance": Aspect(2),
            "readability": Aspect(2),
            "credibility": Aspect(2, unjudged=[3]),
        },
        repository=_CLEF_2021,
        licence=_NO_LICENCE,
        citation=(
            "Goeuriot, Suominen, Pasi, Bassani, Brew-Sam, González Sáez, Kelly, Mulhem, Seneviratne, Upadhyay, "
            "Viviani, Xu: Consumer Health Search at CLEF eHealth 2021. CLEF 2021 Working Notes, CEUR Vol-2936"
        ),
        notes=("credibility 3 means that the assessor was not able to judge: it is no grade",),
    ),
    "a66": _Published(
        title="A66: the first 5 results of 10 queries, as 10 assessors saw and judged them; 500 judgments",
        # The paper counts the two upper grades as positive.
        scales=dict.fromkeys(("relevance", "credibility"), Aspect([1, 2, 3, 4], threshold=3)),
        repository=_A66,
        licence=_NO_LICENCE,
        citation=(
            "Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists. "
            "ICTIR 2017, doi:10.1145/3121050.3121072"
        ),
        notes=(
            "a query id is assessor-query; the results are judged in the order of run",
            "assessor 9 was shown document 123 twice for query 5: the second is 123-again",
        ),
        files=(
            (
                "relevance and credibility",
                DataFile(
                    "a66.csv",
                    _A66,
                    "dataset/data",
                    "05a5d2bfebfae85c44a986e22d2b1ae71a710442f30c8529d13a77fdbb4e38f1",
                    first_fields(b"assessor", 6),
                ),
            ),
        ),
        read=_a66,
    ),
}
