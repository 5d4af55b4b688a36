"""The modules whose functions convert what a text cannot say; importing them registers these."""

from . import (  # noqa: F401
    control,
    convert_attention,
    convert_casts,
    convert_neural,
    convert_pictures,
    convert_recurrent,
    convert_resize,
    convert_shapes,
    convert_signals,
)
