"""Tables and citations for papers."""

from .citations import cite
from .systems import SystemsTable, systems_table, to_latex, to_styler

__all__ = ["SystemsTable", "cite", "systems_table", "to_latex", "to_styler"]
