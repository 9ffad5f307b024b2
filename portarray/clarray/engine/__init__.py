"""What functions are made of: one module for each way to walk memory."""
