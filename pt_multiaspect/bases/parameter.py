"""The parameter `base`: one measure, or one per aspect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..aspects.aspects import aspect_name
from ..errors import MultiAspectError, choices
from .adapters import as_base
from .base import Base
from .strings import UnknownMeasureError, check_params, nearest, read_measure

__all__ = ["Bases", "parse_base", "parse_bases"]


@dataclass(frozen=True)
class Bases:
    """One base for all aspects, or a base per aspect."""

    default: Base | None
    per_aspect: Mapping[str, Base] = field(default_factory=dict)

    def of(self, aspect: str) -> Base:
        """The base of an aspect."""
        return self.per_aspect[aspect] if self.default is None else self.default

    def each(self) -> list[Base]:
        """The one base, or those of the aspects."""
        return list(self.per_aspect.values()) if self.default is None else [self.default]

    @property
    def one(self) -> Base:
        """The only base."""
        (base,) = self.each()
        return base

    def check_names(self, names: Sequence[str], measure: str) -> None:
        """Refuse aspects that have no base, and bases that have no aspect."""
        if self.default is not None:
            return
        missing = [name for name in names if name not in self.per_aspect]
        surplus = sorted(set(self.per_aspect) - set(names))
        if missing or surplus:
            raise MultiAspectError(
                f"{measure} has bases for {choices(self.per_aspect)}, but the aspects evaluated are "
                f"{choices(names)}"
                + (f"; there is none for the aspect {choices(missing)}" if missing else "")
                + (f"; there is no aspect {choices(surplus)}" if surplus else "")
            )

    def at(self, cutoff: int | None, measure: str) -> Bases:
        """Give the cutoff of `measure` to the bases that take one and have none.

        Raises
        ------
        MultiAspectError
            If a base has another cutoff already, or none takes one.
        """
        if cutoff is None:
            return self
        unequal = [base.text for base in self.each() if base.cutoff not in (None, cutoff)]
        if unequal:
            raise MultiAspectError(
                f"{measure}@{cutoff} has the cutoff {cutoff} but its base is {choices(unequal)}; give one cutoff, "
                "inside or outside"
            )
        if not any(base.accepts_cutoff for base in self.each()):
            raise MultiAspectError(
                f"{measure}@{cutoff} has a cutoff but no base takes one: "
                f"{choices(base.text for base in self.each())}"
            )
        return self._map(lambda base: base.at(cutoff) if base.accepts_cutoff else base)

    def without_cutoff(self) -> Bases:
        """The same bases with no cutoff."""
        return self._map(lambda base: base.at(None) if base.cutoff is not None else base)

    def _map(self, change: Callable[[Base], Base]) -> Bases:
        return Bases(
            None if self.default is None else change(self.default),
            {name: change(base) for name, base in self.per_aspect.items()},
        )

    def spelled(self) -> str | dict[str, str]:
        """How the parameter prints."""
        if self.default is not None:
            return self.default.text
        return {name: base.text for name, base in self.per_aspect.items()}

    @property
    def unnamed(self) -> tuple[type, ...]:
        """The classes of bases whose printed names are not, or not only, theirs."""
        return tuple(base.measure_class for base in self.each() if not base.is_named)

    def __hash__(self) -> int:
        return hash((self.default, tuple(self.per_aspect.items())))

    def __repr__(self) -> str:
        return repr(self.spelled())


def parse_base(base: object) -> Bases:
    """Read a base given as a measure or as the name of one."""
    return base if isinstance(base, Bases) else Bases(_parse(base))


def parse_bases(base: object) -> Bases:
    """Read a base, or a dict of them per aspect."""
    if isinstance(base, Mapping):
        if not base:
            raise MultiAspectError("base as a dict needs a base per aspect")
        named = sorted((aspect_name(name), each) for name, each in base.items())
        return Bases(None, {name: _parse(each) for name, each in named})
    return parse_base(base)


def _parse(base: object) -> Base:
    if isinstance(base, str):
        try:
            base = read_measure(base)
        except UnknownMeasureError as error:
            raise MultiAspectError(
                f"unknown base {base!r}; the nearest names are {nearest(error.name)}; a base is a measure such as "
                "nDCG@10, AP(rel=2) or Compat(p=0.8)"
            ) from None
    # Measures over several aspects, and those that are defined by their aggregate, say so themselves.
    reason = getattr(base, "NOT_A_BASE", None)
    if reason is not None:
        raise MultiAspectError(f"{base} cannot be a base: {reason}")
    if not hasattr(base, "SUPPORTED_PARAMS"):
        raise MultiAspectError(f"a base is an ir-measures measure or the name of one, not {base!r}")
    check_params(base, "the base ")
    return as_base(base)
