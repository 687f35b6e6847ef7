"""Expected durations of a finished run's jobs, against the seconds that they took.

    python benchmarks/durations.py RUN…

The virtual order of a run is computed from expected durations (``evo.record.durations``). For each
kind of job: number of games, and milliseconds per expected token, median and spread over games.
A constant of that module is right if its kind has the same ratio as the others. From the archives
alone; seconds are of the machine that made the run.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from archive import Archive, Purpose
from archive.query import find_run, run_config
from archive.schema import SCRIPT_POLICY
from evo.config.compose import from_archive
from evo.config.schema import RunConfig
from evo.record.durations import play_duration, training_duration


def ratios(archive: Archive, config: RunConfig) -> Iterator[tuple[str, float]]:
    """Pairs (kind, milliseconds per expected token), one for each game and kind of job."""
    tokens: defaultdict[str, list[int]] = defaultdict(list)
    seconds: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for row in archive.rows("scores"):
        if row["purpose"] == Purpose.CALIBRATION:
            tokens[row["game_id"]].append(row["tokens"])
        else:
            scripted = row["policy_id"].startswith(SCRIPT_POLICY)
            seconds[row["game_id"], "script" if scripted else "play"].append(row["seconds"])
    means = {game_id: float(np.mean(each)) for game_id, each in tokens.items()}
    for (game_id, kind), each in seconds.items():
        yield kind, 1000 * float(np.mean(each)) / play_duration(means[game_id], kind == "script")
    for row in archive.rows("finetunes"):
        expected = training_duration(config.finetune, means[row["game_id"]])
        yield "fine-tune", 1000 * row["seconds"] / expected


def main(runs: list[str]) -> None:
    by_kind: defaultdict[str, list[float]] = defaultdict(list)
    for run in runs:
        with Archive.open(run) as archive:
            config = from_archive(RunConfig, run_config(archive, find_run(archive).run_id))
            for kind, ratio in ratios(archive, config):
                by_kind[kind].append(ratio)
    print("| job | games | ms per expected token, median | 10 % | 90 % |")
    print("| --- | --- | --- | --- | --- |")
    for kind, each in sorted(by_kind.items()):
        low, median, high = np.percentile(each, [10, 50, 90])
        print(f"| {kind} | {len(each)} | {median:.3f} | {low:.3f} | {high:.3f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
