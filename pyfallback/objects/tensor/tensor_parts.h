// objects/tensor/tensor_parts.h: the Tensor type in parts, one for each file that implements some.
//
// tensor.cpp puts the parts together; foreign_results.cpp makes arrays of tensors; no one else
// needs this.
//
// Depends on: objects/tensor/{aten,tensor}.h.
#pragma once

#include "runtime/runtime.h"

#include <span>

#include "objects/tensor/aten.h"
#include "objects/tensor/tensor.h"

namespace opyard::python {

struct BeyondMemory;

using TypeSlots = std::span<const PyType_Slot>;

// Each gives a table that lives as long as the library.
TypeSlots number_slots();     // tensor_number.cpp: arithmetic
TypeSlots compare_slots();    // tensor_compare.cpp: comparison, hash, conversion to numbers
TypeSlots container_slots();  // tensor_container.cpp: length, indexing, iteration
TypeSlots buffer_slots();     // tensor_buffer.cpp: the buffer protocol

TypeSlots life_slots();  // tensor_life.cpp: attributes, deallocation, garbage collection

// tensor_views.cpp: t[index] by the same operators as opyard/_tensor/indexing.py calls, where the
// index has only ints and slices of plain ints; null for any other index or tensor.
Owned find_item_by_views(PyObject* self, PyObject* index);

// tensor_life.cpp: the finaliser of Tensor and of every subclass, and the attribute __dict__.
void finalize_tensor(PyObject* self);
// A wrapper of a tensor that no interpreter has seen, which any of them may still wrap.
Owned wrap_untagged(Runtime& runtime, Tensor&& tensor);
// For Runtime::before_drop.
void return_left_wrapper(PyObject* object) noexcept;
PyObject* get_attributes(PyObject* self, void* closure);
int set_attributes(PyObject* self, PyObject* value, void* closure);
// The attribute __class__, which is not assigned: tensor_class.cpp.
PyObject* get_class(PyObject* self, void* closure);
int refuse_class(PyObject* self, PyObject* value, void* closure);

// tensor_class.cpp: the class of Tensor and of its subclasses, and how their instances are made.
void make_tensor_class(Runtime& runtime, PyObject* module);
PyObject* refuse_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
// Whether instances of a class take part in dispatch: it has an __opyard_dispatch__.
bool handles_dispatch(Runtime& runtime, PyTypeObject* type);
// Tensor or a subclass of it. Raises BadArgument, naming the function, for anything else.
PyTypeObject* require_subclass(Runtime& runtime, PyObject* cls, const char* what);
[[noreturn]] void refuse_second_object(PyTypeObject* type, PyObject* first);
PyObject* make_subclass(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* as_subclass(PyObject* self, PyObject* cls);

// Whether arithmetic takes the object as a number: tensor_number.cpp [Operands].
bool is_number(PyObject* object) noexcept;
// Such a number as a bool, int, float or complex of Python. Throws PythonErrorSet.
Owned plain_number(PyObject* number);
// Such a number as a tensor without dimensions that promotes beside `other` as the number would.
Owned number_beside(Runtime& runtime, PyObject* number, const Tensor& other);
// aten.<name>(tensor, number). An int above int64, which no schema takes, meets a tensor of uint64
// as one; asked for only when the call was refused.
Owned call_with_number(Runtime& runtime, AtenName name, PyObject* tensor, PyObject* number);
// An array of another library as a Tensor on its memory; null for what is none. Raises what stands
// in the way.
Owned find_array_operand(Runtime& runtime, PyObject* object);
// Raises Unsupported, naming `what`, for a dtype that the buffer protocol cannot name.
void require_buffer_format(const Tensor& tensor, const char* what);
bool has_buffer_format(const Tensor& tensor) noexcept;

// tensor_attributes.cpp: attributes, and methods that are aten operators.
extern PyGetSetDef tensor_properties[];
// See tensor_attributes.cpp, [Completion].
void make_properties(PyTypeObject* type);
PyObject* get_tensor_attribute(PyObject* self, PyObject* name);
// Whether the name is a plain one, which aten may have an operator for.
bool may_be_operator(PyObject* name) noexcept;
Owned to_tuple(IntSpan words);
// What the tensor's class says of them, or the tensor itself: plain or symbolic numbers.
Owned sizes_of(PyObject* self);
Owned strides_of(PyObject* self);

// tensor_gradients.cpp: attributes and methods about gradients; a closure is the attribute's name.
PyObject* get_requires_grad(PyObject* self, void*);
PyObject* get_is_leaf(PyObject* self, void*);
PyObject* get_output_nr(PyObject* self, void*);
PyObject* get_version(PyObject* self, void*);
PyObject* get_grad(PyObject* self, void* closure);
int set_grad(PyObject* self, PyObject* value, void* closure);
PyObject* get_gradient(PyObject* self, void* closure);
int set_gradient(PyObject* self, PyObject* value, void* closure);
// Raises BadValue for a tensor with a tangent, where forward mode is on: its memory is handed out.
void require_no_tangent(PyObject* self, const char* what);
PyObject* is_inference_tensor(PyObject* self, PyObject*);
PyObject* tensor_requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_backward(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_retain_grad(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_register_hook(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_register_post_accumulate_grad_hook(PyObject* self, PyObject* args,
                                                    PyObject* kwargs);

// tensor_methods.cpp: methods that are not operators. Ends in nulls.
extern PyMethodDef tensor_methods[];
// Whether a mode of this thread, or the tensor's class, sees the calls that it makes.
bool is_listened_to(PyObject* self) noexcept;
// The element of a one-element tensor, as a Python number; by aten::item if someone listens. Raises
// BadValue, Unsupported.
Owned only_element(PyObject* self, const char* what);
// A NumPy array on the memory of a tensor. Raises Unsupported, BadValue; throws PythonErrorSet.
Owned to_array(PyObject* self);

// tensor_copy.cpp: for copy and pickle.
PyObject* copy_tensor(PyObject* self, PyObject*);
PyObject* deepcopy_tensor(PyObject* self, PyObject* memo);
PyObject* reduce_tensor(PyObject* self, PyObject* protocol);
PyObject* duplicate_tensor(PyObject* self, PyObject*);
PyObject* untagged_alias(PyObject* self, PyObject*);
PyObject* alias_tensor(PyObject* self, PyObject*);
PyObject* bytes_of_tensor(PyObject* self, PyObject*);
PyObject* typed_tensor(PyObject* self, PyObject* args);
PyObject* memory_key(PyObject* self, PyObject*);
PyObject* whole_memory(PyObject* self, PyObject*);
PyObject* elements_on_memory(PyObject* self, PyObject* args);
PyObject* empty_meta(PyObject* module, PyObject* args);

// tensor_dlpack.cpp: handing out and taking in.
PyObject* export_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* dlpack_device(PyObject* self, PyObject*);
PyObject* import_dlpack(PyObject* module, PyObject* source);
PyObject* tensor_for(PyObject* module, PyObject* object);
// The copy to read in place of an array, or null; see objects/arrays/beyond_memory.h. Raises what
// resolve() does, behind `what`.
Owned require_only_memory(const BeyondMemory* beyond, PyObject* source, const char* what);
// A tensor on the memory of an object with __dlpack__ or a capsule, also with strides below zero.
// If the array is more than its memory, on that of a copy, which refuses to be written.
Tensor take_dlpack(Runtime& runtime, PyObject* source);

// tensor_numpy.cpp, tensor_construct.cpp: functions of the module.
PyObject* import_array(PyObject* module, PyObject* array);
PyObject* construct(PyObject* module, PyObject* args, PyObject* kwargs);

}  // namespace opyard::python
