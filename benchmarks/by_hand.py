"""Expressions that users write to move an array from one library to another.

``x`` is the native array and ``device`` the native target device. A note states a guarantee that
the expression lacks and ``x.to_device(device)`` has; such expressions are shown, but not compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from installed import MODULES, optional

import portarray as pa

__all__ = ["ByHand", "by_hand", "function"]


@dataclass(frozen=True, slots=True)
class ByHand:
    """One way to move an array without portarray."""

    text: str  # the expression
    note: str = ""  # what it does not promise, or an empty string


_CHANGES = "JAX's array changes with x where x happens to be aligned to 64 bytes"
_WRITES = "writing to the result changes {}'s array, which must never change"

# From and to: a library on the CPU, or a library and platform.
_TABLE: dict[tuple[str, str], tuple[ByHand, ...]] = {
    ("numpy", "torch"): (ByHand("torch.from_numpy(x)"),),
    ("numpy", "mlx"): (ByHand("mx.array(x)"),),
    ("numpy", "jax"): (
        ByHand("jnp.array(x)"),
        ByHand("jnp.asarray(x)", _CHANGES),
    ),
    ("numpy", "dpnp"): (ByHand("dpnp.asarray(x)"),),
    ("numpy", "clarray"): (ByHand("cl.asarray(x, device=device, copy=False)"),),
    ("torch", "numpy"): (ByHand("x.numpy()"),),
    ("torch", "mlx"): (ByHand("mx.array(x.numpy())"), ByHand("mx.array(x)")),
    ("torch", "jax"): (
        ByHand("jnp.array(x.numpy())"),
        ByHand("jnp.from_dlpack(x)", _CHANGES),
    ),
    ("torch", "dpnp"): (ByHand("dpnp.asarray(x.numpy())"),),
    ("torch", "clarray"): (ByHand("cl.from_dlpack(x, device=device)"),),
    ("mlx", "numpy"): (ByHand("np.array(x, copy=False)", _WRITES.format("MLX")),),
    ("mlx", "torch"): (
        ByHand("torch.from_numpy(np.array(x))"),
        ByHand("torch.from_dlpack(x).clone()"),
        ByHand("torch.from_dlpack(x)", _WRITES.format("MLX")),
    ),
    ("mlx", "jax"): (ByHand("jnp.array(np.array(x, copy=False))"),),
    ("mlx", "dpnp"): (ByHand("dpnp.asarray(np.array(x, copy=False))"),),
    ("mlx", "clarray"): (
        ByHand("cl.asarray(np.array(x, copy=False), device=device)"),
        ByHand("cl.from_dlpack(x, device=device)", _WRITES.format("MLX")),
    ),
    ("jax", "numpy"): (ByHand("np.asarray(x)"),),
    ("jax", "torch"): (
        ByHand("torch.from_numpy(np.array(x))"),
        ByHand("torch.from_dlpack(x).clone()"),
        ByHand("torch.from_dlpack(x)", _WRITES.format("JAX")),
    ),
    ("jax", "mlx"): (ByHand("mx.array(np.asarray(x))"), ByHand("mx.array(x)")),
    ("jax", "dpnp"): (ByHand("dpnp.asarray(np.asarray(x))"),),
    ("jax", "clarray"): (
        ByHand("cl.asarray(np.asarray(x), device=device)"),
        ByHand("cl.from_dlpack(x, device=device)", _WRITES.format("JAX")),
    ),
    ("dpnp", "numpy"): (ByHand("dpnp.asnumpy(x)"),),
    ("dpnp", "torch"): (ByHand("torch.from_numpy(dpnp.asnumpy(x))"),),
    ("dpnp", "mlx"): (ByHand("mx.array(dpnp.asnumpy(x))"),),
    # Only JAX refers to the array that dpnp creates, so JAX may take it over.
    ("dpnp", "jax"): (ByHand("jnp.asarray(dpnp.asnumpy(x))"),),
    ("dpnp", "clarray"): (ByHand("cl.asarray(dpnp.asnumpy(x), device=device, copy=False)"),),
    ("clarray", "numpy"): (ByHand("np.asarray(x)"),),
    ("clarray", "torch"): (ByHand("torch.from_dlpack(x)"),),
    ("clarray", "mlx"): (ByHand("mx.array(np.asarray(x))"),),
    ("clarray", "jax"): (
        ByHand("jnp.array(np.asarray(x))"),
        ByHand("jnp.from_dlpack(x)", _CHANGES),
    ),
    ("clarray", "dpnp"): (ByHand("dpnp.asarray(np.asarray(x))"),),
    ("clarray", "clarray"): (ByHand("x.to_device(device)"),),
    ("dpnp", "dpnp"): (ByHand("x.to_device(device)"),),
    ("jax", "jax"): (ByHand("jax.device_put(x, device)"),),
    ("numpy", "cupy:cuda"): (ByHand("cupy.asarray(x)"),),
    ("cupy:cuda", "numpy"): (ByHand("cupy.asnumpy(x)"),),
    ("numpy", "torch:cuda"): (ByHand("torch.from_numpy(x).to(device)"),),
    ("torch:cuda", "numpy"): (ByHand("x.cpu().numpy()"),),
    ("torch", "torch:cuda"): (ByHand("x.to(device)"),),
    ("torch:cuda", "torch"): (ByHand("x.cpu()"),),
    ("cupy:cuda", "torch:cuda"): (ByHand("torch.from_dlpack(x)"),),
    ("torch:cuda", "cupy:cuda"): (ByHand("cupy.from_dlpack(x)"),),
    ("numpy", "jax:cuda"): (ByHand("jax.device_put(x, device)"),),
    ("jax:cuda", "numpy"): (ByHand("np.asarray(x)"),),
    ("jax", "jax:cuda"): (ByHand("jax.device_put(x, device)"),),
    ("jax:cuda", "jax"): (ByHand("jax.device_put(x, device)"),),
}


def by_hand(source: pa.Device, target: pa.Device) -> tuple[ByHand, ...]:
    """Return the ways to move an array by hand."""
    return _TABLE.get((_key(source), _key(target)), ())


def _key(device: pa.Device) -> str:
    return device.library if device.kind == "cpu" else f"{device.library}:{device.platform}"


def function(method: ByHand, device: pa.Device) -> Callable[[Any], Any]:
    """Return an expression as a function of the native array."""
    names = {
        name: optional(module) for name, module in MODULES.items() if f"{name}." in method.text
    }
    names["device"] = device.native
    compiled: Callable[[Any], Any] = eval(f"lambda x: {method.text}", names)
    return compiled
