"""The base classes of all measures: parameters, printing and evaluation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import ir_measures
import numpy as np

from .._cached import cached_property
from .._typing import Floats
from ..aspects import Aspect, Aspects, AspectSpec
from ..bases import Statements, Term
from ..bases.base import check_values
from ..collection import AspectView, Judgments, Rankings
from ..collection.label_rules import aspect_from_one, start_at_one_note
from ..errors import (
    MultiAspectError,
    choices,
    errors_of,
    in_shell,
    parameter,
    refuse_unknown,
    warn,
    warn_once,
)
from ..kernels.breakdown import Breakdown
from ..orders import TupleOrder
from ..orders.tuple_order import check_gate, weights_of
from .parameters import GATE, Param

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..explanation_view import Explanation


class Measure(ir_measures.Measure):  # type: ignore[misc]
    """Base class of the measures of this package.

    Measures are immutable values. Two measures are equal if they have the same class, parameters
    and bases. They then also print the same. Measures that print the same differ only if a name in
    the printed form, such as that of an `Aspects` set, was declared again in between.
    `ir_measures.parse_measure` reads the printed form. Calling a measure with parameters, or
    ``measure @ cutoff``, returns a new measure.

    Parameters
    ----------
    **params
        See `SUPPORTED_PARAMS`.

    Raises
    ------
    MultiAspectError
        If a parameter is unknown or its value is invalid. The message lists what was expected.
    """

    PRETTY_NAME: ClassVar[str]
    SHORT_DESC: ClassVar[str]
    #: The publication that defines the measure.
    CITATION: ClassVar[str] = ""
    #: The sources that `cite` returns: keys of ``data/references.bib``, or BibTeX entries.
    SOURCES: ClassVar[tuple[str, ...]] = ()
    #: Minimum and maximum value.
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: Whether lower is better; `pt.GridSearch` and highlighting assume that higher is better.
    LOWER_IS_BETTER: ClassVar[bool] = False
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]]
    #: Whether the constructor checks the parameters.
    CHECKS_PARAMS: ClassVar[bool] = True
    #: Whether it is a single-aspect measure, which can be a base; `on` selects the aspect.
    SINGLE_ASPECT: ClassVar[bool] = False
    __signature__: ClassVar[inspect.Signature] = inspect.Signature(
        [inspect.Parameter("params", inspect.Parameter.VAR_KEYWORD)]
    )
    #: The function that computes `explain`, set by `pt_multiaspect.explanation`, which depends on
    #: measures.
    _explain: ClassVar[Callable[..., Explanation]]
    #: The text that `help` shows for a measure.
    _help: ClassVar[str | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Set the names, the signature and the help of a class that does not state them."""
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        if "NAME" not in own:
            cls.NAME = cls.__name__.lstrip("_")
        if "PRETTY_NAME" not in own:
            cls.PRETTY_NAME = cls.NAME
        if "SHORT_DESC" not in own:
            cls.SHORT_DESC = (cls.__doc__ or "").strip().partition("\n")[0]
        if "SUPPORTED_PARAMS" in own:
            _set_signatures(cls)
        signature = inspect.signature(cls)
        docstring = inspect.cleandoc(cls.__doc__ or "")
        cls._help = f"{cls.NAME}{signature}\n\n{docstring}\n"

    def __init__(self, *args: Any, **params: Any) -> None:
        """Read and check the parameters. Those with their default values are not stored."""
        if args:
            self._refuse_positions(args)
        refuse_unknown(params, self.SUPPORTED_PARAMS, "parameters", self.NAME)
        super().__init__(**self._read_params(params))
        # With a docstring per instance, `help` shows it instead of a hundred inherited methods.
        self.__doc__ = self._help
        self.__name__ = self.NAME
        try:
            self._check()
            if self.spec is not None:  # the names of the aspects are known before the qrels
                names = tuple(self.spec)
                self._refuse_inner_cutoffs(names)
                self._check_names(names)
        except MultiAspectError as error:
            raise self._prefix_error(error) from None
        # The printed form, and what the measure is compared and hashed by.
        self._text = self._spell()
        self._key = self._identity()
        # Cached, as ir-measures reads the hash once per value.
        self._hash = hash(self._key)

    def _read_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parsed values of parameters, without those that equal their defaults."""
        changed: dict[str, Any] = {}
        for name, param in self.SUPPORTED_PARAMS.items():
            if name not in params:
                continue
            with errors_of(self.NAME):
                self._refuse_inner_cutoff(params, name, param.choices)
                value = param.parse(params[name])
            if value != param.default:
                changed[name] = value
        return changed

    def _refuse_positions(self, args: tuple[Any, ...]) -> None:
        """Raise an error for parameters without names, which says how to write them."""
        is_called_as_scorer = len(args) > 1 and hasattr(args[0], "fit")
        if is_called_as_scorer:
            # A search would convert the error to NaN and nevertheless select parameters, so the
            # message is a warning too.
            message = f"a measure is not a scorer; use scoring=ranking_scorer({self.NAME})"
            warn(message)
            raise MultiAspectError(message)
        is_one_integer = len(args) == 1 and type(args[0]) is int
        if is_one_integer and "cutoff" in self.SUPPORTED_PARAMS:
            (cutoff,) = args
            raise MultiAspectError(
                f"{self.NAME}: expected parameters by name, got {cutoff}; for a cutoff, use "
                f"{self.NAME} @ {cutoff}"
            )
        named: list[str] = []
        for name, value in zip(self.SUPPORTED_PARAMS, args, strict=False):
            if isinstance(value, str | int | float):
                named.append(f"{name}={value!r}")
            else:
                named.append(f"{name}=…")
        example = ", ".join(named)
        raise MultiAspectError(
            f"{self.NAME}: expected parameters by name, as in {self.NAME}({example}), "
            "got values without names"
        )

    def __call__(self, *args: Any, **params: Any) -> Self:
        """Return a copy of this measure with the given parameters changed."""
        return type(self)(*args, **{**self.params, **params})

    def __matmul__(self, at_param: int) -> Self:
        """Return a copy of this measure with the given cutoff."""
        return self(**{self.AT_PARAM: at_param})

    def _check(self) -> None:
        """Raise an error for invalid combinations of parameters."""

    def _refuse_of_rankings(self, parameters: Iterable[str]) -> None:
        """Raise an error for parameters that are undefined for the criteria of single answers."""
        undefined = [name for name in parameters if name in self.params]
        if undefined:
            raise MultiAspectError(
                f"{choices(undefined)} is defined for rankings, but the criteria of an answer are "
                "combined as they are; omit it"
            )

    def _refuse_inner_cutoffs(self, names: Sequence[str]) -> None:
        """Raise an error if a parameter names an aspect with a cutoff: ``gate='relevance@5'``."""
        for param in self.params:
            self._refuse_inner_cutoff(self.params, param, names)

    def _refuse_inner_cutoff(
        self, params: Mapping[str, Any], param: str, names: Sequence[str]
    ) -> None:
        """Raise an error if the value of a parameter is one of `names` with a cutoff.

        For ``gate='relevance@5'``, the error says to write ``TOMA(gate='relevance')@5``.
        """
        value = params[param]
        accepts_cutoff = "cutoff" in self.SUPPORTED_PARAMS
        if not isinstance(value, str) or value in names or not accepts_cutoff:
            return
        name, _, cutoff = value.rpartition("@")
        is_name_with_cutoff = name in names and cutoff.isdecimal()
        if not is_name_with_cutoff:
            return
        # The remedy spells this parameter only, and "…" for others, but not for long scales.
        further = ""
        other_params = params.keys() - {param, "aspects"}
        if other_params:
            further = ", …"
        raise MultiAspectError(
            f"{param}: got {value!r}, but a cutoff is written after the parameters; write "
            f"{self.NAME}({param}={name!r}{further})@{cutoff}"
        )

    def _check_names(self, names: Sequence[str]) -> None:
        """Raise an error if weights or a gate do not match the names of the aspects."""
        weights_of(self.params.get("weights"), names)  # which checks them
        # A user's class may have a parameter of this name that is no aspect.
        has_gate = self.SUPPORTED_PARAMS.get("gate") is GATE
        if has_gate and self["gate"] is not None:
            check_gate(self["gate"], names)

    def _prefix_error(self, error: MultiAspectError) -> MultiAspectError:
        """Return the error with the measure's name as prefix."""
        text = str(error)
        if text.startswith(self.NAME):
            return error
        return MultiAspectError(f"{self.NAME}: {text}")

    def validate_params(self) -> None:
        """Raise an error if a required parameter is missing."""
        required = [name for name, param in self.SUPPORTED_PARAMS.items() if param.required]
        missing = [name for name in required if self[name] is None]
        if missing:
            example = ", ".join(f"{name}=..." for name in missing)
            raise MultiAspectError(
                f"{self.NAME} requires {choices(missing)}, as in {self.NAME}({example})"
            )

    def _spell_params(self) -> tuple[dict[str, object], int | None]:
        """Return the printed forms of parameters other than the defaults, and the cutoff."""
        spelled: dict[str, object] = {}
        for name, param in self.SUPPORTED_PARAMS.items():
            if name == self.AT_PARAM or name not in self.params:
                continue
            value = self.params[name]
            spelled[name] = param.spell(value)
        cutoff = self.params.get(self.AT_PARAM)
        return spelled, cutoff

    def _spell(self) -> str:
        """Return the printed form, such as ``CAM(base='AP')@10``."""
        spelled, cutoff = self._spell_params()
        text: str = self.NAME
        if spelled:
            inner = ",".join(f"{name}={value!r}" for name, value in spelled.items())
            text = f"{text}({inner})"
        if cutoff is not None:
            text = f"{text}@{cutoff}"
        return text

    def __repr__(self) -> str:
        return self._text

    def _identity(self) -> tuple[object, ...]:
        """Return the key of equality.

        The text is not sufficient: a name in it may have referred to other content before.
        """
        values = [hashable(self.params[name]) for name in sorted(self.params)]
        return (type(self), self._text, *values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return bool(self._key == getattr(other, "_key", None))

    # Without functions, which skops does not call. Hashes differ between processes.
    def __getstate__(self) -> dict[str, Any]:
        return {"params": self.params}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state["params"])

    @property
    def lower_is_better(self) -> bool:
        """Return whether lower values are better."""
        return self.LOWER_IS_BETTER

    @property
    def range(self) -> tuple[float, float]:
        """The minimum and maximum value."""
        return self.RANGE

    @property
    def cutoff(self) -> int | None:
        """The last rank that counts, or None."""
        cutoff: int | None = self.params.get("cutoff")
        return cutoff

    @property
    def accepts_cutoff(self) -> bool:
        """Return whether ``measure @ k`` sets a cutoff."""
        return "cutoff" in self.SUPPORTED_PARAMS

    @property
    def accepts_aspects(self) -> bool:
        """Return whether scales can be declared for the measure, by its parameter `aspects`."""
        return "aspects" in self.SUPPORTED_PARAMS

    @property
    def spec(self) -> AspectSpec:
        """The `aspects` parameter: scales, names or None."""
        spec: AspectSpec = self["aspects"]
        return spec

    @property
    def one_aspect(self) -> str | None:
        """The aspect on which the measure is a single base; None for several aspects."""
        return None

    @property
    def is_multi_aspect(self) -> bool:
        """Return whether it is a measure of several aspects."""
        return not self.SINGLE_ASPECT and self.one_aspect is None

    @property
    def selection(self) -> AspectSpec:
        """The scales or names of the evaluated aspects; None for all label columns."""
        return self.spec

    def declare(self, spec: AspectSpec, option: str = "aspects") -> Measure:
        """Return the measure on the aspects of `spec`, unless it declares its own.

        Parameters
        ----------
        spec : Aspects, tuple of str or None
            The scales, or the names of the aspects. A single-aspect measure uses the scale of
            relevance.
        option : str, default 'aspects'
            The name of `spec` in messages.

        Returns
        -------
        Measure
            The measure itself if it declares scales or uses none.

        Raises
        ------
        MultiAspectError
            If the measure selects an aspect that is not declared.
        """
        if spec is None or not self.accepts_aspects:
            return self
        own: AspectSpec = self["aspects"]
        if own is None:
            return self(aspects=spec)
        declares_scales = isinstance(own, Mapping)
        if declares_scales or not isinstance(spec, Aspects):
            return self
        # The measure selects aspects by name, and `spec` has their scales.
        unknown = [name for name in own if name not in spec]
        if unknown:
            raise MultiAspectError(
                f"{self}: {option} does not declare {choices(unknown)}; it declares {choices(spec)}"
            )
        return self(aspects={name: spec[name] for name in own})

    @property
    def required_aspects(self) -> tuple[str, ...]:
        """The label columns that the qrels must have; others are optional without `aspects`."""
        return tuple(self.spec or self.params.get("weights") or ("relevance",))

    def views(self, judgments: Judgments) -> tuple[AspectView, ...]:
        """Return the aspects that this measure evaluates, checked to match its parameters."""
        self._refuse_inner_cutoffs(judgments.label_names)
        views = judgments.views(self.spec)
        self._check_names([view.name for view in views])
        return views

    # -- evaluation ---------------------------------------------------------------------------

    def evaluate(self, rankings: Rankings) -> Floats:
        """Evaluate one run. ir-measures, `evaluate`, scorers and analyses all call this method.

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
            If the judgments do not match the measure, or the measure does not return one finite
            number per query. The message starts with the name of the measure.
        """
        try:
            views = self.views(rankings.judgments)
            warn_if_inferred(self, views)
            self._check_views(views)
            values = self._evaluate(rankings, views)
        except MultiAspectError as error:
            raise self._prefix_error(error) from error.__cause__
        return check_values(values, rankings.judgments.qids, self._text)

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the value of each judged query, for views that were checked; see `evaluate`."""
        raise NotImplementedError(f"{type(self).__name__} does not define its computation")

    def depends_on(self, view: AspectView) -> bool:
        """Return whether values depend on the scale of an aspect, if it is inferred.

        Parameters
        ----------
        view : AspectView
            The aspect on its scale.

        Returns
        -------
        bool
            True by default.
        """
        return True

    def _check_views(self, views: Sequence[AspectView]) -> None:
        """Warn about aspects without judgments, doubtful scales, and measures of too few aspects.

        There is no warning if a single aspect is selected or declared by name.
        """
        for view in views:
            view.check_judged()
            if self.depends_on(view):
                view.check_start()
        if self.accepts_aspects and self.selection is None and len(views) == 1:
            name = views[0].name
            warn_once(
                f"{self.NAME} combines several aspects, but the qrels have one numeric label "
                f"column, {name}, so only this aspect is evaluated. Check the columns of the "
                f"qrels; if one aspect is meant, select it, as in {self(aspects=[name])}",
                key=f"one aspect: {name}",
            )

    def _spell_declared(self, aspects: Aspects) -> str:
        """Return the printed form of the measure with `aspects` declared."""
        return str(self(aspects=aspects))

    # -- explanations -------------------------------------------------------------------------

    def explain(self, run: object, qrels: object, qid: object, *, depth: int = 100) -> Explanation:
        """Explain the value of one topic, rank by rank.

        Parameters
        ----------
        run : DataFrame, dict, iterable of namedtuples or path
            One run, as in `pt_multiaspect.evaluate`; ``{name: run}`` names it.
        qrels : DataFrame, dict, iterable or Judgments
            Wide qrels, with one numeric column per aspect. Scales that are not declared are
            inferred from all topics, as in evaluation.
        qid : str
            The topic.
        depth : int, default 100
            Number of ranks with a separate row if contributions are marginal; see `Explanation`.

        Returns
        -------
        Explanation
            The contribution of each retrieved document. The contributions and the offset sum to the
            value.

        Raises
        ------
        MultiAspectError
            If the topic is not in the qrels, the input is invalid, or the contributions that the
            measure or its base states do not sum to its value.

        Examples
        --------
        >>> from pt_multiaspect import TOMA
        >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0},
        ...                 "d2": {"relevance": 1, "credibility": 1}}}
        >>> measure = TOMA(aspects={"relevance": 2, "credibility": 1}) @ 10
        >>> explanation = measure.explain({"q1": {"d1": 2.0, "new": 1.5, "d2": 1.0}}, qrels, "q1")
        >>> explanation.ranks[["rank", "docno", "class", "gain", "contribution", "note"]].round(3)
           rank docno  class  gain  contribution      note
        0     1    d1    2.0   2.0         0.469
        1     2   new    NaN   0.0         0.000  unjudged
        2     3    d2    3.0   3.0         0.352
        """
        return self._explain(run, qrels, qid, depth=depth)

    def details(self, judgments: Judgments) -> Mapping[str, Any]:
        """Return quantities computed from the labels of each judged document, for explanations.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        mapping of str to ndarray, shape (n_pool,)
            Empty by default. Gains need not be included.
        """
        return {}

    def _breakdown(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Breakdown | None:
        """Return the values as sums over ranks, for measures without terms; None if unknown."""
        return None

    # -- properties used by analyses; the defaults mean "unknown" -------------------------------

    def statements(self) -> Statements:
        """Return what is known about the measure with its parameters, for single analyses.

        A class that knows more overrides the method, as in
        ``return dataclasses.replace(super().statements(), sorting_is_optimal=True)``.

        Returns
        -------
        Statements
            By default, all fields are unknown; see `pt_multiaspect.bases.Statements`.
        """
        return Statements()

    @cached_property
    def stated(self) -> Statements:
        """The result of `statements`, computed once."""
        return self.statements()

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the terms of the measure: the bases it combines, with their targets and weights.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        list of Term
            Empty if the measure is not a function of single-aspect measures.
        """
        return []

    def combine(self, values: Floats, weights: Floats) -> Floats:
        """Combine the values of the terms.

        Parameters
        ----------
        values, weights : ndarray of float, shape (n_terms, n_queries)
            The values and the weights of the terms.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            The value of the measure; by default the weighted sum.
        """
        return np.asarray((weights * values).sum(axis=0), dtype=np.float64)

    def slope(self, values: Floats, weights: Floats) -> Floats | None:
        """Return the gradient of `combine` with respect to the values.

        Only for concave functions f that are homogeneous, f(c·x) = c·f(x). Then f(x) ≤ slope(y)·x
        for any x and y, so that the slope gives a weighted sum that is an upper bound of the
        measure.

        Parameters
        ----------
        values, weights : ndarray of float, shape (n_terms, n_queries)
            The values of the terms (positive), and their weights.

        Returns
        -------
        ndarray of float, shape (n_terms, n_queries), or None
            The gradient; None if unknown.
        """
        if self.stated.is_weighted_sum:
            return weights
        return None

    def order(self, aspects: Aspects | Mapping[str, Any]) -> TupleOrder | None:
        """Return the order of label tuples that the measure evaluates.

        Parameters
        ----------
        aspects : Aspects or mapping
            Scales with declared grades.

        Returns
        -------
        TupleOrder or None
            The order; None if the measure does not order tuples.
        """
        return None

    def document_gain(self, judgments: Judgments) -> Floats | None:
        """Return the gain of each judged document, for use as a training label.

        The measure sums these gains over ranks.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        ndarray of float, shape (n_pool,), or None
            One non-negative gain per judged (query, document) pair; None if the measure has no such
            gain.
        """
        return None

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        """Return whether sorting by `document_gain` may miss the maximum of the measure.

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
        """Return the measure evaluated on one aspect.

        Parameters
        ----------
        aspect : str
            Name of the aspect.
        aspects : Aspects, optional
            The scale of the aspect.

        Returns
        -------
        Measure
            `On` with this aspect for a single-aspect measure; other measures are returned
            unchanged.
        """
        return self


class DirectMeasure(Measure):
    """A measure that is not a function of single-aspect measures. Subclasses define `score`."""

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        return self.score(rankings, views)

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Evaluate one run.

        Parameters
        ----------
        rankings : Rankings
            The run, joined with the judgments; ``rankings.top(self.cutoff)`` returns its first
            ranks.
        views : tuple of AspectView
            The aspects that the measure evaluates.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            A finite value for every judged query, in the order of ``rankings.judgments.qids``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define score")


def inferred_views(measure: Measure, views: Sequence[AspectView]) -> list[AspectView]:
    """Return those of `views` whose scales were inferred and affect the values."""
    uses_scales = measure.accepts_aspects or measure.SINGLE_ASPECT
    if not uses_scales:
        return []
    return [view for view in views if view.inferred and measure.depends_on(view)]


def warn_if_inferred(measure: Measure, views: Sequence[AspectView]) -> None:
    """Warn once if the values depend on scales of `views` that were inferred."""
    if in_shell() and measure.is_multi_aspect and measure.accepts_aspects:
        # The shell evaluates many measures on the same aspects: they share one warning of all
        # scales, also of those that this measure does not use. It is in no group.
        inferred = [view for view in views if view.inferred]
        _warn_of_scales(measure, views, inferred, group=None)
    else:
        # Parts of the qrels may have other scales of the same aspects. Warnings of a measure on
        # these aspects, whatever its parameters are, form a group, of which only some are given.
        inferred = inferred_views(measure, views)
        names = choices(repr(view.name) for view in inferred)
        _warn_of_scales(measure, views, inferred, group=f"{measure.NAME}: {names}")


def _warn_of_scales(
    measure: Measure,
    views: Sequence[AspectView],
    inferred: Sequence[AspectView],
    group: str | None,
) -> None:
    """Warn once that the values of a measure depend on scales that were inferred.

    Parameters
    ----------
    measure : Measure
        The measure.
    views : sequence of AspectView
        The aspects that it evaluates.
    inferred : sequence of AspectView
        Those whose scales the warning names; without any, there is no warning.
    group : str, optional
        The group of the warning, as for `warn_once`.
    """
    if not inferred:
        return
    scales = "; ".join(f"{view.name} {view.scale}" for view in inferred)
    advice = _advice_to_declare()
    example = _spell_with_scales(measure, views)
    note = start_at_one_note(view.label_counts for view in inferred)
    warn_once(
        f"{measure.NAME} depends on the label scales, which were inferred from these qrels: "
        f"{scales}. {advice}, as in {example}{note}",
        key=scales,
        group=group,
    )


def _spell_with_scales(measure: Measure, views: Sequence[AspectView]) -> str:
    """Return the printed form of a measure that declares the scales of the aspects.

    These are the scales of the views, but without the grade 0 if it seems not to be a grade.
    """
    declared: dict[str, Aspect] = {}
    for view in views:
        aspect = view.aspect
        aspect_without_0 = aspect_from_one(view.label_counts)
        if aspect_without_0 is not None:
            aspect = aspect_without_0
        declared[view.name] = aspect
    return measure._spell_declared(Aspects(declared))


def hashable(value: object) -> object:
    """Return the value of a parameter, or its printed form if it is not hashable."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _advice_to_declare() -> str:
    """Return the remedy for inferred scales, as options of the command line in the shell."""
    if in_shell():
        option = parameter("aspects")
        return (
            f"Declare them with {option} FILE ('pt-multiaspect describe --write-aspects FILE' "
            "writes them) to get comparable values on other qrels, or in the measure"
        )
    return "Declare them to get comparable values on other qrels, batches or folds"


def _set_signatures(measure: Any) -> None:
    """Set the signatures of a class of measures and its instances, which code completion shows."""
    parameters: list[inspect.Parameter] = []
    for name, param in measure.SUPPORTED_PARAMS.items():
        default = param.spell(param.default)
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default))
    measure.__signature__ = inspect.Signature(parameters)
    measure.__call__ = _call_method(measure, parameters)


def _call_method(measure: Any, parameters: Sequence[inspect.Parameter]) -> Callable[..., Any]:
    """Return the method `__call__` of a class of measures, whose signature has the parameters.

    Each class needs a function of its own, as signatures belong to functions.
    """

    def __call__(self: Any, *args: Any, **params: Any) -> Any:
        """Return a copy of this measure with the given parameters changed."""
        return type(self)(*args, **{**self.params, **params})

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    __call__.__signature__ = inspect.Signature([itself, *parameters])  # type: ignore[attr-defined]
    __call__.__qualname__ = f"{measure.__qualname__}.__call__"
    return __call__
