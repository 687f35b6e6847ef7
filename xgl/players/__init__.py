"""Players: who makes the moves (SPEC §3)."""

from xgl.players.simple import RandomPlayer, ScriptedPlayer

__all__ = ["RandomPlayer", "ScriptedPlayer"]
