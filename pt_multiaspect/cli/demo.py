"""The command ``demo``."""

from __future__ import annotations

from .verb import verb


@verb("Example:\n  pt-multiaspect demo")
def demo() -> None:
    """Evaluate and tune three rankers on the package's collection."""
    from ..demo import run_demo

    run_demo()
