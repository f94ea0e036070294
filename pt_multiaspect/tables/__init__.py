"""Tables and citations for papers."""

from .citations import cite
from .latex import to_latex
from .styler import to_styler

__all__ = ["cite", "to_latex", "to_styler"]
