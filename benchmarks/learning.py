"""Which games the player learns, and what this teaches on others.

    python benchmarks/learning.py games (--games rival one_way_cut … | --panel) [--at 0.1 0.3 1]
                              [--training-seeds 1] [--plays 96] [--json FILE] [key=value …]
    python benchmarks/learning.py curves FILE… [--figure FILE.svg]
    python benchmarks/learning.py matrix [--games rival_8 … | --panel] [--plays 96] [key=value …]
    python benchmarks/learning.py scope RUN [--plays 128] [--lead-plays 512] [--json FILE]

One thread (``matrix``, ``scope``: all workers); fine-tunes are those of a search with the overrides
given, and every player plays the same fresh maps of a game.

``games``: are programs of the library (``message:bob`` names a role), of a file or of the panel
below learned beyond every scripted player? Each is fine-tuned on under each training seed, and with
``--at`` looked at after these shares of the budget. A fine-tune is *beyond scripts* where its lead
over each script is established, in all and about the map (one-sided bounds at 97.5 % over plays,
given the fine-tune).

``curves``: a table and a figure of what ``--json`` wrote; mean over training seeds [least, most].

``matrix``: gains of fine-tunes on some games over all of these, and effective skills.

``scope``: the same leads for the fine-tunes of a growth's newest scope, with what each game
descends from. *Effective skills* are the participation ratio (Σ σ²)² / Σ σ⁴ of the singular values
σ of the matrix of gains about the map (fine-tunes, games), in bits and as shares of what each
game's own fine-tune gains: 1 where all teach the same, of shares the number of games where each
teaches its own game alone; the interval is over plays. Models must be those of the growth.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import stats
from study import Study, bits, command_line, describe_machine, head, parse, row

import xgl
from archive import Archive
from archive.charts import Panel, document, panels, series
from archive.plays import Plays
from archive.run import Run, parents, stored_game
from archive.schema import GainKind
from archive.statistics.intervals import Scores, gains, mean_interval
from archive.statistics.scripts import SHOWN_CONFIDENCE, ScriptComparison, compare
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.growth.initial_scope import main_role, metadata, read_task
from evo.jobs.evaluation import Task
from evo.jobs.job import Finetune, Training
from xgl.random_streams import seed as named_seed

ONE, TWO = "assign(s=story())", "assign(s=story(), t=story())"
THREE = "assign(s=story(), t=story(), y=story())"
MOVE, UNSEEN = "elicit(x, 8)", "assign(s0=story())"
RIVAL = "reward(xed(s | x) - xed(s0 | x))"
PANEL = {
    "rival_4": (ONE, "elicit(x, 4)", UNSEEN, RIVAL),
    "rival_5": (ONE, "elicit(x, 5)", UNSEEN, RIVAL),
    "rival_6": (ONE, "elicit(x, 6)", UNSEEN, RIVAL),
    "rival_8": (ONE, MOVE, UNSEEN, RIVAL),
    "single": (ONE, MOVE, "reward(xed(s | x))"),
    "first_of_two": (TWO, MOVE, "reward(xed(s | x))"),
    "second_of_two": (TWO, MOVE, "reward(xed(t | x))"),
    "first_of_three": (THREE, MOVE, "reward(xed(s | x))"),
    "second_of_three": (THREE, MOVE, "reward(xed(t | x))"),
    "last_of_three": (THREE, MOVE, "reward(xed(y | x))"),
    "rival_distractor_after": (TWO, MOVE, UNSEEN, RIVAL),
    "rival_distractor_before": (TWO, MOVE, UNSEEN, "reward(xed(t | x) - xed(s0 | x))"),
    "first_of_three_rival": (THREE, MOVE, UNSEEN, RIVAL),
    "second_of_three_rival": (THREE, MOVE, UNSEEN, "reward(xed(t | x) - xed(s0 | x))"),
    "last_of_three_rival": (THREE, MOVE, UNSEEN, "reward(xed(y | x) - xed(s0 | x))"),
    "contrast_8": (TWO, MOVE, "reward(xed(s | x) - xed(t | x))"),
    "contrast_other_way": (TWO, MOVE, "reward(xed(t | x) - xed(s | x))"),
    "pair_8": (THREE, MOVE, "reward(xed(s | x) + xed(t | x) - xed(y | x) - xed(y | x))"),
    "avoid_the_first": (THREE, MOVE, "reward(xed(t | x) + xed(y | x) - xed(s | x) - xed(s | x))"),
    "quote": (ONE, MOVE, UNSEEN, "reward(xed(x | s) - xed(x | s0))"),
    "two_moves": (
        ONE,
        "elicit(x, 4)",
        "elicit(y, 4)",
        UNSEEN,
        "reward(xed(s | x) - xed(s0 | x) + xed(s | y) - xed(s0 | y) - xed(x | y))",
    ),
    "one_move_about_each": (
        TWO,
        "elicit(x, 6)",
        "elicit(y, 6)",
        "reward(xed(s | x))",
        "reward(xed(t | y))",
    ),
    "first_then_another_rival": (
        THREE,
        "elicit(x, 6)",
        "reward(xed(s | x) - xed(t | x))",
        "elicit(x1, 6)",
        "reward(xed(y | x1) - xed(s | x1))",
    ),
    "words_that_it_lacks": (
        ONE,
        MOVE,
        "ensure(remove_common_words(x, s) == x)",
        "reward(xed(s | x))",
    ),
}
"""Lines of small games with one player, by what they pay for."""
MULTI = {"multi": (TWO, MOVE, "reward(xed(s | x) + xed(t | x))")}
MATRIX = ("rival_8", "single", "first_of_two", "second_of_two", "multi", "contrast_8")
LEVEL = 2 * SHOWN_CONFIDENCE - 1
COLUMNS = ("seconds", "gain", "lead")
LEAD = ("gain", "about the map", "best script", "lead over scripts", "about the map", "beyond")


def task_of(name: str, config: RunConfig) -> Task:
    """A game of this file, or a program of a file or the library by the rules of the growth's
    dialect."""
    lines, dialect, facts = (PANEL | MULTI).get(name), config.game.dialect, metadata(config.game)
    if lines is None:
        return read_task("--games", name, facts, dialect, translated=True)
    program = xgl.parse("\n".join(lines), dialect)
    return Task(xgl.game(program, facts), main_role(program, "", name))


def train(
    study: Study, task: Task, seed: int, shares: Sequence[float]
) -> Iterator[tuple[Finetune, float]]:
    """A fine-tune at each share of its budget, with the seconds of the processor until then."""
    state, seconds = None, 0.0
    for share in sorted(shares):
        job = Training(task, named_seed("training", seed), share=share, paused=state)
        finetune: Finetune
        [finetune] = study.do([job])
        state, seconds = finetune.state, seconds + finetune.seconds
        yield finetune, seconds


def lead(beside: ScriptComparison, own: Plays, base: Plays) -> tuple[list[str], bool]:
    """Cells of ``LEAD``, and whether a fine-tune is beyond every script."""
    is_beyond = beside.total.low > 0 and beside.specific.low > 0
    cells = [bits(mean_interval(gains(own, base, kind), LEVEL)) for kind in GainKind]
    cells += [f"{beside.best} {beside.best_gain:+.1f}", bits(beside.total), bits(beside.specific)]
    return [*cells, "**yes**" if is_beyond else "no"], is_beyond


def show_games(options: Namespace, overrides: Sequence[str]) -> None:
    """A row for each training seed and share of the budget of each game."""
    config = load(RunConfig, ["+experiment=scope_growth", *overrides])
    study, found, points = Study(config, "families", True), list[str](), list[dict[str, Any]]()
    print(head(("program", "steps", "seed", "base forfeits", *LEAD, "s")), flush=True)
    for name in options.games or PANEL:
        task, unfinished_rate = study.calibrate(task_of(name, config))
        [base] = study.plays([(task, None)], options.plays)
        [scripts] = study.script_plays([task], options.plays)
        for seed in range(options.training_seeds):
            for finetune, seconds in train(study, task, seed, options.at):
                [own] = study.plays([(task, finetune.adapter)], options.plays)
                beside = compare([own], scripts, base, SHOWN_CONFIDENCE)
                cells, is_beyond = lead(beside, own, base)
                steps, forfeits = len(finetune.curve), f"{unfinished_rate:.0%}"
                numbers = seconds, gains(own, base, GainKind.TOTAL).mean(), beside.total.value
                point = {"game": name, "seed": seed, "steps": steps}
                points.append(point | dict(zip(COLUMNS, numbers, strict=True)))
                if options.json:
                    options.json.write_text(json.dumps(points, indent=1))
                print(row([name, steps, seed, forfeits, *cells, f"{seconds:.0f}"]), flush=True)
                found += [name] if is_beyond else []
    print(f"\nbeyond every script under some seed: {', '.join(dict.fromkeys(found)) or 'none'}")


def show_curves(options: Namespace, _: Sequence[str]) -> None:
    """A row and a panel for each game: leads by steps, the warm start's one among them."""
    table = pd.concat(map(pd.read_json, options.files)).eval("script = gain - lead")
    depths = sorted(set(table.steps))
    print(head(("game", "best script", *(f"{depth:,} steps" for depth in depths))))
    for name, own in table.groupby("game", sort=False):
        cells = [f"{name}, {own.seed.nunique()} seeds", f"{own.script.mean():+.1f}"]
        for at in (own[own.steps == depth] for depth in depths):
            lead, range_ = at["lead"], f"[{at.lead.min():.1f}, {at.lead.max():.1f}]"
            shown = f"{lead.mean():+.1f} {range_}, {at.seconds.mean():.0f} s"
            cells.append(shown if len(at) else "")
        print(row(cells))
    if options.figure:
        colours = {seed: f"series {series(seed)}" for seed in sorted(set(table.seed))}
        every = []
        for name, own in table.groupby("game", sort=False):
            lines = [(each.seconds, each.lead, colours[i]) for i, each in own.groupby("seed")]
            every.append(Panel(name.replace("_", " "), ("core-seconds", "lead, bits"), lines, [0]))
        legend = {f"training seed {seed}": class_ for seed, class_ in colours.items()}
        figure = panels("Lead over every script by core-seconds of training", every, legend, 3)
        options.figure.write_text(document(figure), encoding="utf-8")


def show_matrix(options: Namespace, overrides: Sequence[str]) -> None:
    """A table of total gains, and one of gains about the map."""
    config = load(RunConfig, ["+experiment=scope_growth", *overrides])
    study, names = Study(config, "selection"), options.games or PANEL
    tasks = [study.calibrate(task_of(name, config))[0] for name in names]
    base = study.plays([(task, None) for task in tasks], options.plays)
    finetunes = study.do([Training(task, named_seed("training", 1)) for task in tasks])
    pairs = [(task, finetune.adapter) for finetune, task in product(finetunes, tasks)]
    taught, count = study.plays(pairs, options.plays), len(names)
    study.close()
    for kind in GainKind:
        found = [gains(own, base[at % count], kind) for at, own in enumerate(taught)]
        scores = np.array(found).reshape(count, count, options.plays)
        print(f"\n{kind} gain, bits\n\n{head(('trained on', *names))}")
        for name, own in zip(names, scores, strict=True):
            print(row([name, *(bits(mean_interval(each, LEVEL)) for each in own)]))
    show_skills(scores)


# -- a growth's scope ------------------------------------------------------------------------------


def participation_ratio(matrix: Scores) -> float:
    """Of a matrix (fine-tunes, games) of gains."""
    squares = np.linalg.svd(matrix, compute_uv=False) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())


def skills(scores: Scores) -> tuple[float, tuple[float, float]]:
    """Effective skills by gains about the map (fine-tunes, games, plays), and 95 % bounds, by the
    jackknife: noise lowers the ratio of games that differ."""
    n, total = scores.shape[-1], scores.sum(-1)
    rest = np.array([participation_ratio((total - scores[..., i]) / (n - 1)) for i in range(n)])
    value = n * participation_ratio(total / n) - (n - 1) * float(rest.mean())
    reach = float(stats.t.ppf(0.975, n - 1) * math.sqrt(n - 1) * rest.std())
    return value, (value - reach, value + reach)


def show_skills(scores: Scores) -> None:
    """Of gains about the map (fine-tunes, games, plays), and of shares of each game's own gain."""
    shares, count = scores / scores.mean(-1).diagonal()[None, :, None], len(scores)
    for unit, (value, (low, high)) in (("bits", skills(scores)), ("shares", skills(shares))):
        print(f"effective skills of {unit} {value:.1f} [{low:.1f}, {high:.1f}] of {count}")


def origin(place: int, ancestors: Sequence[int | None]) -> int:
    """The initial game that a member of the scope descends from."""
    while (parent := ancestors[place]) is not None:
        place = parent
    return place


def show_scope(options: Namespace, overrides: Sequence[str]) -> None:
    """A row for each game of the newest scope, by generation, then effective skills."""
    with Archive.open(options.run / "archive") as archive:
        run = Run(archive)
        members = sorted(run.newest_scope[1], key=lambda each: each.generation)
        hashes = {each["finetune_id"]: each["adapter_hash"] for each in run.finetunes}
        adapters = [archive.get_adapter(hashes[run.policies[each.task_id][0]]) for each in members]
        rows = run.games(each.game_id for each in members)
        games = [Task(stored_game(rows[each.game_id]), each.role) for each in members]
        names = [f"{run.titles[each.task_id]} ({each.task_id.label})" for each in members]
    ancestors = parents(members)
    study = Study(load(RunConfig, ["+experiment=long_growth", *overrides]), "families")
    tasks = [study.calibrate(game)[0] for game in games]
    plays = iter(study.plays([*product(tasks, [None, *adapters])], options.plays))
    bases = study.plays([(task, None) for task in tasks], options.lead_plays)
    owns = study.plays([*zip(tasks, adapters, strict=True)], options.lead_plays)
    scripts = study.script_plays(tasks, options.lead_plays)
    study.close()
    print(head(("game", "descends from", "generation", *LEAD)))
    columns, beyond = [], []
    for place, member in enumerate(members):
        base, *taught = islice(plays, 1 + len(adapters))
        columns.append([gains(each, base, GainKind.SPECIFIC) for each in taught])
        beside = compare([owns[place]], scripts[place], bases[place], SHOWN_CONFIDENCE)
        cells, is_beyond = lead(beside, owns[place], bases[place])
        beyond += [names[place]] if is_beyond else []
        print(row([names[place], names[origin(place, ancestors)], member.generation, *cells]))
    scores = np.array(columns).swapaxes(0, 1)
    print(f"\nbeyond every script: {len(beyond)} of {len(names)}: {'; '.join(beyond) or 'none'}")
    show_skills(scores)
    if options.json:
        numbers = {"names": names, "gains": scores.mean(-1).tolist(), "beyond": beyond}
        options.json.write_text(json.dumps(numbers, indent=1))


def main() -> None:
    parser = command_line(__doc__)
    commands = parser.add_subparsers(required=True)
    games, matrix = commands.add_parser("games"), commands.add_parser("matrix")
    for parsed, show, chosen in ((games, show_games, None), (matrix, show_matrix, MATRIX)):
        which = parsed.add_mutually_exclusive_group(required=chosen is None)
        which.add_argument("--games", nargs="+", default=chosen, help="of the library or the panel")
        which.add_argument("--panel", action="store_const", const=None, dest="games", help="all")
        parsed.add_argument("--plays", type=int, default=96)
        parsed.set_defaults(show=show)
    games.add_argument("--at", nargs="+", type=float, default=[1.0], help="shares of the budget")
    games.add_argument("--training-seeds", type=int, default=1)
    games.add_argument("--json", type=Path, help="write a point for each seed and share")
    curves = commands.add_parser("curves")
    curves.add_argument("files", type=Path, nargs="+", help="of games --json")
    curves.add_argument("--figure", type=Path, metavar="FILE.svg")
    curves.set_defaults(show=show_curves)
    scope = commands.add_parser("scope")
    scope.add_argument("run", type=Path, help="a run folder of a scope growth")
    scope.add_argument("--plays", type=int, default=128, help="of each fine-tune on each game")
    scope.add_argument("--lead-plays", type=int, default=512, help="of each on its own game")
    scope.add_argument("--json", type=Path, help="write gains about the map, and games beyond")
    scope.set_defaults(show=show_scope)
    options, overrides = parse(parser)
    torch.set_num_threads(1)
    print(f"{describe_machine()}\n", flush=True)
    options.show(options, overrides)


if __name__ == "__main__":
    main()
