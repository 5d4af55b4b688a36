"""Neural networks: modules, layers, and optimizers, all on operators of aten."""
