"""Parentheses in programs of C-like languages."""

from __future__ import annotations


def atom(text: str) -> bool:
    """Return whether an expression needs no parentheses."""
    if text.replace("_", "a").replace(".", "0").isalnum():
        return True
    if not text.startswith("("):
        return False
    return closing(text) == len(text) - 1


def closing(text: str) -> int:
    """Return the position of the parenthesis that closes the first one."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return position
    return -1


def closed(text: str) -> str:
    """Return an expression with parentheses if it needs them."""
    return text if atom(text) else f"({text})"


def opened(text: str) -> str:
    """Return an expression without the parentheses around it."""
    return text[1:-1] if text.startswith("(") and closing(text) == len(text) - 1 else text
