"""Whole runs under meta-samplers other than the default one."""

from __future__ import annotations

from typing import Any

import pytest

from archive import Archive
from xgl import parse


@pytest.mark.long
def test_a_language_model_proposes(commands: Any) -> None:
    small = (
        "meta_sampler=local",
        "meta_sampler.settings.max_tokens=80",
        "cluster.workers=1",
    )
    process = commands("evo.run", *commands.tiny("written", *small))
    assert process.returncode == 0, process.stderr
    with Archive.open(commands.folder / "runs" / "written" / "archive") as archive:
        proposals, decisions = archive.rows("proposals"), archive.rows("decisions")
    assert len(decisions) == 2
    assert {row["game_id"] for row in decisions} <= {row["game_id"] for row in proposals}
    for row in proposals:
        assert (row["sampler"], row["model"], row["operators"]) == ("local", "embedded", ["decode"])
        assert row["parent_game_id"] == row["parents"][0]
        assert row["prompt_hash"]
        assert row["raw_text"]
        assert row["tokens"] > 0
        assert row["seconds"] > 0
        if row["outcome"] != "unfinished":
            parse(row["text"], "xent")
