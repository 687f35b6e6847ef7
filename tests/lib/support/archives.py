"""Large archives, written in a moment: the tables of a search that nobody ran.

Programs are real and differ; scores are drawn so that gains, values and γ come out as those of a
search do. For the size and speed of what reads archives, never for what it finds.
"""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from support.rows import AT, game_row, row

from archive import Archive
from archive.schema import SCHEMA_VERSION
from xgl import Game, Metadata, game, parse

METADATA = Metadata(story_tokens=24, max_len=8)
RUN = "large-seed0"
PLAYS = 12
Row = dict[str, Any]


def programs(count: int) -> list[Game]:
    """That many different games of two stories, at most 1,392."""
    rewards = (
        *("xed(s | x)", "xed(s | x) - xed(t | x)", "xed(s | x) + xed(t | x)", "xed(t | s + x)"),
        *("xed(x | s) - xed(x | t)", "xed(s | x + t) - xent(x)", "xed(s | t + x) - xed(t | x)"),
        "dex(s | x) + xed(t | x)",
    )
    rules = ("", "ensure(xed(s | x) >= 0)\n", "ensure(num_words(x) < 6)\n")
    texts = (
        f"assign(s=story(), t=story())\nelicit(x, {limit})\n{rule}reward({reward})"
        for limit, rule, reward in product(range(2, 60), rules, rewards)
    )
    return [game(parse(text, "xent"), METADATA) for text in islice(texts, count)]


def write_large(folder: Path, count: int, generations: int) -> Path:
    """A finished run with a scope of ``count`` games, in ``folder``/archive; returns ``folder``."""
    search = _Search(count, generations)
    tables = {
        "games": [*map(game_row, search.games)],
        "maps": _maps(),
        "finetunes": [search.finetune(k) for k in range(count)],
        "scores": search.scores(),
        "proposals": [search.proposal(k) for k in search.children],
        "decisions": [each for k in search.children for each in search.decisions(k)],
        "scopes": search.scopes(),
        "covers": search.covers(),
        "measures": [*search.measures("base", 4.0), *search.measures("smollm2", 5.5)],
    }
    with Archive.create(folder / "archive") as archive:
        archive.commit({"runs": [_event("created", 0), _event("finished", 3600)], **tables})
    return folder


class _Search:
    def __init__(self, count: int, generations: int) -> None:
        self.rng = np.random.default_rng(0)
        self.games = programs(count)
        self.born = np.sort(self.rng.integers(1, generations + 1, count))
        self.born[: max(1, min(3, count))] = 0
        self.children = np.flatnonzero(self.born).tolist()
        older = [np.flatnonzero(self.born < self.born[k]).tolist() for k in range(count)]
        self.parents = [int(self.rng.choice(each)) if each else None for each in older]
        self.values = self.rng.beta(1, 3, (count, count)).clip(0, 0.78)
        self.values[self.children, [self.parents[k] for k in self.children]] += 0.2
        np.fill_diagonal(self.values, 1.0)

    def _row(self, table: str, k: int, **values: object) -> Row:
        """A row about the k-th game."""
        place = {"run_id": RUN, "game_id": self.games[k].game_id, "role": "black"}
        return row(table, **(place | values))

    def finetune(self, k: int) -> Row:
        curve = 10 * (1 - np.exp(-np.arange(40) / 12)) + self.rng.normal(0, 1.2, 40)
        facts = {"finetune_id": f"tune{k:05d}", "seed": k, "share": 1.0, "settings_json": "{}"}
        cost = {"steps": 40, "tokens": 50_000, "seconds": 20.0}
        return self._row("finetunes", k, **facts, **cost, curve=curve.tolist())

    def scores(self) -> list[Row]:
        """Each game by the base player, its own fine-tune, its parent's and its children's."""
        pairs = {(k, k) for k in range(len(self.games))}
        for k in self.children:
            pairs |= {(k, self.parents[k]), (self.parents[k], k)}
        rows = [each for k in range(len(self.games)) for each in self._plays("base", k, 0.0)]
        for j, k in sorted(pairs):
            rows += self._plays(f"tune{j:05d}", k, 10 * float(self.values[j, k]))
        return rows

    def _plays(self, policy: str, k: int, gain: float) -> list[Row]:
        noise = np.random.default_rng(k).normal(0, 2, PLAYS)
        own = noise + gain + self.rng.normal(0, 0.8, PLAYS)
        shared = {"policy_id": policy, "purpose": "acceptance", "outcome": "finished"}
        shared |= {"moves": ["mill by the river"], "tokens": 60, "seconds": 0.1}
        return [
            self._row("scores", k, **shared, score=score, raw_score=score, permuted_score=luck)
            | {"map_seed": 2 * seed + 1, "play_seed": seed}
            for seed, (score, luck) in enumerate(zip(own.tolist(), noise.tolist(), strict=True))
        ]

    def _line(self, k: int) -> Row:
        """Where a child stands in the search."""
        of_parent = {"parent_game_id": self.games[self.parents[k]].game_id, "parent_role": "black"}
        return of_parent | {"generation": int(self.born[k]), "index": k}

    def proposal(self, k: int) -> Row:
        facts = {"proposal_id": f"proposal{k:05d}", "text": self.games[k].code, "seconds": 0.01}
        facts |= {"sampler": "mutate", "outcome": "candidate"}
        return self._row("proposals", k, **self._line(k), **facts)

    def _gamma(self, k: int) -> float:
        return float(self.values[self.born < self.born[k], k][:40].max())

    def decisions(self, k: int) -> list[Row]:
        """One acceptance and two refusals."""
        value = float(self.values[k, self.parents[k]])
        gains = {"own_gain": 10.0, "own_gain_low": 9.0, "specific_gain": 8.0}
        rule = {"definition": "captured", "gain_kind": "total", "rule": "values", "alpha1": 0.3}
        rule |= {"alpha2": 0.2, "confidence": 0.95, "looks": [96, 192], "purpose": "acceptance"}
        return [
            self._row("decisions", k, **self._line(k), **gains, **rule, decided=True, scope_size=k)
            | {"game_id": game_id, "verdict": verdict, "reason": reason}
            | _bounds("captured", value)
            | _bounds("gamma", gamma)
            for game_id, verdict, reason, value, gamma in (
                (self.games[k].game_id, "accepted", "helps and is new", value, self._gamma(k)),
                (f"14{k:014x}", "refused", "covered by the scope", 0.8 * value, 0.9),
                (f"0c{k:014x}", "refused", "not playable", None, None),
            )
        ]

    def scopes(self) -> list[Row]:
        facts: list[Row] = [{"generation": int(born)} for born in self.born]
        for k in self.children:
            facts[k] |= {"parent_game_id": self._line(k)["parent_game_id"], "gamma": self._gamma(k)}
        return [
            self._row("scopes", k, scope=generation, **facts[k])
            for generation in range(int(self.born[-1]) + 1)
            for k in np.flatnonzero(self.born <= generation).tolist()
        ]

    def covers(self) -> list[Row]:
        """A cover by each generation's oldest games."""
        rows = []
        for generation in range(int(self.born[-1]) + 1):
            members = np.flatnonzero(self.born <= generation).tolist()
            cover = {"scope": generation, "eta": 0.5, "definition": "captured", "delta": 0.52}
            rows += [
                self._row("covers", k, **cover, covers=[self.games[k].game_id], exact=True)
                for k in members[: 1 + len(members) // 3]
            ]
        return rows

    def measures(self, player: str, centre: float) -> list[Row]:
        levels = {"base": "base", "b": 1.0, "theta": 0.5, "m": 4, "rounds": 8, "maps": 20, "k_m": 6}
        found = {"policy_id": player, "at_round": 6, "floor": -8.0, "narms_high": 9.0}
        narms = self.rng.normal(centre, 1.2, len(self.games)).tolist()
        return [
            self._row("measures", k, **levels, **found, narms=value)
            | {"exported_game_id": self.games[k].game_id}
            for k, value in enumerate(narms)
        ]


def _maps() -> list[Row]:
    texts = ("The old mill stood by the river and turned slowly.", "Rain fell on the market.")
    shared = {"purpose": "acceptance", "source": "corpus", "n_tokens": 18}
    return [
        row("maps", map_seed=2 * seed + 1, site=site, text=f"{text} It was day {seed}.", **shared)
        for seed in range(PLAYS)
        for site, text in enumerate(texts)
    ]


def _bounds(name: str, value: float | None) -> Row:
    low, high = (None, None) if value is None else (value - 0.06, value + 0.07)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _event(event: str, after: int) -> Row:
    judge = {"model": "embedded", "dtype": "auto"}
    config = {"experiment": "scope_growth", "judge": judge, "growth": {"generations": 6}}
    code = {"schema_version": SCHEMA_VERSION, "code_version": "0.1.0", "config_hash": "0"}
    at = {"run_id": RUN, "event": event, "at": AT + timedelta(seconds=after)}
    return row("runs", **at, **code, config_json=json.dumps(config))
