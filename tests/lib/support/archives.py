"""Large archives, written in a moment: the tables of a search that nobody ran.

Programs are real and differ; scores are drawn so that gains, values and γ come out as those of a
search do. For the size and speed of what reads archives, never for what it finds.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from archive import Archive
from archive.schema import SCHEMA_VERSION, TABLES
from xgl import Game, Metadata, analyse, game, parse

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
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
        with Archive.create(folder / "archive") as archive:
            _commit(archive, {"runs": [_event("created", 0)], "games": [*map(_game, self.games)]})
            _commit(
                archive,
                {
                    "maps": self._maps(),
                    "finetunes": [self._finetune(k) for k in range(len(self.games))],
                    "scores": self._scores(),
                    "proposals": [self._proposal(k) for k in self._children()],
                    "decisions": self._decisions(),
                    "scopes": self._scopes(),
                    "covers": self._covers(),
                    "measures": [*self._measures("base", 4.0), *self._measures("smollm2", 5.5)],
                },
            )
            _commit(archive, {"runs": [_event("finished", 3600)]})

    def _children(self) -> list[int]:
        return [k for k, parent in enumerate(self.parents) if parent is not None]

    def _value(self, source: int, target: int) -> float:
        """Share of the target's skills that the source has (the paper's toy model, §6.1.2)."""
        overlap = np.minimum(self.skills[source], self.skills[target]).sum()
        return float(overlap / self.skills[target].sum())

    def _gamma(self, k: int) -> float:
        older = [j for j in range(len(self.games)) if self.born[j] < self.born[k]][:40]
        return max((self._value(j, k) for j in older), default=0.0)

    def _maps(self) -> list[Row]:
        texts = ("The old mill stood by the river and turned slowly.", "Rain fell on the market.")
        return [
            {
                "map_seed": 2 * seed + 1,
                "site": site,
                "purpose": "acceptance",
                "source": "corpus",
                "text": f"{texts[site]} It was day {seed}.",
                "n_tokens": 18,
            }
            for seed in range(12)
            for site in (0, 1)
        ]

    def _finetune(self, k: int) -> Row:
        steps = 40
        rise = 10 * (1 - np.exp(-np.arange(steps) / 12))
        return {
            "run_id": RUN,
            "finetune_id": f"tune{k:05d}",
            "game_id": self.games[k].game_id,
            "role": "black",
            "replicate": 0,
            "seed": k,
            "share": 1.0,
            "steps": steps,
            "prompt_tokens": 40_000,
            "generated_tokens": 10_000,
            "curve": (rise + self.rng.normal(0, 1.2, steps)).tolist(),
            "entropy": np.linspace(5, 3, steps).tolist(),
            "grad_norm": np.ones(steps).tolist(),
            "distinct_moves": 0.9,
            "forfeit_rate": 0.0,
            "adapter_hash": None,
            "settings_json": "{}",
            "tokens": 50_000,
            "seconds": 20.0,
        }

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
        return [
            {
                "run_id": RUN,
                "policy_id": policy,
                "game_id": self.games[k].game_id,
                "role": "black",
                "purpose": "acceptance",
                "map_seed": 2 * seed + 1,
                "play_seed": seed,
                "score": float(own[seed]),
                "raw_score": float(own[seed]),
                "outcome": "finished",
                "permuted_score": float(noise[seed]),
                "clipped_score": None,
                "moves": ["mill by the river"],
                "tokens": 60,
                "seconds": 0.1,
            }
            for seed in range(12)
        ]

    def _proposal(self, k: int) -> Row:
        parent = self.parents[k]
        assert parent is not None
        return {
            "run_id": RUN,
            "proposal_id": f"proposal{k:05d}",
            "generation": int(self.born[k]),
            "parent_game_id": self.games[parent].game_id,
            "parent_role": "black",
            "round": 0,
            "index": k,
            "sampler": "mutate",
            "operators": ["swap_term", "insert_distractor"],
            "parents": [self.games[parent].game_id],
            "text": self.games[k].code,
            "game_id": self.games[k].game_id,
            "role": "black",
            "outcome": "candidate",
            "errors": [],
            "model": None,
            "prompt_hash": None,
            "raw_text": None,
            "repairs": [],
            "tokens": 0,
            "seconds": 0.01,
            "dollars": 0.0,
        }

    def _decisions(self) -> list[Row]:
        rows = []
        for k in self._children():
            parent = self.parents[k]
            assert parent is not None
            value, gamma = self._value(k, parent), min(self._gamma(k), 0.78)
            rows.append(self._decision(k, "accepted", "helps and is new", value, gamma))
            rows.append(self._decision(k, "refused", "covered by the scope", value * 0.8, 0.9))
            rows.append(self._decision(k, "refused", "not playable", None, None))
        return rows

    def _decision(
        self, k: int, verdict: str, reason: str, value: float | None, gamma: float | None
    ) -> Row:
        parent = self.parents[k]
        assert parent is not None
        fresh = self.games[k].game_id if verdict == "accepted" else f"{len(reason):x}{k:015x}"
        return {
            "run_id": RUN,
            "generation": int(self.born[k]),
            "parent_game_id": self.games[parent].game_id,
            "parent_role": "black",
            "round": 0,
            "index": k,
            "game_id": fresh,
            "role": "black",
            "finetune_id": None,
            "verdict": verdict,
            "reason": reason,
            "definition": "captured",
            "gain_kind": "total",
            "rule": "values",
            "scope_finetunes": [],
            **_bounds("captured", value),
            **_bounds("captured_def37", value),
            **_bounds("gamma", gamma),
            "gamma_game_id": None,
            "gamma_role": None,
            "alpha1": 0.3,
            "alpha2": 0.2,
            "confidence": 0.95,
            "looks": [96, 192],
            "scope_size": k,
            "own_gain": 10.0,
            "own_gain_low": 9.0,
            "specific_gain": 8.0,
            "specific_gain_low": 7.0,
            "specific_share": 0.8,
            "purpose": "acceptance",
            "decided": True,
            "plays": 100,
            "tokens": 60_000,
            "seconds": 30.0,
        }

    def _scopes(self) -> list[Row]:
        rows = []
        for generation in range(int(self.born[-1]) + 1):
            for k in np.flatnonzero(self.born <= generation).tolist():
                parent = self.parents[k]
                rows.append(
                    {
                        "run_id": RUN,
                        "scope": generation,
                        "game_id": self.games[k].game_id,
                        "role": "black",
                        "parent_game_id": None if parent is None else self.games[parent].game_id,
                        "gamma": None if parent is None else min(self._gamma(k), 0.78),
                        "generation": int(self.born[k]),
                    }
                )
        return rows

    def _covers(self) -> list[Row]:
        """A cover by each generation's oldest games."""
        rows = []
        for generation in range(int(self.born[-1]) + 1):
            members = np.flatnonzero(self.born <= generation).tolist()
            for k in members[: 1 + len(members) // 3]:
                rows.append(
                    {
                        "run_id": RUN,
                        "scope": generation,
                        "eta": 0.5,
                        "definition": "captured",
                        "delta": 0.52,
                        "game_id": self.games[k].game_id,
                        "role": "black",
                        "covers": [self.games[k].game_id],
                        "exact": True,
                        "unknown": 0,
                    }
                )
        return rows

    def _measures(self, player: str, centre: float) -> list[Row]:
        return [
            {
                "run_id": RUN,
                "policy_id": player,
                "game_id": member.game_id,
                "exported_game_id": member.game_id,
                "role": "black",
                "base": "base",
                "b": 1.0,
                "theta": 0.5,
                "m": 4,
                "rounds": 8,
                "maps": 20,
                "k_m": 6,
                "forfeits": 0,
                "failed_ensures": 0,
                "format_failures": 0,
                "cut_moves": 0,
                "cut_tokens": 0,
                "at_round": 6,
                "floor": -8.0,
                "narms": float(self.rng.normal(centre, 1.2)),
                "narms_low": 0.0,
                "narms_high": 9.0,
                "confidence": 0.95,
                "tokens": 4_000,
                "seconds": 2.0,
            }
            for member in self.games
        ]


def _commit(archive: Archive, tables: dict[str, list[Row]]) -> None:
    """Commits the rows, with null in every column that they leave out."""
    archive.commit(
        {
            name: [dict.fromkeys(TABLES[name].names) | row for row in rows]
            for name, rows in tables.items()
        }
    )


def _bounds(name: str, value: float | None) -> Row:
    low, high = (None, None) if value is None else (value - 0.06, value + 0.07)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _event(event: str, after: int) -> Row:
    judge = {"model": "embedded", "dtype": "auto"}
    config = {"experiment": "scope_growth", "judge": judge, "growth": {"generations": 6}}
    return {
        "run_id": RUN,
        "event": event,
        "at": AT + timedelta(seconds=after),
        "seed": 0,
        "config_json": json.dumps(config),
        "config_hash": "0",
        "schema_version": SCHEMA_VERSION,
        "code_version": "0.1.0",
    }


def _game(game_: Game) -> Row:
    return {
        "game_id": game_.game_id,
        "dialect": game_.dialect,
        "code": game_.code,
        "metadata_json": json.dumps(
            {"story_tokens": 24, "max_len": 8, "max_failures": 10, "max_characters": 4096}
        ),
        "steps": analyse(game_.program).steps,
    }
