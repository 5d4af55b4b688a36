"""Operators of Opyard as operators of PyTorch."""
