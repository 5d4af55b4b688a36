// kernels/composition/areas.cpp: differences of neighbours, and the areas below lines from each
// value to the next: diff, trapezoid, trapz, cumulative_trapezoid.
#include <algorithm>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/halves.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor all_but_first(const Tensor& x, std::int64_t dim) { return slice(x, dim, 1, std::nullopt); }
Tensor all_but_last(const Tensor& x, std::int64_t dim) { return slice(x, dim, std::nullopt, -1); }

std::int64_t require_line(const char* op, const char* argument, const Tensor& x, std::int64_t dim) {
  require_defined(op, argument, x);
  if (x.dim() == 0) {
    refuse(ErrorKind::BadShape, {op, ": ", argument, " is ", x, "; a dimension is needed"});
  }
  return wrap_dim(op, dim, x.dim());
}

Tensor diff(const Tensor& self, std::int64_t n, std::int64_t dim, const MaybeTensor& prepend,
            const MaybeTensor& append) {
  constexpr const char* kOp = "aten::diff";
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> are_unequal(
      "aten::logical_xor");
  const std::int64_t at = require_line(kOp, "self", self, dim);
  if (n < 0) refuse(ErrorKind::BadValue, {kOp, ": n is ", n, "; accepted are 0 and more"});
  if (n == 0) return clone(self);
  std::vector<Tensor> parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(self);
  if (append) parts.push_back(*append);
  Tensor result = parts.size() == 1 ? self : cat(parts, at);
  for (std::int64_t i = std::min(n, result.size(at)); i > 0; --i) {
    const Tensor later = all_but_first(result, at), sooner = all_but_last(result, at);
    result = self.dtype() == DType::Bool && later.dtype() == DType::Bool
                 ? are_unequal.call(later, sooner)
                 : later - sooner;
  }
  return result;
}

void require_no_bool(const char* op, const char* argument, const Tensor& x) {
  if (x.dtype() == DType::Bool) {
    refuse(ErrorKind::BadArgument, {op, ": ", argument, " is ", x,
                                    "; numbers are needed, to which aten::to.dtype "
                                    "converts"});
  }
}
Tensor running_sum(const Tensor& x, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, MaybeDType)> op(
      "aten::cumsum");
  return op.call(x, dim, std::nullopt);
}
Tensor neighbours_added(const Tensor& y, std::int64_t dim) {
  return all_but_last(y, dim) + all_but_first(y, dim);
}
// Zeros for each line along a dimension that has no elements.
Tensor no_areas(const Tensor& y, std::int64_t dim) {
  DimVector sizes;
  for (std::int64_t i = 0; i < y.dim(); ++i) {
    if (i != dim) sizes.push_back(y.size(i));
  }
  return zeros(y, sizes);
}

// The distances between the places of values along dimension `at` of y. Places in one dimension are
// along that one.
Tensor trapezoid_distances(const char* op, const Tensor& y, const Tensor& x, std::int64_t at) {
  DimVector sizes(x.sizes());
  if (x.dim() == 1) {
    if (x.numel() != y.size(at)) {
      refuse(ErrorKind::BadShape,
             {op, ": x is ", x, " and y is ", y, "; a place is needed for each of the ", y.size(at),
              " values along dimension ", at});
    }
    sizes = DimVector(std::size_t(y.dim()), 1);
    sizes[std::size_t(at)] = x.numel();
  } else if (x.dim() < y.dim()) {
    sizes = DimVector(std::size_t(y.dim() - x.dim()), 1);
    for (const std::int64_t size : x.sizes()) sizes.push_back(size);
  }
  const Tensor places = reshape(x, sizes);
  require_broadcast(op, {{"y", y}, {"x", places}});
  return all_but_first(places, at) - all_but_last(places, at);
}
void require_sample_places(const char* op, const Tensor& y, const Tensor& x) {
  require_defined(op, "x", x);
  require_no_bool(op, "y", y);
  require_no_bool(op, "x", x);
}
double require_distance(const char* op, const Scalar& dx) {
  if (dx.is_complex() || dx.is_bool()) {
    refuse(ErrorKind::BadArgument, {op, ": dx is ", dx, "; accepted are ints and floats"});
  }
  return dx.to_double();
}

Tensor area_at(const char* op, const Tensor& y, const Tensor& x, std::int64_t dim) {
  const std::int64_t at = require_line(op, "y", y, dim);
  require_sample_places(op, y, x);
  if (y.size(at) == 0) return no_areas(y, at);
  const auto [values, places] = promoted(op, {{"y", y}, {"x", x}});
  const Tensor widths = trapezoid_distances(op, values, places, at);
  return sum(neighbours_added(values, at) * widths, std::array{at}) / 2.0;
}
// Half of the first value and of the last, and all of those between.
Tensor area(const char* op, const Tensor& y, const Scalar& dx, std::int64_t dim) {
  const std::int64_t at = require_line(op, "y", y, dim);
  require_no_bool(op, "y", y);
  const double distance = require_distance(op, dx);
  if (y.size(at) == 0) return no_areas(y, at);
  const Tensor ends = (ops::select(y, at, 0) + ops::select(y, at, -1)) * 0.5;
  return (sum(y, std::array{at}) - ends) * distance;
}
Tensor trapezoid_at(const Tensor& y, const Tensor& x, std::int64_t dim) {
  return area_at("aten::trapezoid.x", y, x, dim);
}
Tensor trapezoid(const Tensor& y, const Scalar& dx, std::int64_t dim) {
  return area("aten::trapezoid.dx", y, dx, dim);
}
Tensor trapz_at(const Tensor& y, const Tensor& x, std::int64_t dim) {
  return area_at("aten::trapz.x", y, x, dim);
}
Tensor trapz(const Tensor& y, double dx, std::int64_t dim) {
  return area("aten::trapz.dx", y, dx, dim);
}
Tensor cumulative_trapezoid_at(const Tensor& y, const Tensor& x, std::int64_t dim) {
  constexpr const char* kOp = "aten::cumulative_trapezoid.x";
  const std::int64_t at = require_line(kOp, "y", y, dim);
  require_sample_places(kOp, y, x);
  const auto [values, places] = promoted(kOp, {{"y", y}, {"x", x}});
  const Tensor widths = trapezoid_distances(kOp, values, places, at);
  return running_sum(neighbours_added(values, at) * widths, at) / 2.0;
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, std::int64_t dim) {
  constexpr const char* kOp = "aten::cumulative_trapezoid.dx";
  const std::int64_t at = require_line(kOp, "y", y, dim);
  require_no_bool(kOp, "y", y);
  return running_sum(neighbours_added(y, at) * (require_distance(kOp, dx) / 2), at);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def(
      "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
      &diff);
  m.def("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", &trapezoid_at);
  m.def("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", &trapezoid);
  m.def("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", &trapz_at);
  m.def("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor", &trapz);
  m.def("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        &cumulative_trapezoid_at);
  m.def("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
        &cumulative_trapezoid);
}

}  // namespace opyard::kernels
