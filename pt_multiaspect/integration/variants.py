"""Variants of a measure: the combinations of options of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import ir_measures

from ..aspects import Aspects
from ..errors import MultiAspectError, agree, choices, refuse_none, refuse_unknown, shown, warn_once
from ..measures import CAM, MM, TOMA, AspectMean
from ..measures.terms import BasedMeasure
from .parsing import MeasureLike, parse_one
from .provider import supports

#: The cutoffs of the variants of a measure.
CUTOFFS = (5, 10, 20)

#: The precondition that is a choice where there is such an aspect.
_PRECONDITION = "relevance"

#: Options that are conventions for degenerate topics or units, rather than choices of what is
#: measured.
_CONVENTIONS = ("empty", "normalized")


def variants(measure: MeasureLike, **options: Any) -> dict[str, ir_measures.Measure]:
    """Return a measure with all combinations of options of its parameters.

    Parameters
    ----------
    measure : measure or str
        The measure, such as ``ma.TOMA``; parameters that are not varied are kept.
    **options
        By parameter, a list of options or a single one; for `aspects`, `order` and `weights` also a
        mapping of names to options, such as ``aspects={"strict": …, "lenient": …}``. Sets of
        aspects in such a mapping are declared under these names, which strings of measures contain;
        in a list, they must have names.

    Returns
    -------
    dict of str to measure
        Measures by label, accepted wherever measures or a `suite` are; ``list(….values())`` for
        ``pt.Experiment``. Labels contain the parameters with several options only, in the order of
        the arguments; a single variant is its own label. The last parameter varies fastest.

    Raises
    ------
    MultiAspectError
        If the measure lacks a parameter, a list is empty or repeats an option, options have no
        name, or no combination is possible.

    Warns
    -----
    MultiAspectWarning
        If combinations are impossible and left out, with their number and the first reason.

    Notes
    -----
    Stability: provisional. It accompanies `analysis.multiverse`, which may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> measures = ma.variants(ma.TOMA, distance=["euclidean", "chebyshev"], cutoff=[5, 10])
    >>> list(measures)[:2]
    ['distance=euclidean cutoff=5', 'distance=euclidean cutoff=10']
    >>> measures["distance=chebyshev cutoff=10"]
    TOMA(distance='chebyshev')@10
    """
    base = parse_one(measure)
    refuse_unknown(options, base.SUPPORTED_PARAMS, f"parameters of {base.NAME}")
    named = {parameter: _named_options(parameter, given) for parameter, given in options.items()}
    varied = [parameter for parameter, by_name in named.items() if len(by_name) > 1]
    result: dict[str, ir_measures.Measure] = {}
    impossible: list[str] = []
    for combination in product(*(by_name.items() for by_name in named.values())):
        chosen = dict(zip(named, combination, strict=True))
        label = " ".join(f"{parameter}={chosen[parameter][0]}" for parameter in varied)
        try:
            variant = _with_params(base, {name: option for name, (_, option) in chosen.items()})
            result[label or str(variant)] = variant
        except (MultiAspectError, ValueError) as error:
            impossible.append(str(error))
    if not result:
        raise MultiAspectError(
            f"expected at least one possible combination, got none: {impossible[0]}"
        )
    if impossible:
        n_all = len(result) + len(impossible)
        were = agree(len(impossible), n_all, "is impossible and was", "are impossible and were")
        warn_once(
            f"variants of {base.NAME}: {len(impossible)} of {n_all} combinations {were} left out, "
            f"the first because {impossible[0]}"
        )
    return result


def _with_params(base: ir_measures.Measure, chosen: Mapping[str, Any]) -> ir_measures.Measure:
    """Return a measure with other parameters; to ir-measures, None is a parameter that is not given."""
    if supports(base):
        return base(**chosen)
    given = {
        name: option for name, option in {**base.params, **chosen}.items() if option is not None
    }
    return parse_one(type(base)(**given))


def one_choice_variants(
    measure: ir_measures.Measure, aspects: Sequence[str]
) -> dict[str, ir_measures.Measure]:
    """Return the measures that differ from a measure in one choice.

    Parameters
    ----------
    measure : Measure
        The reported measure.
    aspects : sequence of str
        The aspects that it evaluates.

    Returns
    -------
    dict of str to Measure
        By label, which begins with the class: other cutoffs, options of parameters that have
        finitely many, the precondition relevance where there is such an aspect, and of means over
        aspects, other means and TOMA with that precondition. Impossible combinations are left out.
    """
    gate = _PRECONDITION if _PRECONDITION in aspects and len(aspects) > 1 else None
    changes: dict[str, tuple[ir_measures.Measure, dict[str, Any]]] = {}
    for name, param in measure.SUPPORTED_PARAMS.items():
        for option in _options(name, param, gate):
            changes[f"{measure.NAME} {name}={option_name(option)}"] = (measure, {name: option})
    if isinstance(measure, AspectMean):
        if gate is None:
            required = {}
        else:
            required = {"gate": gate}
        changes |= {
            "CAM": (CAM, {}),
            "MM": (MM, {}),
            f"TOMA gate={gate}" if gate else "TOMA": (TOMA, required),
        }
    result: dict[str, ir_measures.Measure] = {}
    for label, (kind, changed) in changes.items():
        try:
            variant = kind(**_shared_params(measure, kind, changed))
        except (MultiAspectError, ValueError):
            continue
        if variant != measure and variant not in result.values():
            result[label] = variant
    return result


def _options(name: str, param: Any, gate: str | None) -> Sequence[Any]:
    """Return the options of a parameter that are choices."""
    if name == "cutoff":
        return CUTOFFS
    if name == "gate":
        if gate is None:
            return ()
        return (None, gate)
    if isinstance(param.choices, list) and name not in _CONVENTIONS:
        return param.choices
    return ()


def _shared_params(
    measure: ir_measures.Measure, kind: Any, changed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a variant: those of the measure that its class has, and the changed ones."""
    params = {
        name: measure.params[name] for name in measure.params.keys() & kind.SUPPORTED_PARAMS.keys()
    }
    if isinstance(measure, BasedMeasure) and "cutoff" in changed:
        params["base"] = measure.bases.drop_cutoff()  # CAM(base=nDCG@10) is CAM@10
    return {**params, **changed}


def option_name(option: object) -> str:
    """Return the name of an option of a parameter, as labels and tables show it."""
    if isinstance(option, bool):
        return str(option).lower()
    if (
        option is None or type(option) is object
    ):  # the mark of ir-measures for a parameter that is not given
        return "none"
    if isinstance(option, int | float):
        return f"{option:g}"
    if isinstance(option, Aspects):
        return option.name or str(option)
    return str(option).strip("'")  # a base is printed with quotes


def _named_options(parameter: str, given: Any) -> dict[str, Any]:
    """Return the options of a parameter by name."""
    if isinstance(given, Mapping) and not isinstance(given, Aspects) and _are_options(given):
        refuse_none(given, "option", parameter)
        if parameter != "aspects":
            return {str(name): option for name, option in given.items()}
        return {str(name): Aspects(spec, name=str(name)) for name, spec in given.items()}
    if not isinstance(given, list | tuple):
        return {option_name(given): given}
    refuse_none(given, "option", parameter)
    for option in given:
        if _is_compound(option) and getattr(option, "name", None) is None:
            raise MultiAspectError(
                f"{parameter}: expected options with names, got {shown(option)}; pass a mapping "
                f"{{name: option}}"
            )
    names = [option_name(option) for option in given]
    if len(set(names)) < len(names):
        raise MultiAspectError(f"{parameter}: expected each option once, got {choices(names)}")
    return dict(zip(names, given, strict=True))


def _are_options(given: Mapping[Any, Any]) -> bool:
    """Return whether a mapping contains options by name, and is not itself the value of a parameter."""
    return all(value is None or _is_compound(value) for value in given.values())


def _is_compound(option: object) -> bool:
    """Return whether an option is a mapping or an order of classes, whose text is not fit for labels."""
    return isinstance(option, Mapping) or hasattr(option, "n_classes")
