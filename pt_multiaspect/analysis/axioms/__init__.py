"""What a measure promises: properties, searched for counter-examples in thousands of small worlds."""

from ._check import check
from ._properties import PROPERTIES
from ._report import AxiomCheck, CounterExample, RankedWorld

__all__ = ["PROPERTIES", "AxiomCheck", "CounterExample", "RankedWorld", "check"]
