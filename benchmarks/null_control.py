"""How often the search accepts a game although nothing can be learned from any candidate.

    python benchmarks/null_control.py [--seeds 101 …] [--lists 6] [--root runs/null] [key=value …]

For each seed a growth by the open-ended schedule, with the settings of the main job and the
overrides given, whose candidates are trained on permuted rewards (``finetune.shuffle``); its
initial games are trained as always. Every acceptance is an error. Prints one row for
docs/explanation/transfer.md. A run that ``--root`` holds is continued if it is not finished, and
read.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scipy import stats

from archive import Archive, Purpose, Verdict
from archive.run import Run
from evo.config.compose import load
from evo.config.schema import RunConfig

HEADS = (
    *("runs", "training seeds", "lists", "candidates", "fine-tuned"),
    *("gained", "gained specifically", "tested", "accepted"),
    *("lists with a fine-tune", "lists accepting, at most"),
)


def grow(root: Path, seed: int, lists: int, overrides: Sequence[str]) -> Path:
    """The folder of a finished run, which is made where it is not there."""
    words = ["+experiment=scope_growth", f"seed={seed}", "finetune.shuffle=true"]
    words += ["growth.max_accepted=null", "growth.least_yield=0", *overrides]
    size = load(RunConfig, words).growth.list_size
    words += [f"growth.max_candidates={lists * size}", f"archive.root={root}"]
    folder = root / f"null-seed{seed}"
    if (folder / "archive").exists():
        words = [f"resume={folder}"]
    else:
        words.append(f"name={folder.name}")
    subprocess.run([sys.executable, "-m", "evo.run", *words], check=True, stdout=subprocess.DEVNULL)
    return folder


def row(folders: Sequence[Path]) -> str:
    """The table's row. The bound on the share of lists is one-sided, Clopper–Pearson's at 95 %, of
    the lists with a fine-tune, as if they were independent."""
    counts = Counter[str](runs=len(folders))
    for folder in folders:
        counts += read_counts(folder)
    lists, accepting = counts["lists with a fine-tune"], counts["lists accepting"]
    bound = stats.beta.ppf(0.95, accepting + 1, lists - accepting) if accepting < lists else 1.0
    cells = [*(counts[head] for head in HEADS[:-1]), f"{bound:.1%}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def read_counts(folder: Path) -> Counter[str]:
    """The numbers of one run, by the heads of the table; raises ValueError for a run whose rewards
    were not permuted."""
    with Archive.open(folder / "archive") as archive:
        if not Run(archive).config["finetune"]["shuffle"]:
            raise ValueError(f"{folder}: found finetune.shuffle=false, expected true")
        decisions, finetunes = archive.rows("decisions"), archive.rows("finetunes")
        proposals = archive.rows("proposals", None, [("outcome", "=", "candidate")])
    lists = {each["game_id"]: (each["parent_game_id"], each["round"]) for each in proposals}
    trained = {each["game_id"] for each in finetunes} & lists.keys()
    accepted = {each["game_id"] for each in decisions if each["verdict"] == Verdict.ACCEPTED}
    return Counter(
        {
            "training seeds": len({each["seed"] for each in finetunes}),
            "lists": len({lists[each["game_id"]] for each in decisions}),
            "candidates": len(decisions),
            "fine-tuned": len(trained),
            "gained": sum((each["total_gain_low"] or 0.0) > 0 for each in decisions),
            "gained specifically": sum(
                (each["specific_gain_low"] or 0.0) > 0 for each in decisions
            ),
            "tested": sum(each["purpose"] == Purpose.ACCEPTANCE for each in decisions),
            "accepted": len(accepted),
            "lists with a fine-tune": len({lists[game_id] for game_id in trained}),
            "lists accepting": len({lists[game_id] for game_id in accepted}),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(101, 111)))
    parser.add_argument("--lists", type=int, default=6, help="lists of candidates of each run")
    parser.add_argument("--root", type=Path, default=Path("runs/null"))
    arguments, overrides = parser.parse_known_args()
    folders = [grow(arguments.root, seed, arguments.lists, overrides) for seed in arguments.seeds]
    print("| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|")
    print(row(folders))


if __name__ == "__main__":
    main()
