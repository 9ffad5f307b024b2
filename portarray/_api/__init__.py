"""The public functions, one file or folder for each category of the standard."""
