"""Players that are measured: a local model, an adapter, or a model behind a chat endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from archive import ArchiveError
from evo.config.measure import ChatConfig
from evo.config.models import PlayerConfig
from evo.jobs.lora import AdaptedModel, peft_base, with_peft_folder
from evo.jobs.merged import adapter_of
from evo.jobs.model_host import ModelHost
from evo.record.budget import ChatBudget
from xgl.chat.client import QUESTION, read_key
from xgl.chat.settings import ChatSettings, Requests
from xgl.errors import ConfigError, excerpt
from xgl.files import user_path
from xgl.judge.loading import load_model
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Decoding
from xgl.models import references
from xgl.models.resolve import load_tokenizer, resolve
from xgl.models.weights import json_object
from xgl.players.chat import ChatPlayer
from xgl.players.local import ChatTemplate, LocalPolicy
from xgl.runtime.requests import Player
from xgl.settings import shared_values


@dataclass(frozen=True)
class LocalPlayer:
    """A model of this machine, with an adapter if one is named: one of a run, or the ``folder`` of
    a LoRA that was trained elsewhere."""

    name: str
    reference: str
    adapter: bytes | None = None
    folder: Path | None = None
    lora: PlayerConfig = field(default_factory=PlayerConfig)
    temperature: float = 1.0
    chat: ChatConfig | None = None
    """Settings of an instruct model that is asked through its chat template."""

    @contextmanager
    def load(self, dtype: str, device: str) -> Iterator[LanguageModel]:
        """The model by itself, with its adapter."""
        base = load_model(self.reference, dtype, device)
        if self.folder is not None:
            yield with_peft_folder(base, self.folder)
        elif self.adapter is not None:
            with AdaptedModel(base, self.lora).with_adapter(self.adapter) as lm:
                yield lm
        else:
            yield base

    @contextmanager
    def seat(
        self, lab: ModelHost, dtype: str, budget: ChatBudget, answers: Path
    ) -> Iterator[Player]:
        """The player, with the model host's judge. The budget is checked between games."""
        is_base = not (self.adapter or self.folder) and self.reference == lab.settings.player.model
        loaded = self.load(dtype, lab.settings.device)
        with lab.adapted_model.with_adapter(None) if is_base else loaded as lm:
            count, template = lab.count_for(lm), None
            decoding = Decoding(self.temperature)
            if self.chat:
                temperature = 1.0 if self.chat.temperature is None else self.chat.temperature
                decoding = Decoding(temperature, self.chat.top_p or 1.0)
                template = ChatTemplate(lm, self.chat.answer_tokens, **template_options(self.chat))
            yield LocalPolicy(
                lm, decoding, count=count, memory_bytes=lab.memory, keep_caches=True, chat=template
            )


@dataclass(frozen=True)
class RemotePlayer:
    """A model behind a chat endpoint."""

    name: str
    settings: ChatSettings

    @contextmanager
    def seat(
        self, lab: ModelHost, dtype: str, budget: ChatBudget, answers: Path
    ) -> Iterator[ChatPlayer]:
        """The player, which sends no further request once ``budget`` is spent. Its answers lie in
        the folder ``answers``: those of a game that was cut off are not paid again."""
        yield ChatPlayer(replace(self.settings, **budget), answers)


MeasuredPlayer = LocalPlayer | RemotePlayer
WINDOW = "max_position_embeddings"


def template_options(chat: ChatConfig) -> Any:
    """Options of a local model's chat template."""
    effort = {"reasoning_effort": chat.reasoning_effort} if chat.reasoning_effort else {}
    return effort | (chat.extra_body or {}).get("chat_template_kwargs", {})


def find_player(text: str, chat: ChatConfig, key: str = "players") -> MeasuredPlayer:
    """The player of that name under a key, found but not loaded. Raises :class:`ConfigError`,
    :class:`~xgl.errors.ModelNotFoundError`, :class:`~archive.ArchiveError`, and
    :class:`~xgl.errors.PlayerError` for a key that is missing."""
    match references.parse(text, key):
        case references.LocalName(reference, temperature):
            resolve(reference, key)
            return LocalPlayer(text, reference, temperature=temperature)
        case references.InstructName(reference):
            _check_instruct(f"{key}: {text}", reference, resolve(reference, key), chat)
            return LocalPlayer(text, reference, chat=chat)
        case references.AdapterName() as name:
            try:
                _, content, player = adapter_of(name)
            except (ConfigError, ArchiveError) as error:
                raise ConfigError(f"{key}: {text}: {error}") from None
            resolve(player.model, key)
            temperature = player.temperature
            return LocalPlayer(text, player.model, content, lora=player, temperature=temperature)
        case references.PeftName(folder, model, temperature):
            adapter = user_path(folder)
            base = peft_base(adapter, model)
            resolve(base, key)
            return LocalPlayer(text, base, folder=adapter, temperature=temperature)
        case references.ChatName(model, url):
            prompt, new = chat.prices.get(model, (0.0, 0.0))
            facts = shared_values(chat, Requests)
            try:
                settings = ChatSettings(
                    model=model, base_url=url, price_prompt=prompt, price_new=new, **facts
                )
            except ConfigError as error:
                raise ConfigError(f"{key}: chat:{model}: {error}") from None
            read_key(settings)
            return RemotePlayer(text, settings)
    raise ConfigError(f"{key}: found {text!r}, a judge, {references.EXPECTED}")


def _check_instruct(where: str, reference: str, folder: Path, chat: ChatConfig) -> None:
    """Raises :class:`ConfigError` unless a model can be asked through its chat template."""
    window = json_object(folder / "config.json").get(WINDOW)
    if not (tokenizer := load_tokenizer(reference)).chat_template:
        raise ConfigError(
            f"{where}: its tokenizer has no chat template, expected an instruct model, or "
            f"{reference} to be asked by the view alone"
        )
    try:
        options = {"tokenize": False, "add_generation_prompt": True}
        tokenizer.apply_chat_template(QUESTION, **options, **template_options(chat))
    except (TemplateError, TypeError, ValueError, LookupError) as error:
        raise ConfigError(
            f"{where}: its chat template fails ({excerpt(str(error))}), expected other options in "
            "chat.extra_body={chat_template_kwargs: {…}}"
        ) from None
    if isinstance(window, int) and chat.answer_tokens >= window:
        raise ConfigError(
            f"{where} reads {window:,} tokens in all, found chat.answer_tokens="
            f"{chat.answer_tokens}, expected fewer, which leave room for a view"
        )
