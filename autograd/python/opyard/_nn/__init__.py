"""What trains: modules, their layers, and optimizers, all on operators of aten."""
