"""Large archives, written in a moment: the tables of a search that nobody ran.

Programs are real and differ; scores are drawn so that gains, values and γ come out as those of a
search do. For the size and speed of what reads archives, never for what it finds.
"""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from support.measured import game_row
from support.rows import AT, row

from archive import Archive
from archive.schema import SCHEMA_VERSION
from xgl import Game, Metadata, game, parse

METADATA = Metadata(story_tokens=24, max_len=8)
RUN = "large-seed0"
Row = dict[str, Any]


def programs(count: int) -> list[Game]:
    """That many different games of one to four stories."""
    rewards = (
        "xed(s | x)",
        "xed(s | x) - xed(t | x)",
        "xed(s | x) + xed(t | x)",
        "xed(x | s) - xed(x | t)",
        "xed(t | s + x)",
        "xed(s | x + t) - xent(x)",
        "xed(s | t + x) - xed(t | x)",
        "dex(s | x) + xed(t | x)",
    )
    rules = ("", "ensure(xed(s | x) >= 0)\n", "ensure(num_words(x) < 6)\n")
    games: dict[str, Game] = {}
    for limit, words, rule, reward in product(range(2, 60), ("", " the"), rules, rewards):
        source = (
            f"assign(s=story(), t=story(){', y=' + json.dumps('so' + words) if words else ''})\n"
            f"elicit(x, {limit})\n{rule}reward({reward}{' - xed(y | x)' if words else ''})"
        )
        candidate = game(parse(source, "xent"), METADATA)
        games.setdefault(candidate.game_id, candidate)
        if len(games) == count:
            return list(games.values())
    raise ValueError(f"there are only {len(games)} such programs")


def write_large(folder: Path, count: int, generations: int, seed: int = 0) -> Path:
    """A finished run with a scope of ``count`` games, in ``folder``/archive; returns ``folder``."""
    _Search(count, generations, seed).write(folder)
    return folder


class _Search:
    def __init__(self, count: int, generations: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.games = programs(count)
        self.born = np.sort(self.rng.integers(1, generations + 1, count))
        self.born[: max(1, min(3, count))] = 0
        self.skills = self.rng.dirichlet(np.full(6, 0.35), count)
        self.parents = [self._parent(k) for k in range(count)]
        for k, parent in enumerate(self.parents):
            if parent is not None:
                self.skills[k] = 0.5 * self.skills[k] + 0.5 * self.skills[parent]

    def _parent(self, child: int) -> int | None:
        older = np.flatnonzero(self.born == self.born[child] - 1)
        if self.born[child] > 0 and not len(older):
            older = np.flatnonzero(self.born < self.born[child])
        return int(self.rng.choice(older)) if self.born[child] > 0 else None

    def write(self, folder: Path) -> None:
        children = [(k, parent) for k, parent in enumerate(self.parents) if parent is not None]
        with Archive.create(folder / "archive") as archive:
            archive.commit({"runs": [_event("created", 0)], "games": [*map(game_row, self.games)]})
            archive.commit(
                {
                    "maps": [_map(seed, site) for seed in range(12) for site in (0, 1)],
                    "finetunes": [self._finetune(k) for k in range(len(self.games))],
                    "scores": self._scores(),
                    "proposals": [self._proposal(k, parent) for k, parent in children],
                    "decisions": self._decisions(children),
                    "scopes": self._scopes(),
                    "covers": self._covers(),
                    "measures": [*self._measures("base", 4.0), *self._measures("smollm2", 5.5)],
                }
            )
            archive.commit({"runs": [_event("finished", 3600)]})

    def _row(self, table: str, k: int, **values: object) -> Row:
        """A row about the k-th game."""
        place = {"run_id": RUN, "game_id": self.games[k].game_id, "role": "black"}
        return row(table, **(place | values))

    def _parent_place(self, k: int) -> Row:
        parent = self.parents[k]
        if parent is None:
            return {}
        return {"parent_game_id": self.games[parent].game_id, "parent_role": "black"}

    def _value(self, source: int, target: int) -> float:
        """Share of the target's skills that the source has (the paper's toy model, §6.1.2)."""
        overlap = np.minimum(self.skills[source], self.skills[target]).sum()
        return float(overlap / self.skills[target].sum())

    def _gamma(self, k: int) -> float:
        older = [j for j in range(len(self.games)) if self.born[j] < self.born[k]][:40]
        return min(max((self._value(j, k) for j in older), default=0.0), 0.78)

    def _finetune(self, k: int) -> Row:
        curve = 10 * (1 - np.exp(-np.arange(40) / 12)) + self.rng.normal(0, 1.2, 40)
        ids, costs = {"finetune_id": f"tune{k:05d}", "seed": k}, {"tokens": 50_000, "seconds": 20.0}
        return self._row("finetunes", k, **ids, **costs, share=1.0, steps=40, curve=curve.tolist())

    def _scores(self) -> list[Row]:
        """Each game by the base player, its own, its parent's and its children's, and a few."""
        pairs = {(k, k) for k in range(len(self.games))}
        for k, parent in enumerate(self.parents):
            pairs |= {(int(j), k) for j in self.rng.integers(0, len(self.games), 4)}
            if parent is not None:
                pairs |= {(k, parent), (parent, k)}
        rows = [row for k in range(len(self.games)) for row in self._plays("base", k, 0.0)]
        for j, k in sorted(pairs):
            rows += self._plays(f"tune{j:05d}", k, 10 * self._value(j, k))
        return rows

    def _plays(self, policy: str, k: int, gain: float) -> list[Row]:
        noise = np.random.default_rng(k).normal(0, 2, 12)
        own = noise + gain + self.rng.normal(0, 0.8, 12)
        common = {"policy_id": policy, "purpose": "acceptance", "outcome": "finished"}
        common |= {"moves": ["mill by the river"], "tokens": 60, "seconds": 0.1}
        rows = []
        for seed, (score, permuted) in enumerate(zip(own.tolist(), noise.tolist(), strict=True)):
            place = {"map_seed": 2 * seed + 1, "play_seed": seed}
            bits = {"score": score, "raw_score": score, "permuted_score": permuted}
            rows.append(self._row("scores", k, **common, **place, **bits))
        return rows

    def _proposal(self, k: int, parent: int) -> Row:
        facts = {"proposal_id": f"proposal{k:05d}", "generation": int(self.born[k]), "index": k}
        facts |= {"sampler": "mutate", "operators": ["swap_term", "insert_distractor"]}
        facts |= {"parents": [self.games[parent].game_id], "text": self.games[k].code}
        place = self._parent_place(k)
        return self._row("proposals", k, **place, **facts, outcome="candidate", seconds=0.01)

    def _decisions(self, children: list[tuple[int, int]]) -> list[Row]:
        rows = []
        for k, parent in children:
            value, gamma = self._value(k, parent), self._gamma(k)
            rows.append(self._decision(k, "accepted", "helps and is new", value, gamma))
            rows.append(self._decision(k, "refused", "covered by the scope", value * 0.8, 0.9))
            rows.append(self._decision(k, "refused", "not playable", None, None))
        return rows

    def _decision(
        self, k: int, verdict: str, reason: str, value: float | None, gamma: float | None
    ) -> Row:
        fresh = self.games[k].game_id if verdict == "accepted" else f"{len(reason):x}{k:015x}"
        facts = self._parent_place(k) | {"generation": int(self.born[k]), "index": k}
        facts |= {"game_id": fresh, "verdict": verdict, "reason": reason, "scope_size": k}
        facts |= {"definition": "captured", "gain_kind": "total", "rule": "values"}
        facts |= {"alpha1": 0.3, "alpha2": 0.2, "confidence": 0.95, "looks": [96, 192]}
        facts |= {"own_gain": 10.0, "own_gain_low": 9.0, "specific_gain": 8.0}
        facts |= {"specific_gain_low": 7.0, "specific_share": 0.8, "purpose": "acceptance"}
        facts |= {"decided": True, "plays": 100, "tokens": 60_000, "seconds": 30.0}
        for name, number in (("captured", value), ("captured_def37", value), ("gamma", gamma)):
            low, high = (None, None) if number is None else (number - 0.06, number + 0.07)
            facts |= {name: number, f"{name}_low": low, f"{name}_high": high}
        return self._row("decisions", k, **facts)

    def _scopes(self) -> list[Row]:
        return [
            self._row(
                "scopes",
                k,
                scope=generation,
                parent_game_id=self._parent_place(k).get("parent_game_id"),
                gamma=None if self.parents[k] is None else self._gamma(k),
                generation=int(self.born[k]),
            )
            for generation in range(int(self.born[-1]) + 1)
            for k in np.flatnonzero(self.born <= generation).tolist()
        ]

    def _covers(self) -> list[Row]:
        """A cover by each generation's oldest games."""
        rows = []
        for generation in range(int(self.born[-1]) + 1):
            members = np.flatnonzero(self.born <= generation).tolist()
            for k in members[: 1 + len(members) // 3]:
                cover = {"scope": generation, "eta": 0.5, "definition": "captured", "delta": 0.52}
                rows.append(
                    self._row("covers", k, **cover, covers=[self.games[k].game_id], exact=True)
                )
        return rows

    def _measures(self, player: str, centre: float) -> list[Row]:
        levels = {"base": "base", "b": 1.0, "theta": 0.5, "m": 4, "rounds": 8, "maps": 20, "k_m": 6}
        levels |= {"policy_id": player, "at_round": 6, "floor": -8.0, "confidence": 0.95}
        scores = self.rng.normal(centre, 1.2, len(self.games)).tolist()
        bounds = {"narms_low": 0.0, "narms_high": 9.0, "tokens": 4_000}
        return [
            self._row("measures", k, exported_game_id=each.game_id, narms=score, **levels, **bounds)
            for k, (each, score) in enumerate(zip(self.games, scores, strict=True))
        ]


def _map(seed: int, site: int) -> Row:
    texts = ("The old mill stood by the river and turned slowly.", "Rain fell on the market.")
    facts = {"purpose": "acceptance", "source": "corpus", "n_tokens": 18}
    text = f"{texts[site]} It was day {seed}."
    return row("maps", map_seed=2 * seed + 1, site=site, text=text, **facts)


def _event(event: str, after: int) -> Row:
    judge = {"model": "embedded", "dtype": "auto"}
    config = {"experiment": "scope_growth", "judge": judge, "growth": {"generations": 6}}
    facts = {"event": event, "at": AT + timedelta(seconds=after), "code_version": "0.1.0"}
    versions = {"config_hash": "0", "schema_version": SCHEMA_VERSION}
    return row("runs", run_id=RUN, config_json=json.dumps(config), **facts, **versions)
