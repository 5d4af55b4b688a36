// opyard/autograd/function.h: backward functions: gradients of results to arguments.
//
// A taped call makes one Function. Its inputs are the gradients of the call's results, its edges
// lead to the functions that gave the call's arguments:
//
//   x ──┐                       Accumulate(x) <── edge 0 ──┐
//       ├─ mul ── y      and                              MulBackward <── gradient of y
//   w ──┘                       Accumulate(w) <── edge 1 ──┘
//
// An edge without a function says that no gradient is wanted there. A function is immutable but for
// what it saved and for its hooks, so that several runs may pass through it at once.
//
// [Death] A function owns those that its edges lead to. The last owner's end takes a chain of any
// length apart one after the other, without recursion.
//
// [Sequence] Numbers grow on each thread as functions are made, and an engine runs those with
// higher numbers first. What accumulates has the highest of all, so that it runs as soon as it is
// ready.
//
// [Topological number] One more than the highest of the functions that the edges lead to, 0 without
// any. A way from a function leads to lower numbers only, so a search for inputs passes by the
// functions whose number is below those of all inputs.
//
// Depends on: autograd/hooks.h, base/few.h, opyard/tensor.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "opyard/base/counted.h"
#include "opyard/detail/base/few.h"
#include "opyard/tensor.h"

namespace opyard::autograd {

class Function;
class Hooks;
class HeldObject;
using FunctionPtr = CountedPtr<Function>;
// One for each input or edge; undefined if there is none.
using Gradients = Few<Tensor, 2>;

// A function that a gradient goes to, and for which of its inputs; false if there is none.
struct Edge {
  FunctionPtr function;
  std::uint32_t input = 0;

  explicit operator bool() const noexcept { return bool(function); }
};

// What the gradient of a tensor looks like.
struct Expected {
  DimVector sizes;
  DType dtype = DType::Float32;
  Device device;

  Expected() = default;
  explicit Expected(const Tensor& tensor)
      : sizes(tensor.sizes()), dtype(tensor.dtype()), device(tensor.device()) {}
};

// The number of functions of leaves: larger than that of any call.
inline constexpr std::uint64_t kLastSequence = ~std::uint64_t{0};

// Told what a function owns beside its edges: see Function::show_saved().
class SavedVisitor {
 public:
  virtual void edge(const Edge& edge) = 0;
  // A tensor of which the function is an owner `times` times.
  virtual void tensor(const Tensor& tensor, std::uint32_t times) = 0;

 protected:
  ~SavedVisitor() = default;
};

class OPYARD_API Function : public Counted {
 public:
  // With the next number of this thread, or with `sequence`.
  Function();
  explicit Function(std::uint64_t sequence);

  // From the gradients of the inputs to those of the edges: as many, or fewer if the rest is
  // undefined.
  virtual Gradients apply(Gradients gradients) = 0;
  // The same in a run that does not keep the graph: what was saved is given up unless it throws.
  virtual Gradients apply_last(Gradients gradients);
  virtual std::string name() const = 0;
  // What it keeps of an interpreter, or null.
  virtual HeldObject* held_object() noexcept { return nullptr; }
  // A word that a profile keeps, shared by all functions of this name; or null.
  virtual std::atomic<std::uint32_t>* note() const noexcept { return nullptr; }
  // Gives up the tensors that were saved; a second run that needs them raises.
  virtual void release_saved() noexcept {}
  // Tells what was saved, as far as a garbage collector has to know it. Only while no run can come.
  virtual void show_saved(SavedVisitor&) const {}

  std::uint64_t sequence() const noexcept { return sequence_; }
  // See [Topological number].
  std::uint32_t topological_number() const noexcept { return topological_number_; }
  std::size_t edge_count() const noexcept { return edges_.size(); }
  const Edge& edge(std::size_t i) const noexcept { return edges_[i]; }
  // Whether the gradient of edge i is wanted.
  bool should_compute(std::size_t i) const noexcept { return bool(edges_[i].function); }
  std::size_t input_count() const noexcept { return inputs_.size(); }
  const Expected& input(std::size_t i) const noexcept { return inputs_[i]; }

  // Only while it is being made.
  void add_edge(Edge edge) {
    rise_above(edge.function.get());
    edges_.emplace_back(std::move(edge));
  }
  void add_edge() { edges_.emplace_back(); }  // no gradient is wanted there
  void add_edge(FunctionPtr function, std::uint32_t input) {
    rise_above(function.get());
    edges_.emplace_back(std::move(function), input);
  }
  std::uint32_t add_input();  // of what is no tensor, or has no gradient
  std::uint32_t add_input(Expected input) {
    inputs_.emplace_back(std::move(input));
    return std::uint32_t(inputs_.size() - 1);
  }
  std::uint32_t add_input(const Tensor& result) {
    inputs_.emplace_back(result);
    return std::uint32_t(inputs_.size() - 1);
  }

  // Null as long as this function has no hook. Any thread.
  Hooks* find_hooks() const noexcept { return hooks_.load(std::memory_order_acquire); }
  Hooks& hooks();

  // Where the call was made that this function is of, in anomaly mode; else empty.
  std::string call_site() const;
  void set_call_site(std::string call_site);

 protected:
  ~Function() override;
  void end() const noexcept override;

 private:
  friend class KeptFunctions;

  // A chain of 2^32 functions keeps the highest number from there on: less is left out of a search.
  void rise_above(const Function* next) noexcept {
    constexpr std::uint32_t kHighest = ~std::uint32_t{0};
    if (next == nullptr || next->topological_number_ < topological_number_) return;
    topological_number_ = next->topological_number_ + (next->topological_number_ != kHighest);
  }

  // Owners that a garbage collector has met: see detail/autograd/kept.h.
  mutable std::uint16_t seen_ = 0;
  std::uint32_t topological_number_ = 0;
  const std::uint64_t sequence_;
  Few<Edge, 2> edges_;
  Few<Expected, 1> inputs_;
  std::atomic<Hooks*> hooks_{nullptr};
  mutable const Function* next_ = nullptr;  // among those that die, or that nothing else keeps
};

}  // namespace opyard::autograd
