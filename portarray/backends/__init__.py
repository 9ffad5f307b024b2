"""The backends: one folder for each array library, and what they share."""
