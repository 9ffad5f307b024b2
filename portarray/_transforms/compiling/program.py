"""Programs: functions of arrays that were compiled for one signature and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from portarray._array.array import Array
from portarray._array.results import reraise, wrapped
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.fast_path import fast_path
from portarray._transforms.compiling.inplace import assign, check_changes
from portarray._transforms.compiling.signatures import repeats
from portarray._transforms.compiling.state import State
from portarray._trees.node_types import node_type

__all__ = ["Call", "Output", "Program", "containers"]

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Output:
    """Where a leaf of the output of a program comes from.

    Attributes
    ----------
    source : str
        ``"run"``, the compiled code; or else an argument, an array of the state, an object or
        container among the arguments, an earlier leaf, or a new constant.
    index : int
        Of the argument, array, object, container or leaf.
    table : DispatchTable or None
        The dispatch table of an array from the compiled code.
    copy : callable or None
        Copies the native array, if it shares memory that the function's own result does not.
    make : callable or None
        Returns a new constant.
    """

    source: Literal["run", "argument", "state", "object", "container", "leaf", "constant"]
    index: int = 0
    table: Any = None
    copy: Function | None = None
    make: Function | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call, the arrays and objects in them, and the key of its programs."""

    args: tuple[Any, ...]
    named: dict[str, Any]
    arrays: list[Array]
    objects: list[Any]
    key: tuple[Any, ...]
    inplace: frozenset[int] = frozenset()
    """The arrays that the function may change."""


def containers(tree: Any) -> list[Any]:
    """Return the containers in a tree, and itself."""
    node = None if tree.__class__ is Array else node_type(tree)
    if node is None:
        return []
    nodes = [tree]
    for child in node.flatten(tree)[0]:
        nodes += containers(child)
    return nodes


@dataclass(slots=True, eq=False)
class Program:
    """A function compiled for arguments of one signature and what the function reads elsewhere.

    Attributes
    ----------
    run : callable
        Takes native arrays: the arguments, and ``used_state`` of the state.
    state : State
        What the function reads that is not an argument.
    read : callable
        Returns the arrays of the state for the objects of a call, see :meth:`State.reader`.
    used_state : sequence of int
        The arrays of the state that ``run`` takes.
    aliases : sequence of pairs of int
        The arguments that are arrays of the state.
    shared_containers : tuple of int
        For each container among the arguments, where it comes first.
    outputs : sequence of Output
        Where the leaves of the output come from.
    build : callable
        Returns the output for its leaves.
    changed : sequence of int
        The arguments that the function changes; their new values are the last results of ``run``.
    """

    run: Function
    state: State
    read: Function
    used_state: Sequence[int]
    aliases: Sequence[tuple[int, int]]
    shared_containers: tuple[int, ...]
    outputs: Sequence[Output]
    build: Function
    explanation: Explanation
    changed: Sequence[int] = ()
    _fast_path: Function | None = None

    def state_arrays(self, call: Call) -> list[Array] | None:
        """Return the arrays of the state; None if the program is not for what is there now."""
        arrays = call.arrays
        state = self.read(*call.objects)
        if type(state) is not list:
            return None
        same = all(arrays[argument] is state[index] for argument, index in self.aliases)
        if same and self.state.compares_identity:
            held = set(map(id, state))  # no other argument may be of the state
            same = sum(id(x) in held for x in arrays) == len(self.aliases)
            same = same and repeats(containers((call.args, call.named))) == self.shared_containers
        return state if same else None

    def __call__(self, call: Call, state: Sequence[Array]) -> Any:
        """Return the output of a call."""
        arrays = call.arrays
        natives = [x._native for x in arrays]
        natives += [state[index]._native for index in self.used_state]
        check_changes(self.explanation.name, arrays, self.changed, natives)
        try:
            outputs = self.run(*natives)
            for n, native in zip(
                self.changed, outputs[len(outputs) - len(self.changed) :], strict=True
            ):
                assign(arrays[n], native)
            results = iter(outputs)
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            reraise(error, self.explanation.name, *self.explanation.devices)
        leaves: list[Any] = []
        sources: dict[str, Sequence[Any]] = {
            "argument": arrays, "state": state, "object": call.objects, "leaf": leaves,
        }  # fmt: skip
        if any(output.source == "container" for output in self.outputs):
            sources["container"] = containers((call.args, call.named))
        for output in self.outputs:
            if output.source == "run":
                native = next(results)
                native = native if output.copy is None else output.copy(native)
                leaves.append(wrapped(native, output.table))
            elif output.make is not None:
                leaves.append(output.make())
            else:
                leaves.append(sources[output.source][output.index])
        return self.build(leaves)

    def fast_path(self, args: Sequence[Any], named: Mapping[str, Any]) -> Function:
        """Return a function for calls with arguments like these; see :func:`.fast_path`."""
        if self._fast_path is None:
            self._fast_path = fast_path(self, args, named)
        return self._fast_path
