"""What a Tensor does in Python: indexing, copying, printing, symbolic sizes."""
