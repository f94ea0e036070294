"""BibTeX entries of measures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files

import ir_measures
import pandas as pd
from ir_measures.measures import registry

from .._version import __version__
from ..collection.other_libraries import to_pandas
from ..errors import MultiAspectError, refuse_unknown, shown, warn_once
from ..evaluation.long_frames import measures_by_label
from ..integration.parsing import Measures, parse_all
from ..measures import ALL

#: The software that computes the measures.
_SOFTWARE = "ptmultiaspect"
_IR_MEASURES = "macavaney2022"

#: The sources of ir-measures' measures in its documentation, by name. For all others, only
#: ir-measures is cited.
SOURCES_OF_IR_MEASURES = {
    "AP": "harman1992",
    "AP_IA": "agrawal2009",
    "BPM": "zhang2017",
    "Bpref": "buckley2004",
    "Compat": "clarke2021",
    "ERR": "chapelle2009",
    "ERR_IA": "chapelle2009",
    "INST": "bailey2015",
    "NRBP": "clarke2009",
    "P": "vanrijsbergen1979",
    "P_IA": "agrawal2009",
    "RBP": "moffat2008",
    "RR": "kantor2000",
    "StRecall": "zhai2003",
    "alpha_DCG": "clarke2008",
    "alpha_nDCG": "clarke2008",
    "infAP": "yilmaz2006",
    "nDCG": "jarvelin2002",
    "nERR_IA": "chapelle2009",
    "nNRBP": "clarke2009",
}


def cite(measures: Measures | pd.DataFrame) -> str:
    """Return BibTeX entries for measures, their bases and the software that computes them.

    Parameters
    ----------
    measures : measure, str, sequence of these, mapping or DataFrame
        Measures in any form that `evaluate` accepts, or its result.

    Returns
    -------
    str
        The distinct BibTeX entries, in the order of the measures; that of this package is last.

    Raises
    ------
    MultiAspectError
        If a measure cannot be parsed, or states a source that is neither a known key nor a BibTeX
        entry.

    Warns
    -----
    MultiAspectWarning
        If no source is known for a measure. Your own measures state it in ``SOURCES``.

    Notes
    -----
    The entries contain non-ASCII letters as TeX accents, for BibTeX and Biber.

    Examples
    --------
    >>> import re
    >>> from pt_multiaspect import CAM, cite
    >>> entries = cite([CAM(base="AP"), "map"])
    >>> re.findall("@.*{(.*),", entries)
    ['lioma2017', 'maistro2021', 'harman1992', 'macavaney2022', 'ptmultiaspect']
    >>> print(entries[:106])
    @inproceedings{lioma2017,
      author    = {Lioma, Christina and Simonsen, Jakob Grue and Larsen, Birger},
    """
    perquery = to_pandas(measures)
    if perquery is not None and "measure" not in perquery.columns:
        raise MultiAspectError(
            "expected measures, or a frame with a column measure, as evaluate returns it, got "
            f"{shown(measures)}"
        )
    if perquery is None:
        parsed = parse_all(measures)
    else:
        parsed = measures_by_label(perquery)
    sources: list[str] = []
    for label, measure in parsed.items():
        keys: list[str] = []
        if measure is not None:
            keys = list(_sources(measure))
        if not keys:
            warn_once(
                f"no source is known for the measure {label}, which is not cited. If it is your "
                "own, state SOURCES in its class, a tuple of BibTeX entries"
            )
        sources += keys
    sources.append(_SOFTWARE)
    entries = map(_entry, dict.fromkeys(sources))
    return "\n\n".join(entries) + "\n"


def _sources(measure: ir_measures.Measure) -> Iterator[str]:
    """Yield the sources of a measure, of its bases and of the measures of which it is a mean."""
    if hasattr(measure, "SOURCES"):
        yield from measure.SOURCES
    elif type(registry.get(measure.NAME)) is type(measure):
        if measure.NAME in SOURCES_OF_IR_MEASURES:
            yield SOURCES_OF_IR_MEASURES[measure.NAME]
        yield _IR_MEASURES
    if hasattr(measure, "bases"):
        for base in measure.bases.each():
            yield from _sources(getattr(base, "measure", base))
    for member, _ in getattr(measure, "members", ()):
        yield from _sources(member)


def _entry(source: str) -> str:
    if source.lstrip().startswith("@"):
        return source.strip()
    known = references()
    refuse_unknown([source], known, "BibTeX entries or keys", "SOURCES")
    return known[source]


def find_by_source(text: str) -> list[ir_measures.Measure]:
    """Return the measures whose source has all words of a text.

    Parameters
    ----------
    text : str
        Authors, words of the title, a year or a DOI, in any case and without accents. The source is
        what `cite` returns, and how this package cites it.

    Returns
    -------
    list of Measure
        Measures of this package first, then those of ir-measures.
    """
    without_resolver = re.sub(r"(https?://)?(dx\.)?doi\.org/", "", text)
    words = _plain(without_resolver).split()
    if not words:
        return []
    found: list[ir_measures.Measure] = []
    for measure in ALL:
        if _have_words((*measure.SOURCES, measure.CITATION), words):
            found.append(measure)
    for name, key in SOURCES_OF_IR_MEASURES.items():
        if _have_words((key,), words):
            found.append(registry[name])
    return found


def _have_words(sources: Iterable[str], words: Iterable[str]) -> bool:
    """Return whether each word begins one of the words of the sources.

    Sources are keys of BibTeX entries, or texts.
    """
    known = references()
    entries = [known.get(source, source) for source in sources]
    text = _plain(" ".join(entries))
    return all(re.search(rf"(?<!\w){re.escape(word)}", text) for word in words)


def _plain(text: str) -> str:
    """Return a text in lower case, without accents and the commands and braces of TeX."""
    without_tex = re.sub(r"\\[a-z]+ |[{}\\\"'`^~,:$]", "", text)
    decomposed = unicodedata.normalize("NFD", without_tex)
    letters = [letter for letter in decomposed if not unicodedata.combining(letter)]
    return "".join(letters).lower()


@cache
def references() -> Mapping[str, str]:
    """Return the BibTeX entries of the package, by key.

    Returns
    -------
    mapping of str to str
        The entries as text.
    """
    path = files("pt_multiaspect") / "data" / "references.bib"
    text = path.read_text(encoding="utf-8")
    text = text.replace("VERSION", __version__)
    entries = {}
    for entry in text.strip().split("\n\n"):
        begin = re.match(r"@\w+{(.*),", entry)
        assert begin is not None, entry
        entries[begin[1]] = entry
    return entries
