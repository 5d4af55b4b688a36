"""tools/checks: the checks of tools/lint.py, and the orders of layers and rooms that they read."""
