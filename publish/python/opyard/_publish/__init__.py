"""What publishing into each framework has in common."""
