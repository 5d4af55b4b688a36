// value/sym.cpp: arithmetic of SymInt, SymFloat and SymBool.
//
// [Operands] If both operands are known, the result is computed here. Else one of them is a node
// of a reasoner, and the other becomes one of the same, by its wrap_…().
#include "opyard/value/sym.h"

#include <fmt/format.h>

#include <cmath>

#include "opyard/value/value.h"

namespace opyard {
namespace {

// A plain int below -2^62. Code that computes with it sees the number.
class ConstantNode final : public SymNode {
 public:
  explicit ConstantNode(std::int64_t number) noexcept : number_(number) {}

  SymKind kind() const override { return SymKind::Int; }
  SymNodePtr wrap_int(std::int64_t) const override { refuse(); }
  SymNodePtr wrap_float(double) const override { refuse(); }
  SymNodePtr wrap_bool(bool) const override { refuse(); }
  SymNodePtr apply(SymBinary, const SymNode&) const override { refuse(); }
  SymNodePtr apply(SymUnary) const override { refuse(); }
  std::int64_t guard_int(const char*, int) const override { return number_; }
  double guard_float(const char*, int) const override { refuse(); }
  bool guard_bool(const char*, int) const override { refuse(); }
  std::optional<std::int64_t> maybe_as_int() const override { return number_; }
  std::string text() const override { return std::to_string(number_); }
  bool is_constant() const noexcept override { return true; }

 private:
  // Constants are computed with as the numbers they are; see [Operands].
  [[noreturn]] static void refuse() {
    fail(ErrorKind::Internal, "a constant was used as a symbolic number");
  }
  const std::int64_t number_;
};

[[noreturn]] OPYARD_COLD void refuse_overflow(const char* sign, std::int64_t a, std::int64_t b) {
  fail(ErrorKind::BadValue, fmt::format("{} {} {} does not fit in 64 bits", a, sign, b));
}
[[noreturn]] OPYARD_COLD void refuse_zero(const char* sign, std::int64_t a) {
  fail(ErrorKind::BadValue, fmt::format("{} {} 0: division by zero", a, sign));
}
template <typename Word>
[[noreturn]] OPYARD_COLD void refuse_unknown(const Word& word, const char* wanted) {
  const SymNode& node = word.node_unchecked();
  fail(ErrorKind::BadValue,
       fmt::format("{} {} is symbolic, and a plain {} is needed here; guard_{}() decides its value",
                   name_of(node.kind()), node.text(), wanted, wanted));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) refuse_zero("//", a);
  if (b == -1) {
    std::int64_t result = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) refuse_overflow("//", a, b);
    return result;
  }
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) refuse_zero("%", a);
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t compute(SymBinary op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case SymBinary::add:
      if (__builtin_add_overflow(a, b, &result)) refuse_overflow("+", a, b);
      return result;
    case SymBinary::sub:
      if (__builtin_sub_overflow(a, b, &result)) refuse_overflow("-", a, b);
      return result;
    case SymBinary::mul:
      if (__builtin_mul_overflow(a, b, &result)) refuse_overflow("*", a, b);
      return result;
    case SymBinary::floordiv:
      return floor_divide(a, b);
    case SymBinary::mod:
      return floor_remainder(a, b);
    case SymBinary::sym_min:
      return a < b ? a : b;
    case SymBinary::sym_max:
      return a < b ? b : a;
    default:
      break;
  }
  fail(ErrorKind::Internal, std::string("ints are not computed with by ") + name_of(op));
}

double compute(SymBinary op, double a, double b) {
  switch (op) {
    case SymBinary::add:
      return a + b;
    case SymBinary::sub:
      return a - b;
    case SymBinary::mul:
      return a * b;
    case SymBinary::truediv:
      return a / b;
    case SymBinary::sym_min:
      return a < b || std::isnan(a) ? a : b;
    case SymBinary::sym_max:
      return a > b || std::isnan(a) ? a : b;
    default:
      break;
  }
  fail(ErrorKind::Internal, std::string("floats are not computed with by ") + name_of(op));
}

template <typename Plain>
bool compare_words(SymBinary op, Plain a, Plain b) {
  switch (op) {
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
    default:
      break;
  }
  fail(ErrorKind::Internal, std::string("nothing is compared by ") + name_of(op));
}

std::optional<std::int64_t> known_word(const SymInt& word) { return word.maybe_as_int(); }
std::optional<double> known_word(const SymFloat& word) { return word.maybe_as_float(); }
std::optional<bool> known_word(const SymBool& word) { return word.maybe_as_bool(); }

SymNodePtr wrap(const SymNode& like, std::int64_t number) { return like.wrap_int(number); }
SymNodePtr wrap(const SymNode& like, double number) { return like.wrap_float(number); }
SymNodePtr wrap(const SymNode& like, bool truth) { return like.wrap_bool(truth); }

// See [Operands].
template <typename Word>
SymNodePtr apply_nodes(SymBinary op, const Word& a, const Word& b) {
  const SymNode& reasoner = a.is_symbolic() ? a.node_unchecked() : b.node_unchecked();
  const auto operand = [&](const Word& word) {
    return word.is_symbolic() ? word.node() : wrap(reasoner, *known_word(word));
  };
  const SymNodePtr left = operand(a);
  const SymNodePtr right = operand(b);
  return left->apply(op, *right);
}

template <typename Word>
Word arithmetic(SymBinary op, const Word& a, const Word& b) {
  const auto x = known_word(a);
  const auto y = known_word(b);
  if (x && y) return Word(compute(op, *x, *y));
  return Word(apply_nodes(op, a, b));
}

template <typename Word>
SymBool comparison(SymBinary op, const Word& a, const Word& b) {
  const auto x = known_word(a);
  const auto y = known_word(b);
  if (x && y) return SymBool(compare_words(op, *x, *y));
  return SymBool(apply_nodes(op, a, b));
}

}  // namespace

void detail::check_sym_node(const SymNode* node, SymKind kind) {
  OPYARD_CHECK(node != nullptr, BadArgument, "a null pointer is no symbolic number");
  if (node->kind() != kind) {
    fail(ErrorKind::BadArgument, fmt::format("expected the node of a {} but got that of a {}",
                                             name_of(kind), name_of(node->kind())));
  }
  OPYARD_CHECK(reinterpret_cast<std::uintptr_t>(node) >> 48 == 0, Unsupported,
               "a symbolic number needs a node whose address fits in 48 bits");
}

void SymInt::keep_apart(std::int64_t number) { become(make_counted<ConstantNode>(number)); }

std::int64_t SymInt::expect_of_node() const {
  const std::optional<std::int64_t> number = maybe_as_int();
  if (!number) refuse_unknown(*this, "int");
  return *number;
}

std::optional<std::int64_t> SymInt::maybe_as_int() const {
  return is_node() ? node_unchecked().maybe_as_int() : plain_unchecked();
}

SymFloat SymInt::to_float() const {
  if (const auto number = maybe_as_int()) return SymFloat(double(*number));
  return SymFloat(node_unchecked().apply(SymUnary::sym_float));
}

SymInt SymInt::operator-() const {
  if (const auto number = maybe_as_int()) return SymInt(compute(SymBinary::sub, 0, *number));
  return SymInt(node_unchecked().apply(SymUnary::neg));
}

std::optional<double> SymFloat::maybe_as_float() const {
  return is_node() ? node_unchecked().maybe_as_float() : plain_unchecked();
}

double SymFloat::expect_float() const {
  const std::optional<double> number = maybe_as_float();
  if (!number) refuse_unknown(*this, "float");
  return *number;
}

SymFloat SymFloat::operator-() const {
  if (const auto number = maybe_as_float()) return SymFloat(-*number);
  return SymFloat(node_unchecked().apply(SymUnary::neg));
}

std::optional<bool> SymBool::maybe_as_bool() const {
  return is_node() ? node_unchecked().maybe_as_bool() : plain_unchecked();
}

bool SymBool::expect_bool() const {
  const std::optional<bool> truth = maybe_as_bool();
  if (!truth) refuse_unknown(*this, "bool");
  return *truth;
}

#define OPYARD_SYM_ARITHMETIC(Word, name, op) \
  Word name(const Word& a, const Word& b) { return arithmetic(SymBinary::op, a, b); }
OPYARD_SYM_ARITHMETIC(SymInt, operator+, add)
OPYARD_SYM_ARITHMETIC(SymInt, operator-, sub)
OPYARD_SYM_ARITHMETIC(SymInt, operator*, mul)
OPYARD_SYM_ARITHMETIC(SymInt, operator/, floordiv)
OPYARD_SYM_ARITHMETIC(SymInt, operator%, mod)
OPYARD_SYM_ARITHMETIC(SymInt, min, sym_min)
OPYARD_SYM_ARITHMETIC(SymInt, max, sym_max)
OPYARD_SYM_ARITHMETIC(SymFloat, operator+, add)
OPYARD_SYM_ARITHMETIC(SymFloat, operator-, sub)
OPYARD_SYM_ARITHMETIC(SymFloat, operator*, mul)
OPYARD_SYM_ARITHMETIC(SymFloat, operator/, truediv)
OPYARD_SYM_ARITHMETIC(SymFloat, min, sym_min)
OPYARD_SYM_ARITHMETIC(SymFloat, max, sym_max)
#undef OPYARD_SYM_ARITHMETIC

#define OPYARD_SYM_COMPARISON(op)                                                                \
  SymBool sym_##op(const SymInt& a, const SymInt& b) { return comparison(SymBinary::op, a, b); } \
  SymBool sym_##op(const SymFloat& a, const SymFloat& b) { return comparison(SymBinary::op, a, b); }
OPYARD_SYM_COMPARISON(eq)
OPYARD_SYM_COMPARISON(ne)
OPYARD_SYM_COMPARISON(lt)
OPYARD_SYM_COMPARISON(le)
OPYARD_SYM_COMPARISON(gt)
OPYARD_SYM_COMPARISON(ge)
#undef OPYARD_SYM_COMPARISON

SymBool sym_and(const SymBool& a, const SymBool& b) {
  const auto x = a.maybe_as_bool();
  const auto y = b.maybe_as_bool();
  if (x && y) return SymBool(*x && *y);
  return SymBool(apply_nodes(SymBinary::sym_and, a, b));
}

SymBool sym_or(const SymBool& a, const SymBool& b) {
  const auto x = a.maybe_as_bool();
  const auto y = b.maybe_as_bool();
  if (x && y) return SymBool(*x || *y);
  return SymBool(apply_nodes(SymBinary::sym_or, a, b));
}

SymBool sym_not(const SymBool& a) {
  if (const auto truth = a.maybe_as_bool()) return SymBool(!*truth);
  return SymBool(a.node_unchecked().apply(SymUnary::sym_not));
}

SymIntSpan sym_ints(std::span<const std::int64_t> ints) {
  static_assert(sizeof(SymInt) == sizeof(std::int64_t) && alignof(SymInt) == alignof(std::int64_t));
  for (const std::int64_t number : ints) {
    if (detail::SymIntCode::is_node(detail::SymIntCode::of(number))) {
      fail(ErrorKind::BadValue,
           fmt::format("{} does not fit in the word of a SymInt, which begins at -2^62; copy the "
                       "numbers into SymInts",
                       number));
    }
  }
  return {reinterpret_cast<const SymInt*>(ints.data()), ints.size()};
}

std::optional<std::span<const std::int64_t>> find_ints(SymIntSpan words) {
  for (const SymInt& word : words) {
    if (word.is_node()) return std::nullopt;
  }
  return std::span(reinterpret_cast<const std::int64_t*>(words.data()), words.size());
}

std::span<const std::int64_t> require_ints(SymIntSpan words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is_node()) continue;
    fail(ErrorKind::BadValue,
         fmt::format(
             "plain ints are needed here, and number {} of {} is {}{}", i, words.size(),
             words[i].is_symbolic() ? "symbolic: " : "too far below zero: ", to_string(words[i])));
  }
  return {reinterpret_cast<const std::int64_t*>(words.data()), words.size()};
}

std::string to_string(const SymInt& number) {
  return number.is_node() ? number.node_unchecked().text()
                          : std::to_string(number.plain_unchecked());
}
std::string to_string(const SymFloat& number) {
  return number.is_node() ? number.node_unchecked().text() : float_text(number.plain_unchecked());
}
std::string to_string(const SymBool& truth) {
  if (truth.is_node()) return truth.node_unchecked().text();
  return truth.plain_unchecked() ? "True" : "False";
}

}  // namespace opyard
