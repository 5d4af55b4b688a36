// kernels/common/define.cpp: tags of definitions, and forms that write another form's result.
#include "common/define.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/copy.h"
#include "common/ops.h"
#include "common/symbolic.h"
#include "common/write.h"
#include "opyard/value/cast.h"

namespace opyard::kernels {
namespace {

constexpr std::string_view kCore[] = {
#define CORE(name) name,
#include "common/core.def"
#undef CORE
};

bool is_core(std::string_view schema) {
  return std::ranges::binary_search(kCore, schema.substr(0, schema.find('(')));
}

// Forms with an overload of another name than their function's.
constexpr std::array kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"aten::pow_.Scalar", "aten::pow.Tensor_Scalar"},
    {"aten::pow_.Tensor", "aten::pow.Tensor_Tensor"},
    {"aten::floor_divide_.Tensor", "aten::floor_divide"},
    {"aten::copysign.out", "aten::copysign.Tensor"},
    {"aten::prod.int_out", "aten::prod.dim_int"},
});

// The operator whose result a form writes: "aten::sin" for "aten::sin_" and "aten::sin.out".
const Operator& functional_form(const Operator& form) {
  const std::string written = to_string(form.name());
  for (const auto& [other, function] : kOtherNames) {
    if (other == written) return require_operator(function);
  }
  std::string name = form.name().name;
  std::string overload = form.name().overload;
  if (name.back() == '_') {
    name.pop_back();
  } else if (overload.ends_with("_out")) {
    overload.resize(overload.size() - 4);
  } else {
    overload.clear();
  }
  return require_operator(overload.empty() ? name : name + '.' + overload);
}

// Whether copy_ on a tensor is that of another backend, or of a class that is all that there is of
// the tensor: it knows what may be written.
bool is_written_elsewhere(const Tensor& tensor) {
  if (!tensor.defined()) return false;
  if (!tensor.device().is_cpu() && !is_meta(tensor)) return true;
  return tensor.keys().has(DispatchKey::Python) && tensor.impl()->storage()->data() == nullptr &&
         tensor.device().backend != Backend::Meta;
}

// Calls the functional form with what is on the stack, and replaces that by what was written.
void compute_and_copy(const Operator& form, const char* name, const char* argument, Tensor written,
                      Stack& stack) {
  call_named(form, functional_form(form), stack);
  const Tensor result = stack.pop().to_tensor();
  if (!is_written_elsewhere(written)) require_writable(name, argument, written);
  require_result_device(name, argument, written, result.device());
  require_storable(name, argument, written, result.dtype());
  if (!has_symbolic_sizes(result)) {
    require_result_sizes(name, argument, written, result.sizes());
  }
  ops::copy_into(written, result);
  stack.push(Value(std::move(written)));
}

// `f_(..., dtype=)` computes in that dtype and has one to write to.
void require_own_dtype(const Operator& op, const char* name, const Tensor& self,
                       const Value& dtype) {
  if (op.schema().arguments.back().name != "dtype" || dtype.is_none()) return;
  const auto wanted = ValueCast<DType>::from(dtype);
  if (wanted == self.dtype()) return;
  refuse(ErrorKind::BadArgument, {name, ": dtype is ", wanted, " and self is ", self,
                                  ", which is written in place; accepted is its own dtype"});
}

void write_result(const Operator& op, DispatchKeySet, Stack& stack) {
  const bool in_place = op.name().name.back() == '_';
  const std::size_t count = op.schema().arguments.size();
  const std::string name = to_string(op.name());
  const char* const argument = in_place ? "self" : "out";
  Tensor written = stack.top(count)[in_place ? 0 : count - 1].to_tensor();
  if (in_place) {
    require_writable(name.c_str(), argument, written);
    require_own_dtype(op, name.c_str(), written, stack.top(1)[0]);
  } else {
    static_cast<void>(stack.pop());
  }
  compute_and_copy(op, name.c_str(), argument, std::move(written), stack);
}

// The schema of a form: what `f` takes, and what is written.
std::string form_schema(std::string_view name, std::string_view suffix, bool in_place) {
  const Schema& schema = require_operator(std::string("aten::") + std::string(name)).schema();
  const std::string text = to_string(schema);
  const std::size_t open = text.find('(');
  std::string arguments = text.substr(open + 1, text.rfind(") -> ") - open - 1);
  std::string form(name.substr(0, name.find('.')));
  if (in_place) {
    form += '_';
    if (name.find('.') != std::string_view::npos) form += name.substr(name.find('.'));
    return form + "(Tensor(a!)" + arguments.substr(6) + ") -> Tensor(a!)";
  }
  form += '.';
  form += suffix;
  const bool has_keywords = schema.arguments.back().keyword_only;
  return form + '(' + arguments + (has_keywords ? ", " : ", *, ") + "Tensor(a!) out) -> Tensor(a!)";
}

}  // namespace

void define(Library& library, std::string_view schema, Tagged tagged) {
  std::vector<std::string> tags;
  if (is_core(schema)) tags.emplace_back("core");
  if (tagged == Tagged::Pointwise) tags.emplace_back("pointwise");
  if (tagged == Tagged::Overlapping) tags.emplace_back("overlaps");
  if (tagged == Tagged::Random) tags.emplace_back("nondeterministic_seeded");
  if (tagged == Tagged::InPlaceView) tags.emplace_back("inplace_view");
  if (tagged == Tagged::DataDependent) tags.emplace_back("data_dependent_output");
  if (tagged == Tagged::DynamicShape) tags.emplace_back("dynamic_output_shape");
  library.def(schema, std::move(tags));
}
void define(Library& library, std::initializer_list<std::string_view> schemas, Tagged tagged) {
  for (const std::string_view schema : schemas) define(library, schema, tagged);
}

namespace {

// What a composition calls is taped, and may save self, which must then not change.
void write_result_of_composition(const Operator& op, DispatchKeySet keys, Stack& stack) {
  const std::size_t count = op.schema().arguments.size();
  if (op.name().name.back() != '_') return write_result(op, keys, stack);
  const std::string name = to_string(op.name());
  Tensor written = stack.top(count)[0].to_tensor();
  if (!is_written_elsewhere(written)) require_writable(name.c_str(), "self", written);
  stack.top(count)[0] = Value(ops::clone(written));
  compute_and_copy(op, name.c_str(), "self", std::move(written), stack);
}

}  // namespace

// A form of a composition is one, too.
void define_form(Library& library, std::string_view schema, Form form) {
  define(library, schema);
  const std::string_view name = schema.substr(0, schema.find('('));
  if (form == Form::Composition) {
    library.impl(name, DispatchKey::CompositeImplicitAutograd, &write_result_of_composition);
  } else {
    library.impl(name, DispatchKey::CompositeExplicitAutograd, &write_result);
  }
}

void define_in_place(Library& library, std::string_view name, Form form) {
  define_form(library, form_schema(name, "", true), form);
}
void define_in_place(Library& library, std::initializer_list<std::string_view> names, Form form) {
  for (const std::string_view name : names) define_in_place(library, name, form);
}
void define_out(Library& library, std::string_view name, std::string_view overload, Form form) {
  define_form(library, form_schema(name, overload, false), form);
}

}  // namespace opyard::kernels
