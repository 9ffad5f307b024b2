"""What runs kernels: devices and their queues, memory, programs."""
