"""Orders of label tuples: by distance, by explicit weights, and those of published tracks."""

from .distance import DistanceOrder
from .explicit import Order
from .order import TupleOrder
from .registered import register_distance
from .tracks import correctness, trec_misinfo_2020, trec_misinfo_2021, trec_misinfo_2022, trec_misinfo_label

__all__ = [
    "DistanceOrder",
    "Order",
    "TupleOrder",
    "correctness",
    "register_distance",
    "trec_misinfo_2020",
    "trec_misinfo_2021",
    "trec_misinfo_2022",
    "trec_misinfo_label",
]
