"""What growths of several seeds find, and at what cost.

    python benchmarks/growths.py job --seeds 0 1 2 3 4 [--root FOLDER] [key=value …]
    python benchmarks/growths.py yield --seeds 40 41 42 --seconds 2400 [--root runs/yield]
                                       [--figure FILE.svg] [key=value …]
    python benchmarks/growths.py null [--seeds 101 …] [--lists 6] [--root runs/null] [key=value …]

``job``: time, memory and accepted games of the main job (docs/explanation/main_job.md), one row a
seed, with how often each reason was given for the reader of the source. The runs are kept in FOLDER
if one is given.

``yield``: accepted games a core-hour of ``+experiment=long_growth`` in ``--seconds`` of work on all
workers together, one row a seed; ``--figure`` draws games against core-hours. Runs that ``--root``
holds already are read, not made again.

``null``: how often the search accepts a game although nothing can be learned from any candidate
(docs/explanation/transfer.md), one row for all seeds. With the settings of the main job, candidates
are trained on permuted rewards (``finetune.shuffle``) and initial games as always: every acceptance
is an error. A run that ``--root`` holds is continued if it is not finished, and read.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from study import command_line, describe_machine, head, parse, row, upper_bound

from archive import Archive, Purpose, Verdict
from archive.charts import Plot, canvas, document, key, polyline, series
from archive.run import Run
from archive.schema import TaskId
from evo.config.compose import load
from evo.config.schema import RunConfig
from xgl.diagram.svg import Element, Point

HOUR = 3600.0
EVO = (sys.executable, "-m", "evo.run")

# -- the main job ----------------------------------------------------------------------------------

ACCEPTED = re.compile(r"^\[ *([\d.]+) s, .*\] accepted: ", re.MULTILINE)
"""A log line of an accepted game; the seconds since the start."""
JOB_HEADS = (
    *("seed", "seconds", "peak GiB", "candidates judged", "fine-tuned", "accepted"),
    *("joined after, seconds", "core-hours"),
)


def descendants(root: int) -> set[int]:
    """Process ids of ``root`` and everything below it, read from /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            _, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(parent)
    family, new = set[int](), {root}
    while new:
        family |= new
        new = {pid for pid, parent in parents.items() if parent in family} - family
    return family


def proportional_bytes(pids: set[int]) -> int:
    """Memory of several processes, shared pages counted once (PSS)."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += sum(map(int, re.findall(r"^Pss: +(\d+) kB", text, re.MULTILINE)))
    return total * 1024


def run_job(seed: int, root: Path, overrides: Sequence[str]) -> tuple[float, int, str]:
    """Seconds of the whole run, its peak memory in bytes, its output."""
    words = ["+experiment=scope_growth", f"seed={seed}", f"archive.root={root}", *overrides]
    with tempfile.TemporaryFile("w+") as output:
        start, peak = time.perf_counter(), 0
        process = subprocess.Popen([*EVO, *words], stdout=output)
        while process.poll() is None:
            peak = max(peak, proportional_bytes(descendants(process.pid)))
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
        seconds = time.perf_counter() - start
        if process.returncode != 0:
            raise SystemExit(f"seed {seed}: exit code {process.returncode}")
        output.seek(0)
        return seconds, peak, output.read()


def job_row(seed: int, folder: Path, seconds: float, peak: int, output: str) -> str:
    with Archive.open(folder / "archive") as archive:
        decisions = archive.rows("decisions")
        trained = {*map(TaskId.of, archive.rows("finetunes"))}
    finetunes = len(trained & {*map(TaskId.of, decisions)})
    accepted = sum(each["verdict"] == Verdict.ACCEPTED for each in decisions)
    joined = ", ".join(f"{float(second):.0f}" for second in ACCEPTED.findall(output))
    *_, core_hours = ["", *re.findall(r"in ([\d.]+) core-hours", output)]
    reasons = Counter(f"{each['verdict']}: {each['reason']}" for each in decisions)
    counts = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    cells = [seed, f"{seconds:.0f}", f"{peak / 2**30:.1f}", len(decisions), finetunes, accepted]
    return row([*cells, joined, core_hours]) + f"  <!-- {counts} -->"


def show_jobs(options: Namespace, overrides: Sequence[str]) -> None:
    print(f"{describe_machine()}\n\n{head(JOB_HEADS)}")
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as temporary:
            root = options.root or Path(temporary)
            measured = run_job(seed, root, overrides)
            print(job_row(seed, root / f"scope_growth-seed{seed}", *measured), flush=True)


# -- games a core-hour -----------------------------------------------------------------------------

COSTS = ("scores", "rounds", "finetunes", "proposals")
"""Tables whose rows say how many seconds of work they took."""
YIELD_HEADS = (
    *("seed", "core-hours", "candidates", "fine-tunes", "accepted", "a core-hour"),
    *("of generation 2", "of 3 and later"),
)


@dataclass(frozen=True)
class Growth:
    """What one run came to; ``acceptance_hours`` are the core-hours at which its games joined."""

    seed: int
    hours: float
    acceptance_hours: tuple[float, ...]
    counts: Counter[str]

    @property
    def row(self) -> str:
        """One line of the table."""
        rate = len(self.acceptance_hours) / self.hours if self.hours else 0.0
        cells = [self.seed, f"{self.hours:.2f}", self.counts["candidates"]]
        cells += [self.counts["fine-tunes"], len(self.acceptance_hours), f"{rate:.1f}"]
        return row([*cells, *(self.counts[name] for name in YIELD_HEADS[6:])])


def read_growth(folder: Path, seed: int) -> Growth:
    """What the archive of a run says."""
    with Archive.open(folder / "archive") as archive:
        members = {TaskId.of(each): each["generation"] for each in archive.rows("scopes")}
        outcomes = [each["outcome"] for each in archive.rows("proposals")]
        counts = Counter[str](
            {
                "candidates": outcomes.count("candidate"),
                "fine-tunes": archive.count("finetunes"),
                "of generation 2": sum(each == 2 for each in members.values()),
                "of 3 and later": sum(each > 2 for each in members.values()),
            }
        )
        commits = list(course(archive))
    acceptance_hours = tuple(hours for hours, accepted in commits for _ in range(accepted))
    return Growth(seed, commits[-1][0], acceptance_hours, counts)


def course(archive: Archive) -> Iterator[tuple[float, int]]:
    """After each commit: the core-hours of work in the archive, and how many games it accepted."""
    seconds = {name: archive.table(name, ["seconds"])["seconds"].to_pylist() for name in COSTS}
    verdicts = archive.table("decisions", ["verdict"])["verdict"].to_pylist()
    read, spent = Counter[str](), 0.0
    for commit in archive.commits:
        accepted = 0
        for file in commit.files:
            rows = slice(read[file.table], read[file.table] + file.rows)
            read[file.table] += file.rows
            spent += sum(seconds.get(file.table, [])[rows])
            if file.table == "decisions":
                accepted += verdicts[rows].count(Verdict.ACCEPTED)
        yield spent / HOUR, accepted


def curves(growths: Sequence[Growth]) -> Element:
    """Accepted games against core-hours: a staircase for each run, to the run's end."""
    hours = max(each.hours for each in growths)
    games = max(max(len(each.acceptance_hours) for each in growths), 1)
    plot = Plot((50, 40), (560, 260), (0.0, hours), (0.0, games), "y")
    shapes = [*plot.grid("core-hours", "games that joined")]
    for index, each in enumerate(growths):
        class_ = f"series {series(index)}"
        shapes.append(polyline(_staircase(plot, each.acceptance_hours, each.hours), class_))
        shapes += key(640, 50 + 24 * index, f"seed {each.seed}", class_)
    height = max(350, 74 + 24 * len(growths))
    return canvas((850, height), "Games that joined the scope against core-hours", *shapes)


def _staircase(plot: Plot, joined: Sequence[float], end: float) -> list[Point]:
    """Each count holds from the moment at which its game joined."""
    corners = [plot.place(0.0, 0.0)]
    for count, when in enumerate(joined):
        corners += [plot.place(when, count), plot.place(when, count + 1.0)]
    return [*corners, plot.place(end, len(joined))]


def show_yield(options: Namespace, overrides: Sequence[str]) -> None:
    if options.figure:
        options.figure.touch()  # a place that cannot be written fails before the runs
    print(head(YIELD_HEADS))
    growths = []
    for seed in options.seeds:
        folder = options.root / f"open_ended-seed{seed}"
        if not folder.exists():
            words = ["+experiment=long_growth", f"seed={seed}", f"archive.root={options.root}"]
            words += [f"name={folder.name}", f"budget.seconds={options.seconds:g}", *overrides]
            subprocess.run([*EVO, *words], check=True, stdout=subprocess.DEVNULL)
        growths.append(read_growth(folder, seed))
        print(growths[-1].row, flush=True)
    if options.figure:
        options.figure.write_text(document(curves(growths)), encoding="utf-8")


# -- the null control ------------------------------------------------------------------------------

NULL_HEADS = (
    *("runs", "training seeds", "lists", "candidates", "fine-tuned"),
    *("gained", "gained specifically", "tested", "accepted"),
    *("lists with a fine-tune", "lists accepting, at most"),
)


def null_growth(root: Path, seed: int, lists: int, overrides: Sequence[str]) -> Path:
    """The folder of a finished run, which is made where it is not there."""
    folder = root / f"null-seed{seed}"
    words = ["+experiment=scope_growth", f"seed={seed}", "finetune.shuffle=true"]
    words += ["growth.max_accepted=null", "growth.least_yield=0", *overrides]
    count = lists * load(RunConfig, words).growth.list_size
    words += [f"growth.max_candidates={count}", f"archive.root={root}", f"name={folder.name}"]
    if (folder / "archive").exists():
        words = [f"resume={folder}"]
    subprocess.run([*EVO, *words], check=True, stdout=subprocess.DEVNULL)
    return folder


def null_row(folders: Sequence[Path]) -> str:
    """The table's row. The bound on the share of lists is one-sided, Clopper–Pearson's at 95 %, of
    the lists with a fine-tune, as if they were independent."""
    counts = Counter[str](runs=len(folders))
    for folder in folders:
        counts += null_counts(folder)
    bound = upper_bound(counts["lists accepting"], counts["lists with a fine-tune"], 0.95)
    return row([*(counts[name] for name in NULL_HEADS[:-1]), f"{bound:.1%}"])


def null_counts(folder: Path) -> Counter[str]:
    """The numbers of one run, by the heads of the table; raises ValueError for a run whose rewards
    were not permuted."""
    with Archive.open(folder / "archive") as archive:
        if not Run(archive).config["finetune"]["shuffle"]:
            raise ValueError(f"{folder}: found finetune.shuffle=false, expected true")
        decisions, finetunes = archive.rows("decisions"), archive.rows("finetunes")
        proposals = archive.rows("proposals", None, [("outcome", "=", "candidate")])
    places = ("parent_game_id", "parent_role", "round")
    lists = {TaskId.of(each): tuple(each[name] for name in places) for each in proposals}
    trained = {*map(TaskId.of, finetunes)} & lists.keys()
    accepted = {TaskId.of(each) for each in decisions if each["verdict"] == Verdict.ACCEPTED}
    specific = [each["specific_gain_low"] or 0.0 for each in decisions]
    return Counter(
        {
            "training seeds": len({each["seed"] for each in finetunes}),
            "lists": len({lists[TaskId.of(each)] for each in decisions}),
            "candidates": len(decisions),
            "fine-tuned": len(trained),
            "gained": sum((each["total_gain_low"] or 0.0) > 0 for each in decisions),
            "gained specifically": sum(low > 0 for low in specific),
            "tested": sum(each["purpose"] == Purpose.ACCEPTANCE for each in decisions),
            "accepted": len(accepted),
            "lists with a fine-tune": len({lists[each] for each in trained}),
            "lists accepting": len({lists[each] for each in accepted}),
        }
    )


def show_null(options: Namespace, overrides: Sequence[str]) -> None:
    folders = [null_growth(options.root, each, options.lists, overrides) for each in options.seeds]
    print(head(NULL_HEADS), null_row(folders), sep="\n")


def main() -> None:
    parser = command_line(__doc__)
    commands = parser.add_subparsers(required=True)
    job, found, null = (commands.add_parser(name) for name in ("job", "yield", "null"))
    job.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    job.add_argument("--root", type=Path)
    job.set_defaults(show=show_jobs)
    found.add_argument("--seeds", type=int, nargs="+", default=[40, 41, 42])
    found.add_argument("--seconds", type=float, default=2400.0)
    found.add_argument("--root", type=Path, default=Path("runs/yield"))
    found.add_argument("--figure", type=Path, metavar="FILE.svg")
    found.set_defaults(show=show_yield)
    null.add_argument("--seeds", type=int, nargs="+", default=list(range(101, 111)))
    null.add_argument("--lists", type=int, default=6, help="lists of candidates of each run")
    null.add_argument("--root", type=Path, default=Path("runs/null"))
    null.set_defaults(show=show_null)
    options, overrides = parse(parser)
    options.show(options, overrides)


if __name__ == "__main__":
    main()
