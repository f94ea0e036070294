"""What all measures share: parameters that are checked, printed and read back, and one value a query."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from ir_measures import Measure, ParamInfo

from ..aspects import Aspects, AspectSpec, parse_aspects, spell_aspects
from ..errors import MultiAspectError, choices, warn_once
from ..judgments import AspectView, Judgments
from ..kernels.layout import Floats
from ..kernels.target import Target
from ..orders.order import check_weights, weights_of
from ..rankings import Rankings

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MultiAspectMeasure", "Param", "SingleAspectMeasure"]


class Param(ParamInfo):  # type: ignore[misc]
    """A parameter of a measure: how it is read, what it is by default and how it prints.

    Parameters
    ----------
    parse : callable
        Takes a value in any form users or measure strings give it; returns the canonical
        form or raises MultiAspectError.
    default : object
        The canonical default.
    desc : str
        One line for the list of measures.
    spell : callable, optional
        Turns the canonical form into what prints: a str, number, bool or dict.
    required : bool
        Whether a measure cannot be computed without it.
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
        super().__init__(default=default, desc=desc, required=required)
        self.parse = parse
        self.spell = spell


def choice(name: str, *names: str | None) -> Callable[[Any], str | None]:
    """A parser that takes one of `names`."""

    def parse(value: Any) -> str | None:
        if value is not None and not isinstance(value, str):
            value = repr(value)
        if value not in names:
            raise MultiAspectError(f"unknown {name} {value!r}; choose {choices(map(repr, names))}")
        return value  # type: ignore[no-any-return]

    return parse


def real(name: str, *, low: float, high: float = np.inf, open_low: bool = False) -> Callable[[Any], float]:
    """A parser that takes a number from `low` up to but not including `high`."""

    def parse(value: Any) -> float:
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            number = float(value)
            if (low < number if open_low else low <= number) and number < high:
                return int(number) if number.is_integer() else number
        bound = f"{'above' if open_low else 'at least'} {low:g}" + (f" and below {high:g}" if high < np.inf else "")
        raise MultiAspectError(f"{name} must be a number {bound}, not {value!r}")

    return parse


def whole(description: str, *, low: int) -> Callable[[Any], int | None]:
    """A parser that takes None or a whole number from `low` up, which `description` says in an error."""

    def parse(value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= low:
            return int(value)
        raise MultiAspectError(f"{description} from {low} up, not {value!r}")

    return parse


parse_cutoff = whole("a cutoff is a whole number of ranks", low=1)

CUTOFF = Param(parse_cutoff, None, "ranking cutoff, measure@k")
ASPECTS = Param(
    parse_aspects,
    None,
    "which aspects, and their scales: names, top grades, an Aspects object or the name of one",
    spell=spell_aspects,
)


def power_gain(exponent: Floats, what: str, remedy: str) -> Floats:
    """Return the gains 2^exponent - 1 of documents.

    Raises
    ------
    MultiAspectError
        If one is too large for a float; it names `what` has the exponent, and the `remedy`.
    """
    largest = exponent.max(initial=0.0)
    if largest >= np.finfo(np.float64).maxexp:
        raise MultiAspectError(
            f"{what} {largest:g} has the gain 2^{largest:g} - 1, which is too large for a label: {remedy}"
        )
    return np.asarray(np.exp2(exponent) - 1.0, dtype=np.float64)


def weights_param(desc: str) -> Param:
    """The parameter `weights`, a number per aspect."""
    return Param(check_weights, None, desc)


class MultiAspectMeasure(Measure):  # type: ignore[misc]
    """Base of the measures of this package.

    Measures are values: they compare, hash and pickle by what they print, and calling one
    with parameters, or with ``@ cutoff``, gives another. `ir_measures.parse_measure` reads
    back what they print.

    Parameters
    ----------
    **params
        See `SUPPORTED_PARAMS`.

    Raises
    ------
    MultiAspectError
        If a parameter is unknown or its value is not possible; the message has the choices.
    """

    PRETTY_NAME: ClassVar[str]
    SHORT_DESC: ClassVar[str]
    #: Where the measure is defined.
    CITATION: ClassVar[str]
    #: The interval values lie in.
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: Whether small values are good, against what `pt.GridSearch` and highlighting assume.
    LOWER_IS_BETTER: ClassVar[bool] = False
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]]

    def __init__(self, **params: Any) -> None:
        unknown = [name for name in params if name not in self.SUPPORTED_PARAMS]
        if unknown:
            raise MultiAspectError(
                f"{self.NAME} has no parameter {choices(unknown)}; it has {choices(self.SUPPORTED_PARAMS)}"
            )
        canonical = {}
        for name, param in self.SUPPORTED_PARAMS.items():
            if name in params:
                try:
                    value = param.parse(params[name])
                except MultiAspectError as error:
                    raise MultiAspectError(f"{self.NAME}: {error}") from None
                if value != param.default:
                    canonical[name] = value
        super().__init__(**canonical)
        try:
            self._check()
            if self.spec is not None:
                self._check_names(tuple(self.spec))
        except MultiAspectError as error:
            raise self._named(error) from None
        self._text = self._spell()

    def __call__(self, **params: Any) -> Self:
        """Return this measure with some parameters changed."""
        return type(self)(**{**self.params, **params})

    def __matmul__(self, at_param: int) -> Self:
        """Return this measure with a cutoff."""
        return self(**{self.AT_PARAM: at_param})

    def _check(self) -> None:
        """Refuse combinations of parameters that cannot be."""

    def _check_names(self, names: Sequence[str]) -> None:
        """Refuse aspects that do not go with the parameters: when they are declared, else when they are known."""
        if "weights" in self.SUPPORTED_PARAMS:
            weights_of(self["weights"], names)

    def _named(self, error: MultiAspectError) -> MultiAspectError:
        """The error with the measure's name in front."""
        text = str(error)
        return error if text.startswith(self.NAME) else MultiAspectError(f"{self.NAME}: {text}")

    def evaluate(self, rankings: Rankings) -> Floats:
        """Evaluate one run as `compute` does, with the measure named in errors.

        Parameters
        ----------
        rankings : Rankings
            The run, joined with the judgments.

        Returns
        -------
        ndarray of float, shape (n_queries,)
        """
        try:
            return self.compute(rankings)
        except MultiAspectError as error:
            raise self._named(error) from None

    #: Whether `document_gain` is the grade or class of a document, to which learners may give gains of their own.
    GAIN_IS_GRADE: ClassVar[bool] = False
    #: Whether `document_gain` is normalised within each query, so that it needs to know the queries.
    GAIN_PER_QUERY: ClassVar[bool] = False

    def document_gain(self, judgments: Judgments) -> Floats | None:
        """Return the gain that the measure sums over the ranks, for each judged document: a training label.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        ndarray of float, shape (n_pool,), or None
            Never negative, one number per judged pair; None if the measure has no such number.
        """
        return None

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        """Tell whether a ranking by `document_gain` may miss the best value of the measure."""
        return False

    def validate_params(self) -> None:
        """Refuse what is still missing before the measure can be computed."""
        missing = [name for name, param in self.SUPPORTED_PARAMS.items() if param.required and self[name] is None]
        if missing:
            raise MultiAspectError(
                f"{self.NAME} needs {choices(missing)}, as in {self.NAME}({'=..., '.join(missing)}=...)"
            )

    def _spelled_params(self) -> tuple[dict[str, object], int | None]:
        """The printed parameters that differ from their defaults, and the cutoff."""
        spelled = {
            name: param.spell(self.params[name])
            for name, param in self.SUPPORTED_PARAMS.items()
            if name in self.params and name != self.AT_PARAM
        }
        return spelled, self.params.get(self.AT_PARAM)

    def _spell(self) -> str:
        spelled, cutoff = self._spelled_params()
        inner = ",".join(f"{name}={value!r}" for name, value in spelled.items())
        return f"{self.NAME}{f'({inner})' if inner else ''}{'' if cutoff is None else f'@{cutoff}'}"

    def __repr__(self) -> str:
        return self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and self._text == repr(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.params)

    @property
    def lower_is_better(self) -> bool:
        """Whether small values are good."""
        return self.LOWER_IS_BETTER

    @property
    def lower_aggregate_is_better(self) -> bool:
        """Whether small aggregates over queries, as by `aggregator`, are good."""
        return self.lower_is_better

    @property
    def cutoff(self) -> int | None:
        """The rank the measure stops at, or None."""
        cutoff: int | None = self["cutoff"]
        return cutoff

    # -- evaluation ---------------------------------------------------------------------------

    @abstractmethod
    def compute(self, rankings: Rankings) -> Floats:
        """Evaluate one run.

        Parameters
        ----------
        rankings : Rankings
            The run, joined with the judgments.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            A value for every judged query, in the order of ``rankings.judgments.qids``.
        """

    def worth(self, judgments: Judgments) -> Floats | None:
        """Tell by what to sort the judged documents for the greatest value.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        ndarray of float, shape (n_pool,), or None
            None if the measure does not look at a single number of each document, or no order is
            known to be best.
        """
        return None

    @property
    def spec(self) -> AspectSpec:
        """What the measure is told of aspects: scales, names or nothing."""
        spec: AspectSpec = self["aspects"]
        return spec

    def views(self, judgments: Judgments) -> tuple[AspectView, ...]:
        """The aspects of the judgments this measure takes in, after checking that they go with it."""
        views = judgments.views(self.spec)
        self._check_names([view.name for view in views])
        return views

    def shares(self, views: tuple[AspectView, ...]) -> list[float]:
        """The weights of `views`, normalised to sum to 1."""
        weights = weights_of(self["weights"], [view.name for view in views])
        total = sum(weights)
        return [weight / total for weight in weights]

    def _declared(self, aspects: Aspects) -> str:
        """How the measure prints when it is told of `aspects`."""
        return str(self(aspects=aspects))

    def warn_if_inferred(self, views: tuple[AspectView, ...], depends: Callable[[AspectView], bool]) -> None:
        """Warn once that the values depend on the scales of some of `views` which had to be inferred."""
        inferred = [view for view in views if view.inferred and depends(view)]
        if inferred:
            scales = "; ".join(f"{view.name} {view.scale}" for view in inferred)
            declared = self._declared(Aspects({view.name: view.other_reading or view.aspect for view in views}))
            warn_once(
                f"{self.NAME} depends on the scales of the aspects, which were inferred from the judgments at "
                f"hand: {scales}. Other qrels, or parts of these (batches, folds), may give other scales and "
                f"values: declare them, as in {declared}"
                + "".join(
                    f". No label of {view.name} is 0: this declares {view.other_reading!r}, which changes values; "
                    f"if 0 is a grade, declare {view.aspect!r}"
                    for view in inferred
                    if view.other_reading is not None
                ),
                key=scales,
                group=f"{self.NAME}: {choices(repr(view.name) for view in inferred)}",
            )


class SingleAspectMeasure(MultiAspectMeasure):
    """An ordinary measure of one label: of relevance by itself, of any aspect under `On`, and a base of others."""

    #: Whether only positive documents count, and not how positive they are.
    BINARY: ClassVar[bool] = True
    #: Why the measure cannot be a base, if it cannot.
    NO_BASE: ClassVar[str | None] = None

    @property
    def spec(self) -> AspectSpec:
        return ("relevance",)

    def _declared(self, aspects: Aspects) -> str:
        return f"On(base={str(self)!r},aspects={aspects.spelled()!r})"

    def compute(self, rankings: Rankings) -> Floats:
        (view,) = self.views(rankings.judgments)
        self.warn_if_inferred((view,), lambda view: self.BINARY and view.scale.is_fractional)
        return self.on_target(rankings, view.target)

    def linear_gain(self, target: Target) -> tuple[Floats, Hashable] | None:
        """Return what the measure sums, if it is Σ discount(rank) · gain, and a key of the discount.

        The gain has one number per judged document. Keys are equal for equal discounts.
        """
        return None

    @abstractmethod
    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        """Evaluate one run against the labels `target` of the judged documents, one value a query."""


def _rebuild(measure: type[MultiAspectMeasure], params: dict[str, Any]) -> MultiAspectMeasure:
    return measure(**params)
