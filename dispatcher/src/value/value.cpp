// value/value.cpp: the heap side of values: making, comparing, printing, refusing.
#include "opyard/value/value.h"

#include <fmt/format.h>

#include <cmath>

namespace opyard {
namespace {

constexpr int kPrintedDepth = 64;

// Pairs of lists whose elements are still to be compared.
using Pairs = std::vector<std::pair<const std::vector<Value>*, const std::vector<Value>*>>;

bool same_foreign(const ForeignObject& a, const ForeignObject& b) {
  return a.interpreter == b.interpreter && a.object == b.object;
}

// Whether two values can still be equal. Lists and tuples are put off: their elements go to
// `later`, so that nesting costs no stack.
bool equal_so_far(const Value& a, const Value& b, Pairs& later) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::None:
      return true;
    case Kind::Bool:
      return a.bool_unchecked() == b.bool_unchecked();
    case Kind::Int:
      return a.int_unchecked() == b.int_unchecked();
    case Kind::Double:
      return a.double_unchecked() == b.double_unchecked();
    case Kind::Device:
      return a.device_unchecked() == b.device_unchecked();
    case Kind::Tensor:
      return a.identical(b);
    case Kind::String:
      return a.to_string_view() == b.to_string_view();
    case Kind::List:
    case Kind::Tuple:
      if (a.items_unchecked().size() != b.items_unchecked().size()) return false;
      if (!a.identical(b)) later.emplace_back(&a.items_unchecked(), &b.items_unchecked());
      return true;
    case Kind::PyObject:
      return same_foreign(a.to_foreign(), b.to_foreign());
  }
  return false;
}

void print(std::string& out, const Value& value, int depth);

void print_items(std::string& out, const Value& list, const char* brackets, int depth) {
  const std::vector<Value>& items = list.items_unchecked();
  out += brackets[0];
  if (depth == 0 && !items.empty()) {
    out += "...";
  } else {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ", ";
      print(out, items[i], depth - 1);
    }
    if (list.is_tuple() && items.size() == 1) out += ',';
  }
  out += brackets[1];
}

void print(std::string& out, const Value& value, int depth) {
  switch (value.kind()) {
    case Kind::None:
      out += "None";
      return;
    case Kind::Bool:
      out += value.bool_unchecked() ? "True" : "False";
      return;
    case Kind::Int:
      out += std::to_string(value.int_unchecked());
      return;
    case Kind::Double:
      out += float_text(value.double_unchecked());
      return;
    case Kind::Device:
      out += to_string(value.device_unchecked());
      return;
    case Kind::Tensor:
      out += value.tensor_unchecked().defined() ? describe(value.tensor_unchecked())
                                                : "[ Tensor (undefined) ]";
      return;
    case Kind::String:
      out += value.to_string_view();
      return;
    case Kind::List:
      print_items(out, value, "[]", depth);
      return;
    case Kind::Tuple:
      print_items(out, value, "()", depth);
      return;
    case Kind::PyObject:
      out += fmt::format("<object of {}>", (*value.to_foreign().interpreter)->name());
      return;
  }
}

}  // namespace

const char* name_of(Kind kind) noexcept {
  switch (kind) {
#define OPYARD_VALUE_KIND(tag, name, printed) \
  case Kind::name:                            \
    return #printed;
#include "opyard/value/kinds.def"
#undef OPYARD_VALUE_KIND
  }
  return "unknown kind";
}

ListObject::ListObject(std::vector<Value> values) : items(std::move(values)) {}

ListObject::~ListObject() {
  std::vector<Value> pending = std::move(items);
  while (!pending.empty()) {
    const Value value = std::move(pending.back());
    pending.pop_back();
    if (!value.is_list() && !value.is_tuple()) continue;
    auto* list = static_cast<ListObject*>(value.payload_.object);
    // Another owner would see its elements vanish. Ours is the last one where the count is 1,
    // since nobody can make a second owner without having a first.
    if (list->owner_count() != 1 || list->items.empty()) continue;
    try {
      for (Value& item : list->items) pending.push_back(std::move(item));
    } catch (const std::bad_alloc&) {
      // What was not moved stays: the inner list takes itself apart, one level deeper.
    }
  }
}

Value::Value(std::string_view text) : Value(Kind::String) {
  own(make_counted<StringObject>(text).release());
}

Value Value::list(std::vector<Value> items) {
  Value value(Kind::List);
  value.own(make_counted<ListObject>(std::move(items)).release());
  return value;
}

Value Value::tuple(std::vector<Value> items) {
  Value value(Kind::Tuple);
  value.own(make_counted<ListObject>(std::move(items)).release());
  return value;
}

Tensor Value::take_tensor() {
  require(Kind::Tensor);
  Value owner = std::move(*this);  // counts where the tensor is lent, else only moves
  auto* impl = static_cast<TensorImpl*>(owner.payload_.object);
  owner.hold_ = Hold::Nothing;
  if (hold_ == Hold::Lent) {
    hold_ = Hold::Nothing;
    kind_ = Kind::None;
    payload_.integer = 0;
  }
  return Tensor(CountedPtr<TensorImpl>::steal(impl));
}

bool Value::operator==(const Value& other) const {
  Pairs later;
  if (!equal_so_far(*this, other, later)) return false;
  while (!later.empty()) {
    const auto [left, right] = later.back();
    later.pop_back();
    for (std::size_t i = 0; i < left->size(); ++i) {
      if (!equal_so_far((*left)[i], (*right)[i], later)) return false;
    }
  }
  return true;
}

void Value::refuse(Kind wanted) const {
  fail(ErrorKind::BadArgument,
       fmt::format("expected {} but got {}", name_of(wanted), name_of(kind_)));
}

std::string to_string(const Value& value) {
  std::string out;
  print(out, value, kPrintedDepth);
  return out;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (text.ends_with(".0")) {
    text.pop_back();
  } else if (text.find_first_of(".einf") == std::string::npos) {
    text += '.';
  }
  return text;
}

}  // namespace opyard
