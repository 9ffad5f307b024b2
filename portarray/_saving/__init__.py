"""Saving and loading trees of arrays in safetensors files."""
