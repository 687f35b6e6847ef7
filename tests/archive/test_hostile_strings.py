"""A stranger's archive: whatever its strings are, an export holds the same code, keys, marks and
files as that of plain strings, and the strings only as values; or it is refused in one sentence, as
by every other command."""

from __future__ import annotations

import ast
import json
import re
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml
from hypothesis import example, given, settings, strategies as st
from markdown_it import MarkdownIt
from safetensors.numpy import save
from support.markup import Markup
from support.measured import Given, rows_of
from support.rows import row

from archive import TABLES, Archive, ArchiveError
from archive.__main__ import main
from archive.export.folder import FORMATS
from archive.report.page import write_report
from archive.run import Run
from xgl import files
from xgl.escaping import visible

MEMBERS = [
    Given("assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))"),
    Given("assign(s=story(), t='a | `b`')\nelicit(x, 4)\nreward(xed(s | x + t))"),
    Given("assign(s=story(6))\nelicit(bob, x, 4)\nreward(bob, xed(s | x))", "paper", "bob"),
]
BREAKS = (
    *('"', "'", "\\", "\n", "\r\n", "\u2028", "\x85", "\0", "\x1b[2J", "\u202e", "\u2066"),
    *("\ufeff", "${HOME}", "$(id)", "`", "``` \n", "~~~", '"""', "'''", "]]", "}}", "{{"),
    *("{0}", "{judge}", "{%", "%}", "]]>", "-->", "|", "#", "---", "../../", "/etc/", "a@b"),
    *("[a](http://b)", "![a](b)", "<script>alert(1)</script>", "<img src=x onerror=y>"),
    *("&lt;", "*a*", "_a_", "<!--", ": ", "- ", "évil", "😀", "1. ", "    ", "\t"),
    "[bold]x[/nonsense]",
)
HOSTILE = st.one_of(
    st.lists(st.sampled_from(BREAKS), min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
)
JUDGES = HOSTILE.filter(lambda name: not name.startswith("~"))
"""A judge in the home folder of nobody is refused."""
EVERYTHING = "".join(BREAKS)
NAMES = ("run", "judge", "player", "policy", "sampler", "text", "move")
STRINGS = [
    (table.name, column.name)
    for table in TABLES.values()
    for column in table.columns
    if column.type in (pa.string(), pa.list_(pa.string())) and not column.values
]


def adapter() -> bytes:
    """The least adapter that PEFT can describe."""
    key = "base_model.model.model.layers.0.self_attn.q_proj.lora_{}.weight"
    return save({key.format(part): np.zeros((1, 1), np.float32) for part in "AB"})


def write_archive(folder: Path, names: Mapping[str, str], column: tuple[str, str] | None) -> None:
    """A run with ``names`` in place of its own; ``column`` holds ``names["value"]`` in each row."""
    config = {
        "judge": {"model": names["judge"]},
        "player": {"model": names["player"], "lora_rank": 1, "lora_alpha": 2, "temperature": 0.5},
    }
    files.remember(json.dumps(config))  # named by its user, or most exports are refused
    rows = rows_of(MEMBERS, maps=2, moves=[[names["move"]], ["a hen"]], config=config)
    tasks = [{"game_id": each.game.game_id, "role": each.role} for each in MEMBERS]
    policy = {"finetune_id": names["policy"], "curve": [1.0, 2.0], "replicate": 1}
    rows["finetunes"] = [row("finetunes", **task, **policy) for task in tasks]
    rows["proposals"] = [row("proposals", **tasks[0], sampler=names["sampler"])]
    rows["decisions"] = [row("decisions", **task, finetune_id=names["policy"]) for task in tasks]
    rows["measures"] = [row("measures", **tasks[0], policy_id=names["policy"], maps=2, rounds=2)]
    with Archive.create(folder) as archive:
        digest = archive.put_adapter(adapter())
        for each in rows["maps"]:
            each["text"] += names["text"]
        for number, play in enumerate(rows["scores"]):
            play["score"] = play["raw_score"] = float(number)
            play["policy_id"] = {"f1": names["policy"]}.get(play["policy_id"], play["policy_id"])
        for each in (each for some in rows.values() for each in some):
            if "run_id" in each:
                each["run_id"] = names["run"]
            if "adapter_hash" in each:
                each["adapter_hash"] = digest
        if column:
            table, name = column
            listed = TABLES[table].schema.field(name).type != pa.string()
            for each in rows.setdefault(table, [row(table)]):
                each[name] = [names["value"]] if listed else names["value"]
        archive.commit(rows)


def masked(code: str) -> str:
    """The structure of a Python program, its texts left out."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def marks(text: str) -> list[object]:
    """The structure of a Markdown document: its marks, what it links to, and its programs."""
    _, front, body = text.split("---\n", 2) if text.startswith("---\n") else ("", "", text)
    found: list[object] = [yaml.safe_load(front)]
    for block in MarkdownIt("commonmark").enable("table").parse(body):
        found.append((block.type, block.tag, block.attrs))
        if block.info == "python":
            found.append(masked(block.content))
        for part in block.children or ():
            found.append((part.type, part.tag, part.attrs))
    return [mark for mark in found if mark != ("softbreak", "br", {})]


def structure(path: Path) -> object:
    """What a reader of the file obeys, without the texts that it only shows."""
    text = path.read_bytes().decode()
    assert all(visible(line, "\t") == line for line in text.split("\n")), path
    match path.suffix:
        case ".py":
            return masked(text)
        case ".toml":
            return tomllib.loads(text)
        case ".json":
            return json.loads(text).keys()
        case ".jsonl":
            return [json.loads(line).keys() for line in text.split("\n")[:-1]]
        case ".md":
            return marks(text)
    return [line for line in text.split("\n") if not line.startswith("#")]


def export(folder: Path, out: Path, kind: str) -> dict[str, object]:
    """The structure of every file by its path; empty if the archive was refused."""
    own = ("--no-scores", "--allow-inexact") if kind in ("xent", "inspect") else ()
    if main(["export", str(folder), str(out), "--format", kind, *own]):
        assert not out.exists()
        return {}
    files = [path for path in out.rglob("*") if path.is_file()]
    assert all(path.resolve().is_relative_to(out.resolve()) for path in files)
    return {
        path.relative_to(out).as_posix(): structure(path)
        for path in files
        if path.suffix != ".safetensors"
    }


@cache
def plain() -> dict[str, dict[str, object]]:
    """The structures of exports of an archive with plain strings."""
    with tempfile.TemporaryDirectory() as folder:
        archive, outs = Path(folder, "archive"), Path(folder, "outs")
        write_archive(archive, dict.fromkeys(NAMES, "embedded"), None)
        return {kind: export(archive, outs / kind / "out", kind) for kind in FORMATS}


@settings(max_examples=2)
@given(st.fixed_dictionaries(dict.fromkeys(NAMES, HOSTILE) | {"judge": JUDGES}))
@example(dict.fromkeys(NAMES, EVERYTHING))
def test_names_reach_every_format_and_change_no_structure(names: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_archive(folder / "archive", names, None)
        for kind, expected in plain().items():
            assert expected
            assert export(folder / "archive", folder / kind / "out", kind) == expected
        code = (folder / "verifiers/out/xent_out/__init__.py").read_text()
        [judge] = re.findall("^JUDGE = (.*)$", code, re.M)
        assert ast.literal_eval(judge) == names["judge"]
        manifest = json.loads((folder / "xent/out/measure.json").read_text())
        assert manifest["run_id"] == names["run"]
        assert manifest["judge"]["model"] == names["judge"]
        [story, *_] = [s["text"] for m in manifest["members"][0]["maps"] for s in m["stories"]]
        assert story.endswith(names["text"])


@settings(max_examples=8)
@given(st.sampled_from(STRINGS), HOSTILE, st.sampled_from(list(FORMATS)))
@example(("scopes", "role"), "../../up", "peft")
@example(("games", "code"), EVERYTHING, "xgl")
@example(("games", "metadata_json"), '{"max_characters": NaN}', "verifiers")
@example(("finetunes", "adapter_hash"), "../../archive.json", "peft")
def test_no_column_changes_the_structure(column: tuple[str, str], value: str, kind: str) -> None:
    names = dict.fromkeys(NAMES, "embedded") | {"value": value}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_archive(folder / "archive", names, column)
        found = export(folder / "archive", folder / "outs" / "out", kind)
        assert {path.name for path in folder.iterdir()} <= {"archive", "outs"}
    for path, expected in plain()[kind].items():
        # a row more or less is no structure, and programs are texts of the archive
        if found and not path.endswith((".jsonl", ".json", ".xent", ".xgl")):
            assert found[path] == expected, path
    assert not found or found.keys() == plain()[kind].keys()


COMMANDS = (
    ["inspect"],
    ["show", MEMBERS[0].game.game_id],
    ["matrix", "--all"],
    ["components", "--alpha", "0.3"],
    ["cover", "--eta", "0.3"],
    ["decisions"],
    ["decisions", "--why", MEMBERS[0].game.game_id],
    ["verify"],
)
DEEP = st.integers(60, 5000).map(lambda depth: "[" * depth + "]" * depth)


@settings(max_examples=8)
@given(st.sampled_from(STRINGS), HOSTILE | DEEP, st.sampled_from(COMMANDS), st.booleans())
@example(("games", "dialect"), "klingon", ["inspect"], False)
@example(("games", "metadata_json"), "[" * 5000, ["show", MEMBERS[0].game.game_id], True)
@example(("runs", "config_json"), '{"a":' * 5000, ["matrix", "--all"], False)
def test_no_column_is_a_traceback_of_a_command(
    column: tuple[str, str], value: str, command: list[str], as_json: bool
) -> None:
    names = dict.fromkeys(NAMES, "embedded") | {"value": value}
    with tempfile.TemporaryDirectory() as temporary:
        write_archive(Path(temporary, "archive"), names, column)
        first, *others = command
        arguments = [first, temporary, *others, *(["--json"] if as_json else [])]
        shown = StringIO()
        with redirect_stdout(shown), redirect_stderr(shown):
            assert main(arguments) in (0, 2)
    assert visible(shown.getvalue(), "\n") == shown.getvalue()


@settings(max_examples=5)
@given(st.sampled_from(STRINGS), HOSTILE)
@example(("decisions", "best_script"), "")  # a script without its gain
def test_the_report_holds_no_tag_of_a_string(column: tuple[str, str], value: str) -> None:
    names = dict.fromkeys(NAMES, value) | {"value": value}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_archive(folder / "archive", names, column)
        with Archive.open(folder / "archive") as archive, suppress(ArchiveError):
            write_report(Run(archive), folder / "report.html")
        if not (folder / "report.html").exists():
            return
        text = (folder / "report.html").read_bytes().decode()
    page = Markup(text)
    assert page.tags.count("script") <= 1
    assert not page.handlers
    addresses = page.values("href", "src", "action", "srcset", "data")
    assert all(address.startswith("#") for address in addresses)
    assert visible(text, "\n\t") == text
