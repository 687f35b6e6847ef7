"""The main job over several seeds: time, memory, verdicts.

    python benchmarks/main_job.py --seeds 0 1 2 3 4 [key=value …]

Prints one row a seed as a Markdown table, for docs/main_job.md, and below it, for the reader of the
source, how often each reason was given.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from archive import Archive, Reason

TRANSFER_REASONS = (Reason.NO_HELP, Reason.COVERED)


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


def run(seed: int, root: Path, overrides: list[str]) -> tuple[float, int]:
    """Run the job; returns its seconds and its peak memory in bytes."""
    name = f"archive.root={root}"
    command = [sys.executable, "-m", "evo.run", "+experiment=scope_growth", f"seed={seed}", name]
    start = time.perf_counter()
    process = subprocess.Popen([*command, *overrides], stdout=subprocess.DEVNULL)
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, proportional_bytes(descendants(process.pid)))
            time.sleep(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    if process.wait() != 0:
        raise SystemExit(f"seed {seed}: exit code {process.returncode}")
    watcher.join()
    return time.perf_counter() - start, peak


def row(seed: int, folder: Path, seconds: float, peak: int) -> str:
    """One line of the table."""
    with Archive.open(folder / "archive") as archive:
        initial = sum(r["generation"] == 0 for r in archive.rows("scopes"))
        finetunes = archive.count("finetunes") - initial
        decisions = archive.rows("decisions")
    verdicts = Counter(decision["verdict"] for decision in decisions)
    conclusive = sum(d["reason"] in TRANSFER_REASONS and d["decided"] for d in decisions)
    acceptances = [d for d in decisions if d["verdict"] == "accepted"]
    share = ", ".join(f"{d['specific_share']:.0%}" for d in acceptances if d["specific_share"])
    cells = [
        seed,
        f"{seconds:.0f}",
        f"{peak / 2**30:.1f}",
        finetunes,
        verdicts["accepted"],
        conclusive,
        verdicts["undecided"],
        share or "none",
    ]
    reasons = Counter(f"{each['verdict']}: {each['reason']}" for each in decisions)
    reason_counts = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    return "| " + " | ".join(map(str, cells)) + f" |  <!-- {reason_counts} -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    arguments, overrides = parser.parse_known_args()
    print(f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}\n")
    print(
        "| seed | seconds | peak GiB | candidates fine-tuned | accepted "
        "| refused on transfer, decided | undecided | share of gain about the map |"
    )
    print("| --- " * 8 + "|")
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as root:
            seconds, peak = run(seed, Path(root), overrides)
            print(row(seed, Path(root) / f"scope_growth-seed{seed}", seconds, peak), flush=True)


if __name__ == "__main__":
    main()
