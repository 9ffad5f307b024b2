"""The same models in plain PyTorch, to compare losses and times with.

Weights and batches are those of :class:`examples.training.train.Trainer`, all else is PyTorch.
``python -m examples.training.plain_torch text`` prints its time beside portarray's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from examples.training.config import Config
from examples.training.steps import BETAS, EPSILON, schedule
from examples.training.train import Trainer

__all__ = ["train"]

Own = dict[str, Tensor]


def train(config: Config, steps: int) -> tuple[list[float], float]:
    """Train for some steps; return the loss of each, and the seconds of one without the first."""
    with Trainer(config, ["numpy"]) as trainer:
        parameters = [
            {name: torch.asarray(np.array(x)).requires_grad_() for name, x in weights.items()}
            for weights in trainer.state["parameters"]
        ]
        batches = [
            tuple(torch.asarray(np.array(x)) for x in trainer.batch(step)) for step in range(steps)
        ]
    adam = torch.optim.Adam(
        [p for weights in parameters for p in weights.values()],
        config.rate,
        betas=BETAS,
        eps=EPSILON,
    )
    rates = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: schedule(config, step) / config.rate
    )
    model = perceptron if config.model == "mlp" else partial(transformer, heads=config.heads)
    losses = []
    start = time.perf_counter()
    for step, (inputs, targets) in enumerate(batches):
        if step == 1:
            start = time.perf_counter()
        adam.zero_grad()
        loss = functional.cross_entropy(
            model(parameters, inputs).flatten(0, -2), targets.flatten().long()
        )
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        rates.step()
        losses.append(loss.detach())
    return [float(x) for x in losses], (time.perf_counter() - start) / max(1, steps - 1)


def perceptron(parameters: Sequence[Own], x: Tensor) -> Tensor:
    """Return the logits of digits."""
    *hidden, last = parameters
    for weights in hidden:
        x = functional.relu(functional.linear(x, weights["weight"], weights["bias"]))
    return functional.linear(x, last["weight"], last["bias"])


def transformer(parameters: Sequence[Own], characters: Tensor, *, heads: int) -> Tensor:
    """Return the logits of the next characters."""
    table, *layers, last = parameters
    count, length = characters.shape
    x = table["characters"][characters] + table["positions"][:length]
    width = x.shape[-1]
    for weights in layers:
        y = functional.rms_norm(x, (width,), weights["attention_norm"], 1e-6)
        y = functional.linear(y, weights["query_key_value"]).view(count, length, 3, heads, -1)
        q, k, v = y.permute(2, 0, 3, 1, 4).unbind()
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + functional.linear(y.transpose(1, 2).flatten(2), weights["attention_out"])
        y = functional.rms_norm(x, (width,), weights["hidden_norm"], 1e-6)
        y = functional.silu(functional.linear(y, weights["hidden"], weights["hidden_bias"]))
        x = x + functional.linear(y, weights["hidden_out"])
    x = functional.rms_norm(x, (width,), last["norm"], 1e-6)
    return functional.linear(x, last["weight"], last["bias"])


def main(model: str, devices: Sequence[str], steps: int = 100) -> None:
    """Print the time of a step in plain PyTorch, and through portarray on some devices."""
    config = Config.of(model, steps=steps)
    expected, seconds = train(config, steps)
    print(f"plain PyTorch: {seconds * 1e3:.2f} ms a step, last loss {expected[-1]:.6f}")
    for device in devices:
        with Trainer(config, [device]) as trainer:
            trainer.train()
            assert trainer.losses  # read, which waits for the device
            start = time.perf_counter()
            while trainer.step < steps:
                trainer.train()
            losses = trainer.losses
            taken = (time.perf_counter() - start) / (steps - 1)
        off = max(abs(x / y - 1) for x, y in zip(losses, expected, strict=True))
        print(
            f"{device}: {taken * 1e3:.2f} ms a step, {taken / seconds:.2f} times that; losses "
            f"differ by {off:.1e} at most"
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or ["torch"])
