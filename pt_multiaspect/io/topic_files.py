"""Texts of topics in files: tab-separated lines, and the topics of TREC."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator

from ..errors import MultiAspectError, shown
from .file_contents import Text, as_text, load

#: Elements of a topic with its id and, in this order, with its text.
_ID_ELEMENTS = ("num", "number", "id", "qid", "topic_id", "query_id")
_TEXT_ELEMENTS = ("title", "query", "question", "text", "description", "desc")

#: A topic, such as <topic number="1"><title>…</title></topic>.
_TOPIC = re.compile(
    r"""
    <(top|topic|query|question)\b
    (?P<attributes>[^>]*)>
    (?P<content>.*?)
    </\1\s*>
    """,
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)

#: An element in a topic, such as <title>…, up to the next one.
_ELEMENT = re.compile(r"<(?P<name>\w+)[^>]*>(?P<content>[^<]*)")

#: An attribute with the id of a topic, such as number="1".
_ID_ATTRIBUTE = re.compile(r"\b(?:num|number|id|qid)\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

#: Text without markup: <![CDATA[…]]>.
_UNPARSED = re.compile(r"<!\[CDATA\[(?P<text>.*?)\]\]>", re.DOTALL)

#: The words before the content of elements in older topics, such as "Number: 401".
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
    file = load(path)
    text = as_text(file.name, file.data)
    if text.data.lstrip().startswith(b"<"):
        topics = _trec_topics(text)
    else:
        topics = _tab_separated(text)
    texts: dict[str, str] = {}
    for qid, content in topics:
        first_content = texts.setdefault(qid, content)
        if content != first_content:
            first = shown(first_content)
            second = shown(content)
            raise MultiAspectError(
                f"{text.name}: expected one text of topic {qid}, got {first} and {second}"
            )
    return texts


def _tab_separated(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each line; further columns are not read."""
    for line in text.lines():
        content = line.content.decode().strip()
        fields = content.split("\t")
        if len(fields) == 1:
            fields = content.split(maxsplit=1)  # at the first blank
        if len(fields) == 1:
            got = shown(content)
            raise MultiAspectError(
                f"{text.name}:{line.number}: expected a query id, a tab and the text of the topic, "
                f"got {got}"
            )
        qid = fields[0].strip()
        words = fields[1].split()
        yield qid, " ".join(words)


def _trec_topics(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each topic in markup, whose elements may lack their ends."""
    markup = _COMMENT.sub("", text.data.decode())
    # The text of <![CDATA[…]]> is escaped, as < does not begin an element there.
    markup = _UNPARSED.sub(lambda unparsed: html.escape(unparsed["text"]), markup)
    topics = list(_TOPIC.finditer(markup))
    if not topics:
        raise MultiAspectError(
            f"{text.name}: expected topics of TREC (<top> or <topic>), got none; or write a query "
            "id, a tab and the text per line"
        )
    for number, topic in enumerate(topics, 1):
        elements = _first_elements(topic["content"])
        qid = _id_of_topic(topic["attributes"], elements)
        if not qid:
            raise _missing_element(text.name, "an id, such as <num>", number)
        topic_text = _text_of_topic(topic["content"], elements)
        if not topic_text:
            raise _missing_element(text.name, "a text, such as <title>", number)
        yield qid, topic_text


def _first_elements(topic: str) -> dict[str, str]:
    """Return the content of the first element of each name in a topic, by name in lower case."""
    elements: dict[str, str] = {}
    for element in _ELEMENT.finditer(topic):
        name = element["name"].lower()
        elements.setdefault(name, _one_line(element["content"]))
    return elements


def _id_of_topic(attributes: str, elements: dict[str, str]) -> str:
    """Return the id of a topic from an attribute, or else from an element; empty if it has none."""
    ids = _ID_ATTRIBUTE.findall(attributes)
    ids += [elements.get(name, "") for name in _ID_ELEMENTS]
    return _first_filled(ids)


def _text_of_topic(topic: str, elements: dict[str, str]) -> str:
    """Return the title or another text of a topic; empty if it has none."""
    texts = [elements.get(name, "") for name in _TEXT_ELEMENTS]
    # A topic without such elements may itself be the text: <query id="1">…</query>.
    text_before_elements, _, _ = topic.partition("<")
    texts.append(_one_line(text_before_elements))
    return _first_filled(texts)


def _first_filled(texts: list[str]) -> str:
    """Return the first text that is not empty, or an empty one."""
    for text in texts:
        if text:
            return text
    return ""


def _missing_element(name: str, element: str, topic_number: int) -> MultiAspectError:
    """Return the error for a topic of the file `name` without an element, its id or text."""
    return MultiAspectError(
        f"{name}: expected {element} in each topic, got none in topic {topic_number}"
    )


def _one_line(raw: str) -> str:
    """Return the content of an element without its label, in one line."""
    words = html.unescape(raw).split()
    content = " ".join(words)
    return _LABEL.sub("", content)
