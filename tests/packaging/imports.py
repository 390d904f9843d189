"""What each Python file imports, read from its syntax tree: nothing is run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Import:
    """`module` imports `target` at `line`; a local import stands inside a function.

    Attributes:
        names: What is taken from the target; empty when it is the module itself.
    """

    module: str
    target: str
    names: tuple[str, ...]
    line: int
    local: bool

    @property
    def package(self) -> str:
        """The first part of the target."""
        return self.target.split(".")[0]

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    """Return the dotted name of a file below the repository's root."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[Import]:
    """Yield every import of a file, at the top and inside functions, but not those for types."""
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    local = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if node not in typing_only:
            for target, names in _targets(node, path):
                yield Import(module_name(path), target, names, node.lineno, node in local)


def _targets(node: ast.AST, path: Path) -> list[tuple[str, tuple[str, ...]]]:
    if isinstance(node, ast.Import):
        return [(alias.name, ()) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        parts = path.relative_to(ROOT).parts[: -node.level]
        base = ".".join([*parts, *filter(None, [base])])
    # `from mteb_nano import locate` imports a module, `from mteb_nano.locate import fetch` a name.
    names = [alias.name for alias in node.names]
    modules = [name for name in names if _is_module(base, name)]
    rest = tuple(name for name in names if name not in modules)
    return [(f"{base}.{name}", ()) for name in modules] + ([(base, rest)] if rest else [])


def _is_module(base: str, name: str) -> bool:
    place = ROOT.joinpath(*base.split("."), name)
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def all_imports(*folders: str) -> list[Import]:
    """Return the imports of every file below these folders of the repository."""
    files = [f for folder in folders for f in sorted((ROOT / folder).rglob("*.py"))]
    return [found for file in files for found in imports_of(file)]
