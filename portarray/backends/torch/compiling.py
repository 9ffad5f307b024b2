"""Compilation by PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from portarray.backends.base import Backend

_OPTIONS = {
    "emulate_precision_casts": True,  # round half precision like the calls
    "joint_graph_constant_folding": False,  # takes 0 * x for 0 and x + 0.0 for x: NaN, -0.0
}


class Compiling(Backend):
    """The hook of compilation."""

    def compiled(
        self,
        function: Callable[..., Any],
        natives: Sequence[Any],
        names: Collection[str],
        *,
        dynamic: bool = False,
    ) -> Any:
        """See :meth:`portarray.backends.base.Backend.compiled`.

        Inductor gets the traced operations directly: the guards of Dynamo, which could also trace
        them, take several times as long as a small program.
        """
        examples = [x.detach().contiguous() for x in natives]
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about PyTorch's own modules
            from torch import _inductor
            from torch.fx.experimental.proxy_tensor import make_fx

            # Fake tensors have no values: calls that read them raise.
            graph = make_fx(
                function,
                tracing_mode="symbolic" if dynamic else "fake",
                _allow_non_fake_inputs=True,
            )(*examples)
            if dynamic:
                examples = [
                    node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"
                ]
            run: Callable[..., Any] = _inductor.compile(
                graph,
                examples,
                options=_OPTIONS,
            )

        def compiled(*natives: Any) -> Any:
            if torch.is_grad_enabled() and any(x.requires_grad for x in natives):
                return function(*natives)  # autograd must see the calls
            return run(*[x if x.is_contiguous() else x.contiguous() for x in natives])

        sizes = graph.shape_env if dynamic else None
        if sizes is not None:

            def serves(natives: Sequence[Any]) -> bool:
                return sizes.evaluate_guards_for_args(examples, [x.contiguous() for x in natives])

            compiled.serves = serves  # type: ignore[attr-defined]
        return compiled
