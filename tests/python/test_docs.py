"""Documents are true: their examples run, and the files they name exist."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import catena

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(catena.__path__, "catena.")
    if not module.name.endswith("__main__")
]


NEEDS_SPARK = ROOT / "docs" / "spark.md"
"""Run with Spark's tests, which have a session."""


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path != NEEDS_SPARK], ids=lambda path: path.name
)
def test_the_examples_of_a_document_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_examples(path, capsys)


def run_examples(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python blocks of a page, one after the other; `# text` at a block's end is its output."""
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(path), "exec"), names)
        printed = capsys.readouterr().out
        expected = re.search(r"((?:^# .*\n)+)\Z", block, re.MULTILINE)
        if expected:
            assert printed == re.sub(r"^# ", "", expected.group(1), flags=re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_a_document_names_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:cpp|python|tests|docs|third_party)/[\w./]+)`", text):
        assert (ROOT / name).exists() or list(ROOT.glob(f"{name}.*")), f"{path.name}: {name}"
    for link in re.findall(r"\]\(((?:docs|tests)/[\w./]+)\)", text):
        assert (ROOT / link).exists(), f"{path.name}: {link}"
