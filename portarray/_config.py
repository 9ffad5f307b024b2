"""``pa.config``: the few settings of a process."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["Config", "config"]

HostFallback = Literal["error", "warn", "allow"]


class Config:
    """Settings of this process; read as attributes, changed by calling.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.config.host_fallback
    'warn'
    >>> with pa.config(host_fallback="allow"):
    ...     pa.config.host_fallback
    'allow'
    """

    __slots__ = ("_host_fallback",)

    def __init__(self) -> None:
        self._host_fallback: HostFallback = "warn"

    @property
    def host_fallback(self) -> HostFallback:
        """What a host-served function does on a device whose memory is not host memory.

        ``"warn"`` (the default) warns once for each function and device, ``"error"`` raises
        :class:`portarray.errors.HostFallbackError`, ``"allow"`` is quiet.
        """
        return self._host_fallback

    def __call__(self, *, host_fallback: HostFallback | None = None) -> Restore:
        """Change settings at once; the result restores them where it is used in ``with``.

        Parameters
        ----------
        host_fallback : {"error", "warn", "allow"}, optional
            See :attr:`host_fallback`.

        Returns
        -------
        Restore
            A context manager that puts the earlier settings back.
        """
        before = self._host_fallback
        if host_fallback is not None:
            if host_fallback not in get_args(HostFallback):
                known = ", ".join(get_args(HostFallback))
                raise ValueError(f"host_fallback={host_fallback!r}: use one of {known}")
            self._host_fallback = host_fallback
        return Restore(self, before)

    def __repr__(self) -> str:
        return f"<portarray.config host_fallback={self._host_fallback!r}>"


class Restore:
    """Puts the earlier settings back on leaving a ``with`` block."""

    __slots__ = ("_before", "_config")

    def __init__(self, config: Config, before: HostFallback) -> None:
        self._config = config
        self._before = before

    def __enter__(self) -> Config:
        return self._config

    def __exit__(self, *exc_info: object) -> None:
        self._config(host_fallback=self._before)


config = Config()
"""The settings of this process."""
