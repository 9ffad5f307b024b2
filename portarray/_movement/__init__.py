"""Moving data between devices."""
