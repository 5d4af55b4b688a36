// autograd/functions/kept.cpp: owner counts of functions reachable from one object.
//
// Functions are taken in an order in which each comes after all its owners: it is appended once as
// many owners were met as it has. The chain goes through the functions themselves, so that no
// memory is needed, which a collector could not ask for.
#include "opyard/detail/autograd/kept.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "functions/locks.h"
#include "opyard/autograd/hooks.h"

namespace opyard::autograd {
namespace {

// own(function, times) for each function that the state of a tensor owns.
template <typename Own>
void each_owned_by_state(const TensorImpl& tensor, const Own& own) {
  if (const auto* const state = static_cast<const TensorState*>(tensor.gradient_state().get())) {
    own(state->history.function.get(), 1);
    own(state->accumulate.get(), 1);
    if (state->base != nullptr) own(state->base->history.function.get(), 1);
  }
  if (tensor.storage()->owner_count() != 1) return;
  const auto* memory = static_cast<const StorageState*>(tensor.storage()->gradient_state().get());
  for (; memory != nullptr; memory = memory->next.get()) own(memory->history.function.get(), 1);
}

template <typename Own, typename OfTensor>
void each_owned_by_saved(const Function& function, const Own& own, const OfTensor& of_tensor) {
  struct Visitor final : SavedVisitor {
    Visitor(const Own& for_edges, const OfTensor& for_tensors)
        : own_edge(for_edges), own_tensor(for_tensors) {}
    void edge(const Edge& edge) override { own_edge(edge.function.get(), 1); }
    void tensor(const Tensor& tensor, std::uint32_t times) override {
      if (tensor.impl()->owner_count() == times) own_tensor(*tensor.impl());
    }
    const Own& own_edge;
    const OfTensor& own_tensor;
  } visitor(own, of_tensor);
  function.show_saved(visitor);
}

template <typename Own>
void each_owned(const Function& function, const Own& own) {
  for (std::size_t i = 0; i < function.edge_count(); ++i) own(function.edge(i).function.get(), 1);
  each_owned_by_saved(function, own,
                      [&](const TensorImpl& tensor) { each_owned_by_state(tensor, own); });
}

// Shows objects, and remembers who said to stop.
class Show {
 public:
  explicit Show(const Collector& to) noexcept : to_(to) {}

  int stop = 0;

  void object(void* object) {
    if (stop == 0 && object != nullptr) stop = to_.visit(object, to_.argument);
  }
  void held(const HeldObject* held) {
    if (held != nullptr && held->interpreter() == to_.interpreter) object(held->object());
  }
  // The object that a tensor keeps is its only owner's.
  void tensor(const TensorImpl& tensor) {
    const ObjectLink& link = tensor.object_link();
    if (link.owns_object() && link.tag() == to_.interpreter) {
      object(link.object(const_cast<Interpreter*>(link.tag())));
    }
    state(tensor);
  }
  void state(const TensorImpl& tensor) {
    if (const auto* const of = static_cast<const TensorState*>(tensor.gradient_state().get())) {
      held(of->shown.get());
    }
  }
  void function(const Function& function) {
    held(const_cast<Function&>(function).held_object());
    if (const Hooks* const hooks = function.find_hooks()) {
      hooks->visit_held(
          [](const HeldObject& one, void* show) {
            static_cast<Show*>(show)->held(&one);
            return static_cast<Show*>(show)->stop;
          },
          this);
    }
    each_owned_by_saved(
        function, [](const Function*, std::uint32_t) {},
        [&](const TensorImpl& saved) { tensor(saved); });
  }

 private:
  const Collector& to_;
};

}  // namespace

// See [Alone] in kept.h.
class KeptFunctions {
 public:
  // `each_root` is a call of own(function, owners) for each function that the object owns.
  template <typename EachRoot>
  explicit KeptFunctions(const EachRoot& each_root) {
    const std::lock_guard lock(gradients_lock());
    const Function* last = nullptr;
    const auto own = [&](const Function* function, std::uint32_t owners) {
      if (function == nullptr) return;
      function->seen_ = std::uint16_t(function->seen_ + owners);
      if (function->seen_ != function->owner_count()) return;
      function->next_ = nullptr;
      (last == nullptr ? first_ : last->next_) = function;
      last = function;
    };
    each_root(own);
    for (const Function* each = first_; each != nullptr; each = each->next_) each_owned(*each, own);
    const auto forget = [](const Function* function, std::uint32_t) {
      if (function != nullptr) function->seen_ = 0;
    };
    each_root(forget);
    for (const Function* each = first_; each != nullptr; each = each->next_) {
      each_owned(*each, forget);
    }
  }

  void show(Show& to) const {
    for (const Function* each = first_; each != nullptr && to.stop == 0; each = each->next_) {
      to.function(*each);
    }
  }
  // What is given up may run any code, so all is held before.
  void clear(const void* interpreter) const {
    std::vector<CountedPtr<const Function>> all;
    for (const Function* each = first_; each != nullptr; each = each->next_) {
      all.push_back(CountedPtr<const Function>::share(each));
    }
    const auto give_up = [&](HeldObject* held) {
      if (held != nullptr && held->interpreter() == interpreter) held->give_up();
    };
    for (const auto& each : all) {
      give_up(const_cast<Function&>(*each).held_object());
      if (const Hooks* const hooks = each->find_hooks()) {
        for (const Hooks::Held& held : hooks->held()) give_up(held.get());
      }
    }
  }

 private:
  const Function* first_ = nullptr;
};

namespace {

KeptFunctions kept_by(const Function& function, std::uint32_t owners) {
  return KeptFunctions([&](const auto& own) { own(&function, owners); });
}
KeptFunctions kept_by(const TensorImpl& tensor) {
  return KeptFunctions([&](const auto& own) { each_owned_by_state(tensor, own); });
}

// Guarded by the library's lock; never destroyed, since objects die late.
std::map<std::pair<const Function*, const void*>, void*>& shown_objects() {
  static auto* const all = new std::map<std::pair<const Function*, const void*>, void*>;
  return *all;
}

}  // namespace

void* find_shown(const Function& function, const void* interpreter) {
  const std::lock_guard lock(gradients_lock());
  const auto found = shown_objects().find({&function, interpreter});
  return found == shown_objects().end() ? nullptr : found->second;
}

void set_shown(const Function& function, const void* interpreter, void* object) {
  const std::lock_guard lock(gradients_lock());
  if (object != nullptr) {
    shown_objects()[{&function, interpreter}] = object;
  } else {
    shown_objects().erase({&function, interpreter});
  }
}

int visit_kept(const Function& function, std::uint32_t owners, const Collector& to) {
  Show show(to);
  kept_by(function, owners).show(show);
  return show.stop;
}

int visit_kept(const TensorImpl& tensor, const Collector& to) {
  Show show(to);
  show.state(tensor);
  kept_by(tensor).show(show);
  return show.stop;
}

int visit_kept(const SavedTensor& saved, const Collector& to) {
  const Tensor& tensor = saved.owned();
  const bool is_alone = tensor.defined() && tensor.impl()->owner_count() == 1;
  Show show(to);
  if (is_alone) show.tensor(*tensor.impl());
  KeptFunctions([&](const auto& own) {
    own(saved.owned_history().function.get(), 1);
    if (is_alone) each_owned_by_state(*tensor.impl(), own);
  }).show(show);
  return show.stop;
}

void clear_kept(const Function& function, std::uint32_t owners, const void* interpreter) {
  kept_by(function, owners).clear(interpreter);
}

void clear_kept(const TensorImpl& tensor, const void* interpreter) {
  kept_by(tensor).clear(interpreter);
  if (const auto* const state = static_cast<const TensorState*>(tensor.gradient_state().get())) {
    HeldObject* const shown = state->shown.get();
    if (shown != nullptr && shown->interpreter() == interpreter) shown->give_up();
  }
}

}  // namespace opyard::autograd
