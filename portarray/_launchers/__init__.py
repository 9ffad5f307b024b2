"""Launchers: compile and run the programs of user kernels on a device."""
