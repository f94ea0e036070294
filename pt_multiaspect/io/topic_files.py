"""Texts of topics in files: tab-separated lines, and the topics of TREC."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator

from ..errors import MultiAspectError, shown
from .file_contents import Text, as_text, load

#: Elements of a topic with its id and, in this order, with its text.
_IDS = ("num", "number", "id", "qid", "topic_id", "query_id")
_TEXTS = ("title", "query", "question", "text", "description", "desc")

_TOPIC = re.compile(
    r"<(top|topic|query|question)\b([^>]*)>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE
)
_ELEMENT = re.compile(r"<(\w+)[^>]*>([^<]*)")
_ATTRIBUTE = re.compile(r"\b(?:num|number|id|qid)\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_UNPARSED = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
#: The words before the content of elements in older topics.
_LABEL = re.compile(r"^(?:number|topic|description)\s*:\s*", re.IGNORECASE)


def read_topic_texts(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the text of each topic of a file, by query id.

    Parameters
    ----------
    path : str or path
        Lines with a query id, a tab or blank, and the text; or topics of TREC, ``<top>`` or
        ``<topic>``, whose title or query is the text, or else the description.

    Raises
    ------
    MultiAspectError
        If the file cannot be read, a topic lacks its id or its text, or a topic has two texts.
    """
    text = as_text(*load(path))
    if text.data.lstrip().startswith(b"<"):
        topics = _trec_topics(text)
    else:
        topics = _tab_separated(text)
    texts: dict[str, str] = {}
    for qid, content in topics:
        if texts.setdefault(qid, content) != content:
            raise MultiAspectError(
                f"{text.name}: expected one text of topic {qid}, got {shown(texts[qid])} and "
                f"{shown(content)}"
            )
    return texts


def _tab_separated(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each line; further columns are not read."""
    for line_number, line, _ in text.lines():
        fields = line.decode().strip().split("\t")
        if len(fields) == 1:
            fields = fields[0].split(maxsplit=1)
        if len(fields) == 1:
            raise MultiAspectError(
                f"{text.name}:{line_number}: expected a query id, a tab and the text of the topic, "
                f"got {shown(fields[0])}"
            )
        yield fields[0].strip(), " ".join(fields[1].split())


def _trec_topics(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each topic in markup, whose elements may lack their ends."""
    markup = _COMMENT.sub("", text.data.decode())
    markup = _UNPARSED.sub(lambda match: html.escape(match[1]), markup)
    topics = _TOPIC.findall(markup)
    if not topics:
        raise MultiAspectError(
            f"{text.name}: expected topics of TREC (<top> or <topic>), got none; or write a query "
            "id, a tab and the text per line"
        )
    for number, (_, attributes, content) in enumerate(topics, 1):
        elements: dict[str, str] = {}
        for name, raw in _ELEMENT.findall(content):
            elements.setdefault(name.lower(), _one_line(raw))
        ids = _ATTRIBUTE.findall(attributes)
        ids += [elements.get(name, "") for name in _IDS]
        texts = [elements.get(name, "") for name in _TEXTS]
        text_before_elements, _, _ = content.partition("<")
        texts.append(_one_line(text_before_elements))
        qid = _first_filled(ids)
        title = _first_filled(texts)
        if not qid:
            raise _missing_element(text.name, "an id, such as <num>", number)
        if not title:
            raise _missing_element(text.name, "a text, such as <title>", number)
        yield qid, title


def _first_filled(texts: list[str]) -> str:
    """Return the first text that is not empty, or an empty one."""
    for text in texts:
        if text:
            return text
    return ""


def _missing_element(name: str, element: str, topic_number: int) -> MultiAspectError:
    return MultiAspectError(
        f"{name}: expected {element} in each topic, got none in topic {topic_number}"
    )


def _one_line(raw: str) -> str:
    """Return the content of an element without its label, in one line."""
    words = html.unescape(raw).split()
    return _LABEL.sub("", " ".join(words))
