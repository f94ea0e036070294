"""The base class of results that are shown as text, in notebooks and as pages."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from .._writing import write_file
from .blocks import Block, Heading
from .markup import fragment, page
from .text import text_of


class View:
    """A result that prints as text and is shown as HTML in notebooks.

    It can be written as a self-contained page.

    Subclasses define `_title`, and `_content` or, if the title is no heading of it, `_blocks`; and
    `_page` if the page shows more than the blocks.
    """

    def _blocks(self) -> Sequence[Block]:
        """Return the blocks of the result: its title and its content."""
        return [Heading(self._title()), *self._content()]

    def _html_blocks(self) -> Sequence[Block]:
        """Return the blocks of HTML, which scrolls tables where text leaves columns out."""
        return self._blocks()

    def _content(self) -> Sequence[Block]:
        """Return the blocks after the title."""
        raise NotImplementedError

    def _title(self) -> str:
        """Return the title of the page."""
        raise NotImplementedError

    def _page(self) -> str:
        """Return the result as an HTML page."""
        return page(self._title(), self._repr_html_())

    def __str__(self) -> str:
        return text_of(self._blocks())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return fragment(self._html_blocks())

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page.

        Parameters
        ----------
        path : str or path, optional
            The file to write the page to.

        Returns
        -------
        str
            The page, in light or dark colours as the reader's browser prefers.
        """
        # File names that are not UTF-8 contain surrogates, which cannot be written.
        text = self._page().encode("utf-8", "replace").decode("utf-8")
        if path is not None:
            write_file(path, text)
        return text
