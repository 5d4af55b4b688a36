"""Gradients: what tensors say of them, functions in Python, and runs backwards."""
