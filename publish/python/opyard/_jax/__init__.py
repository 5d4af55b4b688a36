"""What opyard.jax is made of."""
