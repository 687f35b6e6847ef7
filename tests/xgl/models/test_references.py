"""References to models: one reader, which takes no address for the name of a model elsewhere; and
where the parts of a model go."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st
from transformers import AutoConfig, AutoModelForCausalLM

from xgl.chat.settings import ChatSettings
from xgl.errors import ConfigError, ModelNotFoundError
from xgl.models import references as refs
from xgl.models.resolve import resolve

GOOD = {
    "embedded": refs.LocalName("embedded"),
    "embedded@0": refs.LocalName("embedded", 0.0),
    "Qwen/Qwen2.5-0.5B": refs.LocalName("Qwen/Qwen2.5-0.5B"),
    "runs/models@2/m": refs.LocalName("runs/models@2/m"),
    "adapter:runs/a@b:c:cover.2": refs.AdapterName("runs/a@b:c", "cover.2"),
    "adapter:runs/a:0af3@org/model": refs.AdapterName("runs/a", "0af3", "org/model"),
    "peft:out/a": refs.PeftName("out/a", ""),
    "peft:out/a@0.5": refs.PeftName("out/a", "", 0.5),
    "peft:out/a@Qwen/Qwen2.5-0.5B": refs.PeftName("out/a", "Qwen/Qwen2.5-0.5B"),
    "chat:Qwen/Qwen3-8B@local": refs.InstructName("Qwen/Qwen3-8B"),
    "chat:gpt-3.5-turbo-0125": refs.ChatName("gpt-3.5-turbo-0125", refs.OPENAI),
    "chat:ft:gpt-4o-mini-2024-07-18:org::12345678": refs.ChatName(
        "ft:gpt-4o-mini-2024-07-18:org::12345678", refs.OPENAI
    ),
    "chat:qwen2.5:7b@http://localhost:11434/v1": refs.ChatName(
        "qwen2.5:7b", "http://localhost:11434/v1"
    ),
    "chat:claude@20240620@https://host/v1": refs.ChatName("claude@20240620", "https://host/v1"),
    "chat:@cf/meta/llama@HTTPS://Host/v1": refs.ChatName("@cf/meta/llama", "HTTPS://Host/v1"),
    "vllm:/data/u@h/m@http://h/v1": refs.ServerName("/data/u@h/m", "http://h/v1"),
}


@pytest.mark.parametrize(("text", "parts"), GOOD.items(), ids=GOOD)
def test_the_parts_of_a_reference(text: str, parts: object) -> None:
    assert refs.parse(text) == parts


ADDRESSES = (
    *("localhost:8000/v1", "localhost/v1", "127.0.0.1:8000/v1", "[fe80::1]/v1"),
    *("host.example:8443/v1", "api.host.example/v1/", "//host/v1", "ftp://host/v1"),
)
HOSTS = ("10.0.0.7", "gpu_1:80", "localhost:8000", "LOCALHOST", "my.localhost")
ONLY_AFTER_AN_AT = ("gpu-box", "gpu-box/v1", "host.example/openai/v1", "my-server", "latest")


@pytest.mark.parametrize("address", [*ADDRESSES, *HOSTS, *ONLY_AFTER_AN_AT])
def test_an_address_without_its_scheme_is_no_part_of_a_name(address: str) -> None:
    for text in (address, f"my-model@{address}")[address in ONLY_AFTER_AN_AT :]:
        with pytest.raises(ConfigError, match="expected the endpoint's URL"):
            ChatSettings(model=text)
        with pytest.raises(ConfigError, match=r"players: found .*, expected .*chat:MODEL@http"):
            refs.parse(f"chat:{text}")
    with pytest.raises(ConfigError, match=r"expected vllm:MODEL@http"):
        refs.parse(f"vllm:my-model@{address}")


@pytest.mark.parametrize("address", [*ADDRESSES, "http://localhost:8000/v1", "https://host/v1"])
def test_an_address_without_its_kind_is_no_model(address: str) -> None:
    with pytest.raises(ModelNotFoundError, match=r"embedded.*chat:MODEL@http"):
        resolve(f"my-model@{address}")


NONE = ("", "chat:", "chat: ", "Chat:m", "chat :m", "vllm:", "vllm:m", "VLLM:m@http://h/v1")
HALF = ("peft:", "peft:@", "peft:a@", "peft:@b", "adapter:", "adapter:x", "adapter:x@0.5")


@pytest.mark.parametrize("text", [*NONE, *HALF])
def test_what_is_no_reference_is_one_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match=r"key: found .*, expected") as error:
        refs.parse(text, "key")
    assert "\n" not in str(error.value)
    assert text not in HALF or "expected embedded" in str(error.value)


@given(
    st.text("ab@.:/0", min_size=1).filter(lambda model: "://" not in model),
    st.sampled_from(["http://h/v1", "https://10.0.0.1:8/v1", "HTTP://[::1]:1/v1"]),
)
def test_a_url_is_split_off_whatever_the_model_is_called(model: str, url: str) -> None:
    assert refs.parse(f"chat:{model}@{url}") == refs.ChatName(model, url)
    assert refs.parse(f"vllm:{model}@{url}") == refs.ServerName(model, url)


TWO = ["cuda:1", "cuda:0"]


@pytest.fixture(scope="module")
def model() -> Any:
    sizes = {"vocab_size": 64, "hidden_size": 64, "intermediate_size": 96}
    heads = {"num_hidden_layers": 8, "num_attention_heads": 4}
    config = AutoConfig.for_model("llama", **sizes, **heads, tie_word_embeddings=True)
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def size_of(model: Any) -> int:
    return sum(each.nbytes for each in (*model.parameters(), *model.buffers()))


def test_blocks_are_shared_in_order_and_all_else_is_on_the_first(model: Any) -> None:
    places = refs.placement(model, TWO, [size_of(model) * 0.6] * 2)
    blocks = [places[f"model.layers.{n}"] for n in range(8)]
    assert blocks == sorted(blocks, key=TWO.index)
    assert Counter(blocks) == {"cuda:1": 4, "cuda:0": 4}
    others = {name: place for name, place in places.items() if "layers" not in name}
    assert {"model.embed_tokens", "model.norm", "lm_head"} <= set(others)
    assert set(others.values()) == {"cuda:1"}
    every = [*model.named_parameters(remove_duplicate=False), *model.named_buffers()]
    assert all(any(name.startswith(f"{path}.") for path in places) for name, _ in every)


def test_without_room_it_is_said_how_much_is_there(model: Any) -> None:
    with pytest.raises(ValueError, match=r"weights take .* GiB, and cuda:1, cuda:0 have room for"):
        refs.placement(model, TWO, [size_of(model) * 0.4] * 2)
