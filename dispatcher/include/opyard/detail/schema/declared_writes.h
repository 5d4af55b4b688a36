// opyard/detail/schema/declared_writes.h: declared writes and views, and counting writes.
//
// A kernel in C++ or C counts a write when it asks for memory that it may write. One that writes by
// other means, as a function in Python by NumPy, counts nothing, and a saved tensor that it changed
// would be taken for unchanged. So whoever runs such a kernel holds a DeclaredWrites around it:
//
//   const DeclaredWrites counted(op.schema(), arguments);
//   … the kernel runs
//
// At its end, also by an exception, each memory that the schema says is written and that no one has
// counted is counted once. Calls of kernels in C++ that write nothing do not come here. What only
// calls others that count, as a handler or the tape, is run by unless_raised(): a call that refuses
// its arguments is no write.
//
// Depends on: schema/schema.h, tensor/tensor.h, base/few.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "opyard/detail/base/few.h"
#include "opyard/schema/schema.h"
#include "opyard/tensor/tensor.h"
#include "opyard/value/value.h"

namespace opyard {

inline constexpr int kNoArgument = -1;

// The position of the written argument that a result is, by their alias sets, or kNoArgument.
OPYARD_API int returned_argument(const Schema& schema, const Argument& result);
// The same for each result. Empty if no result is an argument.
OPYARD_API std::vector<int> returned_arguments(const Schema& schema);
// For each result the position of the argument that it is a view of, or kNoArgument; an argument
// that is written is none. Empty if no result is a view.
OPYARD_API std::vector<int> viewed_arguments(const Schema& schema);
// The view of an operator of this name has a history of its own.
inline bool is_detach(const OperatorName& name) noexcept {
  return name.name == "aten::detach" || name.name == "aten::detach_";
}

class DeclaredWrites {
 public:
  DeclaredWrites() noexcept = default;
  DeclaredWrites(const Schema& schema, std::span<const Value> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = schema.arguments[i];
      if (__builtin_expect(bool(argument.alias), 0) && argument.is_write()) add(arguments[i]);
    }
  }
  DeclaredWrites(const DeclaredWrites&) = delete;
  DeclaredWrites& operator=(const DeclaredWrites&) = delete;
  ~DeclaredWrites() {
    if (__builtin_expect(!written_.empty(), 0)) count();
  }

  OPYARD_API void add(const Tensor& tensor);
  // No kernel has run after all.
  void drop() noexcept { written_.clear(); }
  // Of what counts its own writes: if it raises it has made no others.
  template <typename Body>
  auto unless_raised(const Body& body) {
    try {
      return body();
    } catch (...) {
      drop();
      throw;
    }
  }

 private:
  struct Written {
    Tensor tensor;  // and not its storage, which a kernel that resizes must find unshared
    std::uint32_t version;
  };
  OPYARD_API void add(const Value& value);
  OPYARD_API void count() const noexcept;

  Few<Written, 1> written_;
};

}  // namespace opyard
