"""Compilation by PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from portarray.backends.base import Backend


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

        Inductor is handed PyTorch's own operations: Dynamo, which would find them, checks at each
        call what is known here already, and takes several times as long as a small program.
        """
        given = [x.detach().contiguous() for x in natives]
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about PyTorch's own modules
            from torch import _inductor
            from torch.fx.experimental.proxy_tensor import make_fx

            # Fake tensors have no values, so that calls which read them are refused.
            graph = make_fx(
                function,
                tracing_mode="symbolic" if dynamic else "fake",
                _allow_non_fake_inputs=True,
            )(*given)
            if dynamic:
                given = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
            run: Callable[..., Any] = _inductor.compile(
                graph,
                given,
                options={"emulate_precision_casts": True},  # halves are rounded, as in the calls
            )

        def compiled(*natives: Any) -> Any:
            if torch.is_grad_enabled() and any(x.requires_grad for x in natives):
                return function(*natives)  # autograd is to see the calls
            return run(*[x if x.is_contiguous() else x.contiguous() for x in natives])

        sizes = graph.shape_env if dynamic else None
        if sizes is not None:

            def serves(natives: Sequence[Any]) -> bool:
                return sizes.evaluate_guards_for_args(given, [x.contiguous() for x in natives])

            compiled.serves = serves  # type: ignore[attr-defined]
        return compiled
