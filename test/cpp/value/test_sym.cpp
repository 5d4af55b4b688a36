// test_sym.cpp: protects numbers that may be symbolic: plain ones are computed at once, symbolic ones
// are left to those who reason about them, and the two meet in either order.
// Suspect dispatcher/src/value/sym.cpp.
#include "opyard/value/sym.h"

#include <gtest/gtest.h>

#include <limits>

#include "../symbolic.h"
#include "../thrown_by.h"
#include "opyard/schema/type.h"
#include "opyard/value/cast.h"

namespace opyard::test_sym {
namespace {

constexpr std::int64_t kLowest = -(std::int64_t{1} << 62);
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Sym, E34_APlainNumberIsItsWord) {
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, kMax, kLowest}) {
    const SymInt word(number);
    EXPECT_FALSE(word.is_node()) << number;
    EXPECT_EQ(word.maybe_as_int(), number);
    EXPECT_EQ(word.expect_int(), number);
    EXPECT_EQ(to_string(word), std::to_string(number));
  }
}

TEST(Sym, E34_NumbersFarBelowZeroAreKeptApartAndStayPlain) {
  for (const std::int64_t number : {kMin, kLowest - 1}) {
    const SymInt word(number);
    EXPECT_TRUE(word.is_node());
    EXPECT_FALSE(word.is_symbolic());
    EXPECT_EQ(word.expect_int(), number);
    EXPECT_EQ(word.guard_int("f", 1), number);
    EXPECT_TRUE(Value(word).is_int());
    EXPECT_EQ(Value(word).to_int(), number);
    const SymInt copy = word;
    EXPECT_EQ(copy + SymInt(1), SymInt(number + 1));
    EXPECT_EQ(-SymInt(number + 1), SymInt(-(number + 1)));
  }
  const SymInt n = Reasoner::symbol("n", 5);
  EXPECT_EQ(to_string(SymInt(kMin) + n), "(-9223372036854775808 + n)");
}

TEST(Sym, E34_PlainNumbersAreComputedWithAsInPython) {
  const SymInt a = 7, b = -2;
  EXPECT_EQ((a + b).expect_int(), 5);
  EXPECT_EQ((a - b).expect_int(), 9);
  EXPECT_EQ((a * b).expect_int(), -14);
  EXPECT_EQ((a / b).expect_int(), -4) << "rounded down";
  EXPECT_EQ((a % b).expect_int(), -1) << "the sign of the divisor";
  EXPECT_EQ((SymInt(-7) / SymInt(2)).expect_int(), -4);
  EXPECT_EQ((SymInt(-7) % SymInt(2)).expect_int(), 1);
  EXPECT_EQ((SymInt(6) / SymInt(-3)).expect_int(), -2);
  EXPECT_EQ((SymInt(kMin) % SymInt(-1)).expect_int(), 0);
  EXPECT_EQ(min(a, b).expect_int(), -2);
  EXPECT_EQ(max(a, b).expect_int(), 7);
  EXPECT_TRUE(a > b && a >= b && b < a && b <= a && a != b && !(a == b));
  EXPECT_EQ(a.to_float().expect_float(), 7.0);
  EXPECT_EQ((SymFloat(1.5) * SymFloat(2.0) - SymFloat(0.5)).expect_float(), 2.5);
  EXPECT_EQ((SymFloat(1.0) / SymFloat(4.0)).expect_float(), 0.25);
  EXPECT_EQ((-SymFloat(1.5)).expect_float(), -1.5);
  EXPECT_EQ(min(SymFloat(1), SymFloat(2)).expect_float(), 1);
  EXPECT_EQ(max(SymFloat(1), SymFloat(2)).expect_float(), 2);
  EXPECT_TRUE(sym_and(SymBool(true), sym_not(SymBool(false))).expect_bool());
  EXPECT_FALSE(sym_or(SymBool(false), SymBool(false)).expect_bool());
}

TEST(Sym, E34_WhatDoesNotFitIsRefused) {
  EXPECT_THROWN(SymInt(kMax) + SymInt(1), BadValue,
                "9223372036854775807 + 1 does not fit in 64 bits");
  EXPECT_THROWN(-SymInt(kMin), BadValue, "0 - -9223372036854775808 does not fit in 64 bits");
  EXPECT_THROWN(SymInt(kMin) / SymInt(-1), BadValue,
                "-9223372036854775808 // -1 does not fit in 64 bits");
  EXPECT_THROWN(SymInt(3) / SymInt(0), BadValue, "3 // 0: division by zero");
  EXPECT_THROWN(SymInt(3) % SymInt(0), BadValue, "3 % 0: division by zero");
}

TEST(Sym, E34_ASymbolicNumberLeavesTheWorkToItsReasoner) {
  Reasoner::guards.clear();
  const SymInt n = Reasoner::symbol("n", 5);
  EXPECT_TRUE(n.is_symbolic());
  EXPECT_EQ(n.maybe_as_int(), std::nullopt);
  EXPECT_EQ(to_string(n * 2 + 1), "((n * 2) + 1)");
  EXPECT_EQ(to_string(SymInt(8) / n - n % 3), "((8 // n) - (n % 3))");
  EXPECT_EQ(to_string(min(n, 3) * max(SymInt(3), n)), "((n min 3) * (3 max n))");
  EXPECT_EQ(to_string(-n), "neg(n)");
  EXPECT_EQ(to_string(n.to_float() / SymFloat(2.0)), "(sym_float(n) / 2.)");
  EXPECT_EQ(to_string(sym_lt(n, 3)), "(n < 3)");
  EXPECT_EQ(to_string(sym_not(sym_and(sym_eq(n, 3), SymBool(true)))),
            "sym_not(((n == 3) and True))");
  EXPECT_TRUE(Reasoner::guards.empty()) << "nothing was decided";
}

TEST(Sym, E34_GuardingAsksTheReasonerAndSaysWhoAsked) {
  Reasoner::guards.clear();
  const SymInt n = Reasoner::symbol("n", 5);
  EXPECT_EQ((n + 1).guard_int("there.cpp", 3), 6);
  EXPECT_EQ(Reasoner::guards, std::vector<std::string>{"(n + 1) at there.cpp:3"});
  EXPECT_TRUE(n == 5);
  EXPECT_TRUE(SymInt(4) < n);
  EXPECT_FALSE(n >= 6);
  ASSERT_EQ(Reasoner::guards.size(), 4u);
  EXPECT_EQ(Reasoner::guards[1].substr(0, 8), "(n == 5)");
  EXPECT_EQ(Reasoner::float_symbol("x", 1.5).guard_float("f", 1), 1.5);
  EXPECT_TRUE(Reasoner::bool_symbol("b", true).guard_bool("f", 1));
}

TEST(Sym, E34_ExpectingWhatIsSymbolicIsRefused) {
  EXPECT_THROWN(Reasoner::symbol("n", 5).expect_int(), BadValue,
                "SymInt n is symbolic, and a plain int is needed here; guard_int() decides its "
                "value");
  EXPECT_THROWN(Reasoner::float_symbol("x", 5).expect_float(), BadValue,
                "SymFloat x is symbolic, and a plain float is needed here; guard_float() decides "
                "its value");
  EXPECT_THROWN(Reasoner::bool_symbol("b", true).expect_bool(), BadValue,
                "SymBool b is symbolic, and a plain bool is needed here; guard_bool() decides its "
                "value");
  EXPECT_THROWN(SymInt(Reasoner::float_symbol("x", 5).node()), BadArgument,
                "expected the node of a SymInt but got that of a SymFloat");
  EXPECT_THROWN(SymInt{SymNodePtr()}, BadArgument, "a null pointer is no symbolic number");
}

TEST(Sym, E34_WordsCountTheirNodes) {
  const SymNodePtr node = Reasoner::symbol("n", 5).node();
  EXPECT_EQ(node->owner_count(), 1u);
  {
    SymInt first(node);
    SymInt second = first;
    EXPECT_EQ(node->owner_count(), 3u);
    const SymInt third = std::move(first);
    EXPECT_EQ(node->owner_count(), 3u);
    second = 7;
    EXPECT_EQ(node->owner_count(), 2u);
    const Value value(third);
    EXPECT_EQ(node->owner_count(), 3u);
    EXPECT_EQ(&value.to_sym_int().node_unchecked(), node.get());
  }
  EXPECT_EQ(node->owner_count(), 1u);
}

TEST(Sym, E34_NoNumberLooksLikeAPointer) {
  for (const double number : {-std::numeric_limits<double>::quiet_NaN(),
                              std::bit_cast<double>(std::uint64_t{0xfffd} << 48 | 0x1234),
                              std::numeric_limits<double>::infinity(), -0.0}) {
    const SymFloat word(number);
    EXPECT_FALSE(word.is_node());
    EXPECT_EQ(std::isnan(word.expect_float()), std::isnan(number));
  }
}

TEST(Sym, E34_SpansOfPlainWordsAreNotCopied) {
  const std::int64_t ints[] = {2, 3, -1};
  const SymIntSpan words = sym_ints(ints);
  EXPECT_EQ(static_cast<const void*>(words.data()), static_cast<const void*>(ints));
  EXPECT_EQ(words[2].expect_int(), -1);
  EXPECT_EQ(require_ints(words).data(), ints);
  EXPECT_EQ(find_ints(words)->size(), 3u);
  const SymInt mixed[] = {2, Reasoner::symbol("n", 5)};
  EXPECT_EQ(find_ints(mixed), std::nullopt);
  EXPECT_THROWN(require_ints(mixed), BadValue,
                "plain ints are needed here, and number 1 of 2 is symbolic: n");
  const std::int64_t low[] = {kMin};
  EXPECT_THROWN(sym_ints(low), BadValue,
                "-9223372036854775808 does not fit in the word of a SymInt, which begins at -2^62; "
                "copy the numbers into SymInts");
}

TEST(Sym, E34_AValueIsSymbolicOnlyWhereTheNumberIs) {
  EXPECT_TRUE(Value(SymInt(3)).is_int());
  EXPECT_TRUE(Value(SymFloat(3)).is_double());
  EXPECT_TRUE(Value(SymBool(true)).is_bool());
  const Value n(Reasoner::symbol("n", 5));
  EXPECT_TRUE(n.is_sym_int());
  EXPECT_EQ(to_string(n), "n");
  EXPECT_EQ(to_string(n.to<SymInt>() + 1), "(n + 1)");
  EXPECT_EQ(Value(3).to<SymInt>().expect_int(), 3);
  EXPECT_THROWN(n.to_int(), BadArgument,
                "expected Int but got SymInt n, a number that is not known here; a size of this "
                "kind is taken by empty, zeros, full, new_* and views on meta");
  EXPECT_THROWN(Value("text").to_sym_int(), BadArgument, "expected SymInt but got String");
  EXPECT_THROWN(n.to<std::vector<SymInt>>(), BadArgument, "expected GenericList but got SymInt");
}

TEST(Sym, E34_OnlySymbolicTypesTakeSymbolicNumbers) {
  const Value n(Reasoner::symbol("n", 5));
  const Value x(Reasoner::float_symbol("x", 5));
  const Value b(Reasoner::bool_symbol("b", true));
  EXPECT_TRUE(accepts(*base_type(TypeKind::SymInt), n));
  EXPECT_TRUE(accepts(*base_type(TypeKind::SymFloat), x));
  EXPECT_TRUE(accepts(*base_type(TypeKind::SymBool), b));
  EXPECT_TRUE(accepts(*list_of(base_type(TypeKind::SymInt)), Value::list({Value(2), n})));
  EXPECT_FALSE(accepts(*list_of(base_type(TypeKind::Int)), Value::list({Value(2), n})));
  for (const TypeKind kind : {TypeKind::Int, TypeKind::Float, TypeKind::Bool, TypeKind::Scalar,
                              TypeKind::SymFloat, TypeKind::SymBool}) {
    EXPECT_FALSE(accepts(*base_type(kind), n)) << int(kind);
  }
  for (const TypeKind kind : {TypeKind::SymInt, TypeKind::SymFloat, TypeKind::SymBool}) {
    EXPECT_FALSE(accepts(*base_type(kind), Value("text")));
  }
}

}  // namespace
}  // namespace opyard::test_sym
