"""Copies and keys of an environment's state, some ten times faster than ``copy.deepcopy``."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Hashable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

import gymnasium
import numpy as np

_SHARED = (int, float, str, bytes, bool, type(None), type, np.generic, range)
_NOT_STATE = ("action_space", "observation_space", "_np_random", "_np_random_seed", "metadata")
GENERATOR = "_np_random"
"""Where :class:`gymnasium.Env` holds its own generator."""
_GENERATORS: Mapping[type, Callable[[int], Any]] = MappingProxyType(
    {
        np.random.Generator: lambda seed: np.random.Generator(np.random.SFC64(seed)),
        np.random.RandomState: np.random.RandomState,
        random.Random: random.Random,
    }
)


class NoKeyError(Exception):
    """A state that cannot be compared, because of a value of some type."""


def copy_of(env: Any, seed: int) -> Any:
    """A copy that shares no mutable value with ``env`` and draws its chance anew, from ``seed``.

    A value that two attributes share stays shared. Raises TypeError for a state with a generator,
    a lambda that holds the environment, or anything else that cannot be copied.
    """
    if hasattr(type(env), "__deepcopy__") or _has_slots(type(env)):
        return reseed(copy.deepcopy(env), seed)
    twin = object.__new__(type(env))
    memo: dict[int, Any] = {id(env): twin}
    for name, value in env.__dict__.items():
        drawn_anew = name == GENERATOR or type(value) in _GENERATORS
        twin.__dict__[name] = value if drawn_anew else _copy_of(value, memo)
    return reseed(twin, seed)


def reseed(env: Any, seed: int) -> Any:
    """The environment, whose own generators begin anew: a search must not foresee dice."""
    for name, value in getattr(env, "__dict__", {}).items():
        if generator := _GENERATORS.get(type(value)):
            env.__dict__[name] = generator(seed)
    return env


def _has_slots(kind: type) -> bool:
    """Whether instances hold values outside their ``__dict__``."""
    return any(each.__dict__.get("__slots__") for each in kind.__mro__)


def _copy_of(value: Any, memo: dict[int, Any]) -> Any:
    kind = type(value)
    if kind in _SHARED or isinstance(value, gymnasium.Space | type):
        return value
    if id(value) in memo:
        return memo[id(value)]
    if kind is FunctionType and value.__closure__:
        raise TypeError("a function that holds values of its environment")
    if kind is list:
        twin = memo[id(value)] = []
        twin.extend(_copy_of(each, memo) for each in value)
        return twin
    if kind is dict:
        twins = memo[id(value)] = {}
        twins.update((_copy_of(k, memo), _copy_of(v, memo)) for k, v in value.items())
        return twins
    if kind is tuple:
        return tuple(_copy_of(each, memo) for each in value)
    if kind is np.ndarray and not value.dtype.hasobject:
        memo[id(value)] = value.copy()
        return memo[id(value)]
    return copy.deepcopy(value, memo)


def key(env: Any) -> Hashable:
    """A value that differs between different states of an environment. Raises
    :class:`NoKeyError`."""
    state = env.__dict__.items()
    return tuple((name, _key(value)) for name, value in state if name not in _NOT_STATE)


def _key(value: Any) -> Hashable:
    kind = type(value)
    if kind in _SHARED:
        return value
    if kind in (list, tuple):
        return tuple(map(_key, value))
    if kind is np.ndarray and not value.dtype.hasobject:
        return value.shape, value.tobytes()
    if kind is dict:
        return tuple((_key(k), _key(v)) for k, v in value.items())
    if kind in (set, frozenset):
        return frozenset(map(_key, value))
    raise NoKeyError(kind.__name__)
