"""Accepted games a core-hour over seeds, with the curve of each run.

    python benchmarks/yield.py --seeds 40 41 42 --seconds 2400 [--baseline] [--figure FILE.svg]
        [key=value …]

``--seconds`` of work on all workers together, for each seed. Prints, as Markdown for
docs/explanation/growth.md, one row a seed, and the core-hours at which each game joined. With
``--baseline`` the same for ``growth.schedule=paper``; ``--figure`` draws the curves. Runs that
``--root`` holds already are read, not made again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from archive import Archive, Reason
from archive.charts import Plot, canvas, document, key, mark, polyline, series
from archive.run import Run
from xgl.diagram.svg import Element, Point

HOUR = 3600.0
COSTS = ("scores", "rounds", "finetunes", "proposals")
"""Tables whose rows say how many seconds of work they took."""
HOPELESS = frozenset(
    {Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP, Reason.TOO_LONG, Reason.NO_HEADROOM}
)
HEADS = (
    *("schedule", "seed", "core-hours", "candidates", "fine-tunes", "accepted", "a core-hour"),
    *("of generation 2", "of 3 and later", "child of another", "after more plays"),
    "seconds on the hopeless",
)


@dataclass(frozen=True)
class Growth:
    """What one run came to; ``acceptance_hours`` are the core-hours at which its games joined."""

    schedule: str
    seed: int
    hours: float
    acceptance_hours: tuple[float, ...]
    counts: Counter[str]
    hopeless: float
    """Seconds on games that ended as not playable, artifact, too long or with nothing to learn."""

    @property
    def name(self) -> str:
        """The run, as its curve is called."""
        return f"{self.schedule.replace('_', '-')}, seed {self.seed}"

    @property
    def row(self) -> str:
        """One line of the table."""
        rate = len(self.acceptance_hours) / self.hours if self.hours else 0.0
        share = self.hopeless / (self.hours * HOUR) if self.hours else 0.0
        cells = [self.schedule, self.seed, f"{self.hours:.2f}"]
        cells += [self.counts["candidates"], self.counts["fine-tunes"], len(self.acceptance_hours)]
        cells += [f"{rate:.1f}", *(self.counts[name] for name in HEADS[7:11]), f"{share:.0%}"]
        return "| " + " | ".join(map(str, cells)) + " |"


def grow(root: Path, schedule: str, seed: int, seconds: float, overrides: Sequence[str]) -> Path:
    """The folder of a run, which is made where it is not there."""
    folder = root / f"{schedule}-seed{seed}"
    if not folder.exists():
        place = [f"seed={seed}", f"archive.root={root}", f"name={folder.name}"]
        bounds = [f"growth.schedule={schedule}", f"budget.seconds={seconds:g}"]
        if schedule == "paper":
            bounds.append("growth.generations=100")
        command = [sys.executable, "-m", "evo.run", "+experiment=long_growth"]
        subprocess.run(
            [*command, *place, *bounds, *overrides], check=True, stdout=subprocess.DEVNULL
        )
    return folder


def read_growth(folder: Path, schedule: str, seed: int) -> Growth:
    """What the archive of a run says."""
    with Archive.open(folder / "archive") as archive:
        decisions, proposals = archive.rows("decisions"), archive.rows("proposals")
        parents = {row["game_id"]: row["parent_game_id"] for row in proposals}
        accepted_rows = [row for row in decisions if row["verdict"] == "accepted"]
        depths = {row["game_id"]: row["generation"] for row in archive.rows("scopes")}
        plays = Run(archive).config["transfer"]["acceptance_plays"]
        counts = Counter[str](
            {
                "candidates": sum(row["outcome"] == "candidate" for row in proposals),
                "fine-tunes": archive.count("finetunes"),
                "of generation 2": sum(depths[row["game_id"]] == 2 for row in accepted_rows),
                "of 3 and later": sum(depths[row["game_id"]] > 2 for row in accepted_rows),
                "child of another": sum(
                    parents[row["game_id"]] != row["parent_game_id"] for row in accepted_rows
                ),
                "after more plays": sum(row["looks"][-1] > plays[-1] for row in accepted_rows),
            }
        )
        *_, hours = spent_by_commit(archive)
        hopeless = sum(row["seconds"] for row in decisions if row["reason"] in HOPELESS)
        acceptance_hours = tuple(
            core_hours
            for core_hours, rows in zip(
                spent_by_commit(archive), _accepted_counts(archive), strict=True
            )
            for _ in range(rows)
        )
    return Growth(schedule, seed, hours, acceptance_hours, counts, hopeless)


def spent_by_commit(archive: Archive) -> Iterator[float]:
    """Core-hours of work that are in the archive after each commit."""
    seconds = {name: archive.table(name, ["seconds"])["seconds"].to_pylist() for name in COSTS}
    at, total_seconds = Counter[str](), 0.0
    for commit in archive.commits:
        for file in commit.files:
            if file.table in seconds:
                start = at[file.table]
                total_seconds += sum(seconds[file.table][start : start + file.rows])
                at[file.table] += file.rows
        yield total_seconds / HOUR


def _accepted_counts(archive: Archive) -> Iterator[int]:
    """Games that each commit accepted."""
    verdicts = archive.table("decisions", ["verdict"])["verdict"].to_pylist()
    at = 0
    for commit in archive.commits:
        rows = sum(file.rows for file in commit.files if file.table == "decisions")
        yield verdicts[at : at + rows].count("accepted")
        at += rows


def curves(growths: Sequence[Growth]) -> Element:
    """Accepted games against core-hours: a staircase for each run, to the run's end."""
    hours = max(each.hours for each in growths)
    games = max(max(len(each.acceptance_hours) for each in growths), 1)
    plot = Plot.box((50, 40), (560, 260), (0.0, hours), (0.0, games), "y")
    shapes = [*plot.grid("core-hours", "games that joined")]
    for index, each in enumerate(growths):
        joined = [(when, float(count)) for count, when in enumerate(each.acceptance_hours, 1)]
        corners = _staircase(plot, joined, each.hours)
        shapes.append(mark(each.name, polyline(corners, "series"), class_=series(index)))
        sample, words = key(640, 50 + 24 * index, each.name, "series")
        shapes += [mark(each.name, sample, class_=series(index)), words]
    height = max(350, 74 + 24 * len(growths))
    return canvas((850, height), "Games that joined the scope against core-hours", *shapes)


def _staircase(plot: Plot, joined: Sequence[Point], end: float) -> list[Point]:
    """Each count holds from the moment at which its game joined."""
    corners, count = [plot.place(0.0, 0.0)], 0.0
    for when, more in joined:
        corners += [plot.place(when, count), plot.place(when, more)]
        count = more
    return [*corners, plot.place(end, count)]


def main() -> None:
    """Print the table and the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[40, 41, 42])
    parser.add_argument("--seconds", type=float, default=2400.0)
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--root", type=Path, default=Path("runs/yield"))
    parser.add_argument("--figure", type=Path, metavar="FILE.svg")
    arguments, overrides = parser.parse_known_args()
    if arguments.figure:
        arguments.figure.touch()  # a place that cannot be written fails before the runs
    schedules = ["open_ended", *(["paper"] if arguments.baseline else [])]
    print("| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|")
    growths = []
    for schedule in schedules:
        for seed in arguments.seeds:
            folder = grow(arguments.root, schedule, seed, arguments.seconds, overrides)
            growths.append(read_growth(folder, schedule, seed))
            print(growths[-1].row, flush=True)
    print("\ncore-hours at which each game joined:\n")
    for each in growths:
        hours_text = " ".join(f"{hours:.3f}" for hours in each.acceptance_hours) or "none"
        print(f"* {each.name}: {hours_text}")
    if arguments.figure:
        arguments.figure.write_text(document(curves(growths)), encoding="utf-8")


if __name__ == "__main__":
    main()
