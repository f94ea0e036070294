"""The root of all measures: parameters, printing, and the one way to evaluate."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import ir_measures
import numpy as np

from .._typing import Floats
from ..aspects.aspects import Aspects
from ..aspects.parameter import AspectSpec
from ..bases import Term
from ..bases.base import check_values
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices, warn_once
from ..orders.order import TupleOrder, weights_of
from .parameters import Param

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DirectMeasure", "Measure"]


class Measure(ir_measures.Measure):  # type: ignore[misc]
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
    #: Measures check their parameters when they are made.
    CHECKS_PARAMS: ClassVar[bool] = True
    #: Why the measure cannot be a base, if it cannot.
    NOT_A_BASE: ClassVar[str | None] = "a base measures one aspect, and it is a multi-aspect measure itself"
    #: Whether it measures one aspect, which `on` chooses.
    SINGLE_ASPECT: ClassVar[bool] = False
    #: Whether `combine` is the weighted sum of the values of the terms.
    IS_WEIGHTED_SUM: ClassVar[bool] = True
    #: Whether `combine` never falls when a value rises.
    IS_INCREASING: ClassVar[bool] = True
    #: Whether `document_gain` is the grade or class of a document, to which learners may give gains of their own.
    GAIN_IS_GRADE: ClassVar[bool] = False
    #: Whether `document_gain` is normalised within each query, so that it needs to know the queries.
    GAIN_PER_QUERY: ClassVar[bool] = False
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "SUPPORTED_PARAMS" in cls.__dict__:
            _sign(cls)

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
        self._key = self._identity()

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

    def _identity(self) -> tuple[object, ...]:
        """What measures that compare equal share."""
        return (type(self), self._text)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return bool(self._key == getattr(other, "_key", None))

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
    def range(self) -> tuple[float, float]:
        """The interval values lie in."""
        return self.RANGE

    @property
    def cutoff(self) -> int | None:
        """The rank the measure stops at, or None."""
        cutoff: int | None = self["cutoff"]
        return cutoff

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

    def shares(self, views: Sequence[AspectView]) -> list[float]:
        """The weights of `views`, normalised to sum to 1."""
        weights = weights_of(self["weights"], [view.name for view in views])
        total = sum(weights)
        if np.isinf(total):
            largest = max(weights)
            weights = [weight / largest for weight in weights]
            total = sum(weights)
        return [weight / total for weight in weights]

    # -- evaluation ---------------------------------------------------------------------------

    def evaluate(self, rankings: Rankings) -> Floats:
        """Evaluate one run: the one way in for ir-measures, `evaluate`, scorers and analyses.

        Parameters
        ----------
        rankings : Rankings
            The run, joined with the judgments.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            A finite value for every judged query, in the order of ``rankings.judgments.qids``.

        Raises
        ------
        MultiAspectError
            With the measure's name in front, if the judgments do not go with it, or its class does not
            compute one finite number per query.
        """
        try:
            views = self.views(rankings.judgments)
            self.warn_if_inferred(views)
            values = self._evaluate(rankings, views)
        except MultiAspectError as error:
            raise self._named(error) from None
        return check_values(values, rankings.judgments.qids, self._text)

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        raise NotImplementedError(f"{type(self).__name__} does not say how it is computed")

    def depends_on(self, view: AspectView) -> bool:
        """Tell whether inferring the scale of an aspect from other judgments could change values.

        Parameters
        ----------
        view : AspectView
            The aspect on its scale.

        Returns
        -------
        bool
            By default True.
        """
        return True

    def warn_if_inferred(self, views: Sequence[AspectView]) -> None:
        """Warn once that the values depend on the scales of some of `views` which had to be inferred."""
        if "aspects" not in self.SUPPORTED_PARAMS and not self.SINGLE_ASPECT:
            return  # it takes no scales
        inferred = [view for view in views if view.inferred and self.depends_on(view)]
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

    def _declared(self, aspects: Aspects) -> str:
        """How the measure prints when it is told of `aspects`."""
        return str(self(aspects=aspects))

    # -- what analyses ask; the defaults say "unknown" -----------------------------------------------

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the bases, with their targets and weights, whose values the measure combines.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        list of Term
            Empty if the measure is no function of single-aspect measures.
        """
        return []

    def combine(self, values: Floats, weights: Floats) -> Floats:
        """Combine the values of the terms.

        Parameters
        ----------
        values, weights : ndarray of float, shape (n_terms, n_queries)
            The values of the terms and how much they count.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            By default the weighted sum.
        """
        return np.asarray((weights * values).sum(axis=0), dtype=np.float64)

    def slope(self, values: Floats, weights: Floats) -> Floats | None:
        """Return the derivative of `combine` by each value.

        Only for functions f that are concave and homogeneous, f(c·x) = c·f(x), so that f(x) ≤ slope(y)·x for
        any x and y: a weighted sum that is nowhere less than the measure.

        Parameters
        ----------
        values, weights : ndarray of float, shape (n_terms, n_queries)
            Positive values of the terms, and how much they count.

        Returns
        -------
        ndarray of float, shape (n_terms, n_queries), or None
            None if it is not known.
        """
        return weights if self.IS_WEIGHTED_SUM else None

    def order(self, aspects: Aspects | Mapping[str, Any]) -> TupleOrder | None:
        """Return the order of label tuples that the measure evaluates.

        Parameters
        ----------
        aspects : Aspects or mapping
            Scales with declared grades.

        Returns
        -------
        TupleOrder or None
            None if the measure orders no tuples.
        """
        return None

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
        """Tell whether a ranking by `document_gain` may miss the best value of the measure.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        bool
            Whether the gain is a surrogate.
        """
        return False

    def on(self, aspect: str, aspects: Aspects | None = None) -> Measure:
        """Return the measure on one aspect.

        Parameters
        ----------
        aspect : str
            Which aspect.
        aspects : Aspects, optional
            Declares its scale.

        Returns
        -------
        Measure
            `On` the aspect for a measure of a single one; any other measure is itself.
        """
        return self


class DirectMeasure(Measure):
    """A measure that is no function of single-aspect measures: it states `score`."""

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        return self.score(rankings, views)

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Evaluate one run.

        Parameters
        ----------
        rankings : Rankings
            The run, joined with the judgments; ``rankings.top(self.cutoff)`` are its first ranks.
        views : tuple of AspectView
            The aspects the measure takes in.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            A finite value for every judged query, in the order of ``rankings.judgments.qids``.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no score")


def _sign(measure: type[Measure]) -> None:
    """Let `inspect.signature` and completion show the parameters, of the class and of calling its instances."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=param.spell(param.default))
        for name, param in measure.SUPPORTED_PARAMS.items()
    ]
    measure.__signature__ = inspect.Signature(parameters)

    def __call__(self: Measure, **params: Any) -> Measure:
        """Return this measure with some parameters changed."""
        return type(self)(**{**self.params, **params})

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    __call__.__signature__ = inspect.Signature([itself, *parameters])  # type: ignore[attr-defined]
    __call__.__qualname__ = f"{measure.__qualname__}.__call__"
    measure.__call__ = __call__  # type: ignore[method-assign]


def _rebuild(measure: type[Measure], params: dict[str, Any]) -> Measure:
    return measure(**params)
