"""Registering: libraries, overrides, custom operators, and the parts of those."""
