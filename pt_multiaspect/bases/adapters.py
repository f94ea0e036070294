"""Measures of ir-measures as bases. Only this module looks at the class of a measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ir_measures import Measure

from .base import Base

if TYPE_CHECKING:
    from typing_extensions import Self

#: By class, as different measures can have the same name.
ADAPTERS: dict[Any, type[Adapter]] = {}

A = TypeVar("A", bound="type[Adapter]")


class Adapter(Base):
    """A measure of ir-measures that is computed by this package.

    It is a base of other measures. `pt_multiaspect.evaluate` also uses it for the measure itself,
    but only if `EQUALS_ORIGINAL`, or `equals_original` where that depends on parameters, states
    that the values are the same.
    """

    #: Whether ir-measures returns the same values, including ties, on labels whose threshold is 1.
    EQUALS_ORIGINAL: ClassVar[bool] = False
    #: What the measure computes, in one sentence; '' for that of ir-measures.
    SHORT_DESC: ClassVar[str] = ""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        measure_class = type(measure)
        self.NAME = measure.NAME  # type: ignore[misc]
        self.params = measure.params
        self.SUPPORTED_PARAMS = measure.SUPPORTED_PARAMS  # type: ignore[misc]
        self._text = spell_measure(measure)
        # Adapters are compared and hashed by it.
        self._key = (type(self), measure_class, self._text)

    @property
    def text(self) -> str:
        """The printed form, with all explicit parameters."""
        return self._text

    def at(self, cutoff: int | None) -> Self:
        """Return the measure with another cutoff, or without one."""
        params = {name: value for name, value in self.params.items() if name != "cutoff"}
        if cutoff is not None:
            params["cutoff"] = cutoff
        measure_class = type(self.measure)
        measure = measure_class(**params)
        return type(self)(measure)

    def __getitem__(self, name: str) -> Any:
        return self.measure[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Adapter) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.measure,)

    @property
    def equals_original(self) -> bool:
        """Return whether ir-measures returns the same values with these parameters."""
        return self.EQUALS_ORIGINAL


def adapts(measure: Measure) -> Callable[[A], A]:
    """Register the decorated class as the adapter of measures with the class of `measure`."""

    def register(adapter: A) -> A:
        ADAPTERS[type(measure)] = adapter
        return adapter

    return register


def adapter_of(measure: Measure) -> Adapter | None:
    """Return the adapter of a measure of ir-measures, or None if none supports the measure."""
    adapter = ADAPTERS.get(type(measure))
    if adapter is None:
        return None
    # This parameter removes unjudged documents from the ranking. Adapters keep them.
    if measure.params.get("judged_only"):
        return None
    # With 0 or less, documents with the label 0 are relevant. Adapters count only positive gains.
    lowest_relevant_label = measure.params.get("rel")
    if lowest_relevant_label is not None and lowest_relevant_label < 1:
        return None
    return adapter(measure)


def adapted_names() -> list[str]:
    """Return the names of the ir-measures measures that this package computes."""
    names = [str(measure_class.NAME) for measure_class in ADAPTERS]
    return sorted(names, key=str.lower)


def spell_measure(measure: Measure) -> str:
    """Print an ir-measures measure so that parsing it restores all explicit parameters.

    ir-measures omits an explicit ``rel`` that equals its default. Here it must be kept, as it
    overrides the threshold of the aspect.
    """
    kept: list[str] = []
    for name, value in sorted(measure.params.items()):
        is_default = value == measure.SUPPORTED_PARAMS[name].default
        if name != measure.AT_PARAM and (name == "rel" or not is_default):
            kept.append(f"{name}={value!r}")
    text = str(measure.NAME)
    if kept:
        inner = ",".join(kept)
        text = f"{text}({inner})"
    cutoff = measure.params.get(measure.AT_PARAM)
    if cutoff is not None:
        text = f"{text}@{cutoff}"
    return text
