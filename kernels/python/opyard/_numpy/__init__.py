"""Answers of NumPy and SciPy to operators of aten that no kernel of ours computes.

`names.py` says which module here has the answer to which operator; `loading.py` defines the
operators of a module when one of them is first wanted. Each module has functions of arrays, with
the schemas that they answer.
"""
