"""The text of HTML documents."""

from __future__ import annotations

import importlib.util
import warnings

from ..errors import MultiAspectError

#: Inline elements; all other elements start and end a line.
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn",
    "em", "font", "i", "ins", "kbd", "mark", "nobr", "q", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip


def check_installed() -> None:
    """Raise an error if Beautiful Soup is not installed."""
    if importlib.util.find_spec("bs4") is None:
        raise MultiAspectError(
            "html=True requires Beautiful Soup, which is not installed: pip install 'pt-multiaspect[readability]'"
        )


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
