"""Parsing and printing of the measure parameter `order=`."""

from __future__ import annotations

from ..errors import MultiAspectError, choices, shown
from .distance import DistanceOrder
from .explicit import Order
from .registered import is_distance


def parse_order(order: object) -> Order | None:
    """Parse an order: an `Order`, its name or its JSON. None is returned unchanged."""
    if order is None or isinstance(order, Order):
        return order
    remedy = ""
    if isinstance(order, str):
        if order.lstrip().startswith("{"):
            return Order.from_json(order)
        registered = Order.registry.get(order)
        if registered is not None:
            return registered
        remedy = "; pass a distance as distance=" if is_distance(order) else ""
    elif isinstance(order, DistanceOrder):
        remedy = "; pass its distance, axes, weights and gate to TOMA instead"
    raise MultiAspectError(
        f"order: expected an Order or the name of an Order ({choices(Order.registry)}), got {shown(order)}{remedy}"
    )


def spell_order(order: Order | None) -> str | None:
    """Return the text of an order in the string form of a measure."""
    return None if order is None else order.spelled()
