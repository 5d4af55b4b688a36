// kernels/pointwise/elementwise.h: an operator that computes each result element from one element
// of each input.
//
//   Elementwise call("aten::maximum", self, other);
//   const DType dtype = call.common();
//   return call.run({call.choose(kMaximum, dtype), dtype, dtype});
//
// The inputs are promoted (dtypes.h [Promotion]), converted to the dtype that is computed in, and
// broadcast, and the result keeps the order of their dimensions (order.h). The loop sees lines of
// result, then inputs in order. A dtype without loops of its own is carried by another
// (loops/loop.h [Carriers]).
//
// Depends on: common/broadcast.h, common/check.h, common/dtypes.h, common/walk.h.
#pragma once

#include <array>
#include <vector>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/dtypes.h"
#include "common/walk.h"

namespace opyard::kernels {

struct Computation {
  Loop loop;
  DType computed;  // what the inputs are converted to
  DType result;    // what the loop writes
  Number context{};
  bool exact_numbers = false;  // float16 and bfloat16 meet numbers in float32, not in their dtype
  bool in_order = false;       // uint64 is carried in order, not as bits
};

// [Small calls] What comes before the loop is most of the work of a small call. So tensors that are
// all as the loop takes them, plain, row-major, few elements, of one dtype and of the same sizes,
// take this shorter way, which makes the result and runs the loop (bench row small_add). For others
// it gives an undefined tensor, and Elementwise says what is wrong with them, if anything is.
Tensor of_alike(const Loops& loops, const Tensor& self);
Tensor of_alike(const Loops& loops, const Tensor& self, const Tensor& other);
// The same, with a result of another dtype than theirs.
Tensor of_alike(const Loops& loops, const Tensor& self, const Tensor& other, DType result);
// The same with a number that does not change the dtype. Raises as number_in() does.
Tensor of_number(const char* op, const Loops& loops, const Tensor& self, const Scalar& other);
Tensor of_number(const char* op, const Loops& loops, const Tensor& self, const Scalar& other,
                 DType result);

class Elementwise {
 public:
  explicit Elementwise(const char* op) : op_(op) {}
  // Inputs called self and other.
  Elementwise(const char* op, const Tensor& self) : op_(op) { input("self", self); }
  Elementwise(const char* op, const Tensor& self, const Tensor& other) : Elementwise(op, self) {
    input("other", other);
  }
  Elementwise(const char* op, const Tensor& self, const Scalar& other) : Elementwise(op, self) {
    input("other", other);
  }

  // Tensors and numbers outlive this object. Raises as require_cpu() does.
  void input(const char* name, const Tensor& tensor);
  void input(const char* name, const Scalar& number);
  // A bool tensor that has no part in promotion and stays bool. Raises BadArgument.
  void mask(const char* name, const Tensor& tensor);
  // A number that is converted to the computed dtype and has no part in promotion.
  void constant(const char* name, const Scalar& number);
  // A number that has a part in promotion only.
  void promote_with(const Scalar& number) { promotion_.add(number); }

  const char* op() const noexcept { return op_; }
  DType common() const { return promotion_.result(); }
  // The loop for a dtype, or for what carries it. Raises Unsupported, listing the dtypes that have
  // one. Refuses uint64.
  Loop choose(const Loops& loops, DType dtype) const;
  // The same, for a computation that gives uint64 right: see loop.h [Unsigned].
  Loop choose_for_all(const Loops& loops, DType dtype) const;
  // A number as a loop's context holds it: in what carries the dtype. Raises as number_in() does.
  Number number(const char* name, const Scalar& scalar, DType dtype) const;
  // The device of the result: meta if an input is there.
  Device device() const;
  // The sizes of the result. Raises BadShape if the inputs do not broadcast.
  DimVector sizes() const;
  std::vector<NamedTensor> named_tensors() const;

  Tensor run(const Computation& computation) const;
  // Writes the result to a tensor that its owner sees, bumps its version and returns it.
  // Raises as the functions of write.h do, before anything is written.
  Tensor& run_into(const char* name, Tensor& written, const Computation& computation) const;

 private:
  enum class Role : std::uint8_t { Tensor, Mask, Number };
  struct Input {
    const char* name = nullptr;
    Role role = Role::Tensor;
    const opyard::Tensor* tensor = nullptr;
    const Scalar* number = nullptr;
  };
  static constexpr std::size_t kMostInputs = Walk::kMostOperands - 1;

  Input& next(const char* name, Role role);
  Loop find_loop(const Loops& loops, DType dtype, bool of_all) const;
  void compute(const opyard::Tensor& result, const Computation& computation,
               bool shares_memory) const;
  void compute_carried(const opyard::Tensor& result, const Computation& computation,
                       bool shares_memory) const;
  void compute_with(const opyard::Tensor& result, const Computation& computation, Loop loop,
                    const void* context, bool shares_memory) const;
  Number number_for(const Input& input, const Computation& computation) const;
  bool is_symbolic() const;
  opyard::Tensor symbolic_result(DType dtype) const;
  bool are_alike(const Computation& computation) const;
  opyard::Tensor run_alike(const Computation& computation) const;
  bool compute_plainly(const opyard::Tensor& result, const Computation& computation, Loop loop,
                       const void* context, bool shares_memory) const;
  opyard::Tensor empty_result(DType dtype) const;
  std::string describe_inputs() const;

  const char* op_;
  std::array<Input, kMostInputs> inputs_{};
  std::size_t count_ = 0;
  Promotion promotion_;
};

}  // namespace opyard::kernels
