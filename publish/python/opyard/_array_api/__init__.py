"""What opyard.array_api is made of: a module for each section of the standard."""
