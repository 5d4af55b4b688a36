// fusion/run_part.cpp: execution of a part: lines block by block, and row reductions.
//
// [Rows] A row is computed into a buffer of its own, or as many rows as it takes. A long row is cut
// where its reduction cuts it, so that its total has the same bits: each part of at most a buffer
// gives a total, and the totals are joined. Threads take rows, or parts of long ones.
#include "fusion/run_part.h"

#include <algorithm>
#include <array>
#include <vector>

#include "opyard/parallel.h"

namespace opyard::jit {
namespace {

constexpr std::int64_t kElementsOfAThread = 131072;  // as kernels do: see their releasing.h

// One thread's buffers, and where the operands of each step are.
class Lines {
 public:
  Lines(const PartPlan& plan, std::span<std::byte* const> tensors, bool in_place)
      : plan_(plan), tensors_(tensors), in_place_(in_place) {
    for (const PartPlan::Buffer& buffer : plan.buffers) {
      places_[buffer.place] = buffers_[buffer.index];
    }
    for (const PartPlan::Number& number : plan.numbers) {
      places_[number.place] = const_cast<std::byte*>(number.bytes.data());
    }
    for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
      instructions_[i].code = plan.instructions[i].code;
    }
  }

  // Elements from `begin`, in the order of lines. Those of a row go to `row`, one after the other.
  void run(std::int64_t begin, std::int64_t end, std::byte* row) {
    const bool is_one = plan_.lines == 1;
    std::int64_t line = is_one ? 0 : begin / plan_.inner;
    std::int64_t at = is_one ? begin : begin % plan_.inner;
    while (begin < end) {
      const std::int64_t count = std::min(plan_.inner - at, end - begin);
      begin_at(line++, at, row);
      run_blocks(count);
      if (row != nullptr) row += count * row_step();
      begin += count;
      at = 0;
    }
  }

 private:
  void begin_at(std::int64_t line, std::int64_t element, std::byte* row) {
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      const PartPlan::Tensor& tensor = plan_.tensors[i];
      if (tensor.role == PartPlan::Role::Row) {
        places_[tensor.place] = row;
        continue;
      }
      places_[tensor.place] = tensors_[i] + element * tensor.step + begin_of_line(tensor, line);
    }
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const PartPlan::Step& step = plan_.steps[i];
      for (std::size_t k = 0; k < step.operands; ++k) operands_[i][k] = places_[step.places[k]];
    }
    for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
      instructions_[i].at = places_[plan_.instructions[i].place];
    }
  }

  std::int64_t begin_of_line(const PartPlan::Tensor& tensor, std::int64_t line) const {
    std::int64_t at = 0;
    for (std::size_t dim = 0; dim < plan_.outer.size(); ++dim) {
      const bool is_last = dim + 1 == plan_.outer.size();
      at += (is_last ? line : line % plan_.outer[dim]) * tensor.steps[dim];
      if (!is_last) line /= plan_.outer[dim];
    }
    return at;
  }

  void run_blocks(std::int64_t all) {
    static constexpr std::byte kNoContext[16] = {};
    for (std::int64_t at = 0; at < all; at += plan_.block) {
      const std::int64_t count = std::min(plan_.block, all - at);
      Operands* operands = operands_.data();
      for (const PartPlan::Step& step : plan_.steps) {
        if (step.chain != nullptr) {
          step.chain(&instructions_[step.first], count, in_place_);
        } else {
          step.loop(operands->data(), step.steps.data(), count, kNoContext);
        }
        for (std::size_t k = 0; k < step.operands; ++k) (*operands)[k] += step.moves[k];
        ++operands;
      }
      if (at + count == all) return;
      for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
        instructions_[i].at += plan_.instructions[i].move;
      }
    }
  }

  // A row is the first tensor.
  std::int64_t row_step() const { return plan_.tensors[0].step; }

  const PartPlan& plan_;
  const std::span<std::byte* const> tensors_;
  const bool in_place_;
  using Operands = std::array<std::byte*, PartPlan::kMostOperands>;
  std::array<std::byte*, FusedPart::kMostValues> places_;
  std::array<Operands, PartPlan::kMostSteps> operands_;
  std::array<ChainInstruction, kMostChainInstructions> instructions_;
  alignas(64) std::byte buffers_[PartPlan::kMostBuffers][PartPlan::kBlockBytes];
};

using Total = std::uint64_t;  // its bytes

// One thread's rows. See [Rows].
class RowsOfPart {
 public:
  RowsOfPart(const PartPlan& plan, const TailPlan& tail, std::span<std::byte* const> tensors,
             bool in_place)
      : tail_(tail),
        lines_(plan, tensors, in_place),
        item_(std::int64_t(item_size(tail.result.dtype))) {}

  // Rows from `begin`, each to its element of the result.
  void reduce(std::int64_t begin, std::int64_t end, std::byte* result) {
    const std::int64_t at_once = std::max<std::int64_t>(capacity() / tail_.length, 1);
    while (begin < end) {
      const std::int64_t count = std::min(at_once, end - begin);
      if (tail_.length > capacity()) {
        const Total total = total_of(begin * tail_.length, tail_.length);
        tail_.rows.give(&total, tail_.length, result + begin * item_);
      } else {
        lines_.run(begin * tail_.length, (begin + count) * tail_.length, row_);
        for (std::int64_t row = 0; row < count; ++row) {
          Total total;
          tail_.rows.total(row_ + row * tail_.length * item_, tail_.length, &total);
          tail_.rows.give(&total, tail_.length, result + (begin + row) * item_);
        }
      }
      begin += count;
    }
  }

  // Of elements that are in one row.
  Total total_of(std::int64_t begin, std::int64_t length) {
    Total total;
    if (length <= capacity()) {
      lines_.run(begin, begin + length, row_);
      tail_.rows.total(row_, length, &total);
      return total;
    }
    const std::int64_t left = tail_.rows.cut(length);
    total = total_of(begin, left);
    const Total right = total_of(begin + left, length - left);
    tail_.rows.join(&total, &right);
    return total;
  }

 private:
  std::int64_t capacity() const { return TailPlan::kRowBytes / item_; }

  const TailPlan& tail_;
  Lines lines_;
  const std::int64_t item_;
  alignas(64) std::byte row_[TailPlan::kRowBytes];
};

// Long rows, by several threads.
class LongRows {
 public:
  LongRows(const PartPlan& plan, const TailPlan& tail, std::span<std::byte* const> tensors,
           bool in_place)
      : plan_(plan), tail_(tail), tensors_(tensors), in_place_(in_place) {}

  static bool are_long(const TailPlan& tail) {
    return tail.rows.join != nullptr && tail.length >= 2 * kElementsOfAThread;
  }

  void reduce(std::byte* result) {
    const std::int64_t rows = plan_.elements() / tail_.length;
    const auto item = std::int64_t(item_size(tail_.result.dtype));
    for (std::int64_t row = 0; row < rows; ++row) cut(row * tail_.length, tail_.length);
    std::vector<Total> totals(pieces_.size());
    parallel_for(0, std::int64_t(pieces_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      RowsOfPart rows_of_thread(plan_, tail_, tensors_, in_place_);
      for (std::int64_t i = begin; i < end; ++i) {
        const Piece& piece = pieces_[std::size_t(i)];
        totals[std::size_t(i)] = rows_of_thread.total_of(piece.begin, piece.length);
      }
    });
    const Total* next = totals.data();
    for (std::int64_t row = 0; row < rows; ++row) {
      const Total total = join(tail_.length, next);
      tail_.rows.give(&total, tail_.length, result + row * item);
    }
  }

 private:
  struct Piece {
    std::int64_t begin, length;
  };
  void cut(std::int64_t begin, std::int64_t length) {
    if (length <= kElementsOfAThread) return pieces_.push_back({begin, length});
    const std::int64_t left = tail_.rows.cut(length);
    cut(begin, left);
    cut(begin + left, length - left);
  }
  Total join(std::int64_t length, const Total*& next) const {
    if (length <= kElementsOfAThread) return *next++;
    const std::int64_t left = tail_.rows.cut(length);
    Total total = join(left, next);
    const Total right = join(length - left, next);
    tail_.rows.join(&total, &right);
    return total;
  }

  const PartPlan& plan_;
  const TailPlan& tail_;
  const std::span<std::byte* const> tensors_;
  const bool in_place_;
  std::vector<Piece> pieces_;
};

}  // namespace

// Threads take whole lines, or elements of the only one.
void run_part(const PartPlan& plan, std::span<std::byte* const> tensors, bool in_place) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Lines(plan, tensors, in_place).run(begin, end, nullptr);
  };
  if (plan.elements() < 2 * kElementsOfAThread) return run(0, plan.elements());
  if (plan.lines == 1) return parallel_for(0, plan.inner, kElementsOfAThread, run);
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsOfAThread / plan.inner);
  parallel_for(0, plan.lines, grain, [&](std::int64_t begin, std::int64_t end) {
    run(begin * plan.inner, end * plan.inner);
  });
}

void reduce_part(const PartPlan& plan, const TailPlan& tail, std::span<std::byte* const> tensors,
                 bool in_place, std::byte* result) {
  if (LongRows::are_long(tail)) return LongRows(plan, tail, tensors, in_place).reduce(result);
  const std::int64_t rows = plan.elements() / tail.length;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    RowsOfPart(plan, tail, tensors, in_place).reduce(begin, end, result);
  };
  if (plan.elements() < 2 * kElementsOfAThread) return run(0, rows);
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsOfAThread / tail.length);
  parallel_for(0, rows, grain, run);
}

}  // namespace opyard::jit
