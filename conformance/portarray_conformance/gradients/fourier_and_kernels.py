"""Cases of Fourier transforms and core kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import portarray as pa
from portarray_conformance.gradients.case import Case, Draw, Drawn, Sample, kinds, standard

__all__ = ["CASES"]

NORMS = ("backward", "ortho", "forward")


def _transforms() -> Iterator[Case]:
    for kind, sample in kinds():
        for name in ("fft", "ifft", "hfft", "irfft"):
            yield Case(f"{kind}fft.{name}", f"fft.{name}", _along_an_axis(name, sample))
        for name in ("fftn", "ifftn", "irfftn"):
            yield Case(f"{kind}fft.{name}", f"fft.{name}", _along_axes(name, sample))
    for name in ("rfft", "ihfft"):
        yield Case(f"fft.{name}", f"fft.{name}", _along_an_axis(name, Draw.real))
    yield Case("fft.rfftn", "fft.rfftn", _along_axes("rfftn", Draw.real))
    for name in ("fftshift", "ifftshift"):
        yield Case(f"fft.{name}", f"fft.{name}", _shift(name))


def _along_an_axis(name: str, sample: Sample) -> Any:
    def make(d: Draw) -> Drawn:
        shape = (d.size(2, 5),) if d.flag() else (d.size(2, 4), d.size(2, 4))
        options = {"axis": d.axis(len(shape)), "norm": d.of(*NORMS)}
        if d.flag():
            options["n"] = d.size(2, 7)
        return Drawn(lambda x: standard(f"fft.{name}")(x, **options), (sample(d, *shape),))

    return make


def _along_axes(name: str, sample: Sample) -> Any:
    def make(d: Draw) -> Drawn:
        shape = tuple(d.size(2, 4) for _ in range(d.size(1, 3)))
        options: dict[str, Any] = {"norm": d.of(*NORMS)}
        if d.flag():
            options["axes"] = d.axes(len(shape))
            if d.flag():
                options["s"] = tuple(d.size(2, 5) for _ in options["axes"])
        return Drawn(lambda x: standard(f"fft.{name}")(x, **options), (sample(d, *shape),))

    return make


def _shift(name: str) -> Any:
    def make(d: Draw) -> Drawn:
        axes = d.of(None, d.axis(2), d.axes(2))
        sample = d.of(Draw.real, Draw.complex)
        return Drawn(lambda x: standard(f"fft.{name}")(x, axes=axes), (sample(d, 4, d.size()),))

    return make


def _kernels() -> Iterator[Case]:
    for name, make in (
        *(("gelu", _gelu), ("relu", _of_rows), ("silu", _of_rows), ("softmax", _along)),
        *(("log_softmax", _along), ("layer_norm", _layer_norm), ("rms_norm", _rms_norm)),
        *(("attention", _attention), ("rope", _rope), ("cross_entropy", _cross_entropy)),
        *(("linear", _linear), ("matmul", _matmul), ("embedding", _embedding), ("gemm", _gemm)),
        ("solve_triangular", _solve_triangular),
    ):
        function = getattr(pa.kernels, name)
        yield Case(f"kernels.{name}", f"kernels.{name}", _of(function, make))


def _of(function: Any, make: Any) -> Any:
    return lambda d: make(d, function)


def _of_rows(d: Draw, function: Any) -> Drawn:
    return Drawn(function, (d.real(*d.shape()),))


def _gelu(d: Draw, function: Any) -> Drawn:
    approximate = d.of("none", "tanh")
    return Drawn(lambda x: function(x, approximate=approximate), (d.real(*d.shape()),))


def _along(d: Draw, function: Any) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    return Drawn(lambda x: function(x, axis=axis), (d.real(*shape),))


def _layer_norm(d: Draw, function: Any) -> Drawn:
    n = d.size(2, 4)
    arguments = (d.real(*d.shape(0, 2), n), d.real(n), d.real(n))
    return Drawn(function, arguments[: d.size(1, 3)])


def _rms_norm(d: Draw, function: Any) -> Drawn:
    n = d.size(2, 4)
    arguments = (d.real(*d.shape(0, 2), n), d.real(n))
    return Drawn(function, arguments[: d.size(1, 2)])


def _attention(d: Draw, function: Any) -> Drawn:
    heads, groups, length, keys, dim = d.size(1, 2), d.size(1, 2), d.size(), d.size(), d.size(2, 3)
    options: dict[str, Any] = {"scale": d.of(None, 0.7)}
    if d.flag():
        options["causal"] = True
        keys = max(length, keys)
    q = d.real(2, heads * groups, length, dim)
    k, v = d.real(2, heads, keys, dim), d.real(2, heads, keys, d.size())
    if d.flag():
        return Drawn(lambda q, k, v, mask: function(q, k, v, mask=mask, **options), (
            q, k, v, d.real(length, keys)
        ))  # fmt: skip
    return Drawn(lambda q, k, v: function(q, k, v, **options), (q, k, v))


def _rope(d: Draw, function: Any) -> Drawn:
    length = d.size()
    options = {"theta": d.of(10000.0, 10.0), "interleaved": d.flag()}
    positions = d.rng.integers(0, 9, length)
    return Drawn(lambda x, at: function(x, at, **options), (d.real(2, 2, length, 4), positions))


def _cross_entropy(d: Draw, function: Any) -> Drawn:
    rows, classes = d.size(), d.size(2, 4)
    targets = d.rng.integers(0, classes, rows)
    options: dict[str, Any] = {
        "reduction": d.of("mean", "sum", "none"),
        "label_smoothing": d.of(0.0, 0.1),
    }
    if rows > 1 and d.flag():
        targets[0] = -100
    return Drawn(lambda x, n: function(x, n, **options), (d.real(rows, classes), targets))


def _linear(d: Draw, function: Any) -> Drawn:
    arguments = (d.real(*d.shape(0, 2), 3), d.real(2, 3), d.real(2))
    return Drawn(function, arguments[: d.size(2, 3)])


def _matmul(d: Draw, function: Any) -> Drawn:
    return Drawn(function, (d.real(d.size(), 3), d.real(3, d.size())))


def _gemm(d: Draw, function: Any) -> Drawn:
    m, n = d.size(), d.size()
    options: dict[str, Any] = {"alpha": d.of(1.0, -0.7), "transpose_a": d.flag()}
    a = d.real(3, m) if options["transpose_a"] else d.real(m, 3)
    if d.flag():
        options["beta"] = d.of(1.0, 0.3)
        return Drawn(
            lambda a, b, out: function(a, b, out=out * 1, **options),
            (a, d.real(3, n), d.real(m, n)),
        )
    return Drawn(lambda a, b: function(a, b, **options), (a, d.real(3, n)))


def _solve_triangular(d: Draw, function: Any) -> Drawn:
    options = {key: d.flag() for key in ("lower", "transpose", "unit_diagonal")}
    a = d.real(3, 3) + 3 * np.eye(3)
    b = d.real(3) if d.flag() else d.real(3, d.size())
    return Drawn(lambda a, b: function(a, b, **options), (a, b))


def _embedding(d: Draw, function: Any) -> Drawn:
    indices = d.rng.integers(0, 3, d.shape())
    return Drawn(lambda weight, n: function(n, weight), (d.real(3, 2), indices))


CASES = (*_transforms(), *_kernels())
