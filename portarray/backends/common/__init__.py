"""Helpers that the backends of several libraries share."""
