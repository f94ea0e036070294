"""Parser of measure strings such as ``TOMA(distance='manhattan')@10``.

The grammar is that of `ir_measures.parse_measure`, extended by lists, tuples and negative numbers.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any

import ir_measures
from ir_measures import Measure

from pt_multiaspect_pyterrier import original_function

from .. import _validation
from ..errors import MultiAspectError, choices, cut, errors_of, refuse_unknown

#: Parser of trec_eval names only.
_parse_trec_measure: Callable[[str], list[Measure]] = original_function(
    "ir_measures", "parse_trec_measure"
)

#: Only the beginning of longer names is compared with those of measures, which takes quadratic
#: time.
_LONGEST = 80

#: Constants as written in other languages.
_CONSTANTS = {"true": "True", "false": "False", "none": "None", "null": "None"}


class UnknownMeasureError(MultiAspectError):
    """The name of a measure is unknown."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown measure {cut(name)!r}; {similar_names(name)}")
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name,)


def is_unknown_measure(error: BaseException | None) -> bool:
    """Return whether an error was raised because a measure, a base or a part has an unknown name."""
    while error is not None:
        if isinstance(error, UnknownMeasureError):
            return True
        error = error.__context__
    return False


def trec_names(name: str) -> tuple[list[Measure], list[str]]:
    """Parse a name of trec_eval: a measure, a family such as ``P``, or a set of these such as ``official``.

    ir-measures prints the members of a set that it does not support to standard output.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    list of ir_measures.Measure
        The measures.
    list of str
        The members of a set that ir-measures does not support.

    Raises
    ------
    ValueError
        If the name is not one of trec_eval, or if ir-measures does not support it.
    """
    import pytrec_eval

    members = pytrec_eval.supported_nicknames.get(name)
    if members is None:
        return _parse_trec_measure(name), []
    measures: list[Measure] = []
    unsupported = []
    for member in sorted(members - {"runid"}):  # the name of a run is not a measure
        try:
            measures += _parse_trec_measure(member)
        except ValueError:
            unsupported.append(member)
    return measures, unsupported


def read_measure(text: str) -> Measure:
    """Parse one measure, by its name in ir-measures.

    Parameters
    ----------
    text : str
        ``Name``, ``Name(parameter=value, ...)``, ``Name@cutoff`` or both. Values are Python
        literals.

    Returns
    -------
    ir_measures.Measure

    Raises
    ------
    MultiAspectError
        If the measure is unknown (`UnknownMeasureError`), a value is not a literal, or a parameter
        is unknown, given twice or out of range.

    Examples
    --------
    >>> read_measure("TOMA(distance='manhattan')@10")
    TOMA(distance='manhattan')@10
    >>> read_measure("TOMA(aspects=relevance)@10")
    Traceback (most recent call last):
    pt_multiaspect.errors.MultiAspectError: aspects=relevance: relevance needs quotes, aspects='relevance'
    """
    try:
        return _read(text, ast.parse(text.strip(), mode="eval").body)
    except MultiAspectError:
        raise
    except SyntaxError as error:
        raise _malformed_error(text, error.msg) from None
    except (RecursionError, MemoryError):
        raise _malformed_error(text, "it is nested too deeply") from None
    except ValueError as error:  # null bytes
        raise _malformed_error(text, str(error)) from None


def _read(text: str, node: ast.expr) -> Measure:
    """Convert an expression to a measure."""
    cutoff: ast.expr | None = None
    keywords: list[ast.keyword] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        cutoff, node = node.right, node.left
        if isinstance(cutoff, ast.Call):
            raise _inner_cutoff_error(node, cutoff)
    if isinstance(node, ast.Call):
        if node.args or any(keyword.arg is None for keyword in node.keywords):
            raise _malformed_error(text, "parameters must be given by name")
        keywords, node = node.keywords, node.func
    if not isinstance(node, ast.Name):
        raise _malformed_error(text, f"{cut(_source_text(node))!r} is not a name")
    measure = ir_measures.measures.registry.get(node.id)
    if measure is None:
        raise UnknownMeasureError(node.id)
    named = [(str(keyword.arg), f"{keyword.arg}=", keyword.value) for keyword in keywords]
    named += [(measure.AT_PARAM, "@", cutoff)] if cutoff is not None else []
    params: dict[str, Any] = {}
    for name, prefix, value in named:
        if name in params:
            raise MultiAspectError(
                f"{node.id}: {name} is given twice, as {cut(repr(params[name]))} and "
                f"{cut(_source_text(value))}"
            )
        params[name] = _literal(prefix, value)
    return check_params(measure(**params))


def _inner_cutoff_error(name: ast.expr, call: ast.Call) -> MultiAspectError:
    """Return the error of a measure whose cutoff is before its parameters, as in ``TOMA@5(gate='relevance')``."""
    cutoff = _source_text(call.func)
    parameters = _source_text(ast.Call(name, call.args, call.keywords))
    written = cut(with_quotes(f"{parameters}@{cutoff}"))
    given = cut(f"{_source_text(name)}@{cutoff}(…)")
    return MultiAspectError(f"{given}: a cutoff is written after the parameters; write {written}")


def _literal(prefix: str, node: ast.expr) -> Any:
    """Evaluate a literal; the error for a string without quotes shows it with quotes."""
    for part in ast.walk(node):
        if isinstance(part, ast.Dict):
            keys = Counter(ast.unparse(key) for key in part.keys if key is not None)
            twice = next((key for key, number in keys.items() if number > 1), None)
            if twice is not None:
                raise MultiAspectError(
                    f"{cut(prefix + ast.unparse(node))}: the key {cut(twice)} is given twice"
                )
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        written = _source_text(node)
        if prefix == "@":
            text = cut(written)
            raise MultiAspectError(
                f"@{text}: expected a whole number as cutoff, got {text}"
            ) from None
        quoting = _Quoting(written)
        fixed = _source_text(quoting.visit(ast.parse(written, mode="eval").body))
        cause = quoting.cause or "expected a number, string, list or dict"
        raise MultiAspectError(f"{cut(prefix + written)}: {cause}, {cut(prefix + fixed)}") from None


_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.unaryop, ast.expr_context)


def _source_text(node: ast.AST) -> str:
    return ast.unparse(node).replace(" @ ", "@")


class _Quoting(ast.NodeTransformer):
    """Put quotes around the expressions of a text that are not literals, and store the first cause."""

    def __init__(self, text: str) -> None:
        self.cause = ""
        self._text = text

    def visit(self, node: ast.AST) -> Any:
        is_number = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
        if is_number or isinstance(node, _LITERALS):
            return self.generic_visit(node)
        text = str(ast.get_source_segment(self._text, node))
        if text in _CONSTANTS:
            self.cause = self.cause or f"write {_CONSTANTS[text]} for {text}"
            return ast.Name(_CONSTANTS[text])
        self.cause = self.cause or f"{cut(text)} needs quotes"
        return ast.Constant(text)


def with_quotes(text: str) -> str:
    """Put quotes around the strings of a measure that lack them, as a shell may have removed them.

    Parameters
    ----------
    text : str
        A measure, such as ``CAM(base=nDCG@10)``.

    Returns
    -------
    str
        The measure with quotes. A text that is not a measure with parameters is returned unchanged.

    Examples
    --------
    >>> with_quotes("CAM(base=nDCG@10, normalized=true)@5")
    "CAM(base='nDCG@10', normalized=True)@5"
    """
    quoting = _Quoting(text)
    try:
        node = ast.parse(text, mode="eval").body
        call = node.left if isinstance(node, ast.BinOp) else node
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            keyword.value = quoting.visit(keyword.value)
        if quoting.cause:
            return _source_text(node)
        return text
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # read_measure reports the error


def similar_names(name: str) -> str:
    """Return how to write a measure and its cutoff, or the three names most similar to `name`, ignoring case."""
    with_cutoff = measure_with_cutoff(name)
    if with_cutoff is not None:
        return f"write {with_cutoff}"
    start = name[:_LONGEST].lower()

    def unlike(known: str) -> tuple[float, str]:
        return -SequenceMatcher(None, start, known.lower()).ratio(), known

    return f"the nearest names are {choices(sorted(ir_measures.measures.registry, key=unlike)[:3])}"


def measure_with_cutoff(name: str) -> Measure | None:
    """Return the measure that is meant by a name such as ``nDCG10`` or ``cam_cut_10``; None if there is none."""
    parts = re.fullmatch(r"(\w*?)(?:_cut|_at)?_?(\d{1,9})", name)
    if parts is None:
        return None
    registry = ir_measures.measures.registry
    known = sorted(
        (other for other in registry if other.lower() == parts[1].lower()),
        key=lambda n: n != parts[1],
    )
    try:
        if known:
            return read_measure(f"{registry[known[0]].NAME}@{int(parts[2])}")
        return None
    except MultiAspectError:  # the measure has no cutoff
        return None


#: Checks of parameters that ir-measures lacks.
_RANGES: Mapping[str, Callable[[Any], object]] = {
    "cutoff": _validation.cutoff,
    "p": _validation.real("p", low=0, high=1),
    "beta": _validation.real("beta", low=0),
    "rel": _validation.real("rel", low=-(2.0**31), high=2.0**31),
    "recall": _validation.fraction("recall"),
    "gains": lambda gains: _check_gains(gains),
}


def check_params(measure: Measure, prefix: str = "") -> Measure:
    """Check that all parameters of a measure are known and in range, and convert them to floats where expected.

    ir-measures rejects the whole number in ``SetF(beta=2)``.

    Parameters
    ----------
    measure : ir_measures.Measure
        The measure. Measures of this package are skipped, as their constructors check parameters.
    prefix : str
        Text before the name of the measure in errors, such as "the base ".

    Returns
    -------
    ir_measures.Measure
        The measure itself, or a copy with floats.

    Raises
    ------
    MultiAspectError
        If a parameter is invalid; the message names it and says what was expected.
    """
    if getattr(measure, "CHECKS_PARAMS", False):
        return measure
    name = f"{prefix}{measure.NAME}"
    refuse_unknown(measure.params, measure.SUPPORTED_PARAMS, "parameters", name)
    floats = {
        param: float(value)
        for param, value in measure.params.items()
        if type(value) is int
        and measure.SUPPORTED_PARAMS[param].dtype is float
        and abs(value) < 2**53
    }
    if floats:
        measure = type(measure)(**{**measure.params, **floats})
    for param, value in measure.params.items():
        info = measure.SUPPORTED_PARAMS[param]
        if not info.validate(value):
            expected = (
                info.choices
                if isinstance(info.choices, list)
                else getattr(info.dtype, "__name__", "?")
            )
            raise MultiAspectError(f"{name}: expected {param} to be {expected}, got {value!r}")
        if isinstance(value, float) and not math.isfinite(value):
            raise MultiAspectError(f"{name}: expected {param} to be a finite number, got {value}")
        if param in _RANGES and type(measure).__module__.startswith("ir_measures."):
            with errors_of(name):
                _RANGES[param](value)
    return measure


def _check_gains(gains: Mapping[Any, Any]) -> None:
    read = _validation.real("a label or gain in gains", low=-math.inf, open_low=True)
    for label, gain in gains.items():
        read(label)
        read(gain)


def _malformed_error(text: str, reason: str) -> MultiAspectError:
    return MultiAspectError(
        f"cannot read the measure {cut(text)!r}: {cut(reason)}; expected "
        "Name(parameter=value)@cutoff, with strings in quotes"
    )
