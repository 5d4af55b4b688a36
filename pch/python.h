// pch/python.h: CPython's API, the standard library and fmt, precompiled for each CPython.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "fmt.h"
