"""The version of this package; the build refuses to configure when meson.build says another."""

__version__ = "0.1.0"
