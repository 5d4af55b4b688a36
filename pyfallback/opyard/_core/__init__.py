"""Operators by name, dispatch keys, questions to the registry: what the other rooms are made of.

The rooms of the package, lowest first, are `_core`, `_tensor`, `_dispatch`, `_library`, `_plugins`
and `_profile`. A module imports from its own room and from those before it, late imports included.
The modules that people import, and `_hooks.py`, are above all rooms. tools/lint.py checks that.
"""

# What `_C` and this room ask of rooms above, by name; opyard/_hooks.py fills it.
hooks: dict = {}
