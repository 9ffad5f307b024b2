"""The public functions, one file for each chapter of the standard."""
