"""A million plays of 100,000 games: how fast they are appended, inspected, compacted, merged.

    python benchmarks/archive_size.py [--plays 1000000 --games 100000 --batch 10000]

Prints Markdown for docs/archive.md. Every step is a process of its own, so that its peak memory
is its own; seconds are of the wall, with processor seconds beside them for busy machines.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from archive import SCHEMA_VERSION, TABLES, Archive

PROGRAM = "assign(s=story())\nelicit(t, {})\nreward(xed(t | s))\n"


def game_id(number: int) -> str:
    return sha256(f"xent\n{{}}\n{PROGRAM.format(number)}".encode()).hexdigest()[:16]


def games(start: int, stop: int) -> list[dict[str, Any]]:
    return [
        {
            "game_id": game_id(number),
            "dialect": "xent",
            "code": PROGRAM.format(number),
            "metadata_json": "{}",
            "steps": 3,
        }
        for number in range(start, stop)
    ]


def plays(start: int, stop: int, ids: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "run_id": "large",
            "policy_id": "base",
            "game_id": ids[number % len(ids)],
            "role": "black",
            "purpose": "selection",
            "map_seed": 2 * number + 1,
            "play_seed": number // len(ids),
            "score": (number % 97) / 7,
            "raw_score": (number % 97) / 7,
            "outcome": "finished",
            "permuted_score": (number % 89) / 7,
            "clipped_score": None,
            "moves": ["a few words that were said"],
            "tokens": 60,
            "seconds": 0.1,
        }
        for number in range(start, stop)
    ]


def first_rows(ids: list[str]) -> dict[str, list[dict[str, Any]]]:
    """A run that began, with a scope of a thousand games."""
    run = {
        "run_id": "large",
        "event": "created",
        "at": datetime.now(UTC),
        "seed": 0,
        "config_json": "{}",
        "config_hash": "0",
        "schema_version": SCHEMA_VERSION,
        "code_version": None,
    }
    scope = [
        {
            "run_id": "large",
            "generation": 0,
            "game_id": each,
            "role": "black",
            "parent_game_id": None,
            "gamma": None,
            "accepted_in": 0,
        }
        for each in ids[:1000]
    ]
    return {"runs": [run], "scopes": scope}


def batches(total: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, total, size):
        yield start, min(start + size, total)


def write(folder: Path, count: int, total_games: int, batch: int, arrow: bool) -> None:
    """Appends; prints rows a second over the time that commits took, making rows aside."""
    ids = [game_id(number) for number in range(total_games)]
    wall_seconds = cpu_seconds = 0.0
    with Archive.create(folder) as archive:
        archive.commit(first_rows(ids))
        for start, stop in batches(total_games, batch):
            archive.commit({"games": games(start, stop)})
        for start, stop in batches(count, batch):
            rows: Any = plays(start, stop, ids)
            if arrow:
                rows = pa.Table.from_pylist(rows, TABLES["scores"].schema)
            began, cpu = time.perf_counter(), time.process_time()
            archive.commit({"scores": rows})
            wall_seconds += time.perf_counter() - began
            cpu_seconds += time.process_time() - cpu
    print(f"{count / wall_seconds:,.0f} rows/s ({count / cpu_seconds:,.0f} a processor second)")


def time_command(command: list[str]) -> tuple[str, float, float, int]:
    """Output, wall seconds, processor seconds and peak MiB of a command."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        if status:
            raise SystemExit(f"{' '.join(command)}: status {status}")
        output.seek(0)
        text = output.read()
    return text, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def line(what: str, text: str, result: tuple[str, float, float, int]) -> None:
    _, wall, cpu, peak = result
    print(f"| {what} | {text} | {wall:.1f} | {cpu:.1f} | {peak:,} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plays", type=int, default=1_000_000)
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--arrow", action="store_true")
    options = parser.parse_args()
    if options.write:
        write(options.write, options.plays, options.games, options.batch, options.arrow)
        return
    print("| step | result | seconds | processor seconds | peak MiB |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as root:
        measure(Path(root), options.plays, options.games, options.batch)
    versions = f"Python {platform.python_version()}, pyarrow {pa.__version__}"
    print(f"\n{versions}, {os.cpu_count()} cores.")


def measure(root: Path, count: int, total_games: int, batch: int) -> None:
    large = root / "large"
    sizes = ["--games", str(total_games), "--batch", str(batch)]
    this = [sys.executable, __file__, *sizes]
    for name, total, extra in (
        ("tenth", count // 10, []),
        ("large", count, []),
        ("arrow", count, ["--arrow"]),
    ):
        cost = time_command([*this, "--plays", str(total), "--write", str(root / name), *extra])
        kind = "Arrow tables" if extra else "dicts"
        line(f"append {total:,} plays, {total_games:,} games, as {kind}", cost[0].strip(), cost)
    command = [sys.executable, "-m", "archive"]
    for what, arguments in (
        ("inspect", ["inspect", str(large)]),
        ("inspect --json", ["inspect", str(large), "--json"]),
        ("show", ["show", str(large), game_id(77)]),
        ("compact", ["compact", str(large)]),
        ("inspect, compacted", ["inspect", str(large)]),
        ("merge", ["merge", str(large), str(root / "merged")]),
    ):
        cost = time_command([*command, *arguments])
        text = cost[0].strip().splitlines()[-1] if what in ("compact", "merge") else ""
        line(f"`{what}`", text.replace(str(root), ""), cost)
    idle = time_command([sys.executable, "-c", "import archive"])
    line("importing `archive` alone", "", idle)


if __name__ == "__main__":
    main()
