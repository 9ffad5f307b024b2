"""The backends, one package for each array library, and the modules they share."""
