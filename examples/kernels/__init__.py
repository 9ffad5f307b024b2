"""User kernels that draw a picture: ``python -m examples.kernels.NAME --device clarray``."""
