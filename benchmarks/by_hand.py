"""What users write by hand to bring an array from one library to another, as Python texts.

``x`` is the native array and ``device`` the native device that it goes to. What a note says is a
promise that the line does not keep and ``x.to_device(device)`` does: such lines are shown and not
compared with.
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
    """One way to move an array by hand.

    Parameters
    ----------
    text : str
        The expression.
    note : str
        What it does not promise, or an empty string.
    """

    text: str
    note: str = ""


_CHANGES = "JAX's array changes with x where x happens to be aligned to 64 bytes"
_WRITES = "what is written into the result changes {}'s array, which is never to change"

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
    # The array that dpnp makes is nobody else's, so that JAX may take it over.
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
    """Return the ways to move an array by hand; none where the table has none."""
    return _TABLE.get((_key(source), _key(target)), ())


def _key(device: pa.Device) -> str:
    # dpnp's and clarray's CPUs are those of their one platform.
    return device.library if device.kind == "cpu" else f"{device.library}:{device.platform}"


def function(way: ByHand, device: pa.Device) -> Callable[[Any], Any]:
    """Return a way as function of the native array: what is printed is what is run."""
    names = {name: optional(module) for name, module in MODULES.items() if f"{name}." in way.text}
    names["device"] = device.native
    made: Callable[[Any], Any] = eval(f"lambda x: {way.text}", names)
    return made
