"""The benchmarks are kept as small and as plain as what they measure."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ops" / "benching"
MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_and_functions_stay_small_and_say_what_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    long = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 50
    ]
    assert (len(text.splitlines()) <= 300, long) == (True, [])
    assert ast.get_docstring(tree)
