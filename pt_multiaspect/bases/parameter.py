"""The parameter `base`: one measure, or one measure per aspect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..aspects import aspect_name
from ..errors import MultiAspectError, choices, did_you_mean, shown
from .base import Base, is_measure
from .delegated import as_base
from .standard import is_diversity_measure
from .strings import UnknownMeasureError, check_params, read_measure, similar_names


@dataclass(frozen=True)
class Bases:
    """One base for all aspects, or one base per aspect."""

    default: Base | None
    per_aspect: Mapping[str, Base] = field(default_factory=dict)

    def of(self, aspect: str) -> Base:
        """Return the base of an aspect."""
        if self.default is None:
            return self.per_aspect[aspect]
        return self.default

    def each(self) -> list[Base]:
        """Return the single base, or the bases of all aspects."""
        if self.default is None:
            return list(self.per_aspect.values())
        return [self.default]

    @property
    def one(self) -> Base:
        """The single base."""
        (base,) = self.each()
        return base

    def check_names(self, names: Sequence[str], measure: str) -> None:
        """Raise an error if an aspect has no base, or if a base is given for an unknown aspect."""
        if self.default is not None:
            return
        missing = [name for name in names if name not in self.per_aspect]
        surplus = sorted(set(self.per_aspect) - set(names))
        if not missing and not surplus:
            return
        message = (
            f"{measure}: expected one base for each evaluated aspect ({choices(names)}), got "
            f"bases for {choices(self.per_aspect)}"
        )
        if missing:
            message += f"; add a base for {choices(missing)}"
        if surplus:
            message += f"; there is no aspect {choices(surplus)}"
        raise MultiAspectError(message + did_you_mean(surplus, missing))

    def at(self, cutoff: int | None, measure: str) -> Bases:
        """Set the cutoff of `measure` on the bases that accept a cutoff and have none.

        Raises
        ------
        MultiAspectError
            If a base already has a different cutoff, or no base accepts one.
        """
        if cutoff is None:
            return self
        unequal = [base.text for base in self.each() if base.cutoff not in (None, cutoff)]
        if unequal:
            raise MultiAspectError(
                f"{measure}@{cutoff} has the cutoff {cutoff}, but its base is {choices(unequal)}; "
                "set one cutoff, on the measure or on the base"
            )
        if not any(base.accepts_cutoff for base in self.each()):
            texts = choices(base.text for base in self.each())
            raise MultiAspectError(
                f"{measure}@{cutoff} has a cutoff, but no base accepts one: {texts}"
            )

        def set_cutoff(base: Base) -> Base:
            if base.accepts_cutoff:
                return base.at(cutoff)
            return base

        return self._map(set_cutoff)

    def drop_cutoff(self) -> Bases:
        """Return the bases without cutoffs."""

        def remove_cutoff(base: Base) -> Base:
            if base.cutoff is None:
                return base
            return base.at(None)

        return self._map(remove_cutoff)

    def _map(self, change: Callable[[Base], Base]) -> Bases:
        """Return the bases after a change of each."""
        if self.default is not None:
            return Bases(change(self.default))
        return Bases(None, {name: change(base) for name, base in self.per_aspect.items()})

    def spelled(self) -> str | dict[str, str]:
        """Return the printed form of the parameter."""
        if self.default is not None:
            return self.default.text
        return {name: base.text for name, base in self.per_aspect.items()}

    def __hash__(self) -> int:
        return hash((self.default, tuple(self.per_aspect.items())))

    def __repr__(self) -> str:
        return repr(self.spelled())


def parse_base(base: object, *, by_subtopic: bool = False) -> Bases:
    """Read a base given as a measure or a string.

    Diversity measures are accepted only if the base is evaluated by subtopic.
    """
    if isinstance(base, Bases):
        return base
    return Bases(_parse(base, by_subtopic))


def parse_bases(base: object) -> Bases:
    """Read a base, or a dict of bases by aspect."""
    if isinstance(base, Mapping):
        if not base:
            raise MultiAspectError("expected at least one aspect in base, got an empty dict")
        named = sorted((aspect_name(name), measure) for name, measure in base.items())
        return Bases(None, {name: _parse(measure) for name, measure in named})
    return parse_base(base)


def _parse(base: object, by_subtopic: bool = False) -> Base:
    """Return a measure or its name as a base, or raise an error if it cannot be one."""
    if isinstance(base, str):
        try:
            base = read_measure(base)
        except UnknownMeasureError as error:
            raise MultiAspectError(
                f"unknown base {base!r}; {similar_names(error.name)}; expected a measure such as "
                "nDCG@10, AP(rel=2) or Compat(p=0.8)"
            ) from None
    if not getattr(base, "SINGLE_ASPECT", True):
        raise MultiAspectError(
            f"{base} cannot be a base: a base must be a single-aspect measure, and it is a "
            "multi-aspect measure"
        )
    if not is_measure(base):
        raise MultiAspectError(
            f"expected an ir-measures measure or its name as base, got {shown(base)}"
        )
    if is_diversity_measure(base) and not by_subtopic:
        raise MultiAspectError(
            f"{base} cannot be a base: it measures the diversity of subtopics, and one aspect "
            f"would be a single subtopic. Use Subtopics(base={str(base)!r}), with each aspect as a "
            "subtopic"
        )
    return as_base(check_params(base, "the base "))
