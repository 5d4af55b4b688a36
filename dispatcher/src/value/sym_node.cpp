// value/sym_node.cpp: names of symbolic operations.
#include "opyard/value/sym_node.h"

namespace opyard {
namespace {

constexpr const char* kBinary[] = {
#define OPYARD_SYM_BINARY(name, sign) #name,
#include "opyard/value/sym_ops.def"
};
constexpr const char* kUnary[] = {
#define OPYARD_SYM_UNARY(name) #name,
#include "opyard/value/sym_ops.def"
};

}  // namespace

const char* name_of(SymBinary op) noexcept { return kBinary[std::size_t(op)]; }
const char* name_of(SymUnary op) noexcept { return kUnary[std::size_t(op)]; }

const char* name_of(SymKind kind) noexcept {
  switch (kind) {
    case SymKind::Int:
      return "SymInt";
    case SymKind::Float:
      return "SymFloat";
    case SymKind::Bool:
      return "SymBool";
  }
  return "unknown";
}

SymNode::~SymNode() = default;

}  // namespace opyard
