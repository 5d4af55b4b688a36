// objects/tensor_parts.h: the Tensor type in parts, one for each file that implements some.
//
// tensor.cpp puts the parts together; nobody else needs this.
//
// Depends on: objects/tensor.h.
#pragma once

#include "runtime/runtime.h"

#include <span>

#include "objects/tensor.h"

namespace opyard::python {

using TypeSlots = std::span<const PyType_Slot>;

// Each gives a table that lives as long as the library.
TypeSlots number_slots();     // tensor_number.cpp: arithmetic
TypeSlots compare_slots();    // tensor_compare.cpp: comparison, hash, conversion to numbers
TypeSlots container_slots();  // tensor_container.cpp: length, indexing, iteration
TypeSlots buffer_slots();     // tensor_buffer.cpp: the buffer protocol

// Whether arithmetic takes the object as a number: tensor_number.cpp [Operands].
bool is_number(PyObject* object) noexcept;
// Such a number as a bool, int or float of Python. Throws PythonErrorSet.
Owned plain_number(PyObject* number);
// Raises Unsupported, naming `what`, for a dtype that the buffer protocol cannot name.
void require_buffer_format(const Tensor& tensor, const char* what);

// tensor_attributes.cpp: attributes, and methods that are aten operators.
extern PyGetSetDef tensor_properties[];
PyObject* get_tensor_attribute(PyObject* self, PyObject* name);
Owned to_tuple(IntSpan words);

// tensor_methods.cpp: methods that are not operators. Ends in nulls.
extern PyMethodDef tensor_methods[];
// The element of a one-element tensor, as a Python number. Raises BadValue, Unsupported.
Owned only_element(PyObject* self, const char* what);

// tensor_dlpack.cpp: handing out and taking in.
PyObject* export_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* dlpack_device(PyObject* self, PyObject*);
PyObject* import_dlpack(PyObject* module, PyObject* source);
// A tensor on the memory of an object with __dlpack__ or a capsule, also with strides below zero.
Tensor take_dlpack(Runtime& runtime, PyObject* source);

// tensor_numpy.cpp, tensor_construct.cpp: functions of the module.
PyObject* import_array(PyObject* module, PyObject* array);
PyObject* construct(PyObject* module, PyObject* args, PyObject* kwargs);

}  // namespace opyard::python
