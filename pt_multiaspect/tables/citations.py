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

#: What TeX adds to letters, as in ``J{\\"a}rvelin``: commands and punctuation.
_TEX = re.compile(r"\\[a-z]+ |[{}\\\"'`^~,:$]")

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
    if perquery is None:
        parsed = parse_all(measures)
    elif "measure" in perquery.columns:
        parsed = measures_by_label(perquery)
    else:
        raise MultiAspectError(
            "expected measures, or a frame with a column measure, as evaluate returns it, got "
            f"{shown(measures)}"
        )
    sources: list[str] = []
    for label, measure in parsed.items():
        sources_of_measure: list[str] = []
        if measure is not None:
            sources_of_measure = list(_sources(measure))
        if not sources_of_measure:
            warn_once(
                f"no source is known for the measure {label}, which is not cited. If it is your "
                "own, state SOURCES in its class, a tuple of BibTeX entries"
            )
        sources += sources_of_measure
    sources.append(_SOFTWARE)
    distinct_sources = dict.fromkeys(sources)
    entries = map(_entry, distinct_sources)
    return "\n\n".join(entries) + "\n"


def _sources(measure: ir_measures.Measure) -> Iterator[str]:
    """Yield the sources of a measure, of its bases and of the measures of which it is a mean."""
    if hasattr(measure, "SOURCES"):
        yield from measure.SOURCES
    else:
        # A user's own measure may have the name of one of ir-measures.
        is_of_ir_measures = type(registry.get(measure.NAME)) is type(measure)
        if is_of_ir_measures and measure.NAME in SOURCES_OF_IR_MEASURES:
            yield SOURCES_OF_IR_MEASURES[measure.NAME]
        if is_of_ir_measures:
            yield _IR_MEASURES
    if hasattr(measure, "bases"):
        for base in measure.bases.each():
            # Bases of ir-measures are wrapped.
            base_measure = getattr(base, "measure", base)
            yield from _sources(base_measure)
    for member, _ in getattr(measure, "members", ()):
        yield from _sources(member)


def _entry(source: str) -> str:
    """Return the BibTeX entry of a source, which is one already or the key of one."""
    is_entry = source.lstrip().startswith("@")
    if is_entry:
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
    words = _plain_text(without_resolver).split()
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
    text = _plain_text(" ".join(entries))
    for word in words:
        # Not preceded by a letter or digit.
        beginning = rf"(?<!\w){re.escape(word)}"
        if not re.search(beginning, text):
            return False
    return True


def _plain_text(text: str) -> str:
    """Return a text in lower case, without accents and the commands and braces of TeX."""
    without_tex = _TEX.sub("", text)
    # Accents become characters of their own, after their letter.
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
        # Such as @article{jarvelin2002,
        first_line = re.match(r"@\w+{(?P<key>.*),", entry)
        assert first_line is not None, entry
        entries[first_line["key"]] = entry
    return entries
