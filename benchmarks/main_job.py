"""The main job over several seeds: time, memory, accepted games.

    python benchmarks/main_job.py --seeds 0 1 2 3 4 [--root FOLDER] [key=value …]

Prints one row a seed as a Markdown table, for docs/explanation/main_job.md, and after it, for the
reader of the source, how often each reason was given. The runs are kept in FOLDER if one is given.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from archive import Archive

ACCEPTED = re.compile(r"^\[ *([\d.]+) s, .*\] accepted ", re.MULTILINE)
"""A log line of an accepted game; the seconds since the start."""
COLUMNS = (
    "seed",
    "seconds",
    "peak GiB",
    "candidates judged",
    "fine-tuned",
    "accepted",
    "joined after, seconds",
    "core-hours",
)


@dataclass(frozen=True)
class Measured:
    """Seconds of a whole run, its peak memory in bytes, its output."""

    seconds: float
    peak: int
    output: str


def descendants(root: int) -> list[int]:
    """Process ids of ``root`` and everything below it, read from /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    family = {root}
    grown = True
    while grown:
        new = {pid for pid, parent in parents.items() if parent in family} - family
        family |= new
        grown = bool(new)
    return sorted(family)


def proportional_bytes(pids: list[int]) -> int:
    """Memory of several processes, shared pages counted once (PSS)."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total * 1024


def run(seed: int, root: Path, overrides: list[str]) -> Measured:
    """Run the job."""
    name = f"archive.root={root}"
    command = [sys.executable, "-m", "evo.run", "+experiment=scope_growth", f"seed={seed}", name]
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, proportional_bytes(descendants(process.pid)))
            time.sleep(1)

    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen([*command, *overrides], stdout=output)
        watcher = threading.Thread(target=watch)
        watcher.start()
        if process.wait() != 0:
            raise SystemExit(f"seed {seed}: exit code {process.returncode}")
        seconds = time.perf_counter() - start
        watcher.join()
        output.seek(0)
        return Measured(seconds, peak, output.read())


def row(seed: int, folder: Path, measured: Measured) -> str:
    """One line of the table."""
    with Archive.open(folder / "archive") as archive:
        initial = sum(r["scope"] == 0 for r in archive.rows("scopes"))
        finetunes = archive.count("finetunes") - initial
        decisions = archive.rows("decisions")
    joined_at = ACCEPTED.findall(measured.output)
    core_hours = re.findall(r"in ([\d.]+) core-hours", measured.output)
    cells = [
        seed,
        f"{measured.seconds:.0f}",
        f"{measured.peak / 2**30:.1f}",
        len(decisions),
        finetunes,
        sum(decision["verdict"] == "accepted" for decision in decisions),
        ", ".join(f"{float(seconds):.0f}" for seconds in joined_at),
        core_hours[-1] if core_hours else "",
    ]
    reasons = Counter(f"{each['verdict']}: {each['reason']}" for each in decisions)
    reason_counts = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    return "| " + " | ".join(map(str, cells)) + f" |  <!-- {reason_counts} -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--root", type=Path)
    arguments, overrides = parser.parse_known_args()
    print(f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}\n")
    print("| " + " | ".join(COLUMNS) + " |")
    print("| --- " * len(COLUMNS) + "|")
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as temporary:
            root = arguments.root or Path(temporary)
            measured = run(seed, root, overrides)
            print(row(seed, root / f"scope_growth-seed{seed}", measured), flush=True)


if __name__ == "__main__":
    main()
