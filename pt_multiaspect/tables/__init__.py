"""Tables and citations for papers."""

from .citations import cite
from .systems import SystemsTable, systems_table

__all__ = ["SystemsTable", "cite", "systems_table"]
