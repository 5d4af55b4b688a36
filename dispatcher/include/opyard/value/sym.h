// opyard/value/sym.h: numbers that may be symbolic: SymInt, SymFloat and SymBool.
//
// Each is one word: a plain number, or a tagged pointer to a counted node (value/sym_node.h).
//
//   SymInt    63        62                              0
//            ┌──┬──┬──────────────────────────────────────┐  1 0: the rest is the node's address
//            │  │  │                                      │  else: the word is the number, from -2^62 on
//            └──┴──┴──────────────────────────────────────┘  (smaller ones have a constant node)
//   SymFloat  a double; not-a-numbers that begin with 0xfffd hold the address in 48 bits
//   SymBool   0 or 1, else an address
//
// Plain numbers are computed with at once, and cost no call. Where one operand is symbolic the
// other becomes a node of the same reasoner. Division of ints is that of Python: rounded down, and
// the remainder has the sign of the divisor.
//
//   a + b, a * 2, min(a, b)      SymInt
//   sym_lt(a, b)                 SymBool: nothing is decided
//   a < b, a == b                bool: decided by the reasoner ("guarded")
//   a.maybe_as_int()             the number if it is known, deciding nothing
//   a.expect_int()               the same; raises BadValue if it is not known
//   a.guard_int(file, line)      the number, decided by the reasoner
//
// Depends on: value/sym_node.h, base/error.h.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "opyard/base/error.h"
#include "opyard/value/sym_node.h"

namespace opyard {

namespace detail {

// How each kind keeps a plain number and a pointer in one word.
struct SymIntCode {
  using Plain = std::int64_t;
  static constexpr SymKind kKind = SymKind::Int;
  static constexpr std::int64_t kLowest = -(std::int64_t{1} << 62);
  static bool is_node(std::uint64_t word) noexcept { return std::int64_t(word) < kLowest; }
  static std::uint64_t of(Plain number) noexcept { return std::uint64_t(number); }
  static Plain plain(std::uint64_t word) noexcept { return Plain(word); }
  static std::uint64_t of(const SymNode* node) noexcept {
    return reinterpret_cast<std::uintptr_t>(node) | std::uint64_t{1} << 63;
  }
  static const SymNode* node(std::uint64_t word) noexcept {
    return reinterpret_cast<const SymNode*>(word & ~(std::uint64_t{1} << 63));
  }
};

struct SymFloatCode {
  using Plain = double;
  static constexpr SymKind kKind = SymKind::Float;
  static constexpr std::uint64_t kTag = std::uint64_t{0xfffd} << 48;
  static bool is_node(std::uint64_t word) noexcept { return word >> 48 == 0xfffd; }
  static std::uint64_t of(Plain number) noexcept {
    // One not-a-number for all, so that none looks like a pointer.
    return number == number ? std::bit_cast<std::uint64_t>(number) : std::uint64_t{0x7ff8} << 48;
  }
  static Plain plain(std::uint64_t word) noexcept { return std::bit_cast<double>(word); }
  static std::uint64_t of(const SymNode* node) noexcept {
    return reinterpret_cast<std::uintptr_t>(node) | kTag;
  }
  static const SymNode* node(std::uint64_t word) noexcept {
    return reinterpret_cast<const SymNode*>(word & ~kTag);
  }
};

struct SymBoolCode {
  using Plain = bool;
  static constexpr SymKind kKind = SymKind::Bool;
  static bool is_node(std::uint64_t word) noexcept { return word > 1; }
  static std::uint64_t of(Plain truth) noexcept { return truth ? 1 : 0; }
  static Plain plain(std::uint64_t word) noexcept { return word != 0; }
  static std::uint64_t of(const SymNode* node) noexcept {
    return reinterpret_cast<std::uintptr_t>(node);
  }
  static const SymNode* node(std::uint64_t word) noexcept {
    return reinterpret_cast<const SymNode*>(word);
  }
};

// Raises BadArgument for null and for a node of another kind, and Unsupported for an address that
// does not fit.
OPYARD_API void check_sym_node(const SymNode* node, SymKind kind);

// The word and who owns the node. What all three have in common.
template <typename Code>
class SymWord {
 public:
  using Plain = typename Code::Plain;

  SymWord(const SymWord& other) noexcept : word_(other.word_) {
    if (is_node()) CountedAccess::retain(Code::node(word_));
  }
  SymWord(SymWord&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  SymWord& operator=(SymWord other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~SymWord() {
    if (is_node()) CountedAccess::release(Code::node(word_));
  }

  // Whether the word leads to a node, which may be constant.
  bool is_node() const noexcept { return __builtin_expect(Code::is_node(word_), 0); }
  // Whether it is a number that someone reasons about.
  bool is_symbolic() const noexcept { return is_node() && !Code::node(word_)->is_constant(); }
  // The node, borrowed. Only if is_node().
  const SymNode& node_unchecked() const noexcept { return *Code::node(word_); }
  // The number. Only if not is_node().
  Plain plain_unchecked() const noexcept { return Code::plain(word_); }
  // The node with one more owner; null if there is none.
  SymNodePtr node() const noexcept {
    return is_node() ? SymNodePtr::share(Code::node(word_)) : SymNodePtr();
  }

 protected:
  explicit SymWord(Plain number) noexcept : word_(Code::of(number)) {}
  explicit SymWord(SymNodePtr node) : word_(0) {
    check_sym_node(node.get(), Code::kKind);
    word_ = Code::of(node.release());
  }
  void become(SymNodePtr node) noexcept { word_ = Code::of(node.release()); }

 private:
  std::uint64_t word_;
};

}  // namespace detail

class SymBool;
class SymFloat;

class OPYARD_API SymInt : public detail::SymWord<detail::SymIntCode> {
 public:
  SymInt() noexcept : SymWord(std::int64_t{0}) {}
  SymInt(std::int64_t number)  // NOLINT
      : SymWord(number < detail::SymIntCode::kLowest ? 0 : number) {
    if (__builtin_expect(number < detail::SymIntCode::kLowest, 0)) keep_apart(number);
  }
  SymInt(int number) noexcept : SymWord(std::int64_t{number}) {}  // NOLINT
  explicit SymInt(SymNodePtr node) : SymWord(std::move(node)) {}

  std::optional<std::int64_t> maybe_as_int() const;
  std::int64_t expect_int() const { return is_node() ? expect_of_node() : plain_unchecked(); }
  std::int64_t guard_int(const char* file, int line) const {
    return is_node() ? node_unchecked().guard_int(file, line) : plain_unchecked();
  }
  SymFloat to_float() const;
  SymInt operator-() const;

 private:
  OPYARD_COLD void keep_apart(std::int64_t number);
  OPYARD_COLD std::int64_t expect_of_node() const;
};

class OPYARD_API SymFloat : public detail::SymWord<detail::SymFloatCode> {
 public:
  SymFloat() noexcept : SymWord(0.0) {}
  SymFloat(double number) noexcept : SymWord(number) {}  // NOLINT
  explicit SymFloat(SymNodePtr node) : SymWord(std::move(node)) {}

  std::optional<double> maybe_as_float() const;
  double expect_float() const;
  double guard_float(const char* file, int line) const {
    return is_node() ? node_unchecked().guard_float(file, line) : plain_unchecked();
  }
  SymFloat operator-() const;
};

class OPYARD_API SymBool : public detail::SymWord<detail::SymBoolCode> {
 public:
  SymBool() noexcept : SymWord(false) {}
  template <std::same_as<bool> Bool>
  SymBool(Bool truth) noexcept : SymWord(truth) {}  // NOLINT
  explicit SymBool(SymNodePtr node) : SymWord(std::move(node)) {}

  std::optional<bool> maybe_as_bool() const;
  bool expect_bool() const;
  bool guard_bool(const char* file, int line) const {
    return is_node() ? node_unchecked().guard_bool(file, line) : plain_unchecked();
  }
};

static_assert(sizeof(SymInt) == 8 && sizeof(SymFloat) == 8 && sizeof(SymBool) == 8);

// Raise BadValue for a plain result that 64 bits do not hold, and for a plain division by zero.
OPYARD_API SymInt operator+(const SymInt& a, const SymInt& b);
OPYARD_API SymInt operator-(const SymInt& a, const SymInt& b);
OPYARD_API SymInt operator*(const SymInt& a, const SymInt& b);
OPYARD_API SymInt operator/(const SymInt& a, const SymInt& b);  // rounded down
OPYARD_API SymInt operator%(const SymInt& a, const SymInt& b);
OPYARD_API SymInt min(const SymInt& a, const SymInt& b);
OPYARD_API SymInt max(const SymInt& a, const SymInt& b);

// As of plain numbers; what is not known stays an expression, and nothing is decided.
OPYARD_API SymFloat operator+(const SymFloat& a, const SymFloat& b);
OPYARD_API SymFloat operator-(const SymFloat& a, const SymFloat& b);
OPYARD_API SymFloat operator*(const SymFloat& a, const SymFloat& b);
OPYARD_API SymFloat operator/(const SymFloat& a, const SymFloat& b);
OPYARD_API SymFloat min(const SymFloat& a, const SymFloat& b);
OPYARD_API SymFloat max(const SymFloat& a, const SymFloat& b);

// Of both, without deciding either.
OPYARD_API SymBool sym_and(const SymBool& a, const SymBool& b);
OPYARD_API SymBool sym_or(const SymBool& a, const SymBool& b);
// Whether it is false.
OPYARD_API SymBool sym_not(const SymBool& a);

// Comparisons that decide nothing.
#define OPYARD_SYM_COMPARISON(name)                          \
  OPYARD_API SymBool name(const SymInt& a, const SymInt& b); \
  OPYARD_API SymBool name(const SymFloat& a, const SymFloat& b);
OPYARD_SYM_COMPARISON(sym_eq)
OPYARD_SYM_COMPARISON(sym_ne)
OPYARD_SYM_COMPARISON(sym_lt)
OPYARD_SYM_COMPARISON(sym_le)
OPYARD_SYM_COMPARISON(sym_gt)
OPYARD_SYM_COMPARISON(sym_ge)
#undef OPYARD_SYM_COMPARISON

// Comparisons that guard. Templates, so that two plain words are compared without a call.
#define OPYARD_SYM_GUARD(sign, name)                                                       \
  inline bool operator sign(const SymInt& a, const SymInt& b) {                            \
    if (!a.is_node() && !b.is_node()) return a.plain_unchecked() sign b.plain_unchecked(); \
    return name(a, b).guard_bool(__FILE__, __LINE__);                                      \
  }                                                                                        \
  inline bool operator sign(const SymFloat& a, const SymFloat& b) {                        \
    return name(a, b).guard_bool(__FILE__, __LINE__);                                      \
  }
OPYARD_SYM_GUARD(==, sym_eq)
OPYARD_SYM_GUARD(!=, sym_ne)
OPYARD_SYM_GUARD(<, sym_lt)
OPYARD_SYM_GUARD(<=, sym_le)
OPYARD_SYM_GUARD(>, sym_gt)
OPYARD_SYM_GUARD(>=, sym_ge)
#undef OPYARD_SYM_GUARD

// Sizes and strides that may be symbolic, borrowed.
using SymIntSpan = std::span<const SymInt>;

// The same words, not copied. Raises BadValue for one below -2^62, which is no plain word.
OPYARD_API SymIntSpan sym_ints(std::span<const std::int64_t> ints);
// The same words, not copied; nothing if one of them is not plain.
OPYARD_API std::optional<std::span<const std::int64_t>> find_ints(SymIntSpan words);
// The same; raises BadValue, naming the first one that is not plain.
OPYARD_API std::span<const std::int64_t> require_ints(SymIntSpan words);

OPYARD_API std::string to_string(const SymInt& number);
OPYARD_API std::string to_string(const SymFloat& number);
OPYARD_API std::string to_string(const SymBool& truth);

}  // namespace opyard
