"""A Sphinx extension: measures that tables and lists name are links to their pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from generated_pages import measure_pages
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES = measure_pages()
#: In text, these are words.
WORDS = {"On", "Satisfaction", "Frustration", "Subtopics"}
#: The beginning of code that is a measure, as in ``ma.CAM(normalized=True) @ 10``.
CODE = re.compile(rf"(?:ma\.)?({'|'.join(PAGES)})(?![\w.])")
NAME = re.compile(rf"(?<![\w.$-])({'|'.join(sorted(PAGES.keys() - WORDS))})(?!\.?[\w=♯-])")
PLACES = (nodes.entry, nodes.list_item)
#: What has no links of its own, or is one.
CLOSED = (
    nodes.reference,
    addnodes.pending_xref,
    nodes.title,
    nodes.literal_block,
    nodes.raw,
    nodes.math,
    nodes.target,
)


def link(name: str, content: nodes.Node, page: str) -> addnodes.pending_xref:
    """Return a reference to the entry of a measure."""
    target = {
        "refdomain": "py",
        "reftype": "obj",
        "reftarget": f"pt_multiaspect.{name}",
        "refdoc": page,
    }
    return addnodes.pending_xref("", content, refexplicit=True, refwarn=True, **target)


def enclosing_elements(node: nodes.Node, place: nodes.Element) -> list[nodes.Node]:
    """Return the elements of a place that a node is in."""
    elements = []
    while (node := node.parent) is not place:
        elements.append(node)
    return elements


def link_measures(app: Sphinx, doctree: nodes.document) -> None:
    """Link the first mention of each measure in each cell and in each item, but not on the measure's own page."""
    page = app.env.current_document.docname
    for place in list(doctree.findall(lambda node: isinstance(node, PLACES))):
        named = {name for name in PAGES if PAGES[name] == page}
        for text in list(place.findall(nodes.Text)):
            # A list within an item, and a table within a cell, are places of their own.
            if any(
                isinstance(element, (*CLOSED, *PLACES))
                for element in enclosing_elements(text, place)
            ):
                continue
            code = isinstance(text.parent, nodes.literal)
            pieces, start = [], 0
            for match in [CODE.match(text)] if code else NAME.finditer(text):
                if match and match[1] not in named:
                    named.add(match[1])
                    pieces += [
                        nodes.Text(text[start : match.start()]),
                        link(match[1], nodes.Text(match[1]), page),
                    ]
                    start = match.end()
            if pieces and code:
                text.parent.replace_self(link(pieces[1].astext(), text.parent.deepcopy(), page))
            elif pieces:
                text.parent.replace(
                    text, [piece for piece in [*pieces, nodes.Text(text[start:])] if piece.astext()]
                )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the search for names of measures."""
    app.connect("doctree-read", link_measures)
    return {"parallel_read_safe": True}
