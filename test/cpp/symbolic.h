// test/cpp/symbolic.h: a reasoner about numbers for tests: it writes down what is done with them.
//
//   const SymInt n = Reasoner::symbol("n", 5);
//   to_string(n * 2 + 1)              "((n * 2) + 1)"
//   (n + 1).guard_int("f.cpp", 3)     6, and Reasoner::guards has "(n + 1) at f.cpp:3"
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "opyard/value/sym.h"

namespace opyard {

class Reasoner final : public SymNode {
 public:
  static inline std::vector<std::string> guards;

  static SymInt symbol(std::string name, std::int64_t hint) {
    return SymInt(make(SymKind::Int, std::move(name), double(hint)));
  }
  static SymFloat float_symbol(std::string name, double hint) {
    return SymFloat(make(SymKind::Float, std::move(name), hint));
  }
  static SymBool bool_symbol(std::string name, bool hint) {
    return SymBool(make(SymKind::Bool, std::move(name), hint ? 1 : 0));
  }

  Reasoner(SymKind kind, std::string text, double hint, bool plain)
      : kind_(kind), text_(std::move(text)), hint_(hint), plain_(plain) {}

  SymKind kind() const override { return kind_; }
  SymNodePtr wrap_int(std::int64_t number) const override {
    return make(SymKind::Int, std::to_string(number), double(number), true);
  }
  SymNodePtr wrap_float(double number) const override {
    return make(SymKind::Float, to_string(SymFloat(number)), number, true);
  }
  SymNodePtr wrap_bool(bool truth) const override {
    return make(SymKind::Bool, truth ? "True" : "False", truth ? 1 : 0, true);
  }

  SymNodePtr apply(SymBinary op, const SymNode& right) const override {
    static constexpr const char* kSigns[] = {
#define OPYARD_SYM_BINARY(name, sign) sign,
#include "opyard/value/sym_ops.def"
    };
    const auto& other = static_cast<const Reasoner&>(right);
    const bool compares = op >= SymBinary::eq && op <= SymBinary::ge;
    const bool joins = op == SymBinary::sym_and || op == SymBinary::sym_or;
    return make(compares || joins ? SymKind::Bool : kind_,
                "(" + text_ + " " + kSigns[std::size_t(op)] + " " + other.text_ + ")",
                computed(op, hint_, other.hint_));
  }
  SymNodePtr apply(SymUnary op) const override {
    const double result = op == SymUnary::neg       ? -hint_
                          : op == SymUnary::sym_not ? (hint_ == 0 ? 1 : 0)
                                                    : hint_;
    return make(op == SymUnary::sym_float ? SymKind::Float : kind_,
                std::string(name_of(op)) + "(" + text_ + ")", result);
  }

  std::int64_t guard_int(const char* file, int line) const override {
    return std::int64_t(guarded(file, line));
  }
  double guard_float(const char* file, int line) const override { return guarded(file, line); }
  bool guard_bool(const char* file, int line) const override { return guarded(file, line) != 0; }

  std::optional<std::int64_t> maybe_as_int() const override {
    return plain_ ? std::optional(std::int64_t(hint_)) : std::nullopt;
  }
  std::string text() const override { return text_; }

 private:
  static SymNodePtr make(SymKind kind, std::string text, double hint, bool plain = false) {
    return make_counted<Reasoner>(kind, std::move(text), hint, plain);
  }
  static double computed(SymBinary op, double a, double b) {
    switch (op) {
      case SymBinary::add:
        return a + b;
      case SymBinary::sub:
        return a - b;
      case SymBinary::mul:
        return a * b;
      case SymBinary::truediv:
        return a / b;
      case SymBinary::floordiv:
        return std::floor(a / b);
      case SymBinary::mod:
        return a - b * std::floor(a / b);
      case SymBinary::pow:
        return std::pow(a, b);
      case SymBinary::eq:
        return a == b;
      case SymBinary::ne:
        return a != b;
      case SymBinary::lt:
        return a < b;
      case SymBinary::le:
        return a <= b;
      case SymBinary::gt:
        return a > b;
      case SymBinary::ge:
        return a >= b;
      case SymBinary::sym_min:
        return std::fmin(a, b);
      case SymBinary::sym_max:
        return std::fmax(a, b);
      case SymBinary::sym_and:
        return a != 0 && b != 0;
      case SymBinary::sym_or:
        return a != 0 || b != 0;
    }
    return 0;
  }
  double guarded(const char* file, int line) const {
    guards.push_back(text_ + " at " + file + ":" + std::to_string(line));
    return hint_;
  }

  const SymKind kind_;
  const std::string text_;
  const double hint_;
  const bool plain_;
};

}  // namespace opyard
