// kernels/common/walk.cpp: dimension order and joining, and iteration over the rest.
#include "common/walk.h"

#include <opyard/parallel.h>
#include <opyard/tensor/broadcast.h>
#include <opyard/tensor/wrapped_stride.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/releasing.h"

namespace opyard::kernels {
namespace {

// See [Turned]: elements of a piece, and bytes from one element to the next.
constexpr std::int64_t kPiece = 64;
constexpr std::int64_t kFarStep = 256, kNearStep = 16;
constexpr std::int64_t kFewestTurned = 4096, kFewestAcross = 16;

}  // namespace

Walk::Walk(IntSpan sizes) {
  for (std::size_t i = sizes.size(); i-- > 0;) sizes_.push_back(sizes[i]);
  if (sizes_.empty()) sizes_.push_back(1);
}

void Walk::add(std::byte* data, IntSpan sizes, IntSpan strides, std::int64_t item_bytes) {
  OPYARD_ASSERT(count_ < kMostOperands);
  DimVector& steps = steps_[std::size_t(count_)];
  steps.resize(sizes_.size(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t from = sizes.size() - 1 - i;
    steps[i] = wrapped_product(expanded_stride(sizes[from], sizes_[i], strides[from]), item_bytes);
  }
  data_[std::size_t(count_++)] = data;
}

void Walk::add(const Tensor& tensor) {
  add(static_cast<std::byte*>(tensor.impl()->data()), tensor.sizes(), tensor.strides(),
      std::int64_t(item_size(tensor.dtype())));
}

void Walk::add_number(const void* number) {
  OPYARD_ASSERT(count_ < kMostOperands);
  steps_[std::size_t(count_)].resize(sizes_.size(), 0);
  data_[std::size_t(count_++)] = static_cast<std::byte*>(const_cast<void*>(number));
}

// Dimensions of size 1 are no dimensions; of none at all one is left.
void Walk::drop_ones() {
  std::size_t left = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] == 1 && (left > 0 || i + 1 < sizes_.size())) continue;
    sizes_[left] = sizes_[i];
    for (int k = 0; k < count_; ++k) steps_[k][left] = steps_[k][i];
    ++left;
  }
  sizes_.resize(left);
}

// Puts the dimension in which the written operand is densest innermost. Elementwise work may
// be done in any order; a row-major result is in order already.
void Walk::sort() {
  const DimVector& steps = steps_[0];
  for (std::size_t i = 1; i < sizes_.size(); ++i) {
    for (std::size_t j = i; j > 0 && std::llabs(steps[j - 1]) > std::llabs(steps[j]); --j) {
      std::swap(sizes_[j - 1], sizes_[j]);
      for (int k = 0; k < count_; ++k) std::swap(steps_[k][j - 1], steps_[k][j]);
    }
  }
}

// Joins each dimension with the one inside it if every operand goes on seamlessly.
void Walk::join() {
  std::size_t last = 0;
  for (std::size_t i = 1; i < sizes_.size(); ++i) {
    bool seamless = true;
    for (int k = 0; k < count_; ++k) {
      seamless = seamless && steps_[k][i] == steps_[k][last] * sizes_[last];
    }
    if (seamless) {
      sizes_[last] *= sizes_[i];
      continue;
    }
    ++last;
    sizes_[last] = sizes_[i];
    for (int k = 0; k < count_; ++k) steps_[k][last] = steps_[k][i];
  }
  sizes_.resize(last + 1);
}

std::int64_t Walk::prepare() {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes_) all *= size;
  if (all > 0 && sizes_.size() > 1) {
    drop_ones();
    sort();
    join();
  }
  return all;
}

void Walk::run(Loop loop, const void* context) {
  const std::int64_t all = prepare();
  if (all > 0) without_gil_for(all, [&] { step_through(loop, context, 0, all); });
}

void Walk::run_by_many(Loop loop, const void* context) {
  const std::int64_t all = prepare();
  const std::size_t turned = all < kFewestTurned ? 0 : find_turned();
  if (turned == 0) return run_prepared(loop, context, all);
  const std::int64_t in_rest = all / sizes_[0] * (sizes_[0] % kPiece);
  Walk rest = *this;
  rest.skip(sizes_[0] - sizes_[0] % kPiece);
  cut_lines(turned);
  run_prepared(loop, context, all - in_rest);
  rest.run_prepared(loop, context, in_rest);
}

// A dimension in which an operand is dense that is not so in the innermost one; 0 if there is none.
std::size_t Walk::find_turned() const {
  if (sizes_[0] < 2 * kPiece) return 0;
  for (int k = 1; k < count_; ++k) {
    if (std::llabs(steps_[k][0]) < kFarStep) continue;
    for (std::size_t i = 1; i < sizes_.size(); ++i) {
      const std::int64_t step = std::llabs(steps_[k][i]);
      if (step > 0 && step <= kNearStep && sizes_[i] >= kFewestAcross) return i;
    }
  }
  return 0;
}

// Leaves so many elements out at the beginning of each line.
void Walk::skip(std::int64_t elements) {
  sizes_[0] -= elements;
  for (int k = 0; k < count_; ++k) data_[k] += elements * steps_[k][0];
}

// See [Turned]. Innermost come the elements of a piece, then the turned dimension, then the pieces.
// What is behind the last piece of a line is left out.
void Walk::cut_lines(std::size_t turned) {
  const auto in_order = [&](const DimVector& before, std::int64_t of_piece,
                            std::int64_t of_pieces) {
    DimVector all = {of_piece, before[turned], of_pieces};
    for (std::size_t i = 1; i < before.size(); ++i) {
      if (i != turned) all.push_back(before[i]);
    }
    return all;
  };
  for (int k = 0; k < count_; ++k) {
    steps_[k] = in_order(steps_[k], steps_[k][0], steps_[k][0] * kPiece);
  }
  sizes_ = in_order(sizes_, kPiece, sizes_[0] / kPiece);
}

void Walk::run_prepared(Loop loop, const void* context, std::int64_t all) const {
  if (all < 2 * kElementsOfAThread) {
    if (all > 0) without_gil_for(all, [&] { step_through(loop, context, 0, all); });
    return;
  }
  without_gil([&] {
    parallel_for(0, all, kElementsOfAThread, [&](std::int64_t begin, std::int64_t end) {
      step_through(loop, context, begin, end);
    });
  });
}

// The elements from begin to end, counted with the innermost dimension first.
void Walk::step_through(Loop loop, const void* context, std::int64_t begin,
                        std::int64_t end) const {
  std::array<std::int64_t, kMostOperands> steps{};
  std::array<std::byte*, kMostOperands> data = data_;
  for (int k = 0; k < count_; ++k) steps[k] = steps_[k][0];
  if (sizes_.size() == 1) {
    for (int k = 0; k < count_; ++k) data[k] += begin * steps[k];
    return loop(data.data(), steps.data(), end - begin, context);
  }
  DimVector at(sizes_.size(), 0);
  std::int64_t rest = begin;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    at[i] = rest % sizes_[i];
    rest /= sizes_[i];
    for (int k = 0; k < count_; ++k) data[k] += at[i] * steps_[k][i];
  }
  while (true) {
    const std::int64_t here = std::min(sizes_[0] - at[0], end - begin);
    loop(data.data(), steps.data(), here, context);
    begin += here;
    if (begin >= end) return;
    for (int k = 0; k < count_; ++k) data[k] -= at[0] * steps[k];
    at[0] = 0;
    for (std::size_t i = 1; i < sizes_.size(); ++i) {
      ++at[i];
      for (int k = 0; k < count_; ++k) data[k] += steps_[k][i];
      if (at[i] < sizes_[i]) break;
      for (int k = 0; k < count_; ++k) data[k] -= steps_[k][i] * sizes_[i];
      at[i] = 0;
    }
  }
}

}  // namespace opyard::kernels
