"""How large the four packages are, and how they are cut: ``python benchmarks/size.py``.

The chain is the longest path over imports at the top of modules, those of a module's own package
aside. A comment says something: no ruler, and no order to a tool."""

from __future__ import annotations

import ast
import re
import tokenize
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("xgl", "meta_sampler", "archive", "evo")
FILES = {path: path.read_text("utf-8") for p in PACKAGES for path in ROOT.glob(f"{p}/**/*.py")}
TREES = {path: ast.parse(text) for path, text in FILES.items()}
MUTE = re.compile(r"#\s*(--|noqa|type:|pragma|fmt:)")


def file_of(name: str) -> Path | None:
    path = name.replace(".", "/")
    return next((p for end in (".py", "/__init__.py") if (p := ROOT / (path + end)) in FILES), None)


@cache
def chain(path: Path) -> int:
    """Number of modules in the longest import chain that begins at a module."""
    files = set[Path | None]()
    for node in TREES[path].body:
        if isinstance(node, ast.ImportFrom) and (name := node.module):
            files |= {file_of(f"{name}.{each.name}") or file_of(name) for each in node.names}
        elif isinstance(node, ast.Import):
            files |= {file_of(each.name) for each in node.names}
    own = {parent / "__init__.py" for parent in path.parents}
    return 1 + max((chain(file) for file in files - own if file), default=0)


def lines(pattern: str) -> int:
    return sum(path.read_bytes().count(b"\n") for path in ROOT.glob(pattern))


def main() -> None:
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
    lengths = sorted((n.end_lineno or 0) - n.lineno + 1 for n in functions)
    classes = [n for n in nodes if isinstance(n, ast.ClassDef)]
    carriers = sum("dataclass" in ast.unparse(d) for n in classes for d in n.decorator_list)
    reads = [iter(text.splitlines(True)).__next__ for text in FILES.values()]
    tokens = [token for read in reads for token in tokenize.generate_tokens(read)]
    comments = sum(t.type == tokenize.COMMENT and not MUTE.match(t.string) for t in tokens)
    size = sum(len(text.splitlines()) for text in FILES.values()) / 1000
    print(f"{size:.1f} thousand lines in {len(FILES)} files, {max(map(chain, FILES))} in a chain")
    print(f"95 % of functions have at most {lengths[len(lengths) * 95 // 100]} lines")
    print(f"a thousand lines: {carriers / size:.1f} dataclasses, {comments / size:.1f} comments")
    print(*(f"{each} {lines(f'{each}/**/*.py')}," for each in (*PACKAGES, "tests", "benchmarks")))
    print(f"docs {lines('docs/**/*.md')}")


main()
