// objects/values/symbolic.h: symbolic numbers in Python: opyard.SymInt, SymFloat, SymBool, and their nodes.
//
// The three classes are Python's (opyard/_tensor/symbolic.py); each holds a node. A node is any
// object with the methods of value/sym_ops.def and value/sym_node.h by name: C++ sees it through a
// node of its own, which calls them. A node of C++ is seen from Python as a _C.SymNode. Either way
// a number that went out and came back has the node that it had.
//
// Depends on: runtime/runtime.h, value/sym.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/value/value.h"

namespace opyard::python {

// A number as an int, float or bool of Python, or as the class for symbolic ones. Throws
// PythonErrorSet. With the GIL held, as all of these.
Owned wrap(Runtime& runtime, const SymInt& number);
Owned wrap(Runtime& runtime, const SymFloat& number);
Owned wrap(Runtime& runtime, const SymBool& truth);

// Whether an object is a symbolic number of this kind.
bool is_symbolic(const Runtime& runtime, PyObject* object, SymKind kind) noexcept;
// Such an object as a node.
SymNodePtr node_of(Runtime& runtime, PyObject* object);
// The same as a value; false if it is none of that kind.
bool to_symbolic(Runtime& runtime, PyObject* object, SymKind kind, Value& value);

// Makes the type of nodes. Throws PythonErrorSet.
void add_sym_node_type(Runtime& runtime, PyObject* module);
// The functions of _C for them, ended by a null row.
extern PyMethodDef symbolic_functions[];

}  // namespace opyard::python
