"""Vector-Jacobian products of user kernels: kernels that run the statements backwards."""
