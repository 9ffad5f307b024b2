"""Devices: discovery, probing, selection and memory."""
