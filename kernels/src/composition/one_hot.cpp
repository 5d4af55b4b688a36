// kernels/composition/one_hot.cpp: one_hot: classes as rows of zeros with a 1 at the class.
#include <limits>

#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

std::int64_t number_of_classes(const char* op, const Tensor& self) {
  static constinit FoundOperator<Tensor(const Tensor&)> max("aten::max");
  static constinit FoundOperator<Scalar(const Tensor&)> item("aten::item");
  if (self.numel() == 0) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self,
                                 " and num_classes is -1; without elements the number of classes "
                                 "is not known, so give num_classes"});
  }
  if (is_meta(self)) {
    refuse(ErrorKind::Unsupported,
           {op, ": self is ", self,
            " on meta, whose elements would say the number of classes; give num_classes"});
  }
  const std::int64_t last = item.call(max.call(self)).to_int();
  if (last == std::numeric_limits<std::int64_t>::max()) {
    refuse(ErrorKind::BadValue,
           {op, ": the largest class is ", last, ", and there are no numbers for so many classes"});
  }
  return last + 1;
}

// A class that is not among them raises BadIndex, from scatter.
Tensor one_hot(const Tensor& self, std::int64_t num_classes) {
  constexpr const char* kOp = "aten::one_hot";
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, const Tensor&, const Scalar&)>
      scatter("aten::scatter.value");
  require_defined(kOp, "self", self);
  if (self.dtype() != DType::Int64 && self.dtype() != DType::Int32) {
    refuse(ErrorKind::BadArgument, {kOp, ": self is ", self, "; accepted are int64 and int32"});
  }
  if (num_classes < 1 && num_classes != -1) {
    refuse(ErrorKind::BadValue, {kOp, ": num_classes is ", num_classes,
                                 "; accepted are 1 and more, and -1 for as many as there are"});
  }
  DimVector sizes(self.sizes());
  sizes.push_back(num_classes == -1 ? number_of_classes(kOp, self) : num_classes);
  const Tensor none = full(self, sizes, 0, DType::Int64);
  return self.numel() == 0 ? none : scatter.call(none, -1, ops::unsqueeze(self, -1), 1);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, "one_hot(Tensor self, int num_classes=-1) -> Tensor");
  m.impl("one_hot", &one_hot);
}

}  // namespace opyard::kernels
