// autograd/tape/formula_function.h: the backward function of an operator with formulas.
//
// It holds what the formulas need, and no more; a run takes it out, checks that it was not written
// meanwhile, and runs the code.
//
// [Giving up] Only tensors are given up: a function that saved none runs again without
// retain_graph, as in PyTorch, and touches no atomic. Otherwise runs count themselves while they
// read what is saved. A run without retain_graph takes what is saved if no one reads it, in one
// step, and drops it at its end; if others read, it says in the same word that it is given up, and
// the last of them drops it. So runs on several threads take no lock.
//
// Depends on: autograd/derivative.h, autograd/saved_tensor.h.
#pragma once

#include <atomic>

#include "opyard/autograd/derivative.h"
#include "opyard/autograd/saved_tensor.h"

namespace opyard::autograd {

class SavedValues {
 public:
  // Runs `read` unless it was given up. Raises BadValue (G9) for that.
  template <typename Read>
  void while_saved(const Read& read) const {
    if (!has_tensors_) return read();
    if ((word_.fetch_add(1, std::memory_order_acq_rel) & kGivenUp) != 0) {
      leave();
      refuse();
    }
    struct Leave {
      const SavedValues& values;
      ~Leave() { values.leave(); }
    } at_end{*this};
    read();
  }
  // The same, and gives it up unless `read` throws.
  template <typename Read>
  void while_saved_last(const Read& read) {
    if (!take()) {
      while_saved(read);
      return give_up();
    }
    struct PutBack {
      SavedValues* values;
      ~PutBack() {
        if (values != nullptr) values->put_back();
      }
    } unless_done{this};
    read();
    unless_done.values = nullptr;
    items_.clear();
  }
  void give_up() noexcept {
    if (!has_tensors_) return;
    if (take()) {
      items_.clear();
    } else if (word_.fetch_or(kGivenUp, std::memory_order_acq_rel) == 0) {
      drop();
    }
  }

  struct Item {
    explicit Item(std::uint32_t of, Value saved = {}) : source(of), value(std::move(saved)) {}
    Item(std::uint32_t of, const Tensor& saved, bool is_result, bool one_of_list = false)
        : source(of), is_of_list(one_of_list), tensor(saved, is_result) {}

    std::uint32_t source;
    bool is_of_list = false;  // one tensor of the argument's list
    SavedTensor tensor;
    Value value;
  };
  // Only while the call is taped.
  Item& add(std::uint32_t source, Value value) {
    return items_.emplace_back(source, std::move(value));
  }
  Item& add(std::uint32_t source, const Tensor& tensor, bool is_result, bool one_of_list = false) {
    has_tensors_ = true;
    return items_.emplace_back(source, tensor, is_result, one_of_list);
  }
  // Changes tensors that are saved. Raises BadValue if they are given up, or a run reads them now.
  template <typename Change>
  void change(const Change& change_items) {
    if (!has_tensors_) return;
    if (!take()) refuse_change();
    struct PutBack {
      SavedValues& values;
      ~PutBack() { values.put_back(); }
    } at_end{*this};
    change_items(items_);
  }
  // For Function::show_saved().
  void show(SavedVisitor& visitor) const;
  // Inside of `read`.
  const Few<Item, 2>& items() const noexcept { return items_; }
  // Only while the call is taped.
  Few<Item, 2>& items() noexcept { return items_; }

  [[noreturn]] static void refuse();
  [[noreturn]] static void refuse_change();

 private:
  bool take() noexcept {
    std::uint32_t unread = 0;
    return has_tensors_ &&
           word_.compare_exchange_strong(unread, kGivenUp | kDropped, std::memory_order_acq_rel);
  }
  void put_back() noexcept { word_.fetch_and(~(kGivenUp | kDropped), std::memory_order_acq_rel); }
  void leave() const noexcept {
    if (word_.fetch_sub(1, std::memory_order_acq_rel) == (kGivenUp | 1)) drop();
  }
  void drop() const noexcept {
    std::uint32_t given_up = kGivenUp;
    if (!word_.compare_exchange_strong(given_up, kGivenUp | kDropped, std::memory_order_acq_rel)) {
      return;  // a run that will be refused reads, and drops when it leaves; or it is dropped
    }
    const_cast<SavedValues&>(*this).items_.clear();
  }

  static constexpr std::uint32_t kGivenUp = 0x8000'0000;
  static constexpr std::uint32_t kDropped = 0x4000'0000;
  mutable std::atomic<std::uint32_t> word_{0};
  bool has_tensors_ = false;
  Few<Item, 2> items_;
};

// An argument that is written in place, and a copy of it if a formula reads what was there before.
struct Overwritten {
  Tensor tensor;
  Tensor original = {};
  bool is_result = false;  // and has its history by now
};

class FormulaFunction final : public Function {
 public:
  // `needed`: bit i for each code i that runs. `counts` are those of the tensors in each argument
  // that takes tensors, if one of them takes a list; else empty.
  FormulaFunction(CountedPtr<const FormulaSet> formulas, std::uint64_t needed,
                  std::vector<std::size_t> counts = {})
      : formulas_(std::move(formulas)), needed_(needed), counts_(std::move(counts)) {}

  // From memory that dead ones left, if there is some.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory, std::size_t bytes) noexcept;

  Gradients apply(Gradients gradients) override;
  Gradients apply_last(Gradients gradients) override;
  std::string name() const override { return formulas_->name; }
  std::atomic<std::uint32_t>* note() const noexcept override { return &formulas_->note; }
  void release_saved() noexcept override { saved_.give_up(); }
  void show_saved(SavedVisitor& visitor) const override { saved_.show(visitor); }

  // Whether its formulas are those of the operator.
  bool is_of(const Operator& op) const;
  // Of forward mode: results that were saved have the tangents that they got since.
  void hand_on_tangents(std::span<const Value> results);

  // Before the call.
  void save_arguments(std::span<const Value> arguments, std::span<const Overwritten> overwritten);
  // After it.
  void save_results(std::span<const Value> arguments, std::span<const Value> results);
  // The same for one source each.
  void save_argument(std::uint32_t source, const Value& value) {
    if (!value.is_tensor()) return save_other_argument(source, value);
    saved_.add(source, value.tensor_unchecked(), false);
  }
  void save_result(std::uint32_t source, const Value& value);
  void save_sizes(std::uint32_t source, IntSpan sizes, const Value& result);
  void save_answer(std::uint32_t source, std::span<const Value> arguments,
                   std::span<const Value> results);
  // At the end of the call.
  void pack_saved(SavedHooks& hooks);

  const FormulaSet& formulas() const noexcept { return *formulas_; }
  // What a source is, taken out as a run would: None if it was not needed. Raises BadValue if it
  // was given up.
  Value saved_of(std::size_t source);
  // The same tensors as the hooks make them: of a list the one at `position`.
  void pack_saved_of(std::size_t source, std::size_t position, SavedHooks& hooks);

 private:
  void save_other_argument(std::uint32_t source, const Value& value);
  // For inputs of which one is complex. Raises Unsupported.
  OPYARD_COLD const jit::Code& complex_code(const FormulaCode& code,
                                            std::span<const Value> inputs) const;
  bool is_needed(std::size_t source) const noexcept {
    return (needed_ & formulas_->used_by[source]) != 0;
  }
  // Pushes what a source is; borrowed if what is saved, or the gradients, outlive the run.
  void read(std::size_t source, const Gradients& gradients, Stack& to);
  void give(const FormulaCode& code, std::size_t output, Value value, Gradients& out) const;
  Value gradient_of_result(std::size_t result, const Gradients& gradients) const;
  void run(const FormulaCode& code, const Gradients& gradients, Gradients& out);
  void run_needed(const Gradients& gradients, Gradients& out);
  bool is_any_defined(const Gradients& gradients) const;

  const CountedPtr<const FormulaSet> formulas_;
  const std::uint64_t needed_;
  const std::vector<std::size_t> counts_;
  SavedValues saved_;
};

}  // namespace opyard::autograd
