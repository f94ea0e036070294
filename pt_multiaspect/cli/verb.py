"""Commands: shared options, input and output."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import click
import ir_measures
import pandas as pd

from .._cached import cached_property
from ..aspects import Aspects
from ..evaluation import evaluate
from ..evaluation.long_frames import measures_by_label
from ..evaluation.topic_clusters import read_clusters
from ..evaluation.topic_groups import read_topic_groups
from ..evaluation.topic_structure import TopicStructure
from . import options
from .input_files import (
    read_all_qrels,
    read_aspects,
    read_measures,
    read_runs,
    read_topic_frame,
    read_value_file,
    with_correctness,
)
from .messages import tell
from .options import Command, OutputFile, Requested, explain_argument
from .tables import choose_format, write


class Inputs:
    """The options that commands share. Files are read on first use, qrels before runs.

    Parameters
    ----------
    values : mapping of str to object
        The values of the options of a command, by name.
    format : str
        The format of the output.
    """

    def __init__(self, values: Mapping[str, Any], format: str) -> None:
        self.values = values
        self.format = format
        self.requested = Requested(values.get("measures", ()), values.get("suite"))

    @cached_property
    def aspects(self) -> Aspects | None:
        """The declared scales."""
        return read_aspects(self.values["aspects"])

    @cached_property
    def qrels(self) -> pd.DataFrame:
        """The judgments, with one column per aspect."""
        qrels = read_all_qrels(self.values["qrels"], check=not self.values["no_check"])
        return self._with_correctness(qrels)

    @cached_property
    def human(self) -> pd.DataFrame:
        """The human judgments of some topics, with one column per aspect."""
        human = read_all_qrels(self.values["human"], "--human", check=not self.values["no_check"])
        return self._with_correctness(human)

    def _with_correctness(self, qrels: pd.DataFrame) -> pd.DataFrame:
        """Return the qrels with correctness if there are stances."""
        return with_correctness(qrels, self.values.get("stances"), self.requested.suite)

    @cached_property
    def measures(self) -> Mapping[str, ir_measures.Measure]:
        """The measures by label; a `Suite` if one is requested."""
        return read_measures(self.requested, self.aspects, self.qrels)

    @cached_property
    def runs(self) -> dict[str, object]:
        """The runs by name."""
        # Only one of runs and qrels may be standard input.
        qrels_items = [*self.values["qrels"], *self.values.get("human", ())]
        return read_runs(self.values["runs"], qrels_items)

    @property
    def given_values(self) -> pd.DataFrame | None:
        """The values of --values; None if qrels and runs are given instead."""
        file = self.values["values_file"]
        runs = self.values["runs"]
        if file is None:
            if not runs:
                remedy = (
                    "or --values FILE (of judged answers: pt-multiaspect answers JUDGED -q -o FILE)"
                )
                raise click.UsageError(f"missing values: give --qrels, -m and runs, {remedy}")
            return None
        if runs or self.values["qrels"]:
            raise click.UsageError("--values contains the values: omit qrels and runs")
        for name in ("aspects", "stances", "no_check"):
            if self.values.get(name):
                option = name.replace("_", "-")
                raise click.UsageError(f"--values contains the values: omit --{option}")
        return read_value_file(file)

    @cached_property
    def by(self) -> dict[str, str] | None:
        """The group of each judged topic."""
        file = self.values["by"]
        if file is None:
            return None
        return read_topic_groups(file, self.qrels)

    @cached_property
    def topics(self) -> pd.DataFrame | None:
        """The texts of the judged topics."""
        file = self.values["topics"]
        if file is None:
            return None
        return read_topic_frame(file, self.qrels["qid"].unique().tolist())

    @cached_property
    def clusters(self) -> dict[str, str] | None:
        """The cluster of each judged topic."""
        cluster = self.values["cluster"]
        if cluster is None:
            return None
        return read_clusters(cluster, self.qrels[["qid"]], self.by)

    def structure_of(self, values: pd.DataFrame, test: str = "t") -> TopicStructure:
        """Return the groups and clusters of the topics that have values.

        With --average-over positive, some judged topics have none.
        """
        return TopicStructure.read(
            values,
            measures_by_label(values),
            by=_restrict(self.by, values),
            macro=self.values["macro"],
            cluster=_restrict(self.clusters, values),
            test=test,
        )

    def evaluate(self, qrels: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the values of the runs as a long frame; by default, with the qrels of --qrels."""
        if qrels is None:
            judgments = self.qrels
        else:
            judgments = qrels
        return evaluate(
            self.runs,
            judgments,
            self.measures,
            average_over=self.values.get("average_over"),
            progress=sys.stderr.isatty(),
        )


def _restrict(names: Mapping[str, str] | None, values: pd.DataFrame) -> dict[str, str] | None:
    """Return the groups or clusters, by topic, of those topics that have values."""
    if names is None:
        return None
    topics_with_values = set(values["qid"])
    return {qid: name for qid, name in names.items() if qid in topics_with_values}


def _qrels_and_runs(
    arguments: tuple[str, ...], params: Sequence[click.Parameter]
) -> dict[str, tuple[str, ...]]:
    """Return the first argument as qrels and the others as runs.

    Raise an error if the command does not take several runs, or if qrels or required runs are
    missing.
    """
    context = click.get_current_context()
    missing_qrels = click.MissingParameter(ctx=context, param=options.QRELS)
    param_of_runs = _param_of_runs(params)
    if param_of_runs is None or not arguments:
        raise missing_qrels
    first, *others = arguments
    lacks_runs = param_of_runs.required and not others
    if lacks_runs and _may_be_run(first):
        raise missing_qrels  # the argument is the run
    if lacks_runs:
        raise click.MissingParameter(ctx=context, param=param_of_runs)
    return {"qrels": (first,), "runs": tuple(others)}


def _param_of_runs(params: Sequence[click.Parameter]) -> click.Parameter | None:
    """Return the argument for any number of runs; None if there is none."""
    any_number = -1  # of Click
    for param in params:
        if param.name == "runs" and param.nargs == any_number:
            return param
    return None


def _may_be_run(path: str) -> bool:
    """Return whether an argument may be a run: no file, or a file of runs rather than of qrels."""
    if not os.path.isfile(path):
        return True
    # Lines of runs have six fields (qid Q0 docno rank score name), those of qrels four.
    with open(path, "rb") as file:
        first_line = file.readline(1000)
    return len(first_line.split()) == 6


@dataclass(frozen=True)
class Incomplete:
    """An incomplete result, for which the exit code is 1; the errors are printed after it."""

    shown: object
    errors: list[str] = field(default_factory=list)

    @classmethod
    def with_errors(cls, shown: object, refused: Mapping[str, str]) -> object:
        """Return a result; as incomplete if there are measures that cannot be computed.

        Parameters
        ----------
        shown : object
            The result.
        refused : mapping of str to str
            The error of each measure that cannot be computed.
        """
        errors = [f"{measure} cannot be computed: {error}" for measure, error in refused.items()]
        if errors:
            return cls(shown, errors)
        return shown


def verb(examples: str, *params: click.Parameter) -> Callable[[Callable[..., object]], Command]:
    """Make a command from a function that returns the output; its docstring is the help.

    Parameters
    ----------
    examples : str
        The examples at the end of the help.
    *params : click.Parameter
        The options and arguments, in the order of the help. Those that the function has no
        parameter of the same name for are given to it as one `Inputs`, its parameter `inputs`;
        others by their names.

    Returns
    -------
    callable
        A decorator. The return value of the function (a `Sheet`, a result, a text, None or an
        `Incomplete`) is printed, or written to --output, in the format of --format or of the
        suffix.
    """
    all_params = _with_check(params)

    def decorate(function: Callable[..., object]) -> Command:
        """Return the command of a function."""

        def callback(**values: Any) -> int:
            """Call the function with the values of all options, and return the exit code."""
            return _call_function(function, values, all_params)

        text = inspect.getdoc(function) or ""
        summary, _, _ = text.partition("\n")
        return Command(
            function.__name__,
            callback=callback,
            params=list(all_params),
            help=text,
            short_help=summary,
            epilog=_keep_lines(examples),
        )

    return decorate


def _call_function(
    function: Callable[..., object],
    values: Mapping[str, Any],
    params: Sequence[click.Parameter],
) -> int:
    """Call the function of a command, write what it returns, and return the exit code.

    Parameters
    ----------
    function : callable
        The function. It gets the options that it has parameters for by their names, and all others,
        those that commands share, as `Inputs` before these.
    values : mapping of str to object
        The values of all options and arguments of the command by name.
    params : sequence of click.Parameter
        The options and arguments.
    """
    own_names = inspect.signature(function).parameters
    own_values = {name: value for name, value in values.items() if name in own_names}
    shared_values = {name: value for name, value in values.items() if name not in own_names}
    has_answers = bool(own_values.get("answers"))
    inputs = _read_inputs(shared_values, params, has_answers=has_answers)
    if shared_values:
        result = function(inputs, **own_values)
    else:
        result = function(**own_values)
    return _write_result(result, inputs.format, shared_values.get("output"))


def _with_check(params: tuple[click.Parameter, ...]) -> tuple[click.Parameter, ...]:
    """Return the parameters of a command; if it reads qrels, with --no-check after the first."""
    reads_qrels = options.QRELS in params or options.QRELS_ONLY in params
    if not reads_qrels:
        return params
    first, *others = params
    return (first, options.CHECK, *others)


def _keep_lines(text: str) -> str:
    r"""Return a text whose lines Click keeps: each paragraph begins with a line ``\b``."""
    paragraphs = dedent(text).strip()
    return "\b\n" + paragraphs.replace("\n\n", "\n\n\b\n")


def _read_inputs(
    shared: dict[str, Any], params: Sequence[click.Parameter], *, has_answers: bool
) -> Inputs:
    """Return the shared options of a command, after checking that judgments and measures are given.

    Parameters
    ----------
    shared : dict of str to object
        The values of the shared options by name. Those that the command does not have are missing.
    params : sequence of click.Parameter
        All options and arguments of the command.
    has_answers : bool
        Whether judged answers are given, which take the place of qrels.
    """
    values = dict(shared)
    runs = shared.get("runs", ())
    needs_qrels = "qrels" in shared and not has_answers and not shared.get("values_file")
    if needs_qrels and not shared["qrels"]:
        # Without --qrels, the first argument is the qrels: evaluate qrels.txt bm25.run
        values |= _qrels_and_runs(runs, params)
    format = choose_format(values.get("format"), values.get("output"), _output_formats(params))
    inputs = Inputs(values, format)
    if not inputs.requested and _requires_measures(params):
        raise click.UsageError(f"missing measures: {_remedy_for_measures(runs)}")
    return inputs


def _requires_measures(params: Sequence[click.Parameter]) -> bool:
    """Return whether a command requires measures.

    Then it has the option -m of `options.MEASURES`. Other commands have another -m, if any.
    """
    required_option = options.MEASURES[0]
    return required_option in params


def _output_formats(params: Sequence[click.Parameter]) -> Mapping[str, str]:
    """Return the formats of --output by suffix; none if the command has no such option."""
    for param in params:
        if isinstance(param.type, OutputFile):
            return param.type.formats or {}
    return {}


def _remedy_for_measures(arguments: Sequence[str]) -> str:
    """Return how to give measures, for an error; `arguments` are those that are read as runs."""
    # A measure may be among them. It is probably the last one: evaluate qrels.txt bm25.run AP
    last_first = reversed(arguments)
    for argument in last_first:
        explanation = explain_argument(argument)  # empty for a run
        if explanation:
            return explanation
    return "give -m MEASURE or --suite NAME"


def _write_result(result: object, format: str, output: str | None) -> int:
    """Write the result of a command and its errors, and return the exit code."""
    if not isinstance(result, Incomplete):
        if result is not None:
            write(result, format, output)
        return 0
    write(result.shown, format, output)
    for error in result.errors:
        tell(f"error: {error}")
    return 1
