"""Expressions that users of each library write for a kernel.

Expressions name arrays and options as the kernel does; ``grouped`` means that heads share keys. A
library without such a function has no entry, except for rope and rms_norm, for which PyTorch's and
JAX's users write the functions below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from installed import MODULES, optional
from kernel_rows import Row

import portarray as pa

__all__ = ["LARGEST_SCORES", "by_hand"]

LARGEST_SCORES = 1 << 30  # bytes; JAX's attention stores all scores

_BY_NAME = {
    "matmul": "x1 @ x2",
    "linear": "x @ weight.T",
    "linear bias": "x @ weight.T + bias",
    "embedding": "weight[indices]",
}

_TABLE: dict[str, dict[str, str]] = {
    "torch": {
        "softmax": "F.softmax(x, -1)",
        "log_softmax": "F.log_softmax(x, -1)",
        "silu": "F.silu(x)",
        "gelu": "F.gelu(x, approximate=approximate)",
        "relu": "F.relu(x)",
        "rms_norm": "F.rms_norm(x, x.shape[-1:], weight, 1e-6)",
        "layer_norm": "F.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)",
        "rope": "rotated(torch.cat, x, cos2, sin2)",
        "attention": "F.scaled_dot_product_attention(q[None], k[None], v[None], "
        "attn_mask=mask, is_causal=causal, enable_gqa=grouped)",
        "attention decode": "F.scaled_dot_product_attention(q[None], k[None, :, :key_length], "
        "v[None, :, :key_length], enable_gqa=grouped)",
        "linear": "F.linear(x, weight)",
        "linear bias": "F.linear(x, weight, bias)",
        "matmul": "x1 @ x2",
        "cross_entropy": "F.cross_entropy(logits, targets)",
        "embedding": "F.embedding(indices, weight)",
    },
    "mlx": {
        **_BY_NAME,
        "softmax": "mx.softmax(x, -1, precise=True)",
        "log_softmax": "nn.log_softmax(x, -1)",
        "silu": "nn.silu(x)",
        "gelu": "nn.gelu(x)",
        "gelu tanh": "nn.gelu_approx(x)",
        "relu": "nn.relu(x)",
        "rms_norm": "mx.fast.rms_norm(x, weight, 1e-6)",
        "layer_norm": "mx.fast.layer_norm(x, weight, bias, 1e-5)",
        "rope": "mx.fast.rope(x[None], x.shape[-1], traditional=interleaved, base=10000.0, "
        "scale=1.0, offset=0)[0]",
        "attention": "mx.fast.scaled_dot_product_attention(q[None], k[None], v[None], "
        "scale=scale, mask='causal' if causal else mask)[0]",
        "attention decode": "mx.fast.scaled_dot_product_attention(q[None], "
        "k[None, :, :key_length], v[None, :, :key_length], scale=scale)[0]",
        "linear bias": "mx.addmm(bias, x, weight.T)",
        "cross_entropy": "nn.losses.cross_entropy(logits, targets, reduction='mean')",
    },
    "jax": {
        **_BY_NAME,
        "softmax": "jax.nn.softmax(x)",
        "log_softmax": "jax.nn.log_softmax(x)",
        "silu": "jax.nn.silu(x)",
        "gelu": "jax.nn.gelu(x, approximate=approximate == 'tanh')",
        "relu": "jax.nn.relu(x)",
        "rms_norm": "rms_normed(jnp, jax.lax.rsqrt, x, weight)",
        "layer_norm": "jax.nn.standardize(x, epsilon=1e-5) * weight + bias",
        "rope": "rotated(jnp.concat, x, cos2, sin2)",
        "attention": "jax.nn.dot_product_attention(q_by_length, k_by_length, v_by_length, "
        "mask=mask, is_causal=causal)",
        "attention decode": "jax.nn.dot_product_attention(q_by_length, k_by_length, v_by_length, "
        "key_value_seq_lengths=jnp.asarray([key_length], jnp.int32))",
        "cross_entropy": "-jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), "
        "targets[:, None], -1))",
    },
    "numpy": {**_BY_NAME, "relu": "np.maximum(x, 0)"},
    "dpnp": {**_BY_NAME, "relu": "dpnp.maximum(x, 0)"},
    "clarray": _BY_NAME,
    "cupy": {
        **_BY_NAME,
        "softmax": "special.softmax(x, -1)",
        "log_softmax": "special.log_softmax(x, -1)",
        "relu": "cupy.maximum(x, 0)",
    },
}


def rotated(concat: Callable[..., Any], x: Any, cos2: Any, sin2: Any) -> Any:
    """Return rope of half-split pairs, with tables as wide as x."""
    half = x.shape[-1] // 2
    return x * cos2 + concat((-x[..., half:], x[..., :half]), axis=-1) * sin2


def rms_normed(jnp: Any, rsqrt: Callable[[Any], Any], x: Any, weight: Any) -> Any:
    """Return the root mean square norm, computed in float32 at least."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    scale = rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype) * weight


def by_hand(
    row: Row, device: pa.Device, natives: Mapping[str, Any]
) -> tuple[str, Callable[[], Any]] | None:
    """Return the expression of a row and a function that runs it, or None.

    JAX's functions are compiled.
    """
    text = _text(row, device.library)
    if text is None or "packed" in natives:
        return None
    arrays = {name: x for name, x in natives.items() if name not in ("cos", "sin")}
    names: dict[str, Any] = {
        name: optional(module)
        for name, module in MODULES.items()
        if re.search(rf"\b{name}\b", text)
    }
    names.update(rotated=rotated, rms_normed=rms_normed, mask=None, approximate="none")
    names.update(row.options)
    if row.kernel == "attention":
        names["grouped"] = natives["q"].shape[0] != natives["k"].shape[0]
        names["scale"] = 1 / math.sqrt(natives["q"].shape[-1])
    xp = pa.namespace(device)
    if "cos2" in text:
        arrays["cos2"] = xp.concat((natives["cos"], natives["cos"]), axis=-1)
        arrays["sin2"] = xp.concat((natives["sin"], natives["sin"]), axis=-1)
    if "_by_length" in text:
        for name in "qkv":
            x = xp.permute_dims(arrays.pop(name), (1, 0, 2))[None, ...]
            arrays[f"{name}_by_length"] = xp.asarray(x, copy=True)
    function: Callable[..., Any] = eval(f"lambda {', '.join(arrays)}: {text}", names)
    if device.library == "jax":
        function = _compiled(function)
    values = tuple(arrays.values())
    return text, lambda: function(*values)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    compiled: Callable[..., Any] = jax.jit(function)
    return compiled


def _text(row: Row, library: str) -> str | None:
    table = _TABLE.get(library, {})
    if row.options.get("interleaved") and library != "mlx":
        return None
    if row.kernel == "rope" and "without tables" in row.name and library != "mlx":
        return None
    if row.kernel == "attention" and library == "jax" and _scores(row) > LARGEST_SCORES:
        return None
    for variant in ("decode", "bias", "tanh"):
        if variant in row.name.split() and f"{row.kernel} {variant}" in table:
            return table[f"{row.kernel} {variant}"]
    return table.get(row.kernel)


def _scores(row: Row) -> int:
    """Return the bytes of all attention scores of a row, in float32."""
    heads, _, sizes = row.name.split()[1].partition("x")
    length = sizes.partition("x")[0]
    return 0 if "decode" in row.name else 4 * int(heads.partition("/")[0]) * int(length) ** 2
