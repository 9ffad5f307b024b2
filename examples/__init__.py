"""Programs that use portarray; those in folders are run as ``python -m examples.NAME``."""
