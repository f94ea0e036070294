"""Parsing of measures in any form: objects, names, sequences, mappings, records of long frames."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import ir_measures
import pandas as pd
from ir_measures import RBP

from ..aspects import Aspects
from ..bases.base import is_measure
from ..bases.delegated import function_of
from ..bases.pickling import pickle_with_code
from ..bases.standard import is_diversity_measure
from ..bases.strings import check_params, read_measure, trec_names
from ..collection import Judgments
from ..errors import MultiAspectError, choices, refuse_none, refuse_taken, shown, warn_once
from ..measures import CAM, NLRE, NWCS, Measure
from ..measures.on import measure_on_relevance
from ..measures.registry import RESERVED
from .provider import supports

#: A measure of this package or of ir-measures, or its name.
MeasureLike: TypeAlias = ir_measures.Measure | str
#: One or several measures, which may have aliases.
Measures: TypeAlias = MeasureLike | Sequence[MeasureLike] | Mapping[str, MeasureLike]

#: Key of the record in ``DataFrame.attrs``.
RECORD = "measures"

#: The record of a label whose values no measure defines, but lie in [0, 1], such as scores of
#: answers.
UNIT_SCORE = "score in [0, 1]"


class MeasureName(str):
    """A name of a measure, together with the measure, which is pickled with it."""

    measure: ir_measures.Measure

    def __new__(cls, measure: ir_measures.Measure, name: str | None = None) -> MeasureName:
        """Return the name of a measure, by default its string form."""
        if name is None:
            name = str(measure)
        text = super().__new__(cls, name)
        text.measure = measure
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how pickle restores the name: a function and its arguments."""
        name = str(self)
        is_users_function = function_of(self.measure) is not None
        if not is_users_function:
            return type(self), (self.measure, name)
        # Another process may not know the function: its code is pickled as well.
        return _restore_name, (pickle_with_code(self.measure), name)

    def __copy__(self) -> MeasureName:
        return self

    def __deepcopy__(self, memo: object) -> MeasureName:  # pandas copies attrs in most operations
        return self


def _restore_name(content: bytes, name: str) -> MeasureName:
    return MeasureName(pickle.loads(content), name)


#: A printed measure, such as ``CAM(base='AP')@10``.
_PRINTED = re.compile(
    r"""
    (?P<name>\w+)
    (?P<params>\(.*\))?
    (?P<cutoff>@\d+)?
    """,
    re.VERBOSE | re.DOTALL,
)

#: The names of other columns in PyTerrier's tables.
_OTHER_COLUMNS = ("name", "qid", "mrt")


def alias(name: str, measure: MeasureLike) -> MeasureName:
    """Give a measure a short name for tables.

    Parameters
    ----------
    name : str
        The name, which may be that of the measure without some of its parameters, as ``"TOMA@5"``
        is of ``TOMA(gate='relevance')@5``.
    measure : measure or str
        One measure of this package or of ir-measures.

    Returns
    -------
    str
        The name, which carries the measure, also when pickled. It is accepted wherever measures
        are: by the functions of this package, whose tables explain it in a note, and by
        ``pt.Experiment``, ``pt.GridScan``, ``pt.GridSearch`` and ``pt.KFoldGridSearch``, also with
        ``jobs``.

    Raises
    ------
    MultiAspectError
        If `name` is empty, or the name of a different measure or of another column of PyTerrier's
        tables, or if `measure` is not one measure.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> overall = ma.alias("overall", ma.CAM(base="AP"))
    >>> overall
    'overall'
    >>> first = {"relevance": 1, "credibility": 0}
    >>> qrels = {"q1": {"d1": first, "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> ma.evaluate({"mine": run}, qrels, [overall, "AP"], progress=False)
       name qid  measure  value
    0  mine  q1  overall   0.75
    1  mine  q1       AP   1.00
    """
    if is_measure(name):
        raise MultiAspectError(
            f"alias: expected the name first, as in alias('mine', {name}), got the measure {name}"
        )
    if not isinstance(name, str) or not name.strip():
        raise MultiAspectError(f"alias: expected a name that is not empty, got {shown(name)}")
    refuse_taken([name], _OTHER_COLUMNS, "another column")
    named = parse_one(measure)
    refuse_other_name(name, named)
    return MeasureName(named, name)


def refuse_other_name(alias: str, measure: ir_measures.Measure) -> None:
    """Raise an error if the alias of a measure is the name of a different measure."""
    namesakes = find_measures(alias)
    if not namesakes or _may_be_called(measure, namesakes):
        return
    examples = choices(namesakes[:3])
    another_name = short_label(str(measure), measure)
    raise MultiAspectError(
        f"alias: {alias!r} is the name of a measure ({examples}), which {measure} is not; use "
        f"another name, such as {another_name!r}"
    )


def _may_be_called(measure: ir_measures.Measure, namesakes: Sequence[ir_measures.Measure]) -> bool:
    """Return whether the name of some measures may be an alias of a measure.

    The measure must be one of these, with the parameters that they have, and any further ones. Or
    it must evaluate one of them, its base, on relevance (`On`) or on subtopics (`Subtopics`): it
    may be called AP if it is ``On(base='AP')``.

    Parameters
    ----------
    measure : Measure
        The measure.
    namesakes : sequence of Measure
        The measures that have the name; P has several, with different cutoffs.
    """
    if _has_params_of(measure, namesakes):
        return True
    base = _base_of_all_aspects(measure)
    is_on_relevance = getattr(measure, "one_aspect", None) == "relevance"
    is_on_subtopics = is_diversity_measure(base)
    if is_on_relevance or is_on_subtopics:
        return _has_params_of(base, namesakes)
    return False


def _base_of_all_aspects(measure: ir_measures.Measure) -> Any:
    """Return the measure that another one evaluates on each aspect, None if it has no such base."""
    bases = getattr(measure, "bases", None)
    base = getattr(bases, "default", None)  # other bases are for single aspects
    # A measure that ir-measures computes is wrapped in an adapter.
    wrapped_measure = getattr(base, "measure", None)
    if wrapped_measure is not None:
        return wrapped_measure
    return base


def _has_params_of(measure: ir_measures.Measure, namesakes: Sequence[ir_measures.Measure]) -> bool:
    """Return whether a measure has the class of namesakes, and the parameters common to them.

    Namesakes may differ in a parameter, as those of P do in cutoffs: their name leaves it open.
    """
    of_same_class = [namesake for namesake in namesakes if type(namesake) is type(measure)]
    if not of_same_class:
        return False
    if measure in of_same_class:
        return True
    params = _stated_params(measure)
    params_of_namesakes = list(map(_stated_params, of_same_class))
    first_namesake = params_of_namesakes[0]  # it has all that are common, and others
    for name, value in first_namesake.items():
        is_common = all(other.get(name) == value for other in params_of_namesakes)
        if is_common and params.get(name) != value:
            return False
    return True


def _stated_params(measure: ir_measures.Measure) -> dict[str, Any]:
    """Return the parameters that the printed form of a measure states, without ``aspects``.

    Scales of aspects are left out, as they may be added to a measure that has a name.
    ``CAM(base='nDCG@3')`` is printed as ``CAM@3``, and states the cutoff 3.
    """
    if not supports(measure):
        return dict(measure.params)
    # The parameters in brackets, and the cutoff after @.
    params, cutoff = measure._spell_params()
    params.pop("aspects", None)
    if cutoff is not None:
        params["cutoff"] = cutoff
    return params


#: Names used by the official evaluator of the TREC Health Misinformation tracks, an extension of
#: trec_eval, for two and for three aspects. With three, its values of CAM are .9999 times those
#: here, as its weights are .3333 each.
TRACK_NAMES: dict[str, ir_measures.Measure] = {
    "nlre": NLRE,
    "cam": CAM(base="nDCG"),
    "cam_map": CAM(base="AP"),
    "nwcs": NWCS(ideal="judged"),
    "cam_three_ndcg": CAM(base="nDCG"),
    "cam_map_three": CAM(base="AP"),
    "nwcs_three": NWCS(ideal="judged"),
}
#: Names in that evaluator whose values no measure of this package has.
_OTHER_TRACK_NAMES = {
    "nlre_three": "divides by a sum that is not the maximum of the rank errors, so that its values "
    "differ from NLRE; use NLRE, for any number of aspects"
}
RESERVED.update(TRACK_NAMES, _OTHER_TRACK_NAMES)


def parse(measure: MeasureLike) -> list[ir_measures.Measure]:
    """Parse a measure given as an object, a trec_eval name or an ir-measures name.

    Parameters
    ----------
    measure : ir_measures.Measure or str
        For example ``nDCG @ 10``, ``"map"``, ``"nDCG@10"`` or ``"TOMA(distance='manhattan')@10"``.

    Returns
    -------
    list of ir_measures.Measure
        One measure, or the members of a trec_eval family such as ``"P"``.

    Raises
    ------
    MultiAspectError
        If the measure is unknown, its parameters are invalid, or one that is required is missing.

    Warns
    -----
    MultiAspectWarning
        If ir-measures does not support a member of a set such as ``"official"``.

    Examples
    --------
    >>> from pt_multiaspect.integration.parsing import parse
    >>> parse("TOMA(distance=1)@10")
    [TOMA(distance='manhattan')@10]
    """
    if is_measure(measure):
        return [_check_complete(check_params(measure))]
    if isinstance(measure, MeasureName):
        return [measure.measure]
    if isinstance(measure, str):
        return _parse_text(measure)
    raise MultiAspectError(
        f"expected a measure or a string such as 'nDCG@10' or 'map', got {shown(measure)}"
    )


def _parse_text(text: str) -> list[ir_measures.Measure]:
    """Parse a name of the tracks, of trec_eval or of ir-measures, in this order."""
    if text in TRACK_NAMES:
        return [TRACK_NAMES[text]]
    if text in _OTHER_TRACK_NAMES:
        raise MultiAspectError(f"the tracks' {text} {_OTHER_TRACK_NAMES[text]}")
    _check_trec_name(text)
    name = _read_trec_name(text)
    if not name.members:
        return [_parse_ir_measures_name(text, name.is_unsupported)]
    if name.left_out:
        warn_once(
            f"{text} is evaluated without {choices(name.left_out)}, which ir-measures does not "
            "support; list measures by name to choose others"
        )
    return [check_params(member) for member in name.members]


class _TrecName(NamedTuple):
    """The meaning of a text as a name of trec_eval."""

    #: The measures that it names, such as those of 'official'; none if it is no name of trec_eval.
    members: Sequence[ir_measures.Measure] = ()
    #: The names of measures that belong to them, but are not supported by ir-measures.
    left_out: Sequence[str] = ()
    #: Whether it names a single measure that is not supported.
    is_unsupported: bool = False


def _read_trec_name(text: str) -> _TrecName:
    """Return what a text means as a name of trec_eval, such as ``map`` or ``P_5,10``."""
    try:
        members, left_out = trec_names(text)
    except ValueError as error:
        return _TrecName(is_unsupported="not yet supported" in str(error))
    return _TrecName(members, left_out)


def _parse_ir_measures_name(text: str, is_unsupported: bool) -> ir_measures.Measure:
    """Parse a name of ir-measures, such as ``nDCG@10``.

    `is_unsupported` is whether the text is a measure of trec_eval that ir-measures does not
    support, for an error that says so.
    """
    try:
        return _check_complete(read_measure(text))
    except MultiAspectError:
        if is_unsupported:
            raise MultiAspectError(
                f"ir-measures does not support trec_eval's measure {text!r}"
            ) from None
        raise


def find_measures(measure: Any) -> list[ir_measures.Measure]:
    """Return the measures that `parse` returns, none if it raises an error."""
    try:
        return parse(measure)
    except MultiAspectError:
        return []


def short_label(label: str, measure: ir_measures.Measure | None) -> str:
    """Return the label of a measure without its parameters, for headers of tables.

    A printed measure, ``CAM(base='AP')@10``, becomes ``CAM@10``, and one on a single aspect its
    base and aspect, ``AP relevance``. Other labels, aliases, are returned unchanged.
    """
    parts = _PRINTED.fullmatch(label)
    if measure is None or parts is None or not _is_printed_form(label, parts, measure):
        return label
    aspect = getattr(measure, "one_aspect", None)
    if aspect is not None:
        return f"{measure.bases.one} {aspect}"
    cutoff = parts["cutoff"] or ""
    return parts["name"] + cutoff


def _is_printed_form(label: str, parts: re.Match[str], measure: ir_measures.Measure) -> bool:
    """Return whether a label is a measure as it is printed, rather than an alias of it.

    The label may lack parameters that were added later, such as the scales of a file.

    Parameters
    ----------
    label : str
        The label.
    parts : Match
        Its name, parameters and cutoff.
    measure : Measure
        The measure.
    """
    if label == str(measure):
        return True
    if parts["name"] != measure.NAME or parts["params"] is None:
        return False
    # An alias such as "CAM(ours)" looks like a measure, but cannot be parsed.
    return len(find_measures(label)) > 0


def parse_one(measure: MeasureLike) -> ir_measures.Measure:
    """Parse a measure as `parse` does, and refuse families such as ``"P"``."""
    members = parse(measure)
    n_members = len(members)
    if n_members != 1:
        raise MultiAspectError(
            f"expected one measure, but {measure!r} expands to {n_members}: {choices(members)}; "
            "choose one"
        )
    return members[0]


def _check_complete(measure: ir_measures.Measure) -> ir_measures.Measure:
    """Return a measure, after checking that it has all parameters that its class requires."""
    # Measures of this package check this themselves when they are created.
    if supports(measure):
        return measure
    required = [name for name, param in measure.SUPPORTED_PARAMS.items() if param.required]
    missing = [name for name in required if name not in measure.params]
    if missing:
        example = _example_with_params(measure.NAME, required)
        raise MultiAspectError(
            f"{measure.NAME} requires the parameter {choices(missing)}, as in {example}"
        )
    return measure


def _example_with_params(name: str, params: Sequence[str]) -> str:
    """Return how to write a measure with some parameters, as in ``RBP(p=...)@10``."""
    in_brackets = [f"{param}=..." for param in params if param != "cutoff"]
    example = name
    if in_brackets:
        example += f"({', '.join(in_brackets)})"
    if "cutoff" in params:
        example += "@10"
    return example


def _check_trec_name(text: str) -> None:
    """Reject a trec_eval name with further text, as ``ndcg_cut_10@5``, that would be ignored."""
    import pytrec_eval

    # Longer names first: a name may begin with another one.
    known = sorted(pytrec_eval.supported_measures, key=len, reverse=True)
    names = "|".join(map(re.escape, known))
    number = r"\d+(?:\.\d+)?"
    # Such as P_5,10 or ndcg_cut.10
    name_with_numbers = re.match(rf"(?:{names})[._]{number}(?:,{number})*", text)
    if name_with_numbers is None:
        return
    trec_name = name_with_numbers.group()
    further_text = text.removeprefix(trec_name)
    if further_text:
        raise MultiAspectError(
            f"cannot read the measure {text[:80]!r}: unexpected {further_text[:20]!r} after "
            f"the trec_eval name {trec_name[:80]!r}"
        )


def parse_all(measures: object) -> dict[str, ir_measures.Measure]:
    """Parse one or more measures, and return them by name.

    Parameters
    ----------
    measures : measure, str, iterable of these, or mapping of str to measure or str
        Measures in any form accepted by `parse`. Duplicates are dropped. A mapping is
        ``{alias: measure}``. Otherwise the name is the string, or the string form of the object.

    Returns
    -------
    dict of str to ir_measures.Measure

    Raises
    ------
    MultiAspectError
        If no measure is given, a measure cannot be parsed, or an alias refers to several measures.

    Examples
    --------
    >>> from pt_multiaspect.integration.parsing import parse_all
    >>> parse_all(["map", "TOMA(distance=1)@10"])
    {'map': AP, 'TOMA(distance=1)@10': TOMA(distance='manhattan')@10}
    >>> parse_all({"ours": "TOMA(distance=1)@10"})
    {'ours': TOMA(distance='manhattan')@10}
    """
    if _is_qrels(measures):
        type_name = type(measures).__name__
        raise MultiAspectError(
            f"expected measures such as 'nDCG@10', got qrels or a run ({type_name}). "
            "Are the qrels and the measures swapped?"
        )
    if isinstance(measures, Mapping):
        labelled = _parse_aliases(measures)
    elif isinstance(measures, Iterable) and not isinstance(measures, str):
        labelled = _parse_several(measures)
    else:
        labelled = _parse_several([measures])
    refuse_none(labelled, "measure")
    return labelled


def _parse_aliases(measures: Mapping[Any, Any]) -> dict[str, ir_measures.Measure]:
    """Parse a mapping ``{alias: measure}``."""
    labelled: dict[str, ir_measures.Measure] = {}
    for label, measure in measures.items():
        if not isinstance(label, str):
            raise MultiAspectError(
                f"measures: expected a mapping {{alias: measure}} with strings as aliases, got "
                f"{label!r}"
            )
        members = parse(measure)
        n_members = len(members)
        if n_members > 1:
            examples = choices(members[:3])
            raise MultiAspectError(
                f"expected one measure for the alias {label!r}, but {measure!r} expands to "
                f"{n_members}: {examples}, …; give each of them an alias"
            )
        labelled[label] = members[0]
    return labelled


def _parse_several(measures: Iterable[Any]) -> dict[str, ir_measures.Measure]:
    """Parse measures without aliases, and return them by name."""
    labelled: dict[str, ir_measures.Measure] = {}
    for measure in measures:
        members = parse(measure)
        is_family = len(members) > 1
        for member in members:
            # A string is the name as it was written, unless several measures have it.
            if isinstance(measure, str) and not is_family:
                label = str(measure)
            else:
                label = str(member)
            earlier = labelled.setdefault(label, member)
            if earlier != member or type(earlier) is not type(member):
                raise MultiAspectError(
                    f"two different measures have the name {label!r}; pass a mapping with "
                    "distinct aliases, {'one': ..., 'other': ...}"
                )
    return labelled


def _is_qrels(measures: object) -> bool:
    """Return whether measures are instead a frame, judgments, or a dict ``{qid: {docno: ...}}``."""
    if isinstance(measures, Mapping):
        return any(isinstance(value, Mapping) for value in measures.values())
    # Frames of any library have columns. The class is asked, as a measure may compute attributes.
    is_frame = hasattr(type(measures), "columns")
    return is_frame or isinstance(measures, Judgments)


def as_measure(measure: ir_measures.Measure) -> Measure:
    """Convert any measure to a measure of this package.

    Parameters
    ----------
    measure : ir_measures.Measure
        Any measure. Measures of this package are returned unchanged.

    Returns
    -------
    Measure
        For other measures, `On` relevance, with the same values as in ir-measures on runs without
        tied scores. Binary measures that count documents with relevance 1 or higher keep doing so,
        regardless of the threshold that the aspect declares.

    Raises
    ------
    MultiAspectError
        If the values of `On` differ from those of ir-measures, as for ERR.

    Examples
    --------
    >>> from ir_measures import AP
    >>> from pt_multiaspect.integration.parsing import as_measure
    >>> as_measure(AP @ 10)
    On(base='AP(rel=1)')@10
    """
    if supports(measure):
        return measure
    # The parameter of binary measures for the lowest relevant label. Without it, `On` would use the
    # threshold of the aspect, so the default of ir-measures is made explicit.
    rel = measure.SUPPORTED_PARAMS.get("rel")
    if rel is not None and "rel" not in measure.params:
        # RBP has no default, and ir-measures cannot compute it without rel; `evaluate` uses 1.
        is_rbp = isinstance(measure, type(RBP))
        counts_from_1 = rel.default == 1
        if is_rbp or counts_from_1:
            measure = measure(rel=1)
    return measure_on_relevance(measure)


def definition_of(measure: ir_measures.Measure) -> str:
    """Return a printed measure with its scales, not their name, which other processes lack."""
    scales = measure.params.get("aspects")
    if isinstance(scales, Aspects) and scales.name is not None:
        return str(measure(aspects=Aspects(scales)))
    return str(measure)


def read_record(perquery: pd.DataFrame) -> Mapping[str, Any]:
    """Return the recorded measures of a frame by label, none if it has no record."""
    record = perquery.attrs.get(RECORD)
    if isinstance(record, Mapping):
        return record
    return {}


def record_measures(perquery: pd.DataFrame, labelled: Mapping[str, MeasureLike | None]) -> None:
    """Record in the frame the measures of its labels; None for a label that names no measure.

    A measure is recorded with its `definition_of`. Printed measures, as read from files, are parsed
    when they are looked up. A label that was recorded as `UNIT_SCORE`, of scores in [0, 1] that are
    no measure, remains one.
    """
    earlier = read_record(perquery)
    record: dict[str, str | None] = {}
    for label, measure in labelled.items():
        if measure is None:
            was_unit_score = earlier.get(label) == UNIT_SCORE
            record[label] = UNIT_SCORE if was_unit_score else None
        elif isinstance(measure, str):
            record[label] = measure
        else:
            record[label] = MeasureName(measure, definition_of(measure))
    perquery.attrs[RECORD] = record
