// fusion/chain.cpp: register allocation for a chain of arithmetic.
#include "fusion/chain.h"

#include <algorithm>
#include <optional>

namespace opyard::jit {
namespace {

ChainOperation chain_operation(BlockArithmetic arithmetic, bool held_is_right) {
  switch (arithmetic) {
    case BlockArithmetic::Add:
      return ChainOperation::Add;
    case BlockArithmetic::Subtract:
      return held_is_right ? ChainOperation::SubtractFrom : ChainOperation::Subtract;
    case BlockArithmetic::Multiply:
      return ChainOperation::Multiply;
    default:
      return held_is_right ? ChainOperation::DivideInto : ChainOperation::Divide;
  }
}

class ChainWriter {
 public:
  ChainWriter(std::span<const BlockOperation> operations, const ChainValues& values)
      : operations_(operations), values_(values) {}

  BlockOperation write() {
    chain_.dtype = operations_[0].dtype;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      add(operations_[i]);
      held_ = operations_[i].gives[0];
      free_places(i);
      if (is_stored(i)) store(*held_);
    }
    chain_.chain.push_back({kChainEnd, 0});
    return std::move(chain_);
  }

 private:
  void add(const BlockOperation& one) {
    const std::uint16_t left = one.reads[0], right = one.reads[1];
    if (held_ == left) return append(chain_operation(one.arithmetic, false), right);
    if (held_ == right) return append(chain_operation(one.arithmetic, true), left);
    const bool is_number = operand(left) == ChainOperand::Number;
    append(ChainOperation::Load, is_number ? right : left);
    append(chain_operation(one.arithmetic, is_number), is_number ? left : right);
  }
  // Unless only the next operation takes it, as one of its operands.
  bool is_stored(std::size_t at) const {
    const std::uint16_t given = operations_[at].gives[0];
    if (values_.is_kept(given)) return true;
    for (std::size_t i = at + 1; i < operations_.size(); ++i) {
      const auto reads = std::ranges::count(operations_[i].reads, given);
      if (reads > (i == at + 1 ? 1 : 0)) return true;
    }
    return false;
  }
  // What only the chain needs is stored over what it needs no more.
  void store(std::uint16_t value) {
    std::uint16_t place = value;
    if (!values_.is_kept(value)) {
      if (!free_.empty()) {
        place = free_.back();
        free_.pop_back();
      }
      places_.push_back({value, place});
    }
    if (place == value) chain_.gives.push_back(value);
    append(ChainOperation::Store, value);
  }
  void free_places(std::size_t at) {
    std::erase_if(places_, [&](const Place& one) {
      const bool is_read_later =
          std::ranges::any_of(operations_.subspan(at + 1), [&](const BlockOperation& later) {
            return std::ranges::count(later.reads, one.value) > 0;
          });
      if (!is_read_later) free_.push_back(one.place);
      return !is_read_later;
    });
  }
  void append(ChainOperation operation, std::uint16_t value) {
    const auto stored = std::ranges::find(places_, value, &Place::value);
    const std::uint16_t place = stored == places_.end() ? value : stored->place;
    chain_.chain.push_back({chain_code(operation, operand(value)), place});
    if (!is_given(value) && std::ranges::count(chain_.reads, value) == 0) {
      chain_.reads.push_back(value);
    }
  }
  ChainOperand operand(std::uint16_t value) const {
    if (!is_given(value)) return values_.operand(value);
    return values_.is_kept(value) ? ChainOperand::Moving : ChainOperand::Fixed;
  }
  bool is_given(std::uint16_t value) const {
    return std::ranges::any_of(operations_,
                               [&](const BlockOperation& one) { return one.gives[0] == value; });
  }

  // Of a value that is stored for the chain alone: the value that has its buffer.
  struct Place {
    std::uint16_t value, place;
  };

  const std::span<const BlockOperation> operations_;
  const ChainValues& values_;
  BlockOperation chain_{nullptr, BlockArithmetic::None, DType::Bool, {}, {}, {}};
  std::optional<std::uint16_t> held_;
  std::vector<Place> places_;
  std::vector<std::uint16_t> free_;
};

}  // namespace

BlockOperation write_chain(std::span<const BlockOperation> operations, const ChainValues& values) {
  return ChainWriter(operations, values).write();
}

}  // namespace opyard::jit
