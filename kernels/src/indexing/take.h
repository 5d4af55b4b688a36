// kernels/indexing/take.h: elements by lists of positions: reading them out, and writing to them.
//
//   self      [before …, indexed …, after …]
//   selected  [before …, B …,       after …]
//
// Positions in several dimensions broadcast to common sizes B, which come where the indexed
// dimensions were if those are neighbours, and else come first.
//
// Depends on: common/check.h.
#pragma once

#include <string>
#include <vector>

#include "common/check.h"

namespace opyard::kernels {

// Positions in one dimension of a tensor.
struct Positions {
  std::size_t dim;
  Tensor index;      // int64
  std::string name;  // in messages: "indices[0]"
};

// Works on every dtype. The tensor outlives this object.
class Selection {
 public:
  // At least one position, in order of dimensions. Positions may count from the end if
  // `negative` says so. Raises BadShape if positions do not broadcast; BadIndex, naming the
  // place in the index, if one is out of range.
  Selection(const char* op, const Tensor& self, const std::vector<Positions>& positions,
            bool negative);

  // The sizes of what is selected.
  const DimVector& sizes() const noexcept { return sizes_; }

  // The selected elements, in a new tensor.
  Tensor read() const;
  // Writes values, which are row-major and have the selected sizes and self's dtype. If a
  // position occurs twice the later value stays.
  void write(const Tensor& values) const;
  // Adds values likewise, for each time that a position occurs.
  void add(const Tensor& values) const;

 private:
  struct Dim {
    std::int64_t size;
    std::int64_t step;  // in bytes
  };

  void lay_out(const std::vector<Positions>& positions, const DimVector& common);
  void add_offsets(const char* op, const Positions& positions, const DimVector& common,
                   bool negative);
  template <typename Visit>
  void each_block(std::byte* packed, Visit&& visit) const;
  template <typename Visit>
  void step_through(std::byte* packed, const Visit& visit) const;
  template <typename Visit>
  static void each_element(std::byte* from, std::byte*& packed, std::span<const Dim> dims,
                           std::size_t item, const Visit& visit);
  template <typename T>
  void add_elements(const Tensor& values) const;
  template <typename Move>
  void transfer(std::byte* packed, const Move& move) const;

  const Tensor& self_;
  DimVector sizes_;
  std::vector<Dim> before_;
  std::vector<Dim> after_;
  std::int64_t before_count_ = 1;
  std::int64_t after_count_ = 1;
  bool after_is_run_ = true;  // its elements follow each other in memory
  // For each position in B, in bytes from where a `before` begins.
  std::vector<std::int64_t> offsets_;
};

// The place of a linear position in row-major sizes, as [1, 2].
DimVector place_of(std::int64_t position, IntSpan sizes);

}  // namespace opyard::kernels
