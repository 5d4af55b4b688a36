"""Neural networks: modules and layers, all on operators of aten."""
