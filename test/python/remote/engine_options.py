"""What tests open sessions over engines with."""

# Ray's smallest store is 75 MiB; a shared machine has many sessions.
OPTIONS = {"ray": {"object_store_memory": 100 << 20}, "dask": {}}
