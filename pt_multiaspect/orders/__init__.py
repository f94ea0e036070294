"""Orders of label tuples: their base class, and those of published tracks."""

from .tracks import (
    correctness,
    trec_misinfo_2020,
    trec_misinfo_2021,
    trec_misinfo_2022,
    trec_misinfo_label,
)
from .tuple_order import TupleOrder

__all__ = [
    "TupleOrder",
    "correctness",
    "trec_misinfo_2020",
    "trec_misinfo_2021",
    "trec_misinfo_2022",
    "trec_misinfo_label",
]
