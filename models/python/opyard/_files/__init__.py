"""Model files and tensor files: opyard.jit.load and save, opyard.load and save."""
