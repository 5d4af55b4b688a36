"""What opyard.jit does in Python: nested containers, tracing, building."""
