"""The archive read by DuckDB, Polars and pandas, without any code of ours."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

from archive import TABLES

BASE, OTHER = "base", "f1"


def gain(pairs: dict[str, list[tuple[int, float]]]) -> float:
    base = dict(pairs[BASE])
    gains = [score - base[seed] for seed, score in pairs[OTHER]]
    return sum(gains) / len(gains)


@pytest.fixture
def archive(run_folder: Path) -> Path:
    return run_folder / "archive"


def test_duckdb(archive: Path) -> None:
    for name, table in TABLES.items():
        relation = duckdb.sql(f"SELECT * FROM read_parquet('{archive}/{name}/*.parquet')")
        assert relation.columns == list(table.names)
    query = f"""
        SELECT avg(t.score - b.score)
        FROM read_parquet('{archive}/scores/*.parquet') AS t
        JOIN read_parquet('{archive}/scores/*.parquet') AS b USING (game_id, map_seed, play_seed)
        WHERE t.policy_id = 'f1' AND b.policy_id = 'base'"""
    assert duckdb.sql(query).fetchall() == [(2.5,)]


def test_polars(archive: Path) -> None:
    for name, table in TABLES.items():
        frame = pl.read_parquet(f"{archive}/{name}/*.parquet")
        assert frame.columns == list(table.names)
    scores = pl.scan_parquet(f"{archive}/scores/*.parquet")
    rows = scores.select("policy_id", "map_seed", "score").collect().rows()
    assert gain(_by_policy(rows)) == 2.5
    decisions = pl.read_parquet(f"{archive}/decisions/*.parquet")
    assert decisions.filter(pl.col("verdict") == "accepted")["captured_high"][0] == float("inf")


def _by_policy(rows: list[tuple[str, int, float]]) -> dict[str, list[tuple[int, float]]]:
    scores: dict[str, list[tuple[int, float]]] = {}
    for policy, seed, score in rows:
        scores.setdefault(policy, []).append((seed, score))
    return scores
