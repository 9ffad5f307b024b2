"""Core kernels for JAX: compiled as one by XLA, each for its shapes on first use.

Outside ``jax.jit`` every function of JAX is a call and a pass over memory of its own, so what JAX
needs is the compiling. Most kernels are therefore the generic ones under ``jax.jit``; attention and
some activations are written for it. Options are part of what is compiled, but for ``key_length``,
which changes with every token. All of them can be traced: under ``jax.jit``, ``jax.grad`` and
``jax.vmap`` of the user's they are part of what is compiled there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from portarray.backends.jax.attention import attention
from portarray.backends.types import TunedKernel
from portarray.kernels import generic

__all__ = ["TUNED"]

Function = Callable[..., Any]

FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
NUMERIC = FLOATING | INTEGERS | {"complex64", "complex128"}


def _compiled(kernel: Function, *options: str) -> Function:
    """Return a generic kernel compiled by XLA, for each value of its options."""
    compiled: Function = jax.jit(partial(kernel, jnp), static_argnames=options)
    return compiled


def _wide(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float32) if x.dtype.itemsize == 2 else x


@jax.jit
def _silu(x: jax.Array, /) -> jax.Array:
    return jax.nn.silu(_wide(x)).astype(x.dtype)


@partial(jax.jit, static_argnames="approximate")
def _gelu(x: jax.Array, /, *, approximate: str) -> jax.Array:
    wide = _wide(x)
    if approximate == "tanh":
        # (1 + tanh(y)) / 2, which JAX's own is made of, has no digits left far below 0.
        y = math.sqrt(8 / math.pi) * (wide + 0.044715 * wide * wide * wide)
        return (wide * jax.nn.sigmoid(y)).astype(x.dtype)
    return jax.nn.gelu(wide, approximate=False).astype(x.dtype)


@jax.jit
def _relu(x: jax.Array, /) -> jax.Array:
    return jax.nn.relu(x)


_tables = _compiled(generic.rope_tables, "dimensions", "theta", "dtype")
_turned = _compiled(generic.rope, "theta", "interleaved")


def _rope(
    x: jax.Array,
    positions: jax.Array | None,
    /,
    *,
    tables: tuple[jax.Array, jax.Array] | None,
    theta: float,
    interleaved: bool,
) -> Any:
    if tables is None:
        # Compiled with the rotation, angles would be computed again for every head.
        places = jnp.arange(x.shape[-2], dtype=jnp.int32) if positions is None else positions
        wide = jnp.promote_types(x.dtype, jnp.float32)
        tables = _tables(places, dimensions=x.shape[-1], theta=theta, dtype=wide)
    return _turned(x, None, tables=tables, theta=theta, interleaved=interleaved)


def _of(function: Function, name: str, dtypes: frozenset[str], wins: str) -> tuple[TunedKernel]:
    return (TunedKernel(function, name, dtypes, wins),)


def _jit(
    kernel: Function, wins: str, *options: str, dtypes: frozenset[str] = FLOATING
) -> tuple[TunedKernel]:
    return _of(_compiled(kernel, *options), "jax.jit of the generic kernel", dtypes, wins)


_LOSS = ("reduction", "ignore_index", "label_smoothing")

TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "matmul": _jit(generic.matmul, "matmul 512x576x1536 float16", dtypes=NUMERIC),
    "linear": _jit(generic.linear, "linear decode 1536x576", dtypes=NUMERIC),
    "embedding": _jit(generic.embedding, "embedding 1 of 49152x576", dtypes=NUMERIC | {"bool"}),
    "softmax": _jit(generic.softmax, "softmax 512x576", "axis"),
    "log_softmax": _jit(generic.log_softmax, "log_softmax 512x576", "axis"),
    "silu": _of(_silu, "jax.nn.silu", FLOATING, "silu 512x576"),
    "gelu": _of(_gelu, "jax.nn.gelu", FLOATING, "gelu 512x576"),
    "relu": _of(_relu, "jax.nn.relu", FLOATING, "relu 512x576"),
    "rms_norm": _jit(generic.rms_norm, "rms_norm 512x576", "eps"),
    "layer_norm": _jit(generic.layer_norm, "layer_norm 512x576", "eps"),
    "rope_tables": _of(_tables, "jax.jit of the generic kernel", INTEGERS, "rope_tables 1024x128"),
    "rope": _of(_rope, "jax.jit of the generic kernel", FLOATING, "rope 9x1024x64"),
    "attention": _of(
        attention, "jax.jit of attention by blocks", FLOATING, "attention 9x1024x64 causal"
    ),
    "cross_entropy": _jit(generic.cross_entropy, "cross_entropy 512x4096", *_LOSS),
}
