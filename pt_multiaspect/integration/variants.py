"""Variants of a measure: the combinations of options of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

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
    # For each parameter, its options by name: {"cutoff": {"5": 5, "10": 10}}.
    options_by_parameter: dict[str, dict[str, Any]] = {}
    for parameter, given in options.items():
        options_by_parameter[parameter] = _named_options(parameter, given)

    measures: dict[str, ir_measures.Measure] = {}
    errors: list[str] = []  # of impossible combinations
    # A combination is the name of one option for each parameter, such as ("5",).
    for combination in product(*options_by_parameter.values()):
        params: dict[str, Any] = {}
        label_parts: list[str] = []
        for parameter, name in zip(options_by_parameter, combination, strict=True):
            option_by_name = options_by_parameter[parameter]
            params[parameter] = option_by_name[name]
            if len(option_by_name) > 1:
                label_parts.append(f"{parameter}={name}")
        try:
            variant = _with_params(base, params)
        except (MultiAspectError, ValueError) as error:
            errors.append(str(error))
            continue
        label = " ".join(label_parts) or str(variant)
        measures[label] = variant

    if not measures:
        raise MultiAspectError(f"expected at least one possible combination, got none: {errors[0]}")
    if errors:
        _warn_of_impossible(base.NAME, errors, len(measures))
    return measures


def _warn_of_impossible(name: str, errors: Sequence[str], n_possible: int) -> None:
    """Warn of combinations of options that a measure does not accept.

    Parameters
    ----------
    name : str
        The measure.
    errors : sequence of str
        The error of each impossible combination.
    n_possible : int
        The number of the other combinations.
    """
    n_impossible = len(errors)
    n_all = n_possible + n_impossible
    were = agree(n_impossible, n_all, "is impossible and was", "are impossible and were")
    warn_once(
        f"variants of {name}: {n_impossible} of {n_all} combinations {were} left out, "
        f"the first because {errors[0]}"
    )


def _with_params(base: ir_measures.Measure, changed: Mapping[str, Any]) -> ir_measures.Measure:
    """Return a measure with some parameters changed."""
    if supports(base):
        return base(**changed)
    # Measures of ir-measures replace all parameters, and take no None for one that is not given.
    params = {**base.params, **changed}
    given = {name: option for name, option in params.items() if option is not None}
    measure_class = type(base)
    return parse_one(measure_class(**given))


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
    variants_by_label: dict[str, ir_measures.Measure] = {}
    for label, change in _changes(measure, aspects).items():
        params = _params_after(measure, change)
        try:
            variant = change.measure(**params)
        except (MultiAspectError, ValueError):
            continue
        if variant != measure and variant not in variants_by_label.values():
            variants_by_label[label] = variant
    return variants_by_label


class _Change(NamedTuple):
    """The measure that replaces another one, or the same one, and the parameters that change."""

    measure: Any
    params: dict[str, Any]


def _changes(measure: ir_measures.Measure, aspects: Sequence[str]) -> dict[str, _Change]:
    """Return the single changes of a measure, by the label of the variant."""
    gate = None
    has_other_aspects = len(aspects) > 1
    if has_other_aspects and _PRECONDITION in aspects:
        gate = _PRECONDITION  # the aspect without which the others do not count
    changes = {}
    for name, param in measure.SUPPORTED_PARAMS.items():
        for option in _options(name, param, gate):
            label = f"{measure.NAME} {name}={option_name(option)}"
            changes[label] = _Change(measure, {name: option})
    if isinstance(measure, AspectMean):
        changes["CAM"] = _Change(CAM, {})
        changes["MM"] = _Change(MM, {})
        if gate is None:
            changes["TOMA"] = _Change(TOMA, {})
        else:
            changes[f"TOMA gate={gate}"] = _Change(TOMA, {"gate": gate})
    return changes


def _options(name: str, param: Any, gate: str | None) -> Sequence[Any]:
    """Return the options of a parameter that are choices of what is measured.

    Parameters
    ----------
    name : str
        The name of the parameter.
    param : ParamInfo
        Its definition in ir-measures.
    gate : str or None
        The aspect that can be a precondition, if there is one.
    """
    if name == "cutoff":
        return CUTOFFS
    if name == "gate":
        if gate is None:
            return ()
        return (None, gate)
    listed = param.choices
    if isinstance(listed, list) and name not in _CONVENTIONS:
        return listed
    return ()


def _params_after(measure: ir_measures.Measure, change: _Change) -> dict[str, Any]:
    """Return the parameters of a variant: the changed ones, and those kept that its class has."""
    params = {}
    for name, option in measure.params.items():
        if name in change.measure.SUPPORTED_PARAMS:
            params[name] = option
    if isinstance(measure, BasedMeasure) and "cutoff" in change.params:
        # CAM(base=nDCG@10) is CAM@10, so that the cutoff of the base would be a second one.
        params["base"] = measure.bases.drop_cutoff()
    return {**params, **change.params}


def option_name(option: object) -> str:
    """Return the name of an option of a parameter, as labels and tables show it."""
    if isinstance(option, bool):
        return str(option).lower()
    # ir-measures marks a parameter that is not given by a plain object.
    if option is None or type(option) is object:
        return "none"
    if isinstance(option, int | float):
        return f"{option:g}"
    if isinstance(option, Aspects):
        return option.name or str(option)
    # A base is printed with quotes.
    return str(option).strip("'")


def _named_options(parameter: str, given: Any) -> dict[str, Any]:
    """Return the options of a parameter by name.

    They are given by name in a mapping, as a list, or as a single option.
    """
    if isinstance(given, Mapping) and _are_options(given):
        return _options_of_mapping(parameter, given)
    if isinstance(given, list | tuple):
        return _options_of_list(parameter, given)
    return {option_name(given): given}


def _are_options(given: Mapping[Any, Any]) -> bool:
    """Return whether a mapping contains options by name, rather than being an option itself.

    Scales of aspects and weights of aspects are mappings that are a single option.
    """
    if isinstance(given, Aspects):
        return False
    # The values of a single option are numbers or names. None is an error that is raised later.
    present = [value for value in given.values() if value is not None]
    return all(map(_is_compound, present))


def _options_of_mapping(parameter: str, given: Mapping[Any, Any]) -> dict[str, Any]:
    """Return options that have names; scales of aspects are declared under these names."""
    refuse_none(given, "option", parameter)
    options: dict[str, Any] = {}
    for key, option in given.items():
        name = str(key)
        if parameter == "aspects":
            options[name] = Aspects(option, name=name)
        else:
            options[name] = option
    return options


def _options_of_list(parameter: str, given: Sequence[Any]) -> dict[str, Any]:
    """Return options by their own name, or else by their text, which must be fit for a label."""
    refuse_none(given, "option", parameter)
    for option in given:
        has_name = getattr(option, "name", None) is not None
        if _is_compound(option) and not has_name:
            raise MultiAspectError(
                f"{parameter}: expected options with names, got {shown(option)}; pass a mapping "
                f"{{name: option}}"
            )
    names = [option_name(option) for option in given]
    has_repeated_names = len(set(names)) < len(names)
    if has_repeated_names:
        raise MultiAspectError(f"{parameter}: expected each option once, got {choices(names)}")
    return dict(zip(names, given, strict=True))


def _is_compound(option: object) -> bool:
    """Return whether an option is a mapping or an order of classes, with no text fit for labels."""
    return isinstance(option, Mapping) or hasattr(option, "n_classes")
