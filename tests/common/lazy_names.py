"""The names of a package that are imported only when they are used."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType


def seen_by_type_checkers(package: ModuleType) -> dict[str, str | None]:
    """Each with its module, from the block that only type checkers read."""
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
