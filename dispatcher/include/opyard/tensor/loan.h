// opyard/tensor/loan.h: Loan: memory of a caller as a tensor, for the length of a call.
//
//   Loan loan;                                        once
//   stack.push(Value(loan.begin(array, true)));       for each call
//   op.call_boxed(stack);
//   stack.drop(1);
//   loan.end();
//
// A loan keeps its tensor from call to call, so beginning one allocates nothing. The memory is the
// caller's, and only for the call: if a kernel has kept the tensor, or a view of it, end() gives
// what is kept a copy of the elements, and the loan gets another tensor. A kernel that goes on in
// another thread after it has returned must not read the tensor there while end() runs.
//
// One thread at a time uses a loan. Depends on: detail/tensor/exported_tensor.h.
#pragma once

#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/tensor/dlpack.h"

namespace opyard {

class OPYARD_API Loan {
 public:
  // Raises bad_alloc.
  Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  // Ends a loan. What is kept loses its elements if there is no memory for a copy.
  ~Loan();

  // A tensor on the memory of `array`, which is looked at only now. Raises what from_dlpack()
  // raises, BadValue if a loan has begun and not ended.
  Tensor begin(const dlpack::DLTensor& array, bool read_only);
  // Ends it; the caller has no owner of the tensor any more. Nothing if none has begun. Raises
  // bad_alloc if what is kept needs a copy: it has no elements then.
  void end();

 private:
  void end_other();

  ExportedTensor tensor_;
  Tensor other_;  // of an array that is out of the ordinary for ExportedTensor
  bool is_begun_ = false;
};

// Copies the elements of a tensor, of any strides, into memory of a caller. Raises BadShape for
// other sizes, BadArgument for another dtype, and what from_dlpack() raises for the memory.
OPYARD_API void copy_into(const dlpack::DLTensor& array, const Tensor& from);

}  // namespace opyard
