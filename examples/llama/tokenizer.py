"""Text to tokens and back, as the model's file says: its vocabulary, merges and chat template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from examples.llama.errors import LlamaError
from examples.llama.file import ModelFile

if TYPE_CHECKING:
    import tokenizers

__all__ = ["SPLITS", "Stream", "Tokenizer"]

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# What a file calls its way of cutting text into words (tokenizer.ggml.pre), as the expressions that
# cut it, one after the other. A merge never crosses a cut, so the wrong ones give other tokens.
SPLITS: Mapping[str, tuple[str, ...]] = {
    "gpt-2": (GPT2,),
    "smollm": (r"\p{N}", GPT2),
    "llama-bpe": (LLAMA3,),
    "llama3": (LLAMA3,),
    "llama-v3": (LLAMA3,),
    "tekken": (TEKKEN,),
}
# Vocabularies in which a word that is a token itself is that token, whatever the merges say.
WHOLE_WORDS = frozenset({"llama-bpe", "llama3", "llama-v3", "tekken"})
BEGINS = frozenset({"llama-bpe", "llama3", "llama-v3", "tekken"})  # begin a text by default

# Byte-level vocabularies spell each byte as a printable character.
PRINTABLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), 256)]
OTHERS = sorted(set(range(256)) - set(PRINTABLE))
BYTES = {chr(byte): byte for byte in PRINTABLE} | {chr(256 + n): x for n, x in enumerate(OTHERS)}

CONTROL, USER_DEFINED = 3, 4  # types of tokens in the file
STOPS = ("eos_token_id", "eot_token_id", "eom_token_id")
# Files do not always say which tokens end an answer.
STOP_TEXTS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>")


class Tokenizer:
    """The tokenizer of a file.

    Parameters
    ----------
    metadata : mapping
        The file's keys and values.
    name : str
        The file, for errors.

    Attributes
    ----------
    stops : frozenset of int
        Tokens that end an answer.

    Raises
    ------
    LlamaError
        If the file has no byte-level vocabulary, or says of it what this program does not know.
    """

    def __init__(self, metadata: Mapping[str, Any], name: str) -> None:
        self._metadata = metadata
        self._name = name
        self._tokens: Sequence[str] = self._need("tokenizer.ggml.tokens")
        self._types: Sequence[int] = metadata.get("tokenizer.ggml.token_type", ())
        self._kind = str(metadata.get("tokenizer.ggml.pre", "gpt-2"))
        self._built = self._build(CONTROL, USER_DEFINED)
        candidates = (metadata.get(f"tokenizer.ggml.{key}") for key in STOPS)
        named = (self._built.token_to_id(text) for text in STOP_TEXTS)
        self.stops = frozenset(int(token) for token in (*candidates, *named) if token is not None)

    @classmethod
    def of(cls, file: ModelFile) -> Tokenizer:
        """Return the tokenizer of an open file."""
        return cls(file.metadata, file.path.name)

    def encode(self, text: str, *, bos: bool | None = None, special: bool = True) -> list[int]:
        """Return the tokens of a text.

        Parameters
        ----------
        text : str
            Any text.
        bos : bool, optional
            Whether to put the token before it that begins texts; the default is what the file says.
        special : bool, optional
            Whether names of control tokens in the text (``<|im_end|>``) stand for these.

        Returns
        -------
        list of int
            The tokens.
        """
        tokenizer = self._built if special else self._plain
        tokens: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        if bos is None:
            key, default = "tokenizer.ggml.add_bos_token", self._kind in BEGINS
            bos = bool(self._metadata.get(key, default))
        first = self._metadata.get("tokenizer.ggml.bos_token_id")
        return [int(first), *tokens] if bos and first is not None else tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; special ones have none, broken UTF-8 becomes U+FFFD."""
        text: str = self._built.decode(list(tokens), skip_special_tokens=True)
        return text

    def bytes_of(self, token: int) -> bytes:
        """Return the bytes of a token's text; those of the name of a special one."""
        text = self._tokens[token] if token < len(self._tokens) else ""  # vocabularies are padded
        kind = self._types[token] if token < len(self._types) else None
        if kind in (CONTROL, USER_DEFINED) or any(character not in BYTES for character in text):
            return text.encode()
        return bytes(BYTES[character] for character in text)

    def stream(self) -> Stream:
        """Return what turns tokens into text one by one."""
        return Stream(self, self._built)

    def chat(self, prompt: str, *, system: str | None = None) -> list[int]:
        """Return the tokens of a question in the form that the model was trained to answer.

        Parameters
        ----------
        prompt : str
            The question.
        system : str, optional
            How the model is to behave; the default is what the file's template says, if anything.

        Returns
        -------
        list of int
            The tokens, up to where the answer begins.

        Raises
        ------
        LlamaError
            If the file has no chat template, or one that cannot be used.
        """
        messages = [] if system is None else [{"role": "system", "content": system}]
        return self.encode_chat([*messages, {"role": "user", "content": prompt}])

    def encode_chat(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """Return the tokens of a conversation, up to where the answer begins.

        Only the template's own names of control tokens stand for tokens: in messages they are text.
        """
        names = self._control_names
        if names is None:
            return self.encode(self.render(messages), bos=False)
        # Templates trim and join texts, so names in messages are characters that none has.
        written = "".join(text for message in messages for text in message.values())
        spare = (chr(code) for code in range(0xF0000, 0xFFFFE) if chr(code) not in written)
        hidden = dict(zip(dict.fromkeys(names.findall(written)), spare, strict=False))
        shown = {character: name for name, character in hidden.items()}

        def hide(text: str) -> str:
            return names.sub(lambda match: hidden[match[0]], text)

        text = self.render([{key: hide(x) for key, x in message.items()} for message in messages])
        tokens: list[int] = []
        for n, part in enumerate(names.split(text)):
            if n % 2:
                tokens += self.encode(part, bos=False)
            elif part:
                plain = part.translate({ord(x): name for x, name in shown.items()})
                tokens += self.encode(plain, bos=False, special=False)
        return tokens

    @cached_property
    def _control_names(self) -> re.Pattern[str] | None:
        """The names of control tokens, longest first; None if there are none."""
        names = sorted((x for x in self._texts_of_kind(CONTROL) if x), key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, names))})") if names else None

    @cached_property
    def _plain(self) -> tokenizers.Tokenizer:
        """The tokenizer of text in which no control token has a name."""
        return self._build(USER_DEFINED)

    def _texts_of_kind(self, kind: int) -> list[str]:
        """Return the texts of all tokens of a type."""
        pairs = zip(self._tokens, self._types, strict=False)
        return [text for text, this in pairs if this == kind]

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return a conversation in the file's form, up to where the answer begins."""
        import jinja2

        try:
            text: str = self._template.render(
                messages=messages,
                add_generation_prompt=True,
                bos_token=self._text_of("bos_token_id"),
                eos_token=self._text_of("eos_token_id"),
            )
        except jinja2.TemplateError as error:
            raise LlamaError(
                f"{self._name}: its chat template cannot be used ({error}): give the prompt as it "
                "is to be read (--raw)"
            ) from error
        return text

    @cached_property
    def _template(self) -> Any:
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        source = self._metadata.get("tokenizer.chat_template")
        if source is None:
            raise LlamaError(
                f"{self._name} has no chat template, so the model was not trained to answer: give "
                "it a text to continue (--raw)"
            )

        def raise_exception(message: str) -> None:
            raise jinja2.TemplateError(message)

        # A template is a program from the file: it gets nothing but what it is given.
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = raise_exception
        environment.globals["strftime_now"] = datetime.now().astimezone().strftime
        try:
            return environment.from_string(str(source))
        except jinja2.TemplateError as error:
            raise LlamaError(f"{self._name}: its chat template has an error: {error}") from error

    def _text_of(self, key: str) -> str:
        token = self._metadata.get(f"tokenizer.ggml.{key}")
        return "" if token is None else self._tokens[int(token)]

    def _need(self, key: str) -> Any:
        if key not in self._metadata:
            raise LlamaError(f"{self._name} has no {key}: it holds no tokenizer, take another file")
        return self._metadata[key]

    def _build(self, *added: int) -> tokenizers.Tokenizer:
        """Return a tokenizer that finds the names of tokens of some types in texts."""
        import tokenizers
        from tokenizers import decoders, models, pre_tokenizers

        model = self._metadata.get("tokenizer.ggml.model")
        if model != "gpt2":
            raise LlamaError(
                f"{self._name} has a tokenizer of the kind {model!r}; this program knows the "
                "byte-level one ('gpt2') that Llama 3, SmolLM and others have"
            )
        if self._kind not in SPLITS:
            raise LlamaError(
                f"{self._name} cuts text into words the way {self._kind!r}; this program knows "
                f"{', '.join(SPLITS)}"
            )
        vocab = {text: token for token, text in enumerate(self._tokens)}
        if CONTROL not in added:
            for text in self._texts_of_kind(CONTROL):
                vocab.pop(text, None)
        merges = [tuple(pair.split(" ", 1)) for pair in self._need("tokenizer.ggml.merges")]
        whole = self._kind in WHOLE_WORDS
        built = tokenizers.Tokenizer(models.BPE(vocab, merges, ignore_merges=whole))
        cuts = [
            pre_tokenizers.Split(tokenizers.Regex(split), behavior="isolated")
            for split in SPLITS[self._kind]
        ]
        spelled = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        built.pre_tokenizer = pre_tokenizers.Sequence([*cuts, spelled])
        built.decoder = decoders.ByteLevel()
        for kind in added:
            special = kind == CONTROL
            built.add_tokens(
                [
                    tokenizers.AddedToken(text, special=special, normalized=False)
                    for text in self._texts_of_kind(kind)
                ]
            )
        return built


class Stream:
    """Text from tokens that come one by one, in whole characters.

    A character may be several tokens: it is held back until its last one.
    """

    def __init__(self, tokenizer: Tokenizer, built: tokenizers.Tokenizer) -> None:
        from tokenizers import decoders

        self._tokenizer = tokenizer
        self._built = built
        self._stream = decoders.DecodeStream(skip_special_tokens=True)
        self._tokens: list[int] = []
        self._returned = 0

    def add(self, token: int) -> str:
        """Take a token; return the text that is complete with it, which may be none."""
        self._tokens.append(token)
        piece = self._stream.step(self._built, token) or ""
        self._returned += len(piece)
        return piece

    def end(self) -> str:
        """Return what was held back: U+FFFD for a character that was not completed."""
        return self._tokenizer.decode(self._tokens)[self._returned :]
