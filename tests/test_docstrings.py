"""Public names, and their docstrings: numpydoc's rules, and every parameter documented."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import pt_multiaspect as ma

MODULES = (
    "pt_multiaspect",
    "pt_multiaspect.analysis",
    "pt_multiaspect.answers",
    "pt_multiaspect.datasets",
    "pt_multiaspect.demo",
    "pt_multiaspect.model_selection",
    "pt_multiaspect.orders",
    "pt_multiaspect.plots",
    "pt_multiaspect.reporting",
    "pt_multiaspect.tables",
    "pt_multiaspect.testing",
)

#: Not required everywhere: an extended summary, a section See Also.
#: Findings of numpydoc that no docstring needs to avoid: no extended summary, no section See Also.
OPTIONAL = {"ES01", "SA01"}

#: Public names without an example of their own: exceptions, the base class, and the demonstration.
WITHOUT_EXAMPLE = {
    "FailedCheckError",
    "MultiAspectError",
    "Measure",
    "MultiAspectWarning",
    "run_demo",
}

#: Methods with a short docstring, without all of Parameters and Returns. The list may only shrink.
SHORT_METHODS = {
    "Aspect.from_spec",
    "Aspect.with_grades",
    "AspectRanker.fit",
    "AspectRanker.predict",
    "AspectRanker.set_params",
    "Aspects.spelled",
    "DistanceOrder.to_list",
    "Judgments.labels",
    "Judgments.of",
    "Judgments.row_values",
    "Judgments.query_positions",
    "Judgments.view",
    "Judgments.views",
    "Measure.views",
    "Order.from_json",
    "Order.spelled",
    "Order.to_dict",
    "Order.weigh",
}
#: Findings about methods with a short docstring: parameters and return values that it leaves out.
SHORT = {"PR01", "RT01", "RT03"}


def public_names() -> Iterator[tuple[str, Any]]:
    """All public functions, classes and measures with the names they are imported by, each once."""
    seen = set()
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            value = getattr(sys.modules[module], name)
            if (
                not isinstance(value, types.ModuleType | types.MappingProxyType)
                and id(value) not in seen
            ):
                seen.add(id(value))
                yield f"{module}.{name}", value
    for value in documented_classes():
        if id(value) not in seen:
            seen.add(id(value))
            yield f"{value.__module__}.{value.__name__}", value


def documented_classes() -> list[type]:
    """Return the classes of the API page that only their modules show: results, which functions return."""
    page = (Path(ma.__file__).parent / "pt_docs" / "api.rst").read_text(encoding="utf-8")
    paths = re.findall(r"autoclass:: (pt_multiaspect\.(?!forms)\S+)\.(\w+)", page)
    return [getattr(importlib.import_module(module), name) for module, name in paths]


def overrides_documented(value: type, attribute: str) -> bool:
    """Return whether a method overrides a documented one, and says in one line at most what it adds to that."""
    doc = getattr(vars(value)[attribute], "__doc__", None)
    if doc and len(doc.strip().splitlines()) > 1:
        return False
    inherited = [vars(above)[attribute] for above in value.__mro__[1:] if attribute in vars(above)]
    return any(getattr(member, "__doc__", None) for member in inherited)


PUBLIC = dict(public_names())
MEASURES = {name: value for name, value in PUBLIC.items() if isinstance(value, ma.Measure)}
RESULTS = {f"{value.__module__}.{value.__name__}" for value in documented_classes()}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if name not in {**MEASURES, **CLASSES}}
METHODS = {
    f"{name}.{attribute}": member
    for name, value in CLASSES.items()
    for attribute, member in vars(value).items()
    if not attribute.startswith("_")
    and not overrides_documented(value, attribute)
    and (inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod))
}


def short(name: str, parts: int = 1) -> str:
    return ".".join(name.split(".")[-parts:])


def faults(name: str, ignored: set[str]) -> list[str]:
    """Return the findings of numpydoc, as texts."""
    return [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in ignored]


def section_names(value: object, section: str) -> list[str]:
    """The names in a section of a docstring, such as Parameters."""
    doc = NumpyDocString(inspect.getdoc(value) or "")
    return [name.strip().lstrip("*") for entry in doc[section] for name in entry.name.split(",")]


def parameters(value: Any) -> list[str]:
    return [name for name in inspect.signature(value).parameters if name != "self"]


def test_there_is_something_to_check():
    assert len(MEASURES) >= 30
    assert len(FUNCTIONS) >= 30
    assert len(CLASSES) >= 10
    assert len(METHODS) >= 40


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    ignored = OPTIONAL | ({"EX01"} if short(name) in WITHOUT_EXAMPLE else set())
    assert faults(name, ignored) == []
    assert section_names(FUNCTIONS[name], "Parameters") == parameters(FUNCTIONS[name])


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    value, ignored = CLASSES[name], set(OPTIONAL)
    if name in RESULTS:
        # Only the package calls the constructor; the function that returns it has an example.
        ignored |= {"PR01", "EX01"}
    if short(name) in WITHOUT_EXAMPLE:
        ignored.add("EX01")
    if dataclasses.is_dataclass(value) and section_names(value, "Attributes"):
        # A result: users read its attributes, and only the package calls its constructor.
        ignored.add("PR01")
        fields = [
            field.name for field in dataclasses.fields(value) if not field.name.startswith("_")
        ]
        assert section_names(value, "Attributes") == fields
    assert faults(name, ignored) == []


def documented_defaults(value: object) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a docstring that have a default, with its text."""
    for entry in NumpyDocString(inspect.getdoc(value) or "")["Parameters"]:
        text = entry.type.partition("default ")[2].strip("`")
        yield from ((name.strip(), text) for name in entry.name.split(",") if text)


def test_documented_defaults_are_the_defaults():
    checked, faulty = 0, []
    for name, value in PUBLIC.items() | METHODS.items():
        for parameter, text in documented_defaults(value):
            if isinstance(value, ma.Measure):
                default = value.SUPPORTED_PARAMS[parameter].default
            else:
                function = getattr(value, "__func__", value)
                default = inspect.signature(function).parameters[parameter].default
            checked += 1
            if text not in (repr(default), str(default)) and ast.literal_eval(text) != default:
                faulty.append(f"{name}: {parameter} has the default {default!r}, not {text}")
    assert checked > 100
    assert faulty == []


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    """No finding of numpydoc but those that are allowed; examples are those of the class."""
    no_example = "EX01"
    ignored = OPTIONAL | {no_example}
    class_and_method = short(name, parts=2)
    if class_and_method in SHORT_METHODS:
        ignored |= SHORT
    assert faults(name, ignored) == []


def test_the_list_of_short_methods_shrinks():
    """Each method of the list exists and has a finding for which it needs to be there."""
    path_of_method = {short(path, parts=2): path for path in METHODS}
    for name in sorted(SHORT_METHODS):
        assert name in path_of_method, f"remove {name} from SHORT_METHODS: there is no such method"
        codes = {code for code, _ in validate(path_of_method[name])["errors"]}
        assert codes & SHORT, f"remove {name} from SHORT_METHODS: its docstring is complete"


@pytest.mark.parametrize("name", MEASURES)
def test_measures(name):
    # Measures are instances, whose parameters are not those of a signature: PR01, PR02.
    assert faults(name, OPTIONAL | {"PR01", "PR02"}) == []
    assert sorted(section_names(MEASURES[name], "Parameters")) == sorted(
        MEASURES[name].SUPPORTED_PARAMS
    )
    assert MEASURES[name].CITATION


def docstring_sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each section, which begins as "Parameters", "----------"."""
    title = ""
    lines_of_section: list[str] = []
    lines = inspect.cleandoc(text).splitlines()
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch("-{3,}", next_line):
            yield title, "\n".join(lines_of_section)
            title, lines_of_section = line, []
        else:
            lines_of_section.append(line)
    yield title, "\n".join(lines_of_section)


#: How an entry of a section begins: "p, q : float, default 1" or "ValueError".
ENTRY_OF_SECTION = {
    "Parameters": r"[*\w]+(, [*\w]+)*( : .+)?",
    "Attributes": r"[*\w]+(, [*\w]+)*( : .+)?",
    "Raises": r"\w+",
    "Warns": r"\w+",
}


def test_sections_name_what_they_describe():
    """Also those of private functions: parameters by their names, errors and warnings by their classes."""
    n_entries = 0
    for path in Path(ma.__file__).parent.rglob("*.py"):
        for text in re.findall(r'"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL):
            for title, body in docstring_sections(text):
                if title not in ENTRY_OF_SECTION:
                    continue
                lines = [line for line in body.splitlines() if not re.fullmatch("-{3,}", line)]
                entries = [line for line in lines if re.match(r"\S", line)]  # not indented
                for entry in entries:
                    assert re.fullmatch(ENTRY_OF_SECTION[title], entry), f"{path.name}: {entry}"
                n_entries += len(entries)
    assert n_entries > 1000


@pytest.mark.parametrize("module", MODULES)
def test_modules_list_public_names_only(module):
    loaded = importlib.import_module(module)
    assert [name for name in loaded.__all__ if name.startswith("_")] == []
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []
    assert loaded.__doc__


#: Names in `dir` besides those of `__all__`: modules of the package and of the standard library.
#: May only shrink.
OTHER_NAMES = {
    "TYPE_CHECKING", "Any", "aspects", "datasets", "errors", "evaluation", "io", "judgments", "kernels", "measures",
    "model_selection", "names", "order", "provider", "rankings", "runs",
}  # fmt: skip


@pytest.mark.slow
def test_dir_lists_public_names_only():
    # In a process of its own: an import of a submodule, as of the demo, adds it to `dir`.
    code = "import pt_multiaspect; print(*dir(pt_multiaspect))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed = {name for name in done.stdout.split() if not name.startswith("_")}
    assert set(ma.__all__) <= listed
    assert listed - set(ma.__all__) <= OTHER_NAMES
