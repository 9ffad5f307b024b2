"""The parts of a training step: pure functions of arrays and of trees of them.

The same few functions train on every library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import optree

import portarray as pa
from examples.training.config import Config, Half
from examples.training.data import Batch
from examples.training.models import Block, Model, Parameters

__all__ = [
    "PARTS",
    "Number",
    "State",
    "Tree",
    "adam",
    "compiled",
    "corrected",
    "forward",
    "gradients",
    "mapped",
    "schedule",
    "unscaled",
    "whole_step",
]

BETAS = 0.9, 0.999
EPSILON = 1e-8

Number = float | pa.Array
Tree = list[Parameters]
PARTS = "parameters", "m", "v"
State = dict[str, Tree]
"""Parameters, and Adam's moments m and v: each a list with a dict of arrays for each block."""


def forward(
    model: Model,
    parameters: Tree,
    x: pa.Array,
    *,
    frozen: Tree | None = None,
    half: Half = None,
    checkpointing: bool = False,
) -> pa.Array:
    """Return what the last block makes of inputs, in the parameters' dtype.

    Each block runs where its parameters are; gradients go the same way back. Blocks get what is
    frozen beside what is trained.
    """
    fixed = frozen or [{} for _ in model.blocks]
    for block, more, weights in zip(model.blocks, fixed, parameters, strict=True):
        some = next(iter(weights.values()))
        if x.device != some.device:
            x = x.to_device(some.device)
        run = block if half is None else lowered(block, half)
        x = pa.checkpoint(run)(more | weights, x) if checkpointing else run(more | weights, x)
    return x if half is None else pa.astype(x, some.dtype)


def lowered(block: Block, half: Literal["float16", "bfloat16"]) -> Block:
    """Return a block that computes in a smaller dtype; integers stay as they are."""

    def run(weights: Parameters, x: pa.Array) -> pa.Array:
        smaller = {name: pa.astype(p, half, copy=False) for name, p in weights.items()}
        is_integer = pa.isdtype(x.dtype, "integral")
        return block(smaller, x if is_integer else pa.astype(x, half, copy=False))

    return run


def gradients(
    model: Model,
    parameters: Tree,
    batch: Batch,
    scale: pa.Array | None = None,
    frozen: Tree | None = None,
    *,
    half: Half = None,
    checkpointing: bool = False,
) -> tuple[pa.Array, Tree]:
    """Return the loss of a batch and its gradients, which are multiplied by a scale.

    Without a scale small gradients would become zero in float16.
    """

    def loss(parameters: Tree) -> tuple[pa.Array, pa.Array]:
        inputs, targets = batch
        logits = forward(
            model, parameters, inputs, frozen=frozen, half=half, checkpointing=checkpointing
        )
        mean_loss = pa.kernels.cross_entropy(logits, targets.to_device(logits.device))
        return (
            mean_loss if scale is None else mean_loss * scale.to_device(logits.device)
        ), mean_loss

    (_, loss_value), slopes = pa.value_and_grad(loss, has_aux=True)(parameters)
    result: tuple[pa.Array, Tree] = loss_value, slopes
    return result


def adam(
    p: Tree, m: Tree, v: Tree, slopes: Tree, rate: Number, root: Number
) -> tuple[Tree, Tree, Tree]:
    """Return parameters and moments after a step of Adam (arXiv:1412.6980)."""
    first, second = BETAS

    def moved(p: pa.Array, m: pa.Array, v: pa.Array) -> pa.Array:
        return p - rate * m / (pa.sqrt(v) / root + EPSILON)

    m = mapped(lambda m, g: first * m + (1 - first) * g, m, slopes)
    v = mapped(lambda v, g: second * v + (1 - second) * (g * g), v, slopes)
    return mapped(moved, p, m, v), m, v


def whole_step(
    model: Model,
    state: State,
    batch: Batch,
    frozen: Tree | None,
    rate: Number,
    root: Number,
    *,
    checkpointing: bool = False,
) -> tuple[pa.Array, State]:
    """Return the loss of a batch and the state after a step: what is compiled at once."""
    p, m, v = (state[name] for name in PARTS)
    loss, slopes = gradients(model, p, batch, None, frozen, checkpointing=checkpointing)
    return loss, dict(zip(PARTS, adam(p, m, v, slopes, rate, root), strict=True))


def corrected(rate: float, step: int) -> tuple[float, float]:
    """Return the two numbers of Adam's step that correct moments which began at zero."""
    first, second = BETAS
    return rate / (1 - first**step), math.sqrt(1 - second**step)


def unscaled(slopes: Tree, scale: float) -> tuple[Tree, list[pa.Array]]:
    """Return gradients without the loss scale, and for each block whether they are finite."""
    finite = [
        pa.all(pa.stack([pa.all(pa.isfinite(g)) for g in weights.values()])) for weights in slopes
    ]
    return mapped(lambda g: g / scale, slopes), finite


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """Return a tree of the results of a function of the arrays at the same place of all trees."""
    return optree.tree_map(function, *trees)


def schedule(config: Config, step: int) -> float:
    """Return the learning rate of a step: growing for a twentieth of all, then a falling cosine."""
    warm_up = max(1, config.steps // 20)
    if step < warm_up:
        return config.rate * (step + 1) / warm_up
    part = (step - warm_up) / max(1, config.steps - warm_up)
    return config.rate * 0.5 * (1 + math.cos(math.pi * part))


def compiled(function: Callable[..., Any], enabled: bool) -> Callable[..., Any]:
    """Return a function compiled, where that is wanted."""
    return pa.compile(function) if enabled else function
