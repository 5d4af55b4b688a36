"""Operators by name, dispatch keys, queries of the registry: the base of the other rooms.

The package has rooms, and a module imports from its own and from those before it, late imports
included; tools/checks/orders.py has their order. Some belong to layers, `<layer>/python/opyard/`;
none here imports those but `__init__`, `__main__` and `_hooks`, the top of the package.
"""

# What `_C` and this room ask of rooms above, by name; opyard/_hooks.py fills it.
hooks: dict = {}
