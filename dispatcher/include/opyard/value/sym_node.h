// opyard/value/sym_node.h: SymNode: interface of a symbolic number.
//
// A node stands for an int, a float or a bool. What is done with it makes new nodes; asking for its
// value ("guarding") makes the reasoner decide, and remember that it was asked. Nodes are immutable
// and shared. Users write SymInt, SymFloat and SymBool (value/sym.h), which lead to nodes.
//
// Depends on: base/counted.h, value/sym_ops.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "opyard/base/counted.h"
#include "opyard/base/export.h"

namespace opyard {

enum class SymBinary : std::uint8_t {
#define OPYARD_SYM_BINARY(name, sign) name,
#include "opyard/value/sym_ops.def"
};
enum class SymUnary : std::uint8_t {
#define OPYARD_SYM_UNARY(name) name,
#include "opyard/value/sym_ops.def"
};
OPYARD_API const char* name_of(SymBinary op) noexcept;
OPYARD_API const char* name_of(SymUnary op) noexcept;

enum class SymKind : std::uint8_t { Int, Float, Bool };
// "SymInt"
OPYARD_API const char* name_of(SymKind kind) noexcept;

class SymNode;
using SymNodePtr = CountedPtr<const SymNode>;

class OPYARD_API SymNode : public Counted {
 public:
  virtual SymKind kind() const = 0;

  // A node of the same reasoner for a plain number, so that both can be operands of one operation.
  virtual SymNodePtr wrap_int(std::int64_t number) const = 0;
  virtual SymNodePtr wrap_float(double number) const = 0;
  virtual SymNodePtr wrap_bool(bool truth) const = 0;

  // `right` is a node of the same reasoner. Raises what the reasoner raises.
  virtual SymNodePtr apply(SymBinary op, const SymNode& right) const = 0;
  virtual SymNodePtr apply(SymUnary op) const = 0;

  // The value, decided now; `file` and `line` say who asked.
  virtual std::int64_t guard_int(const char* file, int line) const = 0;
  virtual double guard_float(const char* file, int line) const = 0;
  virtual bool guard_bool(const char* file, int line) const = 0;

  // The value if it is known without deciding anything.
  virtual std::optional<std::int64_t> maybe_as_int() const { return std::nullopt; }
  virtual std::optional<double> maybe_as_float() const { return std::nullopt; }
  virtual std::optional<bool> maybe_as_bool() const { return std::nullopt; }

  // For messages.
  virtual std::string text() const = 0;

  // Whether it is no one's: a plain number that does not fit in the word of a SymInt.
  virtual bool is_constant() const noexcept { return false; }

 protected:
  ~SymNode() override;
};

}  // namespace opyard
