"""Registering: libraries, overrides, custom operators, and what they are made from."""
