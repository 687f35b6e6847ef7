"""Pretended GPUs on a CPU build of torch: their tensors hold CPU tensors, an operation that mixes
devices, two GPUs too, raises as on a GPU, and kernels, copies to a device and reads by the host are
counted.

It changes torch for the whole process: use it in a process of its own. ``torch.inference_mode`` is
replaced first, since its tensors cannot be wrapped; so import this before anything of the project.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

torch.inference_mode = torch.no_grad  # type: ignore[misc]
_setup_privateuseone_for_python_backend("gpu")
GPU, CPU = torch.device("gpu", 0), torch.device("cpu")
READS = ("_local_scalar_dense", "equal", "nonzero", "is_nonzero")
INDEXING = ("index", "index_put", "index_put_", "_index_put_impl_")
"""Take indices from the CPU too; torch makes those of lists on what it holds for the first GPU."""
counts: Counter[str] = Counter()
"""``kernels``, ``reads`` by the host, ``copies`` to the device."""


class OnGPU(torch.Tensor):
    """A tensor that says it is on a GPU. To torch's own code all are on the first, since a backend
    in Python has only one: there fused attention makes its masks, so use another on others."""

    inner: torch.Tensor
    place: torch.device
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls: Any, inner: torch.Tensor, device: torch.device = GPU) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=GPU,
        )
        made.inner, made.place = inner, device
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.place

    def to(self, *args: Any, **kwargs: Any) -> Any:
        place = _named([*args, *kwargs.values()])
        if place is None or place.type != "gpu":
            return super().to(*args, **kwargs)
        args, kwargs = _mapped(lambda each: GPU if _named([each]) else each, (args, kwargs))
        out = super().to(*args, **kwargs)
        return out if place == self.place else _Copied.apply(out, place)

    def tolist(self) -> Any:
        counts["reads"] += 1
        return self.detach().inner.tolist()  # type: ignore[attr-defined]

    def data_ptr(self) -> int:
        return self.inner.data_ptr()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), type(self)(self.inner.clone(), self.device))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _Copied(torch.autograd.Function):
    """A copy on another GPU, of which torch knows nothing."""

    @staticmethod
    def forward(ctx: Any, x: Any, place: torch.device) -> Any:
        ctx.place = x.device
        counts["copies"] += 1
        return OnGPU(_inner(x).clone(), place)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        counts["copies"] += 1
        return OnGPU(_inner(gradient).clone(), ctx.place), None


def _named(arguments: Any) -> torch.device | None:
    """The device among the arguments of a call of ``to``."""
    for each in arguments:
        if isinstance(each, torch.device | str):
            device = torch.device(each)
            return GPU if device == torch.device("gpu") else device
    return None


class PretendedGPU(TorchDispatchMode):
    """Within the context, ``device="gpu"`` is the pretended one."""

    current: PretendedGPU

    def __enter__(self) -> Any:
        PretendedGPU.current = self
        self.before = torch._C._only_lift_cpu_tensors()
        torch._C._set_only_lift_cpu_tensors(True)
        return super().__enter__()

    def __exit__(self, *error: Any) -> Any:
        torch._C._set_only_lift_cpu_tensors(self.before)
        return super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def moved(model: torch.nn.Module, places: dict[str, str] | None = None) -> torch.nn.Module:
    """``model`` with its weights on the GPU, or on that of the longest path in ``places``."""
    seen: dict[int, Any] = {}
    for path, module in model.named_modules():
        own = [each for each in places or {} if f"{path}.".startswith(f"{each}." if each else "")]
        device = torch.device(places[max(own, key=len)]) if places and own else GPU
        for name, weight in module._parameters.items():
            if weight is not None:
                wrapped = torch.nn.Parameter(OnGPU(weight.data, device), requires_grad=False)
                module._parameters[name] = seen.setdefault(id(weight), wrapped)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = OnGPU(buffer, device)
    return model


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, OnGPU) else value


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """``value`` with its leaves changed; torch's own way takes half the time of these jobs."""
    if isinstance(value, list | tuple):
        return type(value)([_mapped(change, each) for each in value])
    if isinstance(value, dict):
        return {name: _mapped(change, each) for name, each in value.items()}
    return change(value)


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for each in values:
        if isinstance(each, torch.Tensor):
            yield each
        elif isinstance(each, list | tuple):
            yield from _tensors(each)


@cache
def _is_made_of_others(func: Any) -> bool:
    key = "CompositeImplicitAutograd"
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if _is_made_of_others(func):
        TorchDispatchMode.__enter__(PretendedGPU.current)
        try:
            return func.decompose(*args, **kwargs)
        finally:
            TorchDispatchMode.__exit__(PretendedGPU.current, None, None, None)
    name = func.__name__.split(".")[0]
    if name == "_fused_sdp_choice":
        return 0
    tensors = [*_tensors(args), *_tensors(kwargs.values())]
    here = [each for each in tensors if isinstance(each, OnGPU)]
    asked = kwargs.get("device")
    device = _named([asked])
    if here and device in (None, GPU):  # the first stands for that of the tensors
        device = here[0].device
    device = device or CPU
    on_gpu = device.type == "gpu"
    if name in ("_to_copy", "copy_"):
        source = args[1] if name == "copy_" else args[0]
        target = args[0].device if name == "copy_" else device
        if source.device != target:
            counts["reads" if target == CPU else "copies"] += 1
    elif here and name in READS:
        counts["reads"] += 1
    elif here and any(
        each.device != here[0].device and not (each.device in (CPU, GPU) and name in INDEXING)
        for each in tensors
        if each.dim()
    ):
        raise RuntimeError(f"{func}: found tensors on {', '.join(str(t.device) for t in tensors)}")
    counts["kernels"] += on_gpu
    options = kwargs if asked is None else kwargs | {"device": CPU}
    out = func(*_mapped(_inner, args), **_mapped(_inner, options))
    if not on_gpu and name != "copy_":
        return out
    for argument, value in zip(func._schema.arguments, args, strict=False):
        alias = argument.alias_info
        if alias and alias.is_write and not isinstance(out, tuple | list):  # written in place
            return value if func._schema.returns else None
    return _mapped(lambda t: OnGPU(t, device) if isinstance(t, torch.Tensor) else t, out)
