"""What ``mkdocs build`` adds to this folder: pages that are written elsewhere, tables of settings
and lint rules, and the help of every command. Links lead to where pages lie in the site; what is
no page is not linked. Docstrings are read as Markdown.
"""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

from archive.__main__ import COMMANDS as ARCHIVE, main as archive
from evo.config.__main__ import tables
from meta_sampler.lint import RULES
from xgl.cli import main as xgl
from xgl.cli.commands import COMMANDS as XGL

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "archive/schema/tables.md": "reference/tables.md",
    "xgl/models/embedded/README.md": "reference/embedded_model.md",
}
"""Pages that lie elsewhere, with their places in the site."""
LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the generated pages."""
    contents = {place: (ROOT / path).read_text("utf-8") for path, place in PAGES.items()}
    contents["reference/commands.md"] = commands()
    for place, line, table in GENERATED:
        contents[place] = (ROOT / "docs" / place).read_text("utf-8").replace(line, table())
    for place, text in contents.items():
        if page := files.get_file_from_path(place):
            files.remove(page)
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Files) -> str:
    """The page with links of the site, XGL in Python's colours, and bars in tables as they are."""
    place = page.file.src_uri
    source = {site: path for path, site in PAGES.items()}.get(place, f"docs/{place}")

    def link(match: re.Match[str]) -> str:
        image, label, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        site = PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
        if site is None:
            return label
        target = posixpath.relpath(site, posixpath.dirname(place) or ".")
        return f"{image}[{label}]({target}{anchor or ''})"

    text = LINK.sub(link, text)
    text = re.sub(r"^```xgl$", "```python", text, flags=re.MULTILINE)
    rows = re.compile(r"^\|.*$", re.MULTILINE)
    return rows.sub(lambda row: re.sub(r"`[^`]+`", _with_bars, row[0]), text)


class MarkdownDocstrings(griffe.Extension):
    """Docstrings with their roles as code, and their examples as blocks of Python."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = re.sub(r":[a-z]+:`(?:~[\w.]*\.)?(?=\w)", "`", obj.docstring.value)
            text = text.replace("  # doctest: +SKIP", "")
            examples = re.compile(r"^>>> (?:.+(?:\n|\Z))+", re.MULTILINE)
            obj.docstring.value = examples.sub(r"```python\n\g<0>\n```\n", text)


def _with_bars(code: re.Match[str]) -> str:
    return code[0].replace("\\|", "|")


def lint_rules() -> str:
    """A table of the lint rules."""
    rows = (f"| `{name}` | {warning} |" for name, warning in RULES.items())
    return "\n".join(["| rule | warning |", "| --- | --- |", *rows])


GENERATED = (
    ("reference/configuration.md", "<!-- settings -->", tables),
    ("reference/meta_samplers.md", "<!-- lint rules -->", lint_rules),
)
"""Pages with a line that a table replaces."""


def commands() -> str:
    """A page with the help of every command."""
    os.environ["COLUMNS"] = "80"
    parts = [
        "# Commands\n\nWhat `--help` prints. [A run](configuration.md) has settings instead.\n"
    ]
    for module, main, table in (("xgl", xgl, XGL), ("archive", archive, ARCHIVE)):
        parts.append(f"## python -m {module}\n")
        for command in table:
            stdout, name = io.StringIO(), command.__name__
            with contextlib.redirect_stdout(stdout), contextlib.suppress(SystemExit):
                main([name, "--help"])
            parts.append(f"### {module} {name}\n\n```text\n{stdout.getvalue()}```\n")
    return "\n".join(parts)
