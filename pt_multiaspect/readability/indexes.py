"""Readability indexes of texts."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from .._validation import choice
from ..errors import MultiAspectError
from .inputs import check_documents, check_texts, kind

Index: TypeAlias = Literal["fog", "smog", "flesch_kincaid"]

_CHUNK = 200  # documents per task: large enough for little overhead, small enough for a smooth progress bar


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+|(?<=\d)[.,](?=\d)[^\W_]+)*")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(
    # These abbreviations do not end a sentence; a look-behind requires alternatives of one length.
    r"""(?:(?<!\b(?:dr|mr|ms|vs|cf))(?<!\b(?:mrs|e\.g|i\.e|fig))(?<!\bprof)(?<!\bapprox)\.|[!?…])
        [.!?…]*["'”’»)\]]*(?=\s|$)""",
    re.IGNORECASE | re.VERBOSE,
)

_LIGATURES = str.maketrans("æœø", "eeo")
_SILENT = [
    re.compile(rule, re.VERBOSE)
    for rule in (
        # Vowel letters that are not spoken as vowels: yes, player; quiet, technique; league.
        r"(?:^|(?<=[aeiou]))y(?=[aeiou]) | (?<=q)u | (?<=g)u(?=es?$)",
        # The e of safely, careless, movement and someone, but not of settlement and element.
        r"(?<=[aeiouy][^aeiouyl])e(?=(?:ly|less|ness|ment|ful|ty)s?$) | (?<=^som)e(?=.)",
        # The last e of care, cares and cared; not of table, boxes and created.
        r"""(?<=[^aeiouy])(?<![^aeiouylr][lr])
            (?: e$ | (?<![sxzcg])(?<![sc]h)e(?=s$) | (?<![td])e(?=d$) )""",
    )
]
_VOWELS = re.compile(r"[aeiouy]+")
#: The positions at which a group of vowel letters is divided into two syllables.
_PARTED = re.compile(
    r"""(?<![cgstx])(?<!ll)i(?=[ao])(?!ag[-e]|on)       # media, period; not special, marriage
      | (?<![cghnstx])(?<!ll)i(?=on)                    # lion; not million, nation
      | (?<![cst])i(?=en(?!d)|ers?$|est$|u[ms])|i(?=et) # earlier, medium, quiet; not patient, friend
      | (?<!g)u(?=[ao])|u(?=en[ct])                     # actual, influence; not language
      | (?<![cgt])e(?=o(?!pl))                          # video; not people
      | e(?=as?$|ums?$)|(?<=cr)e(?=at[-eio])|(?<=^r)e(?=act)  # area, museum, create, reaction
      | (?<=[^aeiouy])y(?=[aeiou])|[aeouy](?=ing)       # hyaline, being
      | s(?=ms?$)                                       # autism
    """,
    re.VERBOSE,
)


def _syllables(word: str) -> int:
    """Estimate the number of syllables of an English word from its spelling, as described in `fog`."""
    spelt = unicodedata.normalize("NFKD", word.lower().translate(_LIGATURES))
    spelt = "".join(letter for letter in spelt if letter.isalpha())
    for silent in _SILENT:
        spelt = silent.sub("-", spelt)
    return max(1, len(_VOWELS.findall(spelt)) + len(_PARTED.findall(spelt)))


@lru_cache(maxsize=1 << 18)
def _is_hard(word: str) -> bool:
    return _syllables(word) > 2


def fog(text: str) -> float:
    """Compute the FOG index of an English text, an estimate of the years of schooling needed to read it.

    FOG is 0.4 · (words per sentence + percentage of hard words), as in §5.1 of Zuccon (2016). All words of more
    than two syllables are hard: Gunning's exceptions for names and inflected verbs are not part of that definition.

    Parameters
    ----------
    text : str
        Plain text. For HTML see `readability`.

    Returns
    -------
    float
        The index: at least 0.4, or 0 if the text has no words.

    Raises
    ------
    MultiAspectError
        If `text` is not a string.

    See Also
    --------
    readability : The indexes of documents.

    Notes
    -----
    Counting rules:

    - A *word* is a sequence of letters and digits. It may contain single apostrophes (``don't``), and numbers
      may contain points and commas (``1,000.5``). Hyphens and slashes separate words.
    - A *sentence* ends at one or more of ``.``, ``!``, ``?`` and ``…``, optionally followed by closing
      quotation marks or brackets, before white space or the end of the text. The abbreviations Dr., Mr.,
      Mrs., Ms., Prof., vs., cf., e.g., i.e., fig. and approx. do not end a sentence, nor do line breaks and
      headings. A segment without letters (such as the number of a list item) is not counted. A text without
      sentence ends is one sentence.
    - *Syllables* are groups of adjacent vowel letters. Silent letters are not counted (the e of *care* and
      *safely*, the u of *quiet*), and groups spoken as two syllables count twice (*are-a*, *medi-um*,
      *actu-al*, *be-ing*). Accents are ignored. Numbers and acronyms are not spelt out: they are hard only if
      they would be hard as words.

    On the 49 000 most frequent English words in the CMU Pronouncing Dictionary, the rule classifies 97 % as
    the dictionary does (99 % weighted by frequency; hyphenation by pyphen: 88 % and 98 %). The rule was
    developed on the same words.

    References
    ----------
    G. Zuccon. Understandability biased evaluation for information retrieval. ECIR 2016.

    Examples
    --------
    Nine words in two sentences, of which *medicine* and *remedy* are hard:

    >>> from pt_multiaspect.readability import fog
    >>> round(fog("This medicine helps. Ask Dr. Who for a remedy."), 4)
    10.6889
    >>> fog("")
    0.0
    """
    if not isinstance(text, str):
        raise MultiAspectError(f"text: expected a string, got a value {kind(text)}")
    words = _WORD.findall(text)
    if not words:
        return 0.0
    sentences = max(1, sum(_LETTER.search(piece) is not None for piece in _SENTENCE_END.split(text)))
    hard = sum(map(_is_hard, words))
    return 0.4 * (len(words) / sentences + 100 * hard / len(words))


def readability(
    docs: Any, index: Index = "fog", *, html: bool = False, n_jobs: int = 1, progress: bool = True
) -> pd.DataFrame:
    """Compute a readability index of each document.

    Parameters
    ----------
    docs : DataFrame
        Columns ``docno`` (or ``doc_id``) and ``text``, one row per document. Other columns are ignored.
    index : {'fog', 'smog', 'flesch_kincaid'}, default 'fog'
        Readability index; higher values mean harder texts. For FOG see `fog`. SMOG and the Flesch–Kincaid
        grade are computed by textstat (``pip install 'pt-multiaspect[readability]'``) for English, with
        textstat's own counting rules. SMOG is intended for texts of at least 30 sentences.
    html : bool, default False
        Whether the texts are HTML. Markup, scripts and styles are removed, and blocks are put on separate
        lines, which does not end a sentence. Requires the same extra as SMOG.
    n_jobs : int, default 1
        Number of parallel processes, as in joblib.
    progress : bool, default True
        Whether to show a progress bar.

    Returns
    -------
    DataFrame
        One row per document, in the order of `docs`. Column ``docno`` contains strings, the column named after
        `index` floats. The FOG of a text without words is 0.

    Raises
    ------
    MultiAspectError
        If a column is missing, a document occurs twice, a text is not a string, the index is unknown, or
        textstat, its dictionary or Beautiful Soup is required but not installed. Nothing is downloaded.

    See Also
    --------
    understandability : Conversion of readability to probabilities.
    with_readability : Add these probabilities to qrels.

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect.readability import readability
    >>> docs = pd.DataFrame({"docno": ["d1", "d2"], "text": ["<p>Rest a bit.</p>", "Hospital <i>care</i>!"]})
    >>> readability(docs, html=True, progress=False)
      docno   fog
    0    d1   1.2
    1    d2  20.8
    """
    choice("index", *INDEXES)(index)
    return index_table(check_documents(docs), index, html, n_jobs, progress)


def index_table(docs: pd.DataFrame, index: str, html: bool, n_jobs: int, progress: bool) -> pd.DataFrame:
    """Return the index of each document of `docs`, a frame returned by `check_documents`."""
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise MultiAspectError(f"n_jobs: expected an integer other than 0, got {n_jobs!r}")
    check_texts(docs)
    # Missing packages are reported here rather than in a worker process.
    INDEXES[index]()
    if html and importlib.util.find_spec("bs4") is None:
        raise MultiAspectError(
            "html=True requires Beautiful Soup, which is not installed: pip install 'pt-multiaspect[readability]'"
        )
    docnos, texts = docs["docno"].tolist(), docs["text"].tolist()
    tasks = (slice(start, start + _CHUNK) for start in range(0, len(docs), _CHUNK))
    jobs = (delayed(_scores)(docnos[task], texts[task], index, html) for task in tasks)
    scores: list[float] = []
    with tqdm(total=len(docs), desc=index, unit="doc", disable=not progress) as bar:
        for chunk in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            scores.extend(chunk)
            bar.update(len(chunk))
    return pd.DataFrame({"docno": docs["docno"].to_numpy(), index: np.array(scores, dtype=np.float64)})


def _scores(docnos: Sequence[str], texts: Sequence[str], index: str, html: bool) -> list[float]:
    """Return the index of the documents of one task."""
    score = INDEXES[index]()
    plain = map(text_of, docnos, texts) if html else texts
    return [float(score(text)) for text in plain]


def _textstat(index: str, function: str) -> Callable[[str], float]:
    """Return a function of textstat, or raise an error that says how to install it."""
    remedy = "pip install 'pt-multiaspect[readability]'"
    if importlib.util.find_spec("textstat") is None:
        raise MultiAspectError(f"index {index!r} requires textstat, which is not installed: {remedy}")
    # From version 0.7.9 on, textstat downloads its dictionary of syllables if it is not installed.
    if any(re.match(r"nltk\b", needed) for needed in importlib.metadata.requires("textstat") or ()):
        try:
            importlib.import_module("nltk").data.find("corpora/cmudict")
        except LookupError:
            raise MultiAspectError(
                f"index {index!r} requires a dictionary that textstat "
                f"{importlib.metadata.version('textstat')} would download. Install it with "
                f"`python -m nltk.downloader cmudict`, or install a version that contains it: {remedy}"
            ) from None
    # A separate instance: the user may have set another language for the shared one.
    textstat = type(importlib.import_module("textstat").textstat)()
    compute: Callable[[str], float] = getattr(textstat, function)
    return compute


#: Inline elements; all other elements start and end a line.
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn",
    "em", "font", "i", "ins", "kbd", "mark", "nobr", "q", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip


def text_of(docno: str, markup: str) -> str:
    """Return the text of an HTML document, without scripts and styles, with blocks on separate lines."""
    from bs4 import BeautifulSoup

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bs4 warns about texts that look like a file name or XML
            soup = BeautifulSoup(markup, "html.parser")
        for element in soup(["script", "style", "template"]):
            element.decompose()
        for element in soup.find_all(lambda tag: tag.name not in _INLINE):
            element.insert(0, "\n")
            element.append("\n")
        return soup.get_text()
    except Exception as error:  # bs4's own errors, those of the parser, RecursionError
        raise MultiAspectError(f"cannot parse the HTML of document {docno!r}: {error}") from error


#: Functions that return that of an index; they import optional packages when called.
INDEXES: dict[str, Callable[[], Callable[[str], float]]] = {
    "fog": lambda: fog,
    "smog": lambda: _textstat("smog", "smog_index"),
    "flesch_kincaid": lambda: _textstat("flesch_kincaid", "flesch_kincaid_grade"),
}
