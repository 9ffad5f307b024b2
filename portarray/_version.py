"""The one version number of portarray and of portarray-conformance."""

__version__ = "0.1.0"
