"""Parentheses in programs of C-like languages."""

from __future__ import annotations


def atom(text: str) -> bool:
    """Tell whether a text binds closer than any operator."""
    if text.replace("_", "a").replace(".", "0").isalnum():
        return True
    if not text.startswith("("):
        return False
    return closing(text) == len(text) - 1


def closing(text: str) -> int:
    """Return where the first parenthesis is closed."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return place
    return -1


def closed(text: str) -> str:
    """Return a text in parentheses where it needs them."""
    return text if atom(text) else f"({text})"


def opened(text: str) -> str:
    """Return a text without the parentheses around it."""
    return text[1:-1] if text.startswith("(") and closing(text) == len(text) - 1 else text
