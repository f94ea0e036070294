"""Orders of label tuples: their base class, and those of published tracks."""

from .order import TupleOrder
from .tracks import correctness, trec_misinfo_2020, trec_misinfo_2021, trec_misinfo_2022, trec_misinfo_label

__all__ = [
    "TupleOrder",
    "correctness",
    "trec_misinfo_2020",
    "trec_misinfo_2021",
    "trec_misinfo_2022",
    "trec_misinfo_label",
]
