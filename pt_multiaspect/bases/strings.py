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
from typing import Any, NamedTuple

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
        expression = ast.parse(text.strip(), mode="eval").body
        return _read(text, expression)
    except MultiAspectError:
        raise
    except SyntaxError as error:
        raise _malformed_error(text, error.msg) from None
    except (RecursionError, MemoryError):
        raise _malformed_error(text, "it is nested too deeply") from None
    except ValueError as error:  # null bytes
        raise _malformed_error(text, str(error)) from None


def _read(text: str, node: ast.expr) -> Measure:
    """Convert the expression that a text was parsed to, ``Name(parameter=value)@cutoff``, to a measure."""
    parts = _split_expression(text, node)
    known = parts.name
    measure = ir_measures.measures.registry.get(known)
    if measure is None:
        raise UnknownMeasureError(known)
    params: dict[str, Any] = {}

    def set_param(name: str, prefix: str, value: ast.expr) -> None:
        if name in params:
            first, second = cut(repr(params[name])), cut(_source_text(value))
            raise MultiAspectError(f"{known}: {name} is given twice, as {first} and {second}")
        params[name] = _literal(prefix, value)

    for keyword in parts.keywords:
        set_param(str(keyword.arg), f"{keyword.arg}=", keyword.value)
    # After the parameters, so that ``nDCG(cutoff=5)@10`` is refused.
    if parts.cutoff is not None:
        set_param(measure.AT_PARAM, "@", parts.cutoff)
    return check_params(measure(**params))


class _Parts(NamedTuple):
    """The parts of the expression ``Name(parameter=value)@cutoff``."""

    name: str
    keywords: list[ast.keyword]  # the parameters and their values
    cutoff: ast.expr | None


def _split_expression(text: str, expression: ast.expr) -> _Parts:
    """Split the expression that a text was parsed to, or raise an error if it is no measure."""
    cutoff: ast.expr | None = None
    before_cutoff = expression
    # The operator @ binds its right side to all that is on the left.
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.MatMult):
        cutoff = expression.right
        before_cutoff = expression.left
        if isinstance(cutoff, ast.Call):  # parameters after the cutoff
            raise _inner_cutoff_error(before_cutoff, cutoff)
    keywords: list[ast.keyword] = []
    name = before_cutoff
    if isinstance(before_cutoff, ast.Call):
        has_dictionary = any(keyword.arg is None for keyword in before_cutoff.keywords)  # **params
        if before_cutoff.args or has_dictionary:
            raise _malformed_error(text, "parameters must be given by name")
        keywords = before_cutoff.keywords
        name = before_cutoff.func
    if not isinstance(name, ast.Name):
        source = cut(_source_text(name))
        raise _malformed_error(text, f"{source!r} is not a name")
    return _Parts(name.id, keywords, cutoff)


def _inner_cutoff_error(name: ast.expr, call: ast.Call) -> MultiAspectError:
    """Return the error of a measure whose cutoff is before its parameters, as in ``TOMA@5(gate='relevance')``."""
    cutoff = _source_text(call.func)
    parameters = _source_text(ast.Call(name, call.args, call.keywords))
    written = cut(with_quotes(f"{parameters}@{cutoff}"))
    given = cut(f"{_source_text(name)}@{cutoff}(…)")
    return MultiAspectError(f"{given}: a cutoff is written after the parameters; write {written}")


def _literal(prefix: str, node: ast.expr) -> Any:
    """Evaluate a literal; the error for a string without quotes shows it with quotes.

    The prefix is what stands before it in the text of the measure: ``@``, or ``base=``.
    """
    _refuse_repeated_keys(prefix, node)
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
        quoted = quoting.visit(ast.parse(written, mode="eval").body)
        cause = quoting.cause or "expected a number, string, list or dict"
        remedy = cut(prefix + _source_text(quoted))
        raise MultiAspectError(f"{cut(prefix + written)}: {cause}, {remedy}") from None


def _refuse_repeated_keys(prefix: str, node: ast.expr) -> None:
    """Raise an error if a dict in a literal has a key twice, of which Python would take the last."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Dict):
            continue
        keys = Counter(ast.unparse(key) for key in part.keys if key is not None)
        repeated = [key for key, number in keys.items() if number > 1]
        if repeated:
            literal = cut(prefix + ast.unparse(node))
            raise MultiAspectError(f"{literal}: the key {cut(repeated[0])} is given twice")


_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.unaryop, ast.expr_context)


def _source_text(node: ast.AST) -> str:
    """Return the text of an expression, as ``nDCG@10`` rather than ``nDCG @ 10``."""
    return ast.unparse(node).replace(" @ ", "@")


class _Quoting(ast.NodeTransformer):
    """Put quotes around the expressions of a text that are not literals, and store the first cause."""

    def __init__(self, text: str) -> None:
        self.cause = ""
        self._text = text

    def visit(self, node: ast.AST) -> Any:
        """Return the expression, or a string or constant in its place if it is not a literal."""
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
        call = node
        if isinstance(node, ast.BinOp):  # the measure before @
            call = node.left
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
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

    def distance_and_name(known: str) -> tuple[float, str]:
        similarity = SequenceMatcher(None, start, known.lower()).ratio()
        return -similarity, known

    by_distance = sorted(ir_measures.measures.registry, key=distance_and_name)
    return f"the nearest names are {choices(by_distance[:3])}"


def measure_with_cutoff(name: str) -> Measure | None:
    """Return the measure that is meant by a name such as ``nDCG10`` or ``cam_cut_10``; None if there is none."""
    parts = re.fullmatch(r"(?P<name>\w*?)(?:_cut|_at)?_?(?P<cutoff>\d{1,9})", name)
    if parts is None:
        return None
    registry = ir_measures.measures.registry
    meant = parts["name"]
    if meant not in registry:
        alike = [known for known in registry if known.lower() == meant.lower()]
        if not alike:
            return None
        meant = alike[0]
    cutoff = int(parts["cutoff"])
    try:
        return read_measure(f"{registry[meant].NAME}@{cutoff}")
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
    converted = _with_floats(measure)
    is_original = type(converted).__module__.startswith("ir_measures.")
    for param, value in converted.params.items():
        info = converted.SUPPORTED_PARAMS[param]
        if not info.validate(value):
            expected = getattr(info.dtype, "__name__", "?")
            if isinstance(info.choices, list):
                expected = info.choices
            raise MultiAspectError(f"{name}: expected {param} to be {expected}, got {value!r}")
        if isinstance(value, float) and not math.isfinite(value):
            raise MultiAspectError(f"{name}: expected {param} to be a finite number, got {value}")
        # ir-measures checks types and options, but no ranges.
        if param in _RANGES and is_original:
            check_range = _RANGES[param]
            with errors_of(name):
                check_range(value)
    return converted


def _with_floats(measure: Measure) -> Measure:
    """Return the measure with floats where its parameters expect floats and got integers."""
    floats: dict[str, float] = {}
    for param, value in measure.params.items():
        expects_float = measure.SUPPORTED_PARAMS[param].dtype is float
        is_exact_as_float = type(value) is int and abs(value) < 2**53
        if expects_float and is_exact_as_float:
            floats[param] = float(value)
    if not floats:
        return measure
    params = {**measure.params, **floats}
    return type(measure)(**params)


def _check_gains(gains: Mapping[Any, Any]) -> None:
    """Raise an error unless all labels and gains are finite numbers."""
    check_number = _validation.real("a label or gain in gains", low=-math.inf, open_low=True)
    for label, gain in gains.items():
        check_number(label)
        check_number(gain)


def _malformed_error(text: str, reason: str) -> MultiAspectError:
    """Return the error of a text that is not written as a measure."""
    measure = cut(text)
    return MultiAspectError(
        f"cannot read the measure {measure!r}: {cut(reason)}; expected "
        "Name(parameter=value)@cutoff, with strings in quotes"
    )
