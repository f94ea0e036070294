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
        return self._with_correctness(
            read_all_qrels(self.values["qrels"], check=not self.values["no_check"])
        )

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
        qrels = [*self.values["qrels"], *self.values.get("human", ())]
        return read_runs(self.values["runs"], qrels)

    @property
    def given_values(self) -> pd.DataFrame | None:
        """The values of --values; None if qrels and runs are given instead."""
        file, runs = self.values["values_file"], self.values["runs"]
        if file is None and not runs:
            remedy = (
                "or --values FILE (of judged answers: pt-multiaspect answers JUDGED -q -o FILE)"
            )
            raise click.UsageError(f"missing values: give --qrels, -m and runs, {remedy}")
        if file is not None and (runs or self.values["qrels"]):
            raise click.UsageError("--values contains the values: omit qrels and runs")
        unused = [name for name in ("aspects", "stances", "no_check") if self.values.get(name)]
        if file is not None and unused:
            raise click.UsageError(
                f"--values contains the values: omit --{unused[0].replace('_', '-')}"
            )
        if file is None:
            return None
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
        """Return the values of the runs, as a long frame; with --qrels unless other qrels are given."""
        judged = self.qrels if qrels is None else qrels
        return evaluate(
            self.runs,
            judged,
            self.measures,
            average_over=self.values.get("average_over"),
            progress=sys.stderr.isatty(),
        )


def _restrict(names: Mapping[str, str] | None, values: pd.DataFrame) -> dict[str, str] | None:
    """Return the groups or clusters of the topics that have values."""
    if names is None:
        return None
    valued = set(values["qid"])
    return {qid: name for qid, name in names.items() if qid in valued}


def _qrels_and_runs(
    arguments: tuple[str, ...], params: Sequence[click.Parameter]
) -> dict[str, tuple[str, ...]]:
    """Return the first argument as qrels and the others as runs, if several arguments are possible."""
    several = next((param for param in params if param.name == "runs" and param.nargs == -1), None)
    if (
        several is not None
        and several.required
        and len(arguments) == 1
        and not _is_run(arguments[0])
    ):
        raise click.MissingParameter(ctx=click.get_current_context(), param=several)
    if several is None or len(arguments) < 1 + several.required:
        raise click.MissingParameter(ctx=click.get_current_context(), param=options.QRELS)
    return {"qrels": arguments[:1], "runs": arguments[1:]}


def _is_run(path: str) -> bool:
    """Return whether an argument is a run, or may be one, rather than qrels."""
    if not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        return len(file.readline(1000).split()) == 6


@dataclass(frozen=True)
class Incomplete:
    """An incomplete result, for which the exit code is 1; the errors are printed after it."""

    shown: object
    errors: list[str] = field(default_factory=list)

    @classmethod
    def with_errors(cls, shown: object, refused: Mapping[str, str]) -> object:
        """Return a result, incomplete if measures cannot be computed, with the error of each."""
        errors = [f"{measure} cannot be computed: {error}" for measure, error in refused.items()]
        if errors:
            return cls(shown, errors)
        return shown


def verb(examples: str, *params: click.Parameter) -> Callable[[Callable[..., object]], Command]:
    """Make a command from a function that returns the output, by its name and with its docstring as the help.

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
    if {options.QRELS, options.QRELS_ONLY} & set(params):
        params = (*params[:1], options.CHECK, *params[1:])
    names = {str(param.name) for param in params}
    formats = (
        next((param.type.formats for param in params if isinstance(param.type, OutputFile)), None)
        or {}
    )

    def decorate(function: Callable[..., object]) -> Command:
        shared = names.difference(inspect.signature(function).parameters)

        def callback(**values: Any) -> int:
            common = {key: values.pop(key) for key in shared}
            arguments = common.get("runs", ())
            if common.get("qrels") == () and not (
                common.get("values_file") or values.get("answers")
            ):
                common |= _qrels_and_runs(arguments, params)
            output = common.get("output")
            format = choose_format(common.get("format"), output, formats)
            inputs = Inputs(common, format)
            if options.MEASURES[0] in params and not inputs.requested:
                explanations = filter(None, map(explain_argument, reversed(arguments)))
                remedy = next(explanations, "give -m MEASURE or --suite NAME")
                raise click.UsageError(f"missing measures: {remedy}")
            if shared:
                shown = function(inputs, **values)
            else:
                shown = function(**values)
            if isinstance(shown, Incomplete):
                errors, shown = (shown.errors, shown.shown)
            else:
                errors, shown = (None, shown)
            if shown is not None:
                write(shown, format, output)
            for error in errors or ():
                tell(f"error: {error}")
            return int(errors is not None)

        text = inspect.getdoc(function) or ""
        return Command(
            function.__name__,
            callback=callback,
            params=list(params),
            help=text,
            short_help=text.partition("\n")[0],
            epilog="\b\n" + dedent(examples).strip().replace("\n\n", "\n\n\b\n"),
        )

    return decorate
