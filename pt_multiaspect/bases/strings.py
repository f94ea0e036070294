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

#: A name with a cutoff: nDCG10, nDCG_10, nDCG_cut_10 or nDCG_at_10. The name is the shortest
#: possible, so that it has neither "_cut" nor the first digits of the cutoff.
_NAME_AND_CUTOFF = re.compile(r"(?P<name>\w*?)(?:_cut|_at)?_?(?P<cutoff>\d{1,9})")

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
    """Return whether the cause of an error is a measure, a base or a part of an unknown name."""
    while error is not None:
        if isinstance(error, UnknownMeasureError):
            return True
        error = error.__context__
    return False


def trec_names(name: str) -> tuple[list[Measure], list[str]]:
    """Parse a name of trec_eval.

    It is that of a measure, of a family such as ``P``, or of a set of these such as ``official``.
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
    """Return the measure that a text of the form ``Name(parameter=value)@cutoff`` was parsed to."""
    parts = _split_expression(text, node)
    measure = ir_measures.measures.registry.get(parts.name)
    if measure is None:
        raise UnknownMeasureError(parts.name)
    # Each parameter, what stands before its value in the text, and the expression of the value.
    written: list[tuple[str, str, ast.expr]] = []
    for keyword in parts.keywords:
        written.append((str(keyword.arg), f"{keyword.arg}=", keyword.value))
    if parts.cutoff is not None:
        written.append((measure.AT_PARAM, "@", parts.cutoff))
    params: dict[str, Any] = {}
    for name, prefix, expression in written:
        if name in params:  # as in ``nDCG(cutoff=5)@10``
            first = cut(repr(params[name]))
            second = cut(_source_text(expression))
            raise MultiAspectError(f"{parts.name}: {name} is given twice, as {first} and {second}")
        params[name] = _literal(prefix, expression)
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
    """Return the error of a measure whose cutoff is before its parameters.

    Python parses ``TOMA@5(gate='relevance')`` as the name, ``TOMA``, @ the call
    ``5(gate='relevance')``, which seems to call the cutoff as a function.
    """
    measure = _source_text(name)  # TOMA
    cutoff = _source_text(call.func)  # 5
    shown_text = cut(f"{measure}@{cutoff}(…)")
    # The parameters belong to the name: TOMA(gate='relevance').
    with_parameters = ast.Call(name, call.args, call.keywords)
    without_cutoff = _source_text(with_parameters)
    remedy = cut(with_quotes(f"{without_cutoff}@{cutoff}"))
    return MultiAspectError(
        f"{shown_text}: a cutoff is written after the parameters; write {remedy}"
    )


def _literal(prefix: str, node: ast.expr) -> Any:
    """Return the value of a literal, or raise an error if an expression is none.

    The prefix is what stands before it in the text of the measure: ``@``, or ``base=``.
    """
    _refuse_repeated_keys(prefix, node)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise _literal_error(prefix, node) from None


def _literal_error(prefix: str, node: ast.expr) -> MultiAspectError:
    """Return the error of an expression that is no literal, such as a text without quotes.

    The error states the first cause, and shows the expression with quotes. `prefix` is what is
    before the expression in the measure; it is "@" if the expression is the cutoff.
    """
    written = _source_text(node)
    if prefix == "@":
        text = cut(written)
        return MultiAspectError(f"@{text}: expected a whole number as cutoff, got {text}")
    # Parse the text again, as nodes know their positions in the text that was parsed: so far, that
    # of the whole measure.
    expression = ast.parse(written, mode="eval").body
    quoting = _Quoting(written)
    quoted = quoting.visit(expression)  # adds the causes of its changes to `quoting.causes`
    cause = "expected a number, string, list or dict"
    if quoting.causes:
        cause = quoting.causes[0]
    refused = cut(prefix + written)
    remedy = cut(prefix + _source_text(quoted))
    return MultiAspectError(f"{refused}: {cause}, {remedy}")


def _refuse_repeated_keys(prefix: str, node: ast.expr) -> None:
    """Raise an error if a dict in a literal has a key twice; Python would use the last."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Dict):
            continue
        # The key of ``**other`` in a dict is None.
        keys = [ast.unparse(key) for key in part.keys if key is not None]
        repeated = [key for key, number in Counter(keys).items() if number > 1]
        if repeated:
            first = cut(repeated[0])
            literal = cut(prefix + ast.unparse(node))
            raise MultiAspectError(f"{literal}: the key {first} is given twice")


_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.unaryop, ast.expr_context)


def _source_text(node: ast.AST) -> str:
    """Return the text of an expression, as ``nDCG@10`` rather than ``nDCG @ 10``."""
    return ast.unparse(node).replace(" @ ", "@")


class _Quoting(ast.NodeTransformer):
    """A visitor that puts quotes around what is not a literal, and notes the causes."""

    def __init__(self, text: str) -> None:
        self.causes: list[str] = []
        self._text = text

    def visit(self, node: ast.AST) -> Any:
        """Return the expression, or a string or constant in its place if it is not a literal."""
        is_signed_number = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
        if is_signed_number or isinstance(node, _LITERALS):
            return self.generic_visit(node)  # the same node, with its elements visited
        # Anything else is a name or an expression, such as the text of a user without quotes.
        text = str(ast.get_source_segment(self._text, node))
        constant = _CONSTANTS.get(text)  # True for true
        if constant is not None:
            self.causes.append(f"write {constant} for {text}")
            return ast.Name(constant)
        shown_text = cut(text)
        self.causes.append(f"{shown_text} needs quotes")
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
        expression = ast.parse(text, mode="eval").body
        call = expression
        if isinstance(expression, ast.BinOp):  # Name(…)@cutoff, whose left side is the call
            call = expression.left
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                keyword.value = quoting.visit(keyword.value)  # changes the expression in place
        if not quoting.causes:  # nothing was changed
            return text
        return _source_text(expression)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # read_measure reports the error


def similar_names(name: str) -> str:
    """Return how to write a measure and its cutoff, or the three names most similar to `name`.

    Case is ignored.
    """
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
    """Return the measure that is meant by a name such as ``nDCG10`` or ``cam_cut_10``, or None."""
    parts = _NAME_AND_CUTOFF.fullmatch(name)
    if parts is None:
        return None
    measure = _registered_measure(parts["name"])
    if measure is None:
        return None
    cutoff = int(parts["cutoff"])
    try:
        return read_measure(f"{measure.NAME}@{cutoff}")
    except MultiAspectError:  # the measure has no cutoff
        return None


def _registered_measure(name: str) -> Measure | None:
    """Return the registered measure of a name, or else of one that differs in case; or None."""
    registry = ir_measures.measures.registry
    if name in registry:
        return registry[name]
    for known, measure in registry.items():
        if known.lower() == name.lower():
            return measure
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
    """Return a measure whose parameters are known and in range, with floats where expected.

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
        _check_param(name, param, value, info)
        # ir-measures checks no ranges. Measures of other packages may have other ones.
        if is_original and param in _RANGES:
            check_range = _RANGES[param]
            with errors_of(name):
                check_range(value)
    return converted


def _check_param(name: str, param: str, value: object, info: ir_measures.ParamInfo) -> None:
    """Raise an error unless a parameter has the type and options of `info`, and is not infinite.

    The error begins with `name`, that of the measure.
    """
    if not info.validate(value):
        expected = getattr(info.dtype, "__name__", "?")
        if isinstance(info.choices, list):
            expected = info.choices
        raise MultiAspectError(f"{name}: expected {param} to be {expected}, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise MultiAspectError(f"{name}: expected {param} to be a finite number, got {value}")


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
    # Any number but NaN and inf, which `real` refuses, and -inf, which is the open lower end.
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
