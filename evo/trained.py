"""A run with its trained players: what ``evo.Run`` adds to the run as an archive has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archive.errors import LookupFailedError
from archive.notebook import Run as ReadRun
from xgl.models.references import AdapterName
from xgl.runtime.requests import Player

if TYPE_CHECKING:
    from xgl.runtime.requests import Judge


class Run(ReadRun):
    """One run of an archive, and the players that it trained."""

    def player(
        self, game: str, judge: Judge | None = None, *, model: str = "", device: str = "cpu"
    ) -> Player:
        """The player that was trained on a game, by the fine-tune that stands for it: something
        that plays, for :func:`xgl.play` and in a cast. Its weights are loaded at each call.

        ``judge``: counts the tokens of moves, where its tokenizer is not the player's. ``model``:
        the base, to be named for a run that another user began. Raises
        :class:`archive.ArchiveError` for a game without a fine-tune, and
        :class:`~xgl.errors.ConfigError`.
        """
        from evo.jobs.lora import AdaptedModel, lora_settings  # torch, which reading needs not
        from evo.jobs.merged import adapter_of
        from xgl.judge.loading import load_model
        from xgl.players.local import LocalPolicy

        game_id = self.read.find_game(game)
        ids = [ids for task, ids in self.read.policies.items() if task.game_id == game_id]
        if not ids:
            raise LookupFailedError(f"{game}: found no fine-tune of it, expected a trained game")
        name = AdapterName(str(self.folder), ids[0][0], model=model)
        _, adapter, settings = adapter_of(name)
        lm = load_model(settings.model, settings.dtype, device)
        adapted = AdaptedModel(lm, lora_settings(settings))
        count = None if judge is None else judge.count
        return LocalPolicy(adapted.with_adapter(adapter).__enter__(), count=count)
