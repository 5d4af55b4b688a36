// kernels/composition/matrices.cpp: products of several matrices, and powers of one: linalg_matmul,
// linalg_multi_dot, chain_matmul, matrix_power.
#include <algorithm>
#include <limits>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor linalg_matmul(const Tensor& self, const Tensor& other) {
  constexpr const char* kOp = "aten::linalg_matmul";
  require_defined(kOp, "self", self);
  require_defined(kOp, "other", other);
  if (self.dtype() != other.dtype()) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": self is ", self, " and other is ", other, "; both need one dtype"});
  }
  return named(kOp, "aten::matmul", [&] { return matmul(self, other); });
}

// Where each chain of factors is split so that the fewest numbers are multiplied. `cost` and
// `split` are tables of first and last factor; a chain of one costs nothing.
class Order {
 public:
  // Factor i has sizes[i] rows and sizes[i + 1] columns.
  explicit Order(const std::vector<double>& sizes) : count_(sizes.size() - 1) {
    std::vector<double> cost(count_ * count_, 0);
    split_.resize(count_ * count_);
    for (std::size_t length = 1; length < count_; ++length) {
      for (std::size_t first = 0; first + length < count_; ++first) {
        const std::size_t last = first + length;
        double& least = cost[first * count_ + last] = std::numeric_limits<double>::infinity();
        for (std::size_t at = first; at < last; ++at) {
          const double own = sizes[first] * sizes[at + 1] * sizes[last + 1];
          const double all = cost[first * count_ + at] + cost[(at + 1) * count_ + last] + own;
          if (all >= least) continue;
          least = all;
          split_[first * count_ + last] = at;
        }
      }
    }
  }
  Tensor multiply(const Tensors& factors, std::size_t first, std::size_t last) const {
    if (first == last) return factors[first];
    const std::size_t at = split_[first * count_ + last];
    return mm(multiply(factors, first, at), multiply(factors, at + 1, last));
  }

 private:
  std::size_t count_;
  std::vector<std::size_t> split_;
};

// The factors as matrices: the first may be a row, and the last a column. Raises BadShape,
// BadArgument.
Tensors as_matrices(const char* op, const char* argument, const Tensors& tensors) {
  Tensors factors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& each = tensors[i];
    const std::string name = text_of({argument, "[", i, "]"});
    require_defined(op, name.c_str(), each);
    const bool is_outer = i == 0 || i + 1 == tensors.size();
    if (each.dim() != 2 && !(is_outer && each.dim() == 1)) {
      refuse(ErrorKind::BadShape, {op, ": ", name, " is ", each, "; two dimensions are needed",
                                   is_outer ? ", or one" : ""});
    }
    if (each.dtype() != tensors[0].dtype()) {
      refuse(ErrorKind::BadArgument, {op, ": ", argument, "[0] is ", tensors[0], " and ", name,
                                      " is ", each, "; all need one dtype"});
    }
    factors.push_back(each.dim() == 2 ? each : ops::unsqueeze(each, i == 0 ? 0 : 1));
    if (i > 0 && factors[i - 1].size(1) != factors[i].size(0)) {
      refuse(ErrorKind::BadShape,
             {op, ": ", argument, "[", i - 1, "] is ", tensors[i - 1], " and ", name, " is ", each,
              "; the columns of one must be as many as "
              "the rows of the next"});
    }
  }
  return factors;
}
Tensor multiplied(const char* op, const char* argument, const Tensors& tensors) {
  const Tensors factors = as_matrices(op, argument, tensors);
  std::vector<double> sizes = {double(factors[0].size(0))};
  for (const Tensor& factor : factors) sizes.push_back(double(factor.size(1)));
  const Tensor result = Order(sizes).multiply(factors, 0, factors.size() - 1);
  DimVector outer;
  if (tensors.front().dim() == 2) outer.push_back(result.size(0));
  if (tensors.back().dim() == 2) outer.push_back(result.size(1));
  return outer.size() == 2 ? result : reshape(result, outer);
}
Tensor multi_dot(const Tensors& tensors) {
  constexpr const char* kOp = "aten::linalg_multi_dot";
  if (tensors.size() < 2) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": tensors has ", tensors.size(), tensors.size() == 1 ? " factor" : " factors",
            "; two or more are needed"});
  }
  return multiplied(kOp, "tensors", tensors);
}
Tensor chain_matmul(const Tensors& matrices) {
  constexpr const char* kOp = "aten::chain_matmul";
  if (matrices.empty()) {
    refuse(ErrorKind::BadArgument, {kOp, ": matrices is an empty list; at least one is needed"});
  }
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    require_defined(kOp, text_of({"matrices[", i, "]"}).c_str(), matrices[i]);
    if (matrices[i].dim() != 2) {
      refuse(ErrorKind::BadShape,
             {kOp, ": matrices[", i, "] is ", matrices[i], "; two dimensions are needed"});
    }
  }
  return matrices.size() == 1 ? clone(matrices[0]) : multiplied(kOp, "matrices", matrices);
}

// Of self, so that its gradient is zero.
Tensor identity_like(const Tensor& self) {
  const Tensor rows = ops::unsqueeze(arange(self, self.size(-1)), 1);
  const Tensor is_on_diagonal = equals(rows, ops::unsqueeze(arange(self, self.size(-1)), 0));
  return contiguous(masked(masked(self, is_on_diagonal, 1), negation(is_on_diagonal), 0));
}
// The product of those squares, squares of squares and so on that n has a bit for.
Tensor power_of(const char* op, const Tensor& self, std::int64_t n) {
  static constinit FoundOperator<Tensor(const Tensor&)> inverse("aten::linalg_inv");
  require_defined(op, "self", self);
  if (self.dim() < 2 || self.size(-1) != self.size(-2)) {
    refuse(ErrorKind::BadShape,
           {op, ": self is ", self, "; a square matrix is needed, or a batch of them"});
  }
  if (n == 0) return identity_like(self);
  if (n == 1) return contiguous(clone(self));
  Tensor square = n < 0 ? inverse.call(self) : self;
  Tensor result;
  for (std::uint64_t rest = n < 0 ? -std::uint64_t(n) : std::uint64_t(n); rest != 0;) {
    if ((rest & 1) != 0) result = result.defined() ? matmul(result, square) : square;
    rest >>= 1;
    if (rest != 0) square = matmul(square, square);
  }
  return result;
}
Tensor linalg_matrix_power(const Tensor& self, std::int64_t n) {
  return power_of("aten::linalg_matrix_power", self, n);
}
Tensor matrix_power(const Tensor& self, std::int64_t n) {
  return power_of("aten::matrix_power", self, n);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("linalg_matmul(Tensor self, Tensor other) -> Tensor", &linalg_matmul);
  m.def("linalg_multi_dot(Tensor[] tensors) -> Tensor", &multi_dot);
  m.def("chain_matmul(Tensor[] matrices) -> Tensor", &chain_matmul);
  m.def("linalg_matrix_power(Tensor self, int n) -> Tensor", &linalg_matrix_power);
  m.def("matrix_power(Tensor self, int n) -> Tensor", &matrix_power);
}

}  // namespace opyard::kernels
