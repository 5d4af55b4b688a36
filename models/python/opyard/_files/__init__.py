"""Models, and tensors by name, in files: what opyard.jit.load, opyard.load and their like are."""
