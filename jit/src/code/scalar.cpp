// code/scalar.cpp: instructions for built-in functions of numbers.
#include "code/code_data.h"
#include "ir/builtins.h"
#include "ir/scalar_math.h"

namespace opyard::jit {
namespace {

using namespace detail;  // NOLINT: the functions of scalar_math.h

template <typename T>
constexpr Kind kKindOf = Kind::None;
template <>
constexpr Kind kKindOf<std::int64_t> = Kind::Int;
template <>
constexpr Kind kKindOf<double> = Kind::Double;
template <>
constexpr Kind kKindOf<bool> = Kind::Bool;

template <typename T>
T unchecked(const Register& value) {
  if constexpr (std::is_same_v<T, std::int64_t>) return value.int_unchecked();
  if constexpr (std::is_same_v<T, double>) return value.double_unchecked();
  if constexpr (std::is_same_v<T, bool>) return value.bool_unchecked();
}

// No other instruction writes this register, so nothing in it has an owner, and nothing is dropped.
template <typename T>
void put(Register& target, T number) {
  static_assert(kKindOf<T> != Kind::None, "a number without an owner");
  new (static_cast<void*>(&target)) Register(number);
}

template <typename A, typename F>
const Instruction* unary(const Instruction* instruction, Frame& frame) {
  const Register& a = frame.read(instruction->b);
  if (__builtin_expect(a.kind() != kKindOf<A>, 0)) scalar_of<A>(a);  // raises
  put(frame.write(instruction->a), F()(unchecked<A>(a)));
  return instruction + 1;
}

// One branch for both operands: two cost 0.4 of 2.5 ns (test/bench, graph_int).
template <typename A, typename B, typename F>
const Instruction* binary(const Instruction* instruction, Frame& frame) {
  const Register& a = frame.read(instruction->b);
  const Register& b = frame.read(instruction->c);
  const int others = int{a.kind() != kKindOf<A>} | int{b.kind() != kKindOf<B>};
  if (__builtin_expect(others, 0)) {  // one of them raises
    scalar_of<A>(a);
    scalar_of<B>(b);
  }
  put(frame.write(instruction->a), F()(unchecked<A>(a), unchecked<B>(b)));
  return instruction + 1;
}

// The functions of the list have no names; each is a lambda, whose type stands for it.
template <typename A, typename F>
constexpr InstructionFunction unary_of(F) {
  return &unary<A, F>;
}
template <typename A, typename B, typename F>
constexpr InstructionFunction binary_of(F) {
  return &binary<A, B, F>;
}

#define OPYARD_UNARY(schema, A, expression) unary_of<A>([](A a) { return expression; }),
#define OPYARD_BINARY(schema, A, B, expression) \
  binary_of<A, B>([](A a, [[maybe_unused]] B b) { return expression; }),
#define OPYARD_BUILTIN(function, schema) nullptr,
constexpr InstructionFunction kFunctions[] = {
#include "ir/builtins.def"
};
#undef OPYARD_UNARY
#undef OPYARD_BINARY
#undef OPYARD_BUILTIN

}  // namespace

InstructionFunction scalar_function(const Builtin& builtin) { return kFunctions[builtin.index]; }

}  // namespace opyard::jit
