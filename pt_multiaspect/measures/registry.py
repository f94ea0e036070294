"""Registry of measure names for measure strings, ir-measures and PyTerrier."""

from __future__ import annotations

import keyword
from typing import TypeVar

import ir_measures

from ..bases.strings import read_measure, trec_names
from ..errors import MultiAspectError, choices, shown, warn_once
from .measure import Measure

M = TypeVar("M", bound=Measure)

#: Names with another meaning in measure strings, besides those of trec_eval.
RESERVED: set[str] = set()

#: The measures of this package, in the order in which they are listed to users.
_OWN: dict[str, Measure] = {}


def register(measure: type[M] | M) -> M:
    """Register a user-defined measure, so that measure strings can name it.

    The measure then works like those of this package: in `evaluate`, ``pt.Experiment``, ir-measures
    and scorers, as an object or by name, and as a base if it is a single-aspect measure.

    Parameters
    ----------
    measure : type of Measure, or Measure
        A class, whose measure with default parameters is registered, or that measure. Its name is
        that of the class without leading underscores, unless the class defines ``NAME``.

    Returns
    -------
    Measure
        The measure with default parameters.

    Raises
    ------
    MultiAspectError
        If the class is not complete, if the name is not an identifier or is taken by another
        measure, or if the printed form is not parsed as the same measure. A class of the same
        module and qualified name replaces the earlier one, for example if a notebook cell is run
        again: names then refer to the new class, and measures created before keep the old one.

    See Also
    --------
    pt_multiaspect.testing.check_measure : Check the declarations of a class.

    Examples
    --------
    Half-life utility (Breese et al. 1998), which halves gains every few ranks:

    >>> from dataclasses import dataclass
    >>> import pt_multiaspect as ma
    >>> @dataclass(frozen=True)
    ... class Halving:
    ...     half: float
    ...     def __call__(self, rank):
    ...         return 0.5 ** ((rank - 1) / self.half)
    >>> class _HalfLife(ma.LinearMeasure):
    ...     '''Half-life utility, over that of the ideal ranking.'''
    ...     SUPPORTED_PARAMS = {
    ...         "half": ma.Param(ma.params.real("half", low=0, open_low=True), 5, "ranks"),
    ...         "cutoff": ma.params.CUTOFF,
    ...     }
    ...     def linear(self, target):
    ...         discount = Halving(self["half"])
    ...         norm = target.best_sum(target.gain, discount, self.cutoff)
    ...         return ma.forms.Linear(target, target.gain, discount, norm=norm, depth=self.cutoff)
    >>> HalfLife = ma.register(_HalfLife)
    >>> qrels = {"q1": {"d1": {"relevance": 1}, "d2": {"relevance": 0}}}
    >>> run = {"q1": {"d2": 2.0, "d1": 1.0}}
    >>> round((HalfLife(half=1) @ 10).calc_aggregate(qrels, run), 4)
    0.5
    >>> ma.evaluate({"run": run}, qrels, "HalfLife(half=1)@10", progress=False)
      name qid             measure  value
    0  run  q1  HalfLife(half=1)@10    0.5
    """
    instance = _default(measure)
    name = instance.NAME
    _check_name(name)
    is_own = _is_own(instance)  # of this package
    if not is_own:
        _refuse_trec_name(name)
    earlier = ir_measures.measures.registry.get(name)  # the measure that has the name now
    earlier_path = _path_of_class(earlier)
    is_same_class = earlier_path == _path_of_class(instance)  # as of a cell that is run again
    if earlier is None or is_same_class:
        _enter(instance, earlier)
    elif is_own:
        # PyTerrier imports this package without a guard, so the import must not fail.
        warn_once(
            f"another package has registered the measure {name} with ir-measures and keeps it; "
            f"use the object pt_multiaspect.{name} rather than the name"
        )
    else:
        raise MultiAspectError(
            f"the name {name} is taken by {earlier_path}; give the class another name, or define "
            "NAME"
        )
    if is_own:
        _OWN[name] = instance
    return instance


def _path_of_class(instance: object) -> str:
    """Return the module and the qualified name of the class of an object."""
    kind = type(instance)
    return f"{kind.__module__}.{kind.__qualname__}"


def _enter(instance: Measure, earlier: object) -> None:
    """Make the name of a measure known, or raise an error if its printed form is misread.

    After an error, the name has its earlier meaning, or none.
    """
    known = ir_measures.measures.registry
    name = instance.NAME
    known[name] = instance  # printed forms are read by the names that are known
    try:
        _check_printed_form(instance)
    except MultiAspectError:
        if earlier is None:
            del known[name]
        else:
            known[name] = earlier
        raise


def _check_printed_form(instance: Measure) -> None:
    """Raise an error unless the printed form of a measure is read as the same measure."""
    read = read_measure(str(instance))
    if read != instance:
        raise MultiAspectError(
            f"{instance.NAME} prints as {instance}, which is read as another measure"
        )


def registered_measures() -> tuple[Measure, ...]:
    """Return the measures that this package itself has registered, in order."""
    return tuple(_OWN.values())


def _is_own(measure: Measure) -> bool:
    return type(measure).__module__.startswith(f"{__package__}.")


def _default(measure: type[M] | M) -> M:
    """Return the measure with default parameters, after checking that its class is complete."""
    if isinstance(measure, type):
        measure_class = measure
    else:
        measure_class = type(measure)
    if not issubclass(measure_class, Measure):
        raise MultiAspectError(
            "register: expected a subclass of pt_multiaspect.Measure, or an instance of one, got "
            f"{shown(measure)}"
        )
    _refuse_abstract(measure_class)
    _check_defaults(measure_class)
    if isinstance(measure, type):
        made: M = measure()
        return made
    if measure.params:
        raise MultiAspectError(
            f"register: expected a measure with default parameters, got {measure}; its name would "
            "denote these parameters and not the defaults. Register the class"
        )
    return measure


def _refuse_abstract(measure_class: type[Measure]) -> None:
    """Raise an error if a class lacks methods that it must define."""
    missing: list[str] = []
    for name in dir(measure_class):
        attribute = getattr(measure_class, name)
        if getattr(attribute, "__isabstractmethod__", False):
            missing.append(name)
    if missing:
        raise MultiAspectError(f"{measure_class.__name__} must define {choices(missing)}")


def _check_defaults(measure_class: type[Measure]) -> None:
    """Raise an error if the default of a parameter changes when it is parsed as a value."""
    for name, param in measure_class.SUPPORTED_PARAMS.items():
        default = param.default
        if default is None:
            continue
        parsed = param.parse(default)
        if parsed != default:
            raise MultiAspectError(
                f"{measure_class.NAME}: the default {default!r} of {name} is read as "
                f"{parsed!r}; give the latter as default"
            )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise MultiAspectError(f"name of a measure: expected letters, digits and _, got {name!r}")


def _refuse_trec_name(name: str) -> None:
    """Raise an error if trec_eval has a measure of this name, which strings would denote."""
    if name in RESERVED or _is_trec_name(name):
        raise MultiAspectError(
            f"in measure strings, {name} is a name of trec_eval; give the class another name, or "
            "define NAME"
        )


def _is_trec_name(name: str) -> bool:
    """Return whether a name is one of trec_eval, also one that ir-measures does not support yet."""
    try:
        trec_names(name)
    except ValueError as error:
        return "not yet supported" in str(error)
    return True
