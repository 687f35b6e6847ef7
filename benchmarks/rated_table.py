"""Time of rating a table: ``python benchmarks/rated_table.py FOLDER [--tasks 1000] [--models 20]``.

Writes scores and judged pairs of random models and tasks, and rates both as the command does.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from archive.__main__ import main as archive


def tables(folder: Path, tasks: int, models: int, seed: int) -> list[Path]:
    """A table with one model a row, and one of judged pairs, two verdicts on each."""
    random = np.random.default_rng(seed)
    level = random.normal(0, 1, models)[:, None] + random.normal(0, 1, (models, tasks))
    scores, pairs = folder / "scores.csv", folder / "pairs.csv"
    lines = [",".join(["model", *(f"t{task}" for task in range(tasks))])]
    lines += [f"m{m},{','.join(f'{x:.3f}' for x in row)}" for m, row in enumerate(level.tolist())]
    scores.write_text("\n".join(lines))
    lines = ["model_a,model_b,prompt,winner"]
    for one, other in np.argwhere(~np.eye(models, dtype=bool)).tolist():
        apart = level[one] - level[other] + random.normal(0, 1, tasks)
        names = np.where(np.abs(apart) < 0.3, "tie", np.where(apart > 0, "model_a", "model_b"))
        lines += [f"m{one},m{other},{task},{name}" for task, name in enumerate(names)]
    pairs.write_text("\n".join(lines))
    return [scores, pairs]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    size = arguments.tasks, arguments.models, arguments.seed
    for path in tables(arguments.folder, *size):
        start, processor = time.perf_counter(), time.process_time()
        archive(["ratings", "--table", str(path)])
        passed = time.perf_counter() - start, time.process_time() - processor
        print(f"{path.name}: {passed[0]:.1f} s, {passed[1]:.1f} processor seconds")
