"""What ran when, in Chrome's trace event format."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from os import PathLike
from typing import Any

from portarray.tasks.task import Node

__all__ = ["events", "write"]


def events(nodes: Sequence[Node]) -> list[dict[str, Any]]:
    """Return the events of calls that have run."""
    ran = {node.number: node for node in nodes if node.end}
    begin = min((node.begin for node in ran.values()), default=0)
    rows = {name: row for row, name in enumerate(sorted({n.worker for n in ran.values()}), 1)}
    process = os.getpid()
    found: list[dict[str, Any]] = [
        {"ph": "M", "pid": process, "tid": row, "name": "thread_name", "args": {"name": name}}
        for name, row in rows.items()
    ]
    for node in ran.values():
        row = {"pid": process, "tid": rows[node.worker]}
        start, end = ((moment - begin) / 1e3 for moment in (node.begin, node.end))
        told: dict[str, Any] = {"task": node.number, "device": str(node.device)}
        if node.where is not None:
            told["spawned"] = f"{node.where[0]}:{node.where[1]}"
        if node.error is not None:
            told["error"] = repr(node.error)
        whole = {"ph": "X", "name": node.name, "cat": node.kind, "ts": start, "dur": end - start}
        found.append({**row, **whole, "args": told})
        for number, why in node.edges.items():
            first = ran.get(number)
            if first is not None:
                flow = {"name": why, "cat": "order", "id": f"{number}-{node.number}"}
                last = {"pid": process, "tid": rows[first.worker], "ts": (first.end - begin) / 1e3}
                found.append({**flow, **last, "ph": "s"})
                found.append({**flow, **row, "ph": "f", "bp": "e", "ts": start})
    return found


def write(found: Sequence[dict[str, Any]], path: str | PathLike[str]) -> None:
    """Write events to a file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": found, "displayTimeUnit": "ms"}, file)
