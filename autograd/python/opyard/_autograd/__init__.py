"""Gradients: attributes of tensors, functions in Python, and runs backwards."""
