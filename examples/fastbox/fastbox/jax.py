"""The operators of fastbox as functions of JAX: fastbox.jax.published["rotary"](x, cos, sin)."""

import opyard

published = opyard.jax.publish("fastbox")
