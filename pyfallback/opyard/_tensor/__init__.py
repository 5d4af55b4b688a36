"""Tensor in Python: indexing, copying, printing, symbolic sizes."""
