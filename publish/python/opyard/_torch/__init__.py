"""What opyard.torch is made of."""
