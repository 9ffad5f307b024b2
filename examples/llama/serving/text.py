"""Text from tokens, up to one of the texts that end it."""

from __future__ import annotations

from collections.abc import Sequence

from examples.llama.tokenizer import Tokenizer

__all__ = ["Text"]


class Text:
    """Text of tokens that come one by one; what may be the beginning of an end is held back.

    Parameters
    ----------
    tokenizer : Tokenizer
        Of the model's file.
    stops : sequence of str
        Texts that end it; none of them is given.

    Attributes
    ----------
    stopped : bool
        Whether one of them has come.
    """

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str] = ()) -> None:
        self.stopped = False
        self._stream = tokenizer.stream()
        self._stops = stops
        self._held = ""

    def add(self, token: int) -> str:
        """Take a token; return the text that is certain with it, which may be none."""
        return self._complete_part(self._stream.add(token), last=False)

    def end(self) -> str:
        """Return what was held back."""
        return "" if self.stopped else self._complete_part(self._stream.end(), last=True)

    def _complete_part(self, piece: str, *, last: bool) -> str:
        text = self._held + piece
        positions = [at for at in map(text.find, self._stops) if at >= 0]
        if positions:
            self.stopped, self._held = True, ""
            return text[: min(positions)]
        keep = 0 if last else max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of a text that a stop begins with."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
