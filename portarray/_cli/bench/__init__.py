"""The command ``portarray bench``."""
