// operators/method_names.cpp: renaming NumPy's arguments to those of an operator's schemas.
//
// [Calls from NumPy] numpy.mean(x, axis=0) calls x.mean(axis=0, dtype=None, out=None), and
// numpy.std() passes ddof. So `out=None` and `ddof` mark a call from NumPy. None for an argument
// that the operator lacks is left out. `axis=None` means all dimensions; an operator that needs one
// runs along the elements in row-major order, as NumPy's do. max and min give values alone, so
// amax and amin are called. t.max(dim=0) and t.max(axis=0) give values and indices.
#include "operators/method_names.h"

#include <algorithm>
#include <limits>

#include "objects/tensor/aten.h"
#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/detail/base/small_vector.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// Positions in Runtime::numpy_names.
struct Known {
  enum Name { Axis, Axes, Keepdims, Ddof, Out, Dtype, Kind, Order, Dim, Dims, Keepdim, Correction };
};
constexpr const char* kNumpyNames[] = {"axis", "axes",  "keepdims", "ddof",
                                       "out",  "dtype", "kind",     "order",
                                       "dim",  "dims",  "keepdim",  "correction"};
constexpr int kKnownNames = sizeof(kNumpyNames) / sizeof(kNumpyNames[0]);
static_assert(kKnownNames <= Runtime::kMostNumpyNames);

// The position of a name; -1 for others. Names in calls are interned almost always.
int known_name(const Runtime& runtime, PyObject* name) noexcept {
  for (int i = 0; i < kKnownNames; ++i) {
    if (runtime.numpy_names[i] == name) return i;
  }
  if (PyUnicode_CHECK_INTERNED(name) != 0) return -1;
  for (int i = 0; i < kKnownNames; ++i) {
    if (PyUnicode_Compare(runtime.numpy_names[i], name) == 0) return i;
  }
  return -1;
}

bool is_numpys_name(int name, PyObject* value) noexcept {
  return (name >= Known::Axis && name <= Known::Ddof) || (name == Known::Out && value == Py_None);
}

// One call of a packet, being renamed.
class Renaming {
 public:
  Renaming(Runtime& runtime, PyObject* packet, PyObject* const* args, std::size_t count)
      : runtime_(runtime), packet_(Owned::share(packet)), overloads_(packet_overloads(packet)) {
    for (std::size_t i = 0; i < count; ++i) values_.push_back(args[i]);
    count_ = count;
  }

  void add(PyObject* name, PyObject* value) {
    const int known = known_name(runtime_, name);
    if (known == Known::Out || known == Known::Ddof)
      is_numpys_ = is_numpys_ || is_numpys_name(known, value);
    if (value == Py_None) {
      if (known == Known::Out) return;
      if (known >= Known::Dtype && known <= Known::Order && !is_taken(of(Known::Name(known))))
        return;
    }
    name = own_name(known, name);
    if (name == of(Known::Dim) && value == Py_None) {
      has_all_ = true;
      return;
    }
    has_dim_ = has_dim_ || name == of(Known::Dim);
    if (name == of(Known::Keepdim)) {
      if (keeps_ != nullptr) refuse_twice(name);
      keeps_ = value;
      return;
    }
    push(name, value);
  }

  PyObject* call() {
    if (has_all_ && has_dim_) refuse_twice(of(Known::Dim));
    has_dim_ = has_dim_ || (count_ > 1 && !has_all_ && count_ > position_of_dim());
    choose_values_alone();
    if (!has_dim_ && has_all_ && is_numpys_ && is_needed()) flatten();
    if (keeps_ != nullptr && (has_dim_ || keeps_ != Py_False)) {
      if (!has_dim_ && !is_optional()) push(of(Known::Dim), Py_None);
      push(of(Known::Keepdim), keeps_);
    } else if (has_all_ && !has_dim_ && !is_numpys_ && is_needed()) {
      push(of(Known::Dim), Py_None);  // so that the refusal tells what was given
    }
    const Owned names = checked(PyTuple_New(Py_ssize_t(names_.size())));
    for (std::size_t i = 0; i < names_.size(); ++i) {
      PyTuple_SET_ITEM(names.get(), Py_ssize_t(i), Owned::share(names_[i]).release());
    }
    return PyObject_Vectorcall(packet_.get(), values_.data(), count_, names.get());
  }

 private:
  // Where one of the overloads has it first.
  std::size_t position_of_dim() const {
    std::size_t first = std::numeric_limits<std::size_t>::max();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(overloads_.get()); ++i) {
      const Schema& schema = plan_of(PyTuple_GET_ITEM(overloads_.get(), i)).op().schema();
      first = std::min(first, schema.find_argument(kNumpyNames[Known::Dim]).value_or(first));
    }
    return first;
  }

  PyObject* of(Known::Name name) const noexcept { return runtime_.numpy_names[name]; }

  void push(PyObject* name, PyObject* value) {
    for (PyObject* const given : names_) {
      if (given == name) refuse_twice(name);
    }
    names_.push_back(name);
    values_.push_back(value);
  }

  [[noreturn]] OPYARD_COLD void refuse_twice(PyObject* name) const {
    const Owned called = checked(PyObject_GetAttrString(packet_.get(), "__name__"));
    fail(ErrorKind::BadArgument, std::string(require_text(called.get(), "a name")) + "(): '" +
                                     std::string(require_text(name, "a name")) +
                                     "' is given twice, once by NumPy's name; give it once");
  }

  template <typename Test>
  bool any_overload(const Test& test) const {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(overloads_.get()); ++i) {
      if (test(plan_of(PyTuple_GET_ITEM(overloads_.get(), i)))) return true;
    }
    return false;
  }
  bool is_taken(PyObject* name) const {
    return any_overload([&](const CallPlan& plan) { return plan.find_argument(name) != nullptr; });
  }
  // Whether no overload can be called without a dimension.
  bool is_needed() const {
    return !any_overload([&](const CallPlan& plan) {
      const Argument* const dim = plan.find_argument(of(Known::Dim));
      return dim == nullptr || dim->default_value.has_value();
    });
  }
  // Whether an overload that keeps dimensions can be called without one.
  bool is_optional() const {
    return any_overload([&](const CallPlan& plan) {
      const Argument* const dim = plan.find_argument(of(Known::Dim));
      return dim != nullptr && dim->default_value &&
             plan.find_argument(of(Known::Keepdim)) != nullptr;
    });
  }

  PyObject* own_name(int known, PyObject* name) const {
    if (known < Known::Axis || known > Known::Ddof || is_taken(name))
      return known < 0 ? name : of(Known::Name(known));
    const auto first_taken = [&](Known::Name one, Known::Name other) {
      return is_taken(of(one)) ? of(one) : is_taken(of(other)) ? of(other) : name;
    };
    switch (known) {
      case Known::Axis:
        return first_taken(Known::Dim, Known::Dims);
      case Known::Axes:
        return first_taken(Known::Dims, Known::Dim);
      case Known::Keepdims:
        return first_taken(Known::Keepdim, Known::Keepdim);
      default:
        return first_taken(Known::Correction, Known::Correction);
    }
  }

  // See [Calls from NumPy].
  void choose_values_alone() {
    if (!is_numpys_) return;
    for (const auto& [pairs, values] : {std::pair{"max", "amax"}, std::pair{"min", "amin"}}) {
      const Owned name = checked(PyObject_GetAttrString(packet_.get(), "__name__"));
      if (PyUnicode_CompareWithASCIIString(name.get(), pairs) != 0) continue;
      if (Owned found = find_aten(runtime_, to_text(values).get())) {
        packet_ = std::move(found);
        overloads_ = packet_overloads(packet_.get());
      }
      return;
    }
  }
  void flatten() {
    flat_ = checked(PyObject_CallMethod(values_[0], "reshape", "i", -1));
    first_dim_ = checked(PyLong_FromLong(0));
    values_[0] = flat_.get();
    has_dim_ = true;
    push(of(Known::Dim), first_dim_.get());
  }

  Runtime& runtime_;
  Owned packet_, overloads_, flat_, first_dim_;
  SmallVector<PyObject*, 12> values_;  // borrowed from the caller and from here
  SmallVector<PyObject*, 8> names_;
  std::size_t count_ = 0;
  PyObject* keeps_ = nullptr;
  bool has_dim_ = false;
  bool has_all_ = false;  // axis=None
  bool is_numpys_ = false;
};

}  // namespace

void prepare_method_names(Runtime& runtime) {
  for (int i = 0; i < kKnownNames; ++i) {
    if (runtime.numpy_names[i] != nullptr) continue;
    runtime.numpy_names[i] = checked(PyUnicode_InternFromString(kNumpyNames[i])).release();
  }
}

PyObject* call_method_by_names(Runtime& runtime, PyObject* function, PyObject* const* args,
                               std::size_t count, PyObject* names) {
  const Py_ssize_t named = PyTuple_GET_SIZE(names);
  bool any = false;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    any = any || is_numpys_name(known_name(runtime, name), args[Py_ssize_t(count) + i]);
  }
  if (!any || !Py_IS_TYPE(function, runtime.packet_type)) {
    return PyObject_Vectorcall(function, args, count, names);
  }
  return enter_from_python([&] {
    Renaming renaming(runtime, function, args, count);
    for (Py_ssize_t i = 0; i < named; ++i) {
      renaming.add(PyTuple_GET_ITEM(names, i), args[Py_ssize_t(count) + i]);
    }
    return renaming.call();
  });
}

}  // namespace opyard::python
