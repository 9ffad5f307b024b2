"""Which version of a kernel serves a call, and why."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from portarray._array import array as _array
from portarray._array.kernel import version
from portarray._config import config
from portarray.kernels.activations import (
    GELU,
    LOG_SOFTMAX,
    RELU,
    SILU,
    SOFTMAX,
    gelu,
    log_softmax,
    relu,
    silu,
    softmax,
)
from portarray.kernels.attention import ATTENTION, attention
from portarray.kernels.checks.packed import activations as check_activations
from portarray.kernels.losses import CROSS_ENTROPY, cross_entropy
from portarray.kernels.normalization import LAYER_NORM, RMS_NORM, layer_norm, rms_norm
from portarray.kernels.positions import ROPE, ROPE_TABLES, rope, rope_tables
from portarray.kernels.products import (
    EMBEDDING,
    GEMM,
    LINEAR,
    MATMUL,
    SOLVE_TRIANGULAR,
    embedding,
    gemm,
    linear,
    matmul,
    solve_triangular,
)

if TYPE_CHECKING:
    import numpy as np

    from portarray._array.kernel import Kernel
    from portarray._devices.device import Device

KERNELS: dict[str, tuple[Kernel, Callable[..., Any]]] = {
    "matmul": (MATMUL, matmul),
    "linear": (LINEAR, linear),
    "softmax": (SOFTMAX, softmax),
    "log_softmax": (LOG_SOFTMAX, log_softmax),
    "silu": (SILU, silu),
    "gelu": (GELU, gelu),
    "relu": (RELU, relu),
    "rms_norm": (RMS_NORM, rms_norm),
    "layer_norm": (LAYER_NORM, layer_norm),
    "rope": (ROPE, rope),
    "rope_tables": (ROPE_TABLES, rope_tables),
    "attention": (ATTENTION, attention),
    "cross_entropy": (CROSS_ENTROPY, cross_entropy),
    "embedding": (EMBEDDING, embedding),
    "gemm": (GEMM, gemm),
    "solve_triangular": (SOLVE_TRIANGULAR, solve_triangular),
}


class Explanation(NamedTuple):
    """Which version of a kernel serves a call, as :func:`explain` returns it.

    ``str`` of it is the text to read.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    device : Device
        Where it computes.
    dtype : numpy.dtype
        Dtype of the array that leads: what decides the version and is the dtype of the result.
    version : {"tuned", "generic"}
        Whether a version made for the library serves the call, or the one for all.
    function : str
        What computes: the tuned version's name, or the generic function.
    why : str
        Why this version.
    refused : tuple of (str, str)
        The versions made for the library that come before it and do not serve the call, each with
        the reason, in the order in which they were asked.
    benchmark : str
        Row of ``benchmarks/kernels.py`` that shows what a tuned version wins; empty for the
        generic one.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.ones(3, dtype="float32", device="numpy")
    >>> with pa.config(tuned_kernels=False):
    ...     print(pa.kernels.explain("silu", x))
    silu of float32 on numpy:cpu:0: portarray.kernels.generic.silu (generic)
      why: pa.config(tuned_kernels=False) asks for the generic version
      not blocks of values: pa.config(tuned_kernels=False) asks for the generic version
    """

    kernel: str
    device: Device
    dtype: np.dtype[Any]
    version: Literal["tuned", "generic"]
    function: str
    why: str
    refused: tuple[tuple[str, str], ...] = ()
    benchmark: str = ""

    def __str__(self) -> str:
        lines = [
            f"{self.kernel} of {self.dtype} on {self.device}: {self.function} ({self.version})",
            f"  why: {self.why}",
        ]
        if self.benchmark:
            lines.append(f"  what it wins: {self.benchmark!r} in benchmarks/kernels.py")
        lines += [f"  not {function}: {reason}" for function, reason in self.refused]
        return "\n".join(lines)


def explain(kernel: str | Callable[..., Any], /, *args: Any, **options: Any) -> Explanation:
    """Return which version of a kernel serves a call, and why the others do not.

    Nothing is computed. Arguments are checked as the kernel itself checks them.

    Parameters
    ----------
    kernel : str or callable
        A kernel of this namespace or its name: ``"attention"`` or ``pa.kernels.attention``.
    *args : Array
        What the kernel takes by position.
    **options : Any
        What it takes by name.

    Returns
    -------
    Explanation
        Print it, or read its attributes.

    Raises
    ------
    ValueError
        If the kernel is unknown. Invalid arguments raise as in the kernel's call.

    Notes
    -----
    A library's versions are asked in a fixed order: the first that takes the dtype and the shapes
    serves the call, else the generic one. ``pa.config(tuned_kernels=False)`` leaves all to the
    generic ones.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.ones(3, device="numpy")
    >>> with pa.config(tuned_kernels=False):
    ...     found = pa.kernels.explain("silu", x)
    >>> found.version, found.function
    ('generic', 'portarray.kernels.generic.silu')
    >>> found.why
    'pa.config(tuned_kernels=False) asks for the generic version'
    """
    name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
    if name not in KERNELS:
        raise ValueError(f"explain: unknown kernel {name!r}; known: {', '.join(KERNELS)}")
    entry, function = KERNELS[name]
    # Arguments before the first option are positional, including defaults.
    bound = signature(function).bind(*args, **options)
    bound.apply_defaults()
    arrays, keywords = bound.args, bound.kwargs
    # What serves a product does not depend on what is rounded before.
    if (rounding := keywords.pop("activations", None)) is not None:
        check_activations(rounding, arrays[1])
    if name in ("linear", "embedding") and type(arrays[1]) is not _array.Array:
        from portarray.kernels import packed  # most programs have no such weights

        entry, arrays, keywords = packed.call_of(name, arrays)
        name = entry.name
    elif name == "rope_tables":  # its versions take all but arrays by name
        arrays, keywords = arrays[:1], {"dimensions": arrays[1], **keywords}
    entry.check(name, arrays, keywords)
    table = entry.table(arrays)
    row, refused = version(entry, arrays, keywords)
    title = table.device._backend.info.title
    if row is not None:
        why = f"the first version for {title} that takes these arguments"
    elif not config.tuned_kernels:
        why = "pa.config(tuned_kernels=False) asks for the generic version"
    elif refused:
        why = f"no version for {title} takes these arguments"
    else:
        why = f"{title} has no version of its own"
    return Explanation(
        name,
        table.device,
        table.dtype,
        "generic" if row is None else "tuned",
        f"portarray.kernels.generic.{name}" if row is None else row.name,
        why,
        tuple((candidate.name, reason) for candidate, reason in refused),
        "" if row is None else row.wins,
    )
