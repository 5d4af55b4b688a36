"""opyard.jit in Python: nested containers, tracing, building."""
