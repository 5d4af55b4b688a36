// value/text.cpp: values as text.
//
// [Limits] A container that is being printed further out is shown as [...] and so is one below
// kDepth: the first ends a walk through a container inside itself, the second keeps the stack. A
// few containers that share their elements can have more text than fits on any disk, so after
// kMostItems elements the rest of each container that is open is shown as "...".
#include <fmt/format.h>

#include <cmath>

#include "opyard/detail/value/dict_object.h"
#include "opyard/detail/value/future_object.h"
#include "opyard/value/value.h"

namespace opyard {
namespace {

constexpr std::size_t kTextDepth = 64;
constexpr std::size_t kMostItems = std::size_t{1} << 20;

class Printer {
 public:
  explicit Printer(bool quoting) noexcept : quoting_(quoting) {}

  void print(const Value& value) {
    switch (value.kind()) {
      case Kind::None:
        text_ += "None";
        return;
      case Kind::Bool:
        text_ += value.bool_unchecked() ? "True" : "False";
        return;
      case Kind::Int:
        text_ += std::to_string(value.int_unchecked());
        return;
      case Kind::Double:
        text_ += float_text(value.double_unchecked());
        return;
      case Kind::Device:
        print_text(to_string(value.device_unchecked()), quoting_);
        return;
      case Kind::String:
        print_text(value.to_string_view(), quoting_);
        return;
      case Kind::Complex:
        text_ += complex_text(value.to_complex());
        return;
      case Kind::List:
        return print_container(value, "[]");
      case Kind::Tuple:
        return print_container(value, "()");
      case Kind::Dict:
        return print_container(value, "{}");
      default:
        text_ += text_of_object(value);
    }
  }

  std::string take() && { return std::move(text_); }

 private:
  void print_text(std::string_view text, bool quoted) {
    if (quoted) {
      text_ += quoted_text(text);
    } else {
      text_ += text;
    }
  }

  static std::string text_of_object(const Value& value) {
    switch (value.kind()) {
      case Kind::Tensor: {
        const Tensor& tensor = value.tensor_unchecked();
        return tensor.defined() ? describe(tensor) : "[ Tensor (undefined) ]";
      }
      case Kind::PyObject:
        return fmt::format("<object of {}>", value.to_foreign().interpreter->name());
      case Kind::Storage:
        return fmt::format("<storage of {} bytes on {}>", value.to_storage().bytes(),
                           to_string(value.to_storage().device()));
      case Kind::Generator:
        return fmt::format("<generator on {}>", to_string(value.to_generator().device()));
      case Kind::Capsule:
        return fmt::format("<capsule {}>", value.to_capsule().name);
      case Kind::Stream:
        return fmt::format("<{}>", to_string(value.to_stream()));
      case Kind::Enum:
        return fmt::format("{}.{}", value.to_enum().type->name(), value.to_enum().name());
      case Kind::Future:
        return value.to_future().text();
      case Kind::SymInt:
      case Kind::SymFloat:
      case Kind::SymBool:
        return static_cast<const SymNode*>(value.object_unchecked())->text();
      default:
        return value.to_object().text();
    }
  }

  // See [Limits].
  void print_container(const Value& container, const char* brackets) {
    const Counted* const object = container.object_unchecked();
    const bool open = std::find(open_.begin(), open_.end(), object) != open_.end();
    text_ += brackets[0];
    if (open || open_.size() == kTextDepth) {
      text_ += "...";
    } else {
      open_.push_back(object);
      if (container.is_dict()) {
        print_entries(container.to_dict());
      } else {
        print_items(container.items_unchecked());
        if (container.is_tuple() && container.items_unchecked().size() == 1) text_ += ',';
      }
      open_.pop_back();
    }
    text_ += brackets[1];
  }

  void print_items(const std::vector<Value>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_ += ", ";
      if (!may_go_on()) return;
      print(items[i]);
    }
  }

  void print_entries(const DictObject& dict) {
    const char* separator = "";
    for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
      text_ += separator;
      separator = ", ";
      if (!may_go_on()) return;
      print(dict.key_at(at));
      text_ += ": ";
      print(dict.value_at(at));
    }
  }

  bool may_go_on() {
    if (printed_++ < kMostItems) return true;
    text_ += "...";
    return false;
  }

  const bool quoting_;
  std::string text_;
  std::vector<const Counted*> open_;
  std::size_t printed_ = 0;
};

std::string printed(const Value& value, bool quoting) {
  Printer printer(quoting);
  printer.print(value);
  return std::move(printer).take();
}

}  // namespace

std::string to_string(const Value& value) { return printed(value, false); }

std::string repr(const Value& value) { return printed(value, true); }

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

std::string complex_text(std::complex<double> value) {
  const std::string imaginary = float_text(value.imag());
  const char* const sign = imaginary.starts_with('-') ? "" : "+";
  return float_text(value.real()) + sign + imaginary + 'j';
}

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", unsigned(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

}  // namespace opyard
