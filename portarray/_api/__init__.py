"""The public functions, one file or folder for each chapter of the standard."""
