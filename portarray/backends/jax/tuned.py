"""Core kernels for JAX, compiled by XLA for each shape on first use.

Outside ``jax.jit`` every JAX function is a separate call and pass over memory. Most kernels are
therefore the generic ones under ``jax.jit``. Options are static, except ``key_length``, which
changes with every token. The user's ``jax.jit``, ``jax.grad`` and ``jax.vmap`` can trace all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from portarray.backends.common.attention import excludes, has_nan
from portarray.backends.composed.indexing import check_within
from portarray.backends.jax.attention import attention, is_small
from portarray.backends.jax.tracing import is_traced
from portarray.backends.types import TunedKernel

__all__ = ["TUNED"]

Function = Callable[..., Any]

FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
MATRICES = frozenset({"float32", "float64", "complex64", "complex128"})
NUMERIC = FLOATING | INTEGERS | {"complex64", "complex128"}

_GENERIC = "jax.jit of the generic kernel"


def _wide(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float32) if x.dtype.itemsize == 2 else x


@jax.jit
def _silu(x: jax.Array, /) -> jax.Array:
    return jax.nn.silu(_wide(x)).astype(x.dtype)


@partial(jax.jit, static_argnames="approximate")
def _gelu(x: jax.Array, /, *, approximate: str) -> jax.Array:
    wide = _wide(x)
    if approximate == "tanh":
        # jax.nn.gelu computes (1 + tanh(y)) / 2, which cancels for large negative y.
        y = math.sqrt(8 / math.pi) * (wide + 0.044715 * wide * wide * wide)
        return (wide * jax.nn.sigmoid(y)).astype(x.dtype)
    return jax.nn.gelu(wide, approximate=False).astype(x.dtype)


# JAX has no types for it.
_barrier: Callable[[Any], Any] = lax.optimization_barrier

# Fused into the rotation, angles would be recomputed for every head.
_STORED_ANGLES = SimpleNamespace(
    **{
        **jnp.__dict__,
        "cos": lambda angles: _barrier(jnp.cos(angles)),
        "sin": lambda angles: _barrier(jnp.sin(angles)),
    }
)


@cache
def _rope(generic: Function) -> Function:
    turned = jax.jit(partial(generic, _STORED_ANGLES), static_argnames=("theta", "interleaved"))

    def rope(x: jax.Array, positions: jax.Array | None, /, *, tables: Any, **options: Any) -> Any:
        if positions is None and tables is None:
            positions = jnp.arange(x.shape[-2], dtype=jnp.int32)
        return turned(x, positions, tables=tables, **options)

    return rope


@cache
def _attention(generic: Function) -> Function:
    """Return attention by blocks, or the generic version where numbers are not small."""

    @partial(jax.jit, static_argnames=("scale", "causal"))
    def any_values(
        q: Any, k: Any, v: Any, /, *, scale: float | None, causal: bool, mask: Any, key_length: Any
    ) -> Any:
        options = {"scale": scale, "causal": causal, "mask": mask, "key_length": key_length}
        return generic(jnp, q, k, v, **options)

    @partial(jax.jit, static_argnames=("scale", "causal"))
    def traced(
        q: Any, k: Any, v: Any, /, *, scale: float | None, causal: bool, mask: Any, key_length: Any
    ) -> Any:
        def branch(function: Function) -> Function:
            def called(q: Any, k: Any, v: Any, mask: Any, key_length: Any) -> Any:
                options = {"scale": scale, "causal": causal, "mask": mask}
                return function(q, k, v, **options, key_length=key_length)

            return called

        fast, general = branch(attention), branch(any_values)

        # Attention in a branch would take longer: XLA does not parallelize branches.
        @jax.custom_jvp
        def checked(*operands: Any) -> Any:
            out = fast(*operands)
            return lax.cond(jnp.any(jnp.isnan(out)), general, lambda *_: out, *operands)

        # Derivatives may have NaN where the result does not.
        @checked.defjvp
        def derivative(primals: Any, tangents: Any) -> Any:
            def chosen(*operands: Any) -> Any:
                # Rematerialized, to not store all scores.
                return lax.cond(is_small(*operands[:3]), fast, jax.checkpoint(general), *operands)

            return jax.jvp(chosen, primals, tangents)

        return checked(q, k, v, mask, key_length)

    def attend(q: jax.Array, k: jax.Array, v: jax.Array, /, **options: Any) -> jax.Array:
        out: jax.Array
        if excludes(q, **options):
            if is_traced(q) or is_traced(k) or is_traced(v):
                out = traced(q, k, v, **options)
                return out
            out = attention(q, k, v, **options)
            if _has_nan(out):
                out = any_values(q, k, v, **options)
            return out
        out = attention(q, k, v, **options)
        return out

    return attend


_any_nan = jax.jit(lambda x: jnp.any(jnp.isnan(x)))


def _has_nan(x: jax.Array) -> bool:
    """Return whether an array with values contains NaN."""
    return has_nan(np.asarray(x)) if x.platform() == "cpu" else bool(_any_nan(x))


def _of(function: Function, name: str, dtypes: frozenset[str], wins: str) -> tuple[TunedKernel]:
    return (TunedKernel(function, name, dtypes, wins),)


def _jit(
    wins: str,
    *options: str,
    dtypes: frozenset[str] = FLOATING,
    check: Callable[..., None] | None = None,
) -> tuple[TunedKernel]:
    """Return the generic kernel compiled by XLA, for each value of its options.

    Compiled functions cannot raise, so ``check`` is called before with known values.
    """

    @cache  # called once for each dtype
    def compiled(generic: Function) -> Function:
        function: Function = jax.jit(partial(generic, jnp), static_argnames=options)
        if check is None:
            return function

        def checked(*arrays: jax.Array, **keywords: Any) -> jax.Array:
            check(*arrays, **keywords)
            result: jax.Array = function(*arrays, **keywords)
            return result

        return checked

    return (TunedKernel(compiled, _GENERIC, dtypes, wins, wraps_generic=True),)


@partial(jax.jit, static_argnames=("lower", "transpose", "unit_diagonal"))
def _solve_triangular(
    a: jax.Array, b: jax.Array, /, *, lower: bool, transpose: bool, unit_diagonal: bool
) -> jax.Array:
    options: Any = {"lower": lower, "trans": int(transpose), "unit_diagonal": unit_diagonal}
    solution: jax.Array = jax.scipy.linalg.solve_triangular(a, b, **options)
    return solution


def _no_solve(a: jax.Array, b: jax.Array, /, **_: Any) -> str:
    if not a.size or not b.size:
        return "there is nothing to solve"
    return "" if a.ndim == 2 >= b.ndim else "it solves with one matrix"


_GEMM = ("alpha", "beta", "transpose_a", "transpose_b", "in_place")


def _check_rows(indices: jax.Array, weight: jax.Array, /) -> None:
    if not is_traced(indices):
        check_within(np.asarray(indices), weight.shape[0], 0, lowest=0)


def _check_classes(
    logits: jax.Array, targets: jax.Array, /, *, ignore_index: int, **_: Any
) -> None:
    if not is_traced(targets):
        classes = np.asarray(targets)
        check_within(classes[classes != ignore_index], logits.shape[-1], -1, lowest=0)


_LOSS = ("reduction", "ignore_index", "label_smoothing")

TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "matmul": _jit("matmul 512x576x1536 float16", dtypes=NUMERIC),
    "linear": _jit("linear decode 1536x576", dtypes=NUMERIC),
    "gemm": _jit("gemm 512x512x512", *_GEMM, dtypes=MATRICES | FLOATING),
    "solve_triangular": (
        TunedKernel(
            _solve_triangular,
            "jax.scipy.linalg.solve_triangular",
            MATRICES,
            "solve_triangular 512x512",
            _no_solve,
        ),
    ),
    "embedding": _jit("embedding 1 of 49152x576", dtypes=NUMERIC | {"bool"}, check=_check_rows),
    "softmax": _jit("softmax 512x576", "axis"),
    "log_softmax": _jit("log_softmax 512x576", "axis"),
    "silu": _of(_silu, "jax.nn.silu", FLOATING, "silu 512x576"),
    "gelu": _of(_gelu, "jax.nn.gelu", FLOATING, "gelu 512x576"),
    "relu": _of(jax.nn.relu, "jax.nn.relu", FLOATING, "relu 512x576"),
    "rms_norm": _jit("rms_norm 512x576", "eps"),
    "layer_norm": _jit("layer_norm 512x576", "eps"),
    "rope_tables": _jit("rope_tables 1024x128", "dimensions", "theta", "dtype", dtypes=INTEGERS),
    "rope": (TunedKernel(_rope, _GENERIC, FLOATING, "rope 9x1024x64", wraps_generic=True),),
    "attention": (
        TunedKernel(
            _attention,
            "jax.jit of attention by blocks",
            FLOATING,
            "attention 9x1024x64 causal",
            wraps_generic=True,
        ),
    ),
    "cross_entropy": _jit("cross_entropy 512x4096", *_LOSS, check=_check_classes),
}
