"""Figures as files."""

from __future__ import annotations

import io
from collections.abc import Callable

from .style import import_pyplot

#: The formats of files, and the metadata without which they would contain the time.
FORMATS: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "png": {}, "svg": {"Date": None}}


def figure_bytes(draw: Callable[[], object], format: str) -> bytes:
    """Return a figure as a file that is the same each time, and whose text can be searched and edited.

    Parameters
    ----------
    draw : callable
        Draws on a new figure, which is closed.
    format : {'pdf', 'png', 'svg'}
        The format of the file.
    """
    pyplot = import_pyplot()
    pyplot.switch_backend("agg")  # without a window
    content = io.BytesIO()
    # TrueType instead of Type 3, which publishers refuse.
    with pyplot.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "pt-multiaspect"}):
        draw()
        pyplot.savefig(content, format=format, dpi=300, metadata=FORMATS[format])
        pyplot.close()
    return content.getvalue()
