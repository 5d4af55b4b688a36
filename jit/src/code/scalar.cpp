// code/scalar.cpp: the built-in functions of numbers as instructions: read, compute, write.
#include "code/code_data.h"
#include "ir/builtins.h"
#include "ir/scalar_math.h"

namespace opyard::jit {
namespace {

using namespace detail;  // NOLINT: the functions of scalar_math.h

template <typename A, typename F>
const Instruction* unary(const Instruction* instruction, Frame& frame) {
  const A a = scalar_of<A>(frame.read(instruction->b));
  frame.write(instruction->a) = Register(F()(a));
  return instruction + 1;
}

template <typename A, typename B, typename F>
const Instruction* binary(const Instruction* instruction, Frame& frame) {
  const A a = scalar_of<A>(frame.read(instruction->b));
  const B b = scalar_of<B>(frame.read(instruction->c));
  frame.write(instruction->a) = Register(F()(a, b));
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
