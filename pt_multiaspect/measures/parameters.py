"""Parameters of measures: parsing, defaults and printing.

`real`, `count`, `choice` and `boolean` create checks for the parameters of new measures; `CUTOFF`,
`ASPECTS`, `GATE`, `REL`, `base_param` and `weights_param` are parameters that measures share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir_measures import ParamInfo

from .. import _validation
from .._validation import boolean, choice, count, real
from ..aspects import aspect_name, parse_aspects, spell_aspects
from ..bases import Bases, parse_base, parse_bases
from ..orders.tuple_order import check_weights

__all__ = [
    "ASPECTS",
    "CUTOFF",
    "GATE",
    "REL",
    "base_param",
    "boolean",
    "choice",
    "count",
    "real",
    "weights_param",
]


class Param(ParamInfo):  # type: ignore[misc]
    """A parameter of a measure: how it is parsed and printed, and its default.

    Parameters
    ----------
    parse : callable
        Converts a value, as given by a user or in a measure string, to its canonical form, or
        raises MultiAspectError.
    default : object
        The default, in canonical form.
    desc : str
        A one-line description for the list of measures.
    spell : callable, optional
        Converts the canonical form to the printed form: a str, number, bool or dict.
    required : bool
        Whether the measure cannot be computed without the parameter.

    Attributes
    ----------
    choices : list
        The options of a parser that accepts finitely many, as that of `params.choice`; otherwise
        empty.

    Examples
    --------
    >>> from pt_multiaspect import Param, params
    >>> half = params.real("half", low=0, open_low=True)
    >>> Param(half, 5, "ranks after which gains are halved").parse(2)
    2
    """

    def __init__(
        self,
        parse: Callable[[Any], Any],
        default: Any,
        desc: str,
        *,
        spell: Callable[[Any], object] = lambda value: value,
        required: bool = False,
    ) -> None:
        options = list(getattr(parse, "options", ()))
        super().__init__(default=default, desc=desc, required=required, choices=options)
        self.parse = parse
        self.spell = spell


CUTOFF = Param(_validation.cutoff, None, "ranking cutoff, measure@k")
ASPECTS = Param(
    parse_aspects,
    None,
    "the aspects and their scales: names, top grades, an Aspects object, its name or its file "
    "(.json)",
    spell=spell_aspects,
)
GATE = Param(
    lambda gate: None if gate is None else aspect_name(gate),
    None,
    "an aspect that is a precondition for the others",
)
REL = Param(
    _validation.whole("rel: expected a whole number", low=0, high=2**53),
    None,
    "the lowest label that counts as relevant; the aspect's threshold by default",
)
#: The parameters that all measures on several aspects have.
COMMON = {"aspects": ASPECTS, "cutoff": CUTOFF}


def weights_param(desc: str) -> Param:
    """Return the parameter `weights`: one number per aspect."""
    return Param(check_weights, None, desc)


def base_param(desc: str, *, per_aspect: bool = False) -> Param:
    """Return the parameter `base`, nDCG by default."""
    parse: Callable[[Any], Bases] = parse_base
    if per_aspect:
        parse = parse_bases
    return Param(parse, parse_base("nDCG"), desc, spell=Bases.spelled)
