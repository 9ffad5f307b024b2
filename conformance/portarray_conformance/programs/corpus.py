"""Programs that once found a fault: every run starts with them, and tests run them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from importlib.resources import files

from portarray_conformance.programs.values import KINDS


def corpus(
    portarray: bool, dtypes: Collection[str] = tuple(KINDS)
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (name, statements) of the programs in ``corpus/*.txt``.

    Programs are separated by empty lines; a comment above each says what was wrong. Files whose
    names begin with ``standard`` need only the standard, the others portarray's rules. Programs
    that name dtypes other than the given ones are left out.
    """
    folder = files(__package__) / "corpus"
    for entry in sorted(folder.iterdir(), key=lambda path: path.name):
        if not entry.name.endswith(".txt"):
            continue
        if not portarray and not entry.name.startswith("standard"):
            continue
        for position, block in enumerate(entry.read_text(encoding="utf-8").split("\n\n"), start=1):
            lines = tuple(
                line.rstrip() for line in block.splitlines() if line.strip() and line[0] != "#"
            )
            named = set(re.findall(r"xp\.(\w+)", "\n".join(lines))) & KINDS.keys()
            if lines and named <= set(dtypes):
                yield f"{entry.name.removesuffix('.txt')}:{position}", lines
