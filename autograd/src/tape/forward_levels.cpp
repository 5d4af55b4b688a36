// autograd/tape/forward_levels.cpp: levels of forward mode, and dual tensors.
#include "opyard/autograd/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "functions/locks.h"
#include "opyard/autograd.h"
#include "opyard/detail/keys/named_keys.h"
#include "opyard/registry/library.h"
#include "tape/forward_call.h"
#include "tape/tangent.h"

namespace opyard::autograd {
namespace {

constinit std::atomic<std::uint64_t> forward_bits{0};
constinit std::atomic<std::uint64_t> last_level{0};
// Counted; given back when the level is closed.
constinit thread_local Level* open_level = nullptr;

// A layer above Autograd, of which there are two; raises BadRegistration if a program has both.
DispatchKey take_layer() {
  try {
    return register_layer("ForwardMode", LayerGap::AboveAutograd);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadRegistration) throw;
    fail(ErrorKind::BadRegistration,
         fmt::format("forward mode takes one of the two layers above Autograd, and this program "
                     "has named both: {}, {}. A level that is opened before the second one is "
                     "named takes the other for the whole process",
                     to_string(DispatchKey::AboveAutograd1),
                     to_string(DispatchKey::AboveAutograd2)));
  }
}

// Names the layer and registers what serves it: once, before the first level of a process.
void arm_forward_mode() {
  static const bool armed = [] {
    arm();
    const DispatchKey key = take_layer();
    // Lasts as long as the process, as the key's name does.
    static auto* const library = new Library(LibraryKind::Impl, "_", key, __FILE__, __LINE__);
    library->fallback(Kernel::boxed(&run_forward));
    forward_bits.store(DispatchKeySet(key).raw(), std::memory_order_release);
    return true;
  }();
  static_cast<void>(armed);
}

// With the lock held.
void unlink(Tangent& tangent) noexcept {
  if (tangent.previous != nullptr) {
    tangent.previous->next = tangent.next;
  } else if (tangent.level->first == &tangent) {
    tangent.level->first = tangent.next;
  }
  if (tangent.next != nullptr) tangent.next->previous = tangent.previous;
  tangent.previous = tangent.next = nullptr;
}
void link(Tangent& tangent) noexcept {
  tangent.next = tangent.level->first;
  if (tangent.next != nullptr) tangent.next->previous = &tangent;
  tangent.level->first = &tangent;
}

// Of the tensor, while its level is open; with the lock held.
const Tangent* find_tangent(const Tensor& tensor) noexcept {
  const TensorState* const state = find_state(tensor);
  const Tangent* const tangent = state == nullptr ? nullptr : state->tangent.tangent;
  return tangent != nullptr && tangent->level->is_open ? tangent : nullptr;
}

[[noreturn]] OPYARD_COLD void refuse_tangent(ErrorKind kind, const std::string& why) {
  fail(kind, "make_dual: " + why);
}

void check_dual(const Tensor& primal, const Tensor& tangent) {
  if (open_level == nullptr) {
    refuse_tangent(ErrorKind::BadValue,
                   "no level of forward mode is open on this thread: open one, with "
                   "forward_ad.dual_level() in Python, ForwardLevel in C++");
  }
  if (!primal.defined() || !tangent.defined()) {
    refuse_tangent(ErrorKind::BadArgument, "a tensor and its tangent are wanted");
  }
  if (!is_floating_point(primal.dtype()) && !is_complex(primal.dtype())) {
    refuse_tangent(ErrorKind::BadArgument,
                   fmt::format("{} has elements that do not change by small steps; floats and "
                               "complex numbers have tangents",
                               describe(primal)));
  }
  if (primal.dtype() != tangent.dtype() || primal.device() != tangent.device()) {
    refuse_tangent(ErrorKind::BadArgument,
                   fmt::format("the tangent of {} has its dtype and device, and not those of {}",
                               describe(primal), describe(tangent)));
  }
  if (!std::ranges::equal(primal.sizes(), tangent.sizes())) {
    refuse_tangent(ErrorKind::BadShape,
                   fmt::format("the tangent of a tensor of shape {} has that shape, and not {}",
                               describe_sizes(primal.sizes()), describe_sizes(tangent.sizes())));
  }
  if (is_inference()) {
    refuse_tangent(ErrorKind::BadValue,
                   "under inference_mode nothing has a tangent; no_grad tapes nothing either, and "
                   "has tangents");
  }
  if (tangent_of(primal).defined()) {
    refuse_tangent(ErrorKind::BadValue,
                   "the tensor has a tangent already; unpack_dual() gives it without");
  }
}

// A view of a tensor by an operator, so that it is taped; with other keys.
Tensor view_without(const Tensor& tensor, DispatchKeySet without) {
  const ExcludeDispatchKeyGuard below(forward_keys());
  Tensor view = calls::alias(tensor);
  if (view.same(tensor)) view = another_tensor(tensor);
  view.impl()->set_keys(view.keys() - without);
  return view;
}

}  // namespace

void TangentSlot::end() noexcept {
  const std::unique_ptr<Tangent> owned(std::exchange(tangent, nullptr));
  const std::lock_guard lock(gradients_lock());
  unlink(*owned);
}

DispatchKeySet forward_keys() noexcept {
  return {DispatchKeySet::RAW, forward_bits.load(std::memory_order_relaxed)};
}

std::uint64_t forward_level() noexcept { return open_level == nullptr ? 0 : open_level->number; }

CountedPtr<Level> current_level() {
  return open_level == nullptr ? CountedPtr<Level>() : CountedPtr<Level>::share(open_level);
}

std::uint64_t enter_forward_level() {
  if (open_level != nullptr) {
    fail(ErrorKind::BadValue,
         "a level of forward mode is open on this thread, and another inside of it would mean "
         "tangents of tangents, which are not there: take the outer derivative backward, with "
         "create_graph=True");
  }
  arm_forward_mode();
  const std::uint64_t number = last_level.fetch_add(1, std::memory_order_relaxed) + 1;
  open_level = make_counted<Level>(number).release();
  return number;
}

void exit_forward_level(std::uint64_t level) {
  if (open_level == nullptr || open_level->number != level) {
    fail(ErrorKind::BadValue,
         fmt::format("level {} of forward mode is not open on this thread; what is open is {}",
                     level, open_level == nullptr ? "none" : std::to_string(open_level->number)));
  }
  std::vector<Tensor> freed;  // whose ends come without the lock
  const CountedPtr<Level> closed = CountedPtr<Level>::steal(std::exchange(open_level, nullptr));
  for (;;) {
    std::size_t count = 0;
    {
      const std::lock_guard lock(gradients_lock());
      closed->is_open = false;
      for (const Tangent* one = closed->first; one != nullptr; one = one->next) ++count;
    }
    freed.reserve(count);
    const std::lock_guard lock(gradients_lock());
    while (closed->first != nullptr && freed.size() < freed.capacity()) {
      Tangent& tangent = *closed->first;
      freed.push_back(std::move(tangent.value));
      unlink(tangent);
    }
    if (closed->first == nullptr) break;
  }
}

void set_tangent(const Tensor& tensor, Tensor value, const CountedPtr<Level>& level) {
  TensorState& state = require_state(tensor);
  auto fresh = std::make_unique<Tangent>();
  fresh->value = std::move(value);
  fresh->level = level;
  Tangent* former = nullptr;
  {
    const std::lock_guard lock(gradients_lock());
    if (!level->is_open) return;
    former = std::exchange(state.tangent.tangent, fresh.get());
    if (former != nullptr) unlink(*former);
    link(*fresh.release());
  }
  delete former;
  tensor.impl()->set_keys(tensor.keys() | forward_keys());
}

void drop_tangent(const Tensor& tensor) {
  TensorState* const state = find_state(tensor);
  Tangent* former = nullptr;
  if (state != nullptr) {
    const std::lock_guard lock(gradients_lock());
    former = std::exchange(state->tangent.tangent, nullptr);
    if (former != nullptr) unlink(*former);
  }
  delete former;
  tensor.impl()->set_keys(tensor.keys() - forward_keys());
}

void copy_tangent(const Tensor& from, const Tensor& to) {
  const CountedPtr<Level> level = level_of(from);
  if (level) set_tangent(to, tangent_of(from), level);
}

void copy_tangent_apart(const Tensor& from, const Tensor& to) {
  const CountedPtr<Level> level = level_of(from);
  if (!level) return;
  const ExcludeDispatchKeyGuard as_primals(forward_keys());
  set_tangent(to, calls::clone(tangent_of(from)), level);
}

Tensor lying_as(const Tensor& tangent, const Tensor& of) {
  if ((tangent.impl()->policies() | of.impl()->policies()) != 0) return tangent;
  if (std::ranges::equal(tangent.impl()->own_strides(), of.impl()->own_strides())) return tangent;
  const Tensor copy = calls::empty_like(of);
  calls::copy_in_place(copy, tangent);
  return copy;
}

CountedPtr<Level> level_of(const Tensor& tensor) {
  if (!tensor.defined() || !may_have_tangent(tensor)) return {};
  const std::lock_guard lock(gradients_lock());
  const Tangent* const tangent = find_tangent(tensor);
  return tangent == nullptr ? CountedPtr<Level>() : tangent->level;
}

Tensor tangent_of(const Tensor& tensor) {
  if (!tensor.defined() || !may_have_tangent(tensor)) return {};
  const std::lock_guard lock(gradients_lock());
  const Tangent* const tangent = find_tangent(tensor);
  return tangent == nullptr ? Tensor() : tangent->value;
}

Tensor primal_of(const Tensor& tensor) {
  return tangent_of(tensor).defined() ? view_without(tensor, forward_keys()) : tensor;
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent) {
  check_dual(primal, tangent);
  Tensor dual = view_without(primal, forward_keys());
  set_tangent(dual, lying_as(tangent, dual), current_level());
  return dual;
}

void give_tangent_of(const Tensor& tensor, const Tensor& tangent) {
  check_dual(tensor, tangent);
  set_tangent(tensor, tangent, current_level());
}

}  // namespace opyard::autograd
