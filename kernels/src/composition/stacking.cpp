// kernels/composition/stacking.cpp: tensors joined after they got the dimensions for it, and
// repeated: hstack, vstack, dstack, column_stack, block_diag, tile, cartesian_prod, combinations.
#include <algorithm>
#include <numeric>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// Raises BadArgument for a list without tensors, or with one that is undefined.
void require_tensors(const char* op, const Tensors& tensors) {
  if (tensors.empty()) {
    refuse(ErrorKind::BadArgument, {op, ": tensors is an empty list; at least one is needed"});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    require_defined(op, text_of({"tensors[", i, "]"}).c_str(), tensors[i]);
  }
}

// With as many dimensions as are asked for at least: those of size 1 come before the others, but
// for a third one, which comes behind them.
Tensor raised(const Tensor& tensor, std::int64_t dims) {
  Tensor result = tensor;
  while (result.dim() < std::min<std::int64_t>(dims, 2)) result = ops::unsqueeze(result, 0);
  return result.dim() < dims ? ops::unsqueeze(result, -1) : result;
}
Tensors all_raised(const char* op, const Tensors& tensors, std::int64_t dims) {
  require_tensors(op, tensors);
  Tensors result;
  for (const Tensor& tensor : tensors) result.push_back(raised(tensor, dims));
  return result;
}

Tensor joined(const char* op, const Tensors& tensors, std::int64_t dim) {
  return named(op, "aten::cat", [&] { return cat(tensors, dim); });
}

Tensor hstack(const Tensors& tensors) {
  constexpr const char* kOp = "aten::hstack";
  const Tensors all = all_raised(kOp, tensors, 1);
  return joined(kOp, all, all[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(const Tensors& tensors) {
  constexpr const char* kOp = "aten::vstack";
  return joined(kOp, all_raised(kOp, tensors, 2), 0);
}
Tensor dstack(const Tensors& tensors) {
  constexpr const char* kOp = "aten::dstack";
  return joined(kOp, all_raised(kOp, tensors, 3), 2);
}
Tensor column_stack(const Tensors& tensors) {
  constexpr const char* kOp = "aten::column_stack";
  require_tensors(kOp, tensors);
  Tensors columns;
  for (const Tensor& tensor : tensors) {
    columns.push_back(tensor.dim() < 2 ? ops::unsqueeze(raised(tensor, 1), 1) : tensor);
  }
  return joined(kOp, columns, 1);
}

// Each block as rows of the result, between zeros.
Tensor block_diag(const Tensors& tensors) {
  constexpr const char* kOp = "aten::block_diag";
  if (tensors.empty()) return Tensor::empty(std::array<std::int64_t, 2>{1, 0}, kDefaultFloat);
  require_tensors(kOp, tensors);
  Promotion promotion;
  DimVector columns = {0};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dim() > 2) {
      refuse(ErrorKind::BadShape,
             {kOp, ": tensors[", i, "] is ", tensors[i], "; at most two dimensions are accepted"});
    }
    promotion.add(tensors[i]);
    const std::int64_t own = tensors[i].dim() == 0 ? 1 : tensors[i].size(-1);
    std::int64_t all = 0;
    if (__builtin_add_overflow(columns.back(), own, &all)) {
      refuse(ErrorKind::BadShape, {kOp, ": tensors[", i, "] is ", tensors[i],
                                   "; the columns of all tensors must fit in 64 bits"});
    }
    columns.push_back(all);
  }
  Tensors rows;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor block = to(raised(tensors[i], 2), promotion.result());
    const std::array before = {block.size(0), columns[i]};
    const std::array after = {block.size(0), columns.back() - columns[i + 1]};
    rows.push_back(cat({zeros(block, before), block, zeros(block, after)}, 1));
  }
  return cat(rows, 0);
}

Tensor tile(const Tensor& self, IntSpan dims) {
  constexpr const char* kOp = "aten::tile";
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> repeat("aten::repeat");
  require_defined(kOp, "self", self);
  require_sizes(kOp, dims);
  DimVector repeats;
  for (auto i = std::int64_t(dims.size()); i < self.dim(); ++i) repeats.push_back(1);
  for (const std::int64_t times : dims) repeats.push_back(times);
  return repeat.call(self, repeats);
}

void require_row_tensor(const char* op, const char* argument, const Tensor& tensor) {
  if (tensor.dim() != 1) {
    refuse(ErrorKind::BadShape, {op, ": ", argument, " is ", tensor, "; one dimension is needed"});
  }
}

Tensor cartesian_prod(const Tensors& tensors) {
  constexpr const char* kOp = "aten::cartesian_prod";
  require_tensors(kOp, tensors);
  DimVector sizes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    require_row_tensor(kOp, text_of({"tensors[", i, "]"}).c_str(), tensors[i]);
    if (tensors[i].dtype() != tensors[0].dtype()) {
      refuse(ErrorKind::BadArgument, {kOp, ": tensors[0] is ", tensors[0], " and tensors[", i,
                                      "] is ", tensors[i], "; all need one dtype"});
    }
    sizes.push_back(tensors[i].numel());
  }
  if (tensors.size() == 1) return tensors[0];
  DimVector all(sizes);
  all.push_back(std::int64_t(tensors.size()));
  require_sizes_of(kOp, "the result", all, tensors[0].dtype());
  const std::array flat = {count_elements(sizes)};
  Tensors columns;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    DimVector own(sizes.size(), 1);
    own[i] = sizes[i];
    columns.push_back(reshape(ops::expand(reshape(tensors[i], own), sizes), flat));
  }
  return stack(columns, 1);
}

// How many ways there are to choose `r` of `count` without repetition. Raises BadShape.
std::int64_t ways_to_choose(const char* op, std::int64_t count, std::int64_t r) {
  if (r > count) return 0;
  std::int64_t ways = 1;
  for (std::int64_t i = 0; i < std::min(r, count - r); ++i) {
    const std::int64_t shared = std::gcd(ways, i + 1);
    const std::int64_t factor = (count - i) / ((i + 1) / shared);
    if (__builtin_mul_overflow(ways / shared, factor, &ways)) {
      refuse(ErrorKind::BadShape, {op, ": self has ", count, " elements and r is ", r,
                                   "; the number of combinations must fit in 64 bits"});
    }
  }
  return ways;
}

// The positions of each combination, in the order of a dictionary.
void list_combinations(std::int64_t* out, std::int64_t ways, std::int64_t count, std::int64_t r,
                       bool with_replacement) {
  std::vector<std::int64_t> chosen(std::size_t(r), 0);
  const std::int64_t apart = with_replacement ? 0 : 1;
  for (std::int64_t i = 0; i < r; ++i) chosen[std::size_t(i)] = i * apart;
  for (std::int64_t way = 0; way < ways; ++way) {
    out = std::ranges::copy(chosen, out).out;
    std::int64_t last = r - 1;
    while (last >= 0 && chosen[std::size_t(last)] == count - 1 - (r - 1 - last) * apart) --last;
    if (last < 0) return;
    const std::int64_t next = chosen[std::size_t(last)] + 1;
    for (std::int64_t i = last; i < r; ++i) chosen[std::size_t(i)] = next + (i - last) * apart;
  }
}

Tensor combinations(const Tensor& self, std::int64_t r, bool with_replacement) {
  constexpr const char* kOp = "aten::combinations";
  require_defined(kOp, "self", self);
  require_row_tensor(kOp, "self", self);
  if (r < 0) {
    refuse(ErrorKind::BadValue, {kOp, ": r is ", r, "; accepted are 0 and more"});
  }
  const std::int64_t count = self.numel();
  if (r == 0) return full(self, std::array<std::int64_t, 1>{0}, false);
  std::int64_t from = count;
  if (with_replacement && count > 0 && __builtin_add_overflow(count, r - 1, &from)) {
    refuse(ErrorKind::BadShape, {kOp, ": self has ", count, " elements and r is ", r,
                                 "; their sum must fit in 64 bits"});
  }
  const std::array sizes = {ways_to_choose(kOp, from, r), r};
  require_sizes_of(kOp, "the result", sizes, DType::Int64);
  const std::array flat = {sizes[0] * r};
  const Tensor chosen = empty_beside(self, flat, DType::Int64);
  if (!is_meta(self) && sizes[0] > 0) {
    without_gil_for(flat[0], [&] {
      list_combinations(elements_of<std::int64_t>(chosen), sizes[0], count, r, with_replacement);
    });
  }
  return reshape(index_select(self, 0, chosen), sizes);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("hstack(Tensor[] tensors) -> Tensor", &hstack);
  m.def("vstack(Tensor[] tensors) -> Tensor", &vstack);
  m.def("dstack(Tensor[] tensors) -> Tensor", &dstack);
  m.def("column_stack(Tensor[] tensors) -> Tensor", &column_stack);
  m.def("block_diag(Tensor[] tensors) -> Tensor", &block_diag);
  m.def("tile(Tensor self, SymInt[] dims) -> Tensor",
        Kernel::with_symbolic<&tile, &symbolic_repeat>());
  m.def("cartesian_prod(Tensor[] tensors) -> Tensor", &cartesian_prod);
  m.def("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", &combinations);
}

}  // namespace opyard::kernels
