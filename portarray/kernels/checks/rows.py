"""Checks of kernels of rows: softmax, activations, normalization and losses."""

from __future__ import annotations

from operator import index
from typing import Any

from portarray._api import arguments
from portarray._array.kernel import shape_of
from portarray.kernels.checks import common
from portarray.kernels.checks.common import Arrays, Options, misfit


def floating(name: str, arrays: Arrays, options: Options) -> None:
    """Check one array of any shape."""
    common.floating(name, "x", arrays[0])


def softmax(name: str, arrays: Arrays, options: Options) -> None:
    """Check one array and an axis of it."""
    x = arrays[0]
    common.floating(name, "x", x)
    axis = options["axis"]
    if axis != -1 or type(axis) is not int or x.ndim == 0:
        options["axis"] = arguments.axis(axis, x)


def gelu(name: str, arrays: Arrays, options: Options) -> None:
    """Check one array and the name of the formula."""
    common.floating(name, "x", arrays[0])
    arguments.choice(options["approximate"], "approximate", ("none", "tanh"))


def rms_norm(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array and a weight for its last axis."""
    x, weight = arrays
    _normalized(name, x, options)
    _vector(name, x, "weight", weight)


def layer_norm(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array, a weight and a bias for its last axis."""
    x, weight, bias = arrays
    _normalized(name, x, options)
    _vector(name, x, "weight", weight)
    _vector(name, x, "bias", bias)


def _normalized(name: str, x: Any, options: Options) -> None:
    """Check the array whose last axis is normalized, and eps."""
    common.floating(name, "x", x)
    if not shape_of(x):
        raise ValueError(f"{name}: x is 0-d; it must have an axis to normalize")
    eps = options["eps"]
    if type(eps) is not float:
        eps = options["eps"] = common.real(eps, "eps")
    if not eps >= 0.0:
        raise ValueError(f"{name}: eps is {eps}; it must not be negative")


def _vector(name: str, x: Any, role: str, vector: Any) -> None:
    """Check an optional array as long as the last axis of x."""
    if vector is None:
        return
    common.same_table(name, "x", x, role, vector)
    if shape_of(vector) != shape_of(x)[-1:]:
        rule = f"{role} must be as long as the last axis of x: ({x.shape[-1]},)"
        raise misfit(name, rule, x=x, **{role: vector})


def cross_entropy(name: str, arrays: Arrays, options: Options) -> None:
    """Check logits and target classes."""
    logits, targets = arrays
    common.floating(name, "logits", logits)
    common.integers(name, "targets", targets)
    shape = logits.shape
    if not shape or shape[-1] == 0:
        raise misfit(name, "the last axis must have at least one class", logits=logits)
    if targets.shape != shape[:-1]:
        rule = f"with {shape[-1]} classes in the last axis, targets must have shape {shape[:-1]}"
        raise misfit(name, rule, logits=logits, targets=targets)
    arguments.choice(options["reduction"], "reduction", ("mean", "sum", "none"))
    ignored = options["ignore_index"]
    try:
        options["ignore_index"] = index(ignored)
    except TypeError:
        raise TypeError(f"{name}: ignore_index is {ignored!r}; it must be an integer") from None
    smoothing = common.real(options["label_smoothing"], "label_smoothing")
    options["label_smoothing"] = smoothing
    if not 0 <= smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing is {smoothing}; it must be between 0 and 1")
