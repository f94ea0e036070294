"""Help, signatures and completion of measures."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import pt_multiaspect as ma
from pt_multiaspect import measures


@pytest.mark.parametrize("measure", measures.ALL, ids=str)
def test_signatures_show_parameters_and_defaults(measure: ma.Measure) -> None:
    for called in (measure, type(measure), measure.__call__):
        signature = inspect.signature(called)
        assert list(signature.parameters) == list(measure.SUPPORTED_PARAMS)
        for name, parameter in signature.parameters.items():
            param = measure.SUPPORTED_PARAMS[name]
            assert parameter.default == param.spell(param.default)
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


def test_the_signature_of_toma() -> None:
    shown = str(inspect.signature(ma.TOMA))
    assert shown.startswith(
        "(*, base='nDCG', distance='euclidean', order=None, axes='equal', weights=None"
    )
    assert shown.endswith("cutoff=None)")
    assert "self" not in shown


@pytest.mark.parametrize("measure", measures.ALL, ids=str)
def test_help_ends_with_the_documentation(measure: ma.Measure) -> None:
    """It listed a hundred methods of the classes above."""
    shown = pydoc.render_doc(measure, renderer=pydoc.plaintext)
    doc = inspect.cleandoc(type(measure).__doc__)
    assert shown.rstrip().endswith(doc.splitlines()[-1].strip())
    assert "Methods inherited from" not in shown
    assert "Examples" in shown
    assert f"{measure.NAME}(" in shown
    assert len(shown.splitlines()) <= len(doc.splitlines()) + 8


def test_help_of_a_measure_with_parameters_and_of_the_class() -> None:
    shown = pydoc.render_doc(ma.CAM(base="AP"), renderer=pydoc.plaintext)
    assert "CAM(base='AP')" in shown
    assert "Convex aggregating measure" in shown
    assert "combine" in pydoc.render_doc(type(ma.CAM), renderer=pydoc.plaintext)


@pytest.mark.slow
def test_completion_in_an_editor() -> None:
    jedi = pytest.importorskip("jedi")
    names = {"ma": ma, "TOMA": ma.TOMA}
    completed = jedi.Interpreter("TOMA(dis", [names]).complete()
    assert "distance=" in [completion.name_with_symbols for completion in completed]
    listed = {completion.name for completion in jedi.Interpreter("ma.", [names]).complete()}
    assert {"TOMA", "register", "testing", "params", "forms"} <= listed
    assert "_provider" not in {name for name in listed if not name.startswith("__")}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`Completer.complete` is pending deprecation")
def test_completion_in_ipython() -> None:
    core = pytest.importorskip("IPython.core.interactiveshell")
    shell = core.InteractiveShell.instance()
    shell.Completer.use_jedi = False
    shell.user_ns["TOMA"] = ma.TOMA
    _, matches = shell.complete("dis", "TOMA(dis", 8)
    assert "distance=" in matches
    shown = shell.object_inspect_text("TOMA")
    assert "distance='euclidean'" in shown
    core.InteractiveShell.clear_instance()


def test_authoring_names_are_public() -> None:
    for name in ("Measure", "SingleAspectMeasure", "LinearMeasure", "JointMeasure", "AspectMean", "Param", "params",
                 "forms", "register", "register_distance", "testing", "Joint"):  # fmt: skip
        assert name in ma.__all__
        assert hasattr(ma, name)
    for name in ("real", "count", "choice", "boolean", "CUTOFF", "ASPECTS"):
        assert name in ma.params.__all__
    for name in ("Linear", "Additive", "Log2", "Jarvelin", "Geometric", "Flat"):
        assert name in ma.forms.__all__
    assert ma.params.count("depth", low=2)(3) == 3
    for value in (1, 2.0, True, None, 2**40):
        with pytest.raises(ma.MultiAspectError, match="depth: expected a whole number of at"):
            ma.params.count("depth", low=2)(value)
