"""The command ``plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import pandas as pd

from .. import plots
from .._writing import write_file
from ..analysis import correlation, discriminative_power
from ..analysis import weightings as compute_weightings
from ..analysis._value_matrices import select_measures
from ..errors import choices
from ..plots.style import FORMATS, figure_bytes
from .input_files import pick_measures, read_value_file
from .messages import tell_written
from .options import CLUSTER, measure_option, option, output
from .run_names import pick_baseline
from .verb import Inputs, verb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The functions of `pt_multiaspect.plots` that draw values per topic, or results of them.
_KINDS = ("values", "systems", "correlation_heatmap", "asl_curves", "weightings")

#: Those that take a baseline.
_COMPARING = ("values", "systems", "weightings")

#: Those whose intervals or tests take clusters of topics.
_CLUSTERED = ("values", "asl_curves", "weightings")


@verb(
    r"""
    Examples:
      pt-multiaspect evaluate --qrels relevance=qrels.txt trust=trust.txt \
        -m nDCG@10 CAM@10 -q -o values.csv runs
      pt-multiaspect plot values values.csv --baseline bm25.run -o values.pdf
      pt-multiaspect plot systems values.csv -m nDCG@10 CAM@10 -o systems.svg
      pt-multiaspect plot correlation_heatmap tot=values.txt -o correlations.png
    """,
    click.Argument(["kind"], metavar="KIND", type=click.Choice(_KINDS)),
    click.Argument(["values_file"], metavar="VALUES", type=click.Path()),
    click.Argument(["labels"], metavar="[MEASURE...]", nargs=-1),
    measure_option(
        "The measures of VALUES to draw, also after it; systems takes two. ALIAS=lower says that "
        "lower values "
        "of a label are better, ALIAS=MEASURE which measure it refers to. Default: all measures."
    ),
    option(
        "--baseline",
        metavar="RUN",
        help="The run to compare with (values, weightings) or to mark (systems).",
    ),
    CLUSTER,
    output(
        {f".{format}": format for format in FORMATS},
        "The file to write: .pdf, .svg or .png. An existing file is replaced.",
        required=True,
    ),
)
def plot(
    inputs: Inputs, kind: str, labels: tuple[str, ...], baseline: str | None, cluster: str | None
) -> None:
    """Draw a figure of values per query.

    VALUES is a table that 'evaluate -q' has written, or lines of other tools with their format, as
    in tot=FILE. KIND is a function of pt_multiaspect.plots: values (the means of the runs with 95 %
    intervals, those of the differences if there is a baseline; 3.3 inches wide for one or two
    measures), systems (the means by two measures), correlation_heatmap (Kendall's tau-b of the
    rankings of the runs by all measures), asl_curves (the significance levels of all pairs of runs
    in bootstrap tests) or weightings (for which weights of measures of aspects or criteria one run
    is better than another).
    """
    if baseline is not None and kind not in _COMPARING:
        raise click.UsageError(f"--baseline: {kind} has none; omit it")
    if cluster is not None and kind not in _CLUSTERED:
        raise click.UsageError(f"--cluster: {kind} takes none; omit it")
    output = inputs.values["output"]
    values = read_value_file(inputs.values["values_file"])
    measures = pick_measures([*inputs.requested.texts, *labels], values)
    baseline = pick_baseline(baseline, values["name"].unique().tolist())

    def draw() -> Axes:
        return _draw(kind, values, measures, baseline, cluster)

    write_file(output, figure_bytes(draw, inputs.format))
    tell_written(output)


def _draw(
    kind: str,
    values: pd.DataFrame,
    measures: Sequence[str] | Mapping[str, Any] | None,
    baseline: str | None,
    cluster: str | None,
) -> Axes:
    """Return the axes of a new figure.

    Parameters
    ----------
    kind : str
        The function of `pt_multiaspect.plots`, one of `_KINDS`.
    values : DataFrame
        The values per topic.
    measures : sequence of str, mapping of str to object or None
        The labels of the measures to draw, with what they refer to if it is given; None for all.
    baseline : str or None
        The run to compare with or to mark.
    cluster : str or None
        The value of --cluster.
    """
    labels = list(measures or values["measure"].unique())
    _check_figure(kind, values, labels)
    if kind == "systems":
        meanings = None
        if isinstance(measures, Mapping):
            meanings = measures
        return plots.systems(values, *labels, baseline=baseline, measures=meanings)
    if kind == "correlation_heatmap":
        correlations = correlation(values, measures=measures)
        return plots.correlation_heatmap(correlations, title="Kendall’s τ-b")
    if kind == "asl_curves":
        selected, _ = select_measures(values, measures)
        power = discriminative_power(selected, cluster=cluster)
        return plots.asl_curves(power)
    if kind == "weightings":
        fractions = compute_weightings(
            values, measures=measures, baseline=baseline, cluster=cluster
        )
        return plots.weightings(fractions)
    return plots.values(values, measures, baseline=baseline, cluster=cluster)


def _check_figure(kind: str, values: pd.DataFrame, labels: Sequence[str]) -> None:
    """Raise an error if there are too few topics, or too few or many measures, for a figure."""
    topics = values["qid"].unique()
    if len(topics) < 2:
        raise click.UsageError(
            f"VALUES: expected at least two topics, got only {topics[0]}; evaluate more topics"
        )
    if kind == "systems" and len(labels) != 2:
        raise click.UsageError(
            f"systems: expected two measures, got {choices(labels)}; choose two by -m"
        )
    if kind in ("correlation_heatmap", "weightings") and len(labels) < 2:
        raise click.UsageError(
            f"{kind}: expected at least two measures, got only {choices(labels)}"
        )
