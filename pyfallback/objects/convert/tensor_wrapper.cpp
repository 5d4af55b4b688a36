// objects/convert/tensor_wrapper.cpp: Tensor.make_wrapper_subclass(): tensors without memory.
//
// make_wrapper_subclass() gives an instance of a subclass that has a geometry, a dtype and a
// device, and no elements: its class handles every operator. It may define sizes, strides, device
// and layout as well; tensor/tensor_impl.h, [Policies], says what that means, and
// vtable/metadata.cpp how the class is asked.
#include "objects/convert/tensor_wrapper.h"

#include "objects/convert/require_value.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/values/dtype.h"
#include "objects/values/symbolic.h"

#include <string>

#include "opyard/keys/gradient_mode.h"
#include "opyard/tensor/memory_format.h"
#include "opyard/value/cast.h"
#include "opyard/value/sym_tensor.h"
#include "runtime/hooks.h"
#include "runtime/keywords.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr const char* kMe = "make_wrapper_subclass()";

// What was given, as Python objects.
struct GivenMetadata {
  PyObject* cls = nullptr;
  PyObject* size = nullptr;
  PyObject* strides = Py_None;
  PyObject* storage_offset = nullptr;
  PyObject* memory_format = Py_None;
  PyObject* dtype = Py_None;
  PyObject* layout = Py_None;
  PyObject* device = Py_None;
  int requires_grad = 0;
  PyObject* policy = Py_None;
  int dispatch_device = 0;
  int dispatch_layout = 0;
};

GivenMetadata parse(PyObject* args, PyObject* kwargs) {
  static const char* const names[] = {"cls",
                                      "size",
                                      "strides",
                                      "storage_offset",
                                      "memory_format",
                                      "dtype",
                                      "layout",
                                      "device",
                                      "requires_grad",
                                      "dispatch_sizes_strides_policy",
                                      "dispatch_device",
                                      "dispatch_layout",
                                      nullptr};
  GivenMetadata given;
  if (!parse_keywords(args, kwargs, "OO|$OOOOOOpOpp:make_wrapper_subclass", names, &given.cls,
                      &given.size, &given.strides, &given.storage_offset, &given.memory_format,
                      &given.dtype, &given.layout, &given.device, &given.requires_grad,
                      &given.policy, &given.dispatch_device, &given.dispatch_layout)) {
    throw PythonErrorSet();
  }
  return given;
}

// An argument as a value of a schema type.
Value read_given(Runtime& runtime, const TypePtr& type, PyObject* object, const char* name) {
  return require_value(runtime, *type, object, (std::string(kMe) + ": '" + name + "'").c_str());
}

std::vector<SymInt> read_ints(Runtime& runtime, PyObject* object, const char* name) {
  return read_given(runtime, list_of(base_type(TypeKind::SymInt)), object, name)
      .to<std::vector<SymInt>>();
}

std::uint8_t policies_of(const GivenMetadata& given) {
  std::uint8_t policies = 0;
  if (given.policy != Py_None) {
    const std::string_view text = require_text(given.policy, "dispatch_sizes_strides_policy");
    if (text == "sizes") {
      policies |= TensorImpl::kCustomSizes;
    } else if (text == "strides") {
      policies |= TensorImpl::kCustomStrides;
    } else {
      fail(ErrorKind::BadValue, "Unknown sizes_strides_policy: " + std::string(text) +
                                    "; expected 'strides' or 'sizes'");
    }
  }
  if (given.dispatch_device != 0) policies |= TensorImpl::kCustomDevice;
  if (given.dispatch_layout != 0) policies |= TensorImpl::kCustomLayout;
  return policies;
}

// The class, which must handle operators: an instance has no elements for kernels.
PyTypeObject* require_handling_class(Runtime& runtime, PyObject* cls) {
  PyTypeObject* const type = require_subclass(runtime, cls, kMe);
  if (type == runtime.tensor_type || !handles_dispatch(runtime, type)) {
    fail(ErrorKind::BadArgument,
         std::string(type->tp_name) + " must define __opyard_dispatch__: " + kMe +
             " makes a tensor without elements, for which its class has to handle every operator");
  }
  return type;
}

struct Geometry {
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;
  SymInt offset;
};

std::vector<SymInt> row_strides(const std::vector<SymInt>& sizes) {
  std::vector<SymInt> strides(sizes.size(), SymInt(1));
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * max(sizes[i], 1);
  return strides;
}

Geometry geometry_of(Runtime& runtime, const GivenMetadata& given) {
  Geometry geometry;
  geometry.sizes = read_ints(runtime, given.size, "size");
  if (given.storage_offset != nullptr && given.storage_offset != Py_None) {
    geometry.offset =
        read_given(runtime, base_type(TypeKind::SymInt), given.storage_offset, "storage_offset")
            .to_sym_int();
  }
  const bool has_format = given.memory_format != Py_None;
  if (given.strides != Py_None) {
    OPYARD_CHECK(!has_format, BadValue,
                 std::string(kMe) +
                     ": both 'strides' and 'memory_format' were given; the format "
                     "would be another way to say the strides");
    geometry.strides = read_ints(runtime, given.strides, "strides");
  } else if (has_format) {
    const MemoryFormat format = require_memory_format(
        read_given(runtime, base_type(TypeKind::MemoryFormat), given.memory_format, "memory_format")
            .to_int());
    const DimVector strides = strides_in(format, require_ints(geometry.sizes));
    geometry.strides.assign(strides.begin(), strides.end());
  } else {
    geometry.strides = row_strides(geometry.sizes);
  }
  return geometry;
}

// How many bytes the storage says that it has: those that a geometry touches.
std::size_t bytes_of(IntSpan sizes, IntSpan strides, std::int64_t offset, DType dtype) {
  std::int64_t last = offset;
  std::int64_t bytes = 0;
  bool overflow = false;
  if (count_elements(sizes) == 0) return 0;
  for (std::size_t i = 0; i < std::min(sizes.size(), strides.size()); ++i) {
    std::int64_t step = 0;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, std::max<std::int64_t>(strides[i], 0), &step);
    overflow |= __builtin_add_overflow(last, step, &last);
  }
  overflow |= __builtin_add_overflow(last, std::int64_t{1}, &last);
  overflow |= __builtin_mul_overflow(last, std::int64_t(item_size(dtype)), &bytes);
  OPYARD_CHECK(!overflow, BadShape,
               std::string(kMe) + ": sizes and strides need more bytes than fit in 64 bits");
  return std::size_t(bytes);
}

Tensor make_without_elements(const Geometry& geometry, DType dtype, Device device) {
  const auto sizes = find_ints(geometry.sizes);
  const auto strides = find_ints(geometry.strides);
  const bool plain = sizes && strides && !geometry.offset.is_node();
  const std::vector<std::int64_t> zeros(geometry.sizes.size(), 0);
  const IntSpan own_sizes = plain ? *sizes : IntSpan(zeros);
  const IntSpan own_strides = plain ? *strides : IntSpan(zeros);
  const std::int64_t offset = plain ? geometry.offset.expect_int() : 0;
  CountedPtr<Storage> storage = Storage::adopt(
      nullptr, bytes_of(own_sizes, own_strides, offset, dtype), device, nullptr, nullptr, false);
  DispatchKeySet keys{instance_of(DispatchKey::Dense, device.backend), DispatchKey::Python};
  if (!is_inference()) {
    keys = keys | DispatchKeySet{DispatchKey::ADInplaceOrView,
                                 instance_of(DispatchKey::AutogradFunctionality, device.backend)};
  }
  Tensor tensor(
      make_counted<TensorImpl>(std::move(storage), dtype, own_sizes, own_strides, offset, keys));
  if (!plain) make_symbolic(tensor, geometry.sizes, geometry.strides, geometry.offset);
  return tensor;
}

PyObject* make_wrapper_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&] {
    Runtime* const runtime = find_runtime();
    OPYARD_CHECK(runtime != nullptr, InterpreterGone, "the interpreter has ended");
    const GivenMetadata given = parse(args, kwargs);
    const std::uint8_t policies = policies_of(given);
    PyTypeObject* const type = require_handling_class(*runtime, given.cls);
    const DType dtype = given.dtype == Py_None
                            ? DType::Float32
                            : require_dtype(read_given(*runtime, base_type(TypeKind::ScalarType),
                                                       given.dtype, "dtype")
                                                .to_int());
    const Device device =
        given.device == Py_None
            ? Device{}
            : read_given(*runtime, base_type(TypeKind::Device), given.device, "device").to_device();
    if (given.layout != Py_None) {
      const Layout layout = require_layout(
          read_given(*runtime, base_type(TypeKind::Layout), given.layout, "layout").to_int());
      OPYARD_CHECK(layout == Layout::Strided, Unsupported,
                   std::string(kMe) +
                       ": only strided tensors are made; a class says another "
                       "layout with dispatch_layout=True");
    }
    const Geometry geometry = geometry_of(*runtime, given);
    Tensor tensor = make_without_elements(geometry, dtype, device);
    Owned object = wrap_as(*runtime, type, tensor);
    tensor.impl()->set_policies(tensor.impl()->policies() | policies);
    if (given.requires_grad != 0) {
      const Owned hook = Owned::share(require_hook(*runtime, hook::call_gradient));
      const Owned name = to_text("requires_grad_");
      checked(PyObject_CallFunctionObjArgs(hook.get(), name.get(), object.get(), nullptr));
    }
    return object.release();
  });
}

PyMethodDef wrapper_method = {
    "make_wrapper_subclass", method(make_wrapper_subclass), METH_VARARGS | METH_KEYWORDS,
    "make_wrapper_subclass(cls, size, *, strides=None, storage_offset=0, memory_format=None, "
    "dtype=None, layout=None, device=None, requires_grad=False, "
    "dispatch_sizes_strides_policy=None, dispatch_device=False, dispatch_layout=False)\n--\n\n"
    "An instance of a subclass of Tensor without elements: its __opyard_dispatch__ handles every "
    "operator. Sizes, strides and offset may be SymInts. With the policy 'sizes' or 'strides', "
    "and "
    "with dispatch_device and dispatch_layout, the class defines these as well: it is asked by "
    "operators such as aten::sym_size, aten::stride, aten::dim, prim::device and prim::layout, "
    "and "
    "answers None for what the tensor was made with. Raises ValueError for another policy, "
    "TypeError for a class without __opyard_dispatch__."};

}  // namespace

void add_wrapper_method(Runtime& runtime) {
  auto* const type = reinterpret_cast<PyObject*>(runtime.tensor_type);
  const Owned function = checked(PyCFunction_New(&wrapper_method, type));
  const Owned method = checked(PyStaticMethod_New(function.get()));
  if (PyObject_SetAttrString(type, wrapper_method.ml_name, method.get()) < 0) {
    throw PythonErrorSet();
  }
}

}  // namespace opyard::python
