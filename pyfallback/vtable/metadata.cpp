// vtable/metadata.cpp: tensor metadata defined in Python classes.
//
// [Questions] Each function is a call of an operator that the handlers of the class answer, modes
// first, as any other call; the operator's name says what is asked. None means "as the tensor was
// made", but for the number of dimensions, the device and the layout, which have to be said.
//
// [Cached] Sizes and strides that a class gave are cached with the tensor, since C++ gets spans: a
// second answer is written over the first one, and spans that were handed out see it. No span ends
// before the tensor does.
#include "vtable/vtable.h"

#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <string>

#include "kernels/handlers.h"
#include "objects/tensor/aten.h"
#include "objects/tensor/tensor.h"
#include "objects/values/dtype.h"
#include "objects/values/integer.h"
#include "objects/values/symbolic.h"
#include "operators/packet.h"
#include "opyard/detail/thread/key_snapshot.h"
#include "opyard/library.h"
#include "opyard/tensor/memory_format.h"
#include "opyard/value/sym_tensor.h"
#include "runtime/enter_python.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The operator behind a question. Found once: operators are never freed.
class Question {
 public:
  explicit constexpr Question(const char* name) noexcept : name_(name) {}

  const Operator& op(Runtime& runtime) {
    const Operator* known = op_.load(std::memory_order_acquire);
    if (known == nullptr) {
      find_aten(runtime, to_text("size").get());  // loads the plugin that has them all
      known = &require_operator(name_);
      op_.store(known, std::memory_order_release);
    }
    return *known;
  }

 private:
  const char* const name_;
  std::atomic<const Operator*> op_{nullptr};
};

constinit Question size_question("aten::size");
constinit Question sym_size_question("aten::sym_size");
constinit Question stride_question("aten::stride");
constinit Question sym_stride_question("aten::sym_stride");
constinit Question dim_question("aten::dim");
constinit Question numel_question("aten::numel");
constinit Question sym_numel_question("aten::sym_numel");
constinit Question sym_storage_offset_question("aten::sym_storage_offset");
constinit Question contiguous_question("aten::is_contiguous");
constinit Question contiguous_in_question("aten::is_contiguous.memory_format");
constinit Question strides_like_question("aten::is_strides_like_format");
constinit Question dense_question("aten::is_non_overlapping_and_dense");
constinit Question device_question("prim::device");
constinit Question layout_question("prim::layout");

// Enters Python and hands the answer to `read`. With an answer of None, `read` says what that
// means.
template <typename Read, typename... More>
auto ask_metadata(Interpreter& interpreter, const TensorImpl& self, Question& question,
                  const Read& read, More... more) {
  Runtime& runtime = runtime_of(interpreter);
  return enter_python(runtime, [&] {
    const Owned tensor =
        wrap(runtime, Tensor(CountedPtr<TensorImpl>::share(const_cast<TensorImpl*>(&self))));
    const Owned others[] = {Owned(), checked(PyLong_FromLongLong(more))...};
    PyObject* args[1 + sizeof...(more)] = {tensor.get()};
    for (std::size_t i = 1; i <= sizeof...(more); ++i) args[i] = others[i].get();
    const Owned op = overload_object(runtime, question.op(runtime));
    const UseKeySnapshot as_where_the_call_began;
    const HandlerAnswer answer =
        ask_handlers(runtime, op.get(), args, 1 + sizeof...(more), nullptr);
    return read(runtime, answer.object ? answer.object.get() : Py_None);
  });
}

[[noreturn]] void refuse_answer(const char* function, PyObject* answer, const char* expected) {
  fail(ErrorKind::BadArgument, std::string(function) + " returned invalid type " +
                                   Py_TYPE(answer)->tp_name + ", expected " + expected);
}

bool answer_to_bool(const char* function, PyObject* answer) {
  if (!PyBool_Check(answer)) refuse_answer(function, answer, "bool");
  return answer == Py_True;
}

std::int64_t answer_to_int(const char* function, PyObject* answer) {
  if (!PyLong_Check(answer) || PyBool_Check(answer)) refuse_answer(function, answer, "int");
  const std::optional<std::int64_t> number = find_int64(answer);
  OPYARD_CHECK(
      number, BadValue,
      std::string(function) + " returned " + shown(answer) + "; accepted are " + kInt64Range);
  return *number;
}

SymInt to_sym_int(Runtime& runtime, const char* function, PyObject* answer) {
  if (is_symbolic(runtime, answer, SymKind::Int)) return SymInt(node_of(runtime, answer));
  if (!PyLong_Check(answer) || PyBool_Check(answer))
    refuse_answer(function, answer, "int or SymInt");
  return answer_to_int(function, answer);
}

// Of what counts elements or dimensions.
std::int64_t to_count(const char* function, std::int64_t number) {
  OPYARD_CHECK(number >= 0, BadValue,
               fmt::format("{} returned {}; accepted are numbers from 0 on", function, number));
  return number;
}

// The items of a list or tuple.
template <typename Each>
void each_item(const char* function, PyObject* answer, const Each& each) {
  if (!PyList_Check(answer) && !PyTuple_Check(answer)) {
    fail(ErrorKind::BadArgument, std::string(function) + " must be a list or a tuple");
  }
  const Owned items = checked(PySequence_Fast(answer, function));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    each(std::size_t(i), PySequence_Fast_GET_ITEM(items.get(), i));
  }
}

constexpr std::int64_t kLowestSize = 0;
constexpr std::int64_t kLowestStride = std::numeric_limits<std::int64_t>::min();

void require_lowest(const char* function, std::size_t position, std::int64_t number,
                    std::int64_t lowest) {
  OPYARD_CHECK(number >= lowest, BadValue,
               fmt::format("{} returned {} at position {}; accepted are numbers from {} on",
                           function, number, position, lowest));
}

// See [Cached].
IntSpan keep_ints(Runtime& runtime, const char* function, PyObject* answer, std::int64_t lowest,
                  CachedAnswer<std::int64_t>& cached) {
  std::vector<std::int64_t> fresh;
  each_item(function, answer, [&](std::size_t position, PyObject* item) {
    if (is_symbolic(runtime, item, SymKind::Int)) refuse_symbolic(function);
    fresh.push_back(answer_to_int(function, item));
    require_lowest(function, position, fresh.back(), lowest);
  });
  return cached.keep(std::move(fresh));
}

SymIntSpan keep_sym_ints(Runtime& runtime, const char* function, PyObject* answer,
                         std::int64_t lowest, CachedAnswer<SymInt>& cached) {
  std::vector<SymInt> fresh;
  each_item(function, answer, [&](std::size_t position, PyObject* item) {
    fresh.push_back(to_sym_int(runtime, function, item));
    const std::optional<std::int64_t> plain = fresh.back().maybe_as_int();
    if (plain) require_lowest(function, position, *plain, lowest);
  });
  return cached.keep(std::move(fresh));
}

bool is_symbolic_itself(const TensorImpl& self) noexcept {
  return self.has_policy(TensorImpl::kSymbolic);
}

template <typename Own>
bool ask_bool(Interpreter& interpreter, const TensorImpl& self, Question& question,
              const char* function, const Own& own, auto... more) {
  return ask_metadata(
      interpreter, self, question,
      [&](Runtime&, PyObject* answer) {
        if (answer != Py_None) return answer_to_bool(function, answer);
        if (is_symbolic_itself(self)) refuse_symbolic(function);
        return own();
      },
      more...);
}

}  // namespace

bool vtable::is_contiguous(Interpreter& interpreter, const TensorImpl& self, MemoryFormat format) {
  const auto own = [&] { return own_contiguous_in(format, self); };
  if (format == MemoryFormat::Contiguous) {
    return ask_bool(interpreter, self, contiguous_question, "is_contiguous", own);
  }
  return ask_bool(interpreter, self, contiguous_in_question, "is_contiguous", own,
                  std::int64_t(format));
}

bool vtable::is_strides_like(Interpreter& interpreter, const TensorImpl& self,
                             MemoryFormat format) {
  return ask_bool(
      interpreter, self, strides_like_question, "is_strides_like",
      [&] { return own_strides_like(format, self); }, std::int64_t(format));
}

bool vtable::is_non_overlapping_and_dense(Interpreter& interpreter, const TensorImpl& self) {
  return ask_bool(interpreter, self, dense_question, "is_non_overlapping_and_dense",
                  [&] { return own_non_overlapping_and_dense(self); });
}

void vtable::device(Interpreter& interpreter, const TensorImpl& self, Device& result) {
  result = ask_metadata(interpreter, self, device_question, [](Runtime& runtime, PyObject* answer) {
    if (!is_device(runtime, answer)) refuse_answer("device", answer, "Device");
    return reinterpret_cast<DeviceObject*>(answer)->device;
  });
}

std::int64_t vtable::dim(Interpreter& interpreter, const TensorImpl& self) {
  return ask_metadata(interpreter, self, dim_question, [](Runtime&, PyObject* answer) {
    return to_count("dim", answer_to_int("dim", answer));
  });
}

std::span<const std::int64_t> vtable::strides(Interpreter& interpreter, const TensorImpl& self) {
  return ask_metadata(interpreter, self, stride_question, [&](Runtime& runtime, PyObject* answer) {
    if (answer != Py_None) {
      return keep_ints(runtime, "strides", answer, kLowestStride, CachedGeometry::of(self).strides);
    }
    if (is_symbolic_itself(self)) refuse_symbolic("strides");
    return self.own_strides();
  });
}

std::span<const std::int64_t> vtable::sizes(Interpreter& interpreter, const TensorImpl& self) {
  return ask_metadata(interpreter, self, size_question, [&](Runtime& runtime, PyObject* answer) {
    if (answer != Py_None) {
      return keep_ints(runtime, "sizes", answer, kLowestSize, CachedGeometry::of(self).sizes);
    }
    if (is_symbolic_itself(self)) refuse_symbolic("sizes");
    return self.own_sizes();
  });
}

void vtable::sym_sizes(Interpreter& interpreter, const TensorImpl& self, SymIntSpan& result) {
  result =
      ask_metadata(interpreter, self, sym_size_question, [&](Runtime& runtime, PyObject* answer) {
        return answer == Py_None ? own_sym_sizes(self)
                                 : keep_sym_ints(runtime, "sizes", answer, kLowestSize,
                                                 CachedGeometry::of(self).sym_sizes);
      });
}

Layout vtable::layout(Interpreter& interpreter, const TensorImpl& self) {
  return ask_metadata(interpreter, self, layout_question, [](Runtime& runtime, PyObject* answer) {
    const Owned number =
        checked(PyObject_CallOneArg(require_hook(runtime, hook::layout_number), answer));
    if (number.get() == Py_None) refuse_answer("layout", answer, "Layout");
    return require_layout(answer_to_int("layout", number.get()));
  });
}

std::int64_t vtable::numel(Interpreter& interpreter, const TensorImpl& self) {
  return ask_metadata(interpreter, self, numel_question, [&](Runtime&, PyObject* answer) {
    if (answer != Py_None) return to_count("numel", answer_to_int("numel", answer));
    if (is_symbolic_itself(self)) refuse_symbolic("numel");
    return self.own_numel();
  });
}

void vtable::sym_numel(Interpreter& interpreter, const TensorImpl& self, SymInt& result) {
  result =
      ask_metadata(interpreter, self, sym_numel_question, [&](Runtime& runtime, PyObject* answer) {
        if (answer == Py_None) return own_sym_numel(self);
        const SymInt count = to_sym_int(runtime, "numel", answer);
        if (const std::optional<std::int64_t> plain = count.maybe_as_int())
          to_count("numel", *plain);
        return count;
      });
}

void vtable::sym_strides(Interpreter& interpreter, const TensorImpl& self, SymIntSpan& result) {
  result =
      ask_metadata(interpreter, self, sym_stride_question, [&](Runtime& runtime, PyObject* answer) {
        return answer == Py_None ? own_sym_strides(self)
                                 : keep_sym_ints(runtime, "strides", answer, kLowestStride,
                                                 CachedGeometry::of(self).sym_strides);
      });
}

void vtable::sym_storage_offset(Interpreter& interpreter, const TensorImpl& self, SymInt& result) {
  result = ask_metadata(interpreter, self, sym_storage_offset_question,
                        [&](Runtime& runtime, PyObject* answer) {
                          return answer == Py_None ? own_sym_storage_offset(self)
                                                   : to_sym_int(runtime, "storage_offset", answer);
                        });
}

}  // namespace opyard::python
