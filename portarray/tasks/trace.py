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
    ran = {node.index: node for node in nodes if node.end}
    origin = min((node.start for node in ran.values()), default=0)
    rows = {name: row for row, name in enumerate(sorted({n.worker for n in ran.values()}), 1)}
    process = os.getpid()
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": process, "tid": row, "name": "thread_name", "args": {"name": name}}
        for name, row in rows.items()
    ]
    for node in ran.values():
        row = {"pid": process, "tid": rows[node.worker]}
        start, end = ((moment - origin) / 1e3 for moment in (node.start, node.end))
        details: dict[str, Any] = {"task": node.index, "device": str(node.device)}
        if node.where is not None:
            details["spawned"] = f"{node.where[0]}:{node.where[1]}"
        if node.error is not None:
            details["error"] = repr(node.error)
        whole = {"ph": "X", "name": node.name, "cat": node.kind, "ts": start, "dur": end - start}
        events.append({**row, **whole, "args": details})
        for index, why in node.edges.items():
            first = ran.get(index)
            if first is not None:
                flow = {"name": why, "cat": "order", "id": f"{index}-{node.index}"}
                last = {"pid": process, "tid": rows[first.worker], "ts": (first.end - origin) / 1e3}
                events.append({**flow, **last, "ph": "s"})
                events.append({**flow, **row, "ph": "f", "bp": "e", "ts": start})
    return events


def write(events: Sequence[dict[str, Any]], path: str | PathLike[str]) -> None:
    """Write events to a file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)
