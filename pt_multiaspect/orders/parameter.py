"""Parsing and printing of the measure parameters `distance=` and `order=`."""

from __future__ import annotations

from ..errors import MultiAspectError, choices, shown
from .explicit import Order
from .registered import check_distance, is_distance

__all__ = ["parse_distance", "parse_order", "spell_order"]


def parse_distance(distance: object) -> str | float:
    """Parse a distance: a name, or the exponent of a Minkowski distance."""
    if hasattr(distance, "parameters"):  # an order
        raise MultiAspectError(f"distance: expected a distance, got {distance!r}; pass it as order=")
    if isinstance(distance, str) and (distance in Order.registry or distance.lstrip().startswith("{")):
        raise MultiAspectError(f"distance: expected a distance, got the order {distance!r}; pass it as order=")
    if callable(distance):
        raise MultiAspectError(
            "distance: expected a name or a number, got a function; register it with register_distance(name), or "
            "convert it to an order: order=Order.from_distance(aspects, function)"
        )
    return check_distance(distance)


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
    elif hasattr(order, "parameters"):
        remedy = "; pass its distance, axes, weights and gate to TOMA instead"
    raise MultiAspectError(
        f"order: expected an Order or the name of an Order ({choices(Order.registry)}), got {shown(order)}{remedy}"
    )


def spell_order(order: Order | None) -> str | None:
    """Return the text of an order in the string form of a measure."""
    return None if order is None else order.spelled()
