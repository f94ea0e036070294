"""A Sphinx extension: after a build, every page is checked for what a reader would stumble over.

Pictures have a description, links within the documentation lead somewhere, "nDCG@10" is no mail
address, and no page needs a network. ``sphinx-build -W`` fails otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class Page(HTMLParser):
    """The anchors, links, pictures and files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        #: Addresses of pictures, with their descriptions.
        self.pictures: list[tuple[str, str]] = []
        #: Addresses of what the browser loads with the page.
        self.files: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "img":
            self.pictures.append((values.get("src", ""), values.get("alt", "")))
        if (
            tag == "link"
            and values.get("rel") in ("stylesheet", "preload", "icon")
            and "href" in values
        ):
            self.files.append(values["href"])
        if tag in ("img", "script", "iframe", "source", "video", "audio") and "src" in values:
            self.files.append(values["src"])

    handle_startendtag = handle_starttag


def complaints(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, with the page, in a folder of built pages."""
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in paths}
    for path, page in pages.items():
        name = path.relative_to(folder.resolve()).as_posix()
        for source, description in page.pictures:
            if (
                not description.strip()
                or PurePosixPath(description).name == PurePosixPath(source).name
            ):
                yield name, f"picture {source} has no description: give it alt="
        for address in page.files:
            if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
                yield name, f"{address} is loaded over a network"
        for address in dict.fromkeys([*page.links, *page.files]):
            parts = urlsplit(address)
            if parts.scheme == "mailto":
                yield (
                    name,
                    (
                        f"{unquote(unquote(parts.path))} has become a mail address: write it as "
                        "``code``"
                    ),
                )
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield name, f"link to {address}, which does not exist"
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                yield name, f"link to {address}, which has no such place"


def check_pages(app: Sphinx, failure: Exception | None) -> None:
    """Warn of what is wrong with the pages that were built."""
    from sphinx.util import logging  # tests read pages without Sphinx

    logger = logging.getLogger(__name__)
    if failure is None and app.builder.name == "html":
        for page, complaint in complaints(Path(app.outdir)):
            logger.warning("%s: %s", page, complaint, type="page_checks")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the checks."""
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
