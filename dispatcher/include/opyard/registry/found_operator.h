// opyard/registry/found_operator.h: a typed handle that is found at its first use.
//
//   Tensor expand(const Tensor& self, IntSpan sizes) {
//     static constinit FoundOperator<Tensor(const Tensor&, IntSpan, bool)> op("aten::expand");
//     return op.call(self, sizes, false);
//   }
//
// A `static const auto op = require_operator(…).typed<…>()` has a guard that a second thread waits
// for. If a thread holds it while another one forks, the child waits for ever. This one is made
// without code and found without a lock: several threads may find it at once, and find the same.
//
// Depends on: registry/registry.h, registry/typed.h.
#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include "opyard/detail/registry/typed.h"
#include "opyard/registry/registry.h"

namespace opyard {

// An operator by its name and C++ signature, looked up at the first call.
template <typename Signature>
class FoundOperator;

template <typename R, typename... A>
class FoundOperator<R(A...)> {
 public:
  using Require = const Operator& (*)(std::string_view name);

  // `require` finds it, and raises what should be raised if it is not there.
  explicit constexpr FoundOperator(const char* name, Require require = &require_operator) noexcept
      : name_(name), require_(require) {}
  FoundOperator(const FoundOperator&) = delete;
  FoundOperator& operator=(const FoundOperator&) = delete;

  // Raises NotFound, BadSignature, and what the call raises.
  [[gnu::always_inline]] R call(A... arguments) const {
    const Operator* op = op_.load(std::memory_order_acquire);
    if (__builtin_expect(op == nullptr, 0)) op = &find();
    return TypedOperator<R(A...)>(*op).call(std::forward<A>(arguments)...);
  }

 private:
  OPYARD_COLD const Operator& find() const {
    const Operator& op = require_(name_);
    static_cast<void>(op.typed<R(A...)>());  // raises BadSignature
    op_.store(&op, std::memory_order_release);
    return op;
  }

  const char* const name_;
  const Require require_;
  mutable std::atomic<const Operator*> op_{nullptr};
};

}  // namespace opyard
