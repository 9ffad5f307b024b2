"""Training of small models, on any device and on several at once; see docs/training.md."""
