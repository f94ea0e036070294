"""Axioms: properties of measures, and a search for counterexamples in small worlds."""

from ._check import PROPERTIES, check
from ._report import AxiomCheck, CounterExample, RankedWorld

__all__ = ["PROPERTIES", "AxiomCheck", "CounterExample", "RankedWorld", "check"]
