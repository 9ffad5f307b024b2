"""Expressions that users write to save, load and pickle a dict of native arrays.

``x`` is the dict, ``path`` a file, ``device`` the native device, and ``data`` the pickled dict. The
loaded file is the one that ``pa.save`` wrote; ``torch.load`` reads a separate file.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any

from installed import MODULES, optional

import portarray as pa

__all__ = ["by_hand", "function"]


def _through_numpy(out: str, into: str) -> dict[str, tuple[str, ...]]:
    """Return the expressions for a library without its own functions."""
    values = f"{{k: {out} for k, v in x.items()}}"
    return {
        "save": (f"safetensors.numpy.save_file({values}, path)",),
        "load": (f"{{k: {into} for k, v in safetensors.numpy.load_file(path).items()}}",),
        "pickle": (f"pickle.dumps({values}, 5)",),
        "unpickle": (f"{{k: {into} for k, v in pickle.loads(data).items()}}",),
    }


_PICKLED = {"pickle": ("pickle.dumps(x, 5)",), "unpickle": ("pickle.loads(data)",)}

_TABLE: dict[str, dict[str, tuple[str, ...]]] = {
    "numpy": {
        "save": ("safetensors.numpy.save_file(x, path)",),
        "load": ("safetensors.numpy.load_file(path)",),
        **_PICKLED,
    },
    "torch": {
        "save": ("safetensors.torch.save_file(x, path)", "torch.save(x, path)"),
        "load": (
            "safetensors.torch.load_file(path, device=str(device))",
            "torch.load(path + '.pt', map_location=device, mmap=True)",
        ),
        **_PICKLED,
    },
    "jax": {
        "save": ("safetensors.flax.save_file(x, path)",),
        "load": ("safetensors.flax.load_file(path)",),
        **_PICKLED,
    },
    "mlx": {
        **_through_numpy("np.asarray(v)", "mx.array(v)"),
        "save": ("mx.save_safetensors(path, x)",),
        "load": ("mx.load(path)",),
    },
    "dpnp": _through_numpy("dpnp.asnumpy(v)", "dpnp.asarray(v)"),
    "cupy": _through_numpy("cupy.asnumpy(v)", "cupy.asarray(v)"),
    "clarray": _through_numpy("np.asarray(v)", "cl.asarray(v, device=device)"),
}


def by_hand(device: pa.Device, operation: str) -> tuple[str, ...]:
    """Return the expressions of a device's library."""
    return _TABLE.get(device.library, {}).get(operation, ())


def function(text: str, device: pa.Device) -> Callable[[Any, str, bytes], Any]:
    """Return an expression as a function of ``x``, ``path`` and ``data``."""
    names = {name: optional(module) for name, module in MODULES.items() if f"{name}." in text}
    for part in ("numpy", "torch", "flax"):
        if f"safetensors.{part}." in text:
            importlib.import_module(f"safetensors.{part}")
            names["safetensors"] = importlib.import_module("safetensors")
    names.update(device=device.native, pickle=pickle)
    compiled: Callable[[Any, str, bytes], Any] = eval(f"lambda x, path, data: {text}", names)
    return compiled
