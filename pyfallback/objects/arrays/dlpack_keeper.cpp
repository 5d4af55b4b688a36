// objects/arrays/dlpack_keeper.cpp: release of DLPack structs.
#include "objects/arrays/dlpack_keeper.h"

#include "objects/arrays/exported_array.h"
#include "objects/arrays/foreign_kind.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;

struct KeeperObject {
  PyObject_HEAD Runtime* runtime;
  void* managed;  // null in an empty keeper
  GiveBack give_back;
};

KeeperObject& keeper_of(PyObject* object) { return *reinterpret_cast<KeeperObject*>(object); }

template <typename Managed>
void call_deleter(void* context) {
  auto* const managed = static_cast<Managed*>(context);
  if (managed->deleter == nullptr) return;
  PyObject* const pending = PyErr_Occurred() == nullptr ? nullptr : take_exception();
  managed->deleter(managed);
  if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(nullptr);
  if (pending != nullptr) restore_exception(pending);
}

void deallocate_keeper(PyObject* self) {
  KeeperObject& keeper = keeper_of(self);
  ForeignState& state = *keeper.runtime->foreign;
  if (keeper.managed != nullptr) keeper.give_back(keeper.managed);
  if (state.free_keeper_count < state.most_free_keepers) {
    state.free_keepers[state.free_keeper_count++] = self;
  } else {
    free_object(self);
  }
}

PyType_Slot keeper_slots[] = {
    {Py_tp_doc, const_cast<char*>("The owner of a foreign array's memory.")},
    {Py_tp_dealloc, slot(deallocate_keeper)},
    {0, nullptr}};

PyType_Spec keeper_spec = {"opyard._C.DLPackKeeper", sizeof(KeeperObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, keeper_slots};

}  // namespace

Owned make_keeper(Runtime& runtime) {
  ForeignState& state = *runtime.foreign;
  PyObject* object = nullptr;
  if (state.free_keeper_count > 0) {
    object = state.free_keepers[--state.free_keeper_count];
    revive(object);
  } else {
    object = checked(state.keeper_type->tp_alloc(state.keeper_type, 0)).release();
    keeper_of(object).runtime = &runtime;
  }
  keeper_of(object).managed = nullptr;
  return Owned::steal(object);
}

void fill_keeper(PyObject* keeper, void* held, GiveBack give_back) noexcept {
  keeper_of(keeper).managed = held;
  keeper_of(keeper).give_back = give_back;
}

// Any thread.
void let_go_of_keeper(void* keeper) {
  auto* const object = static_cast<PyObject*>(keeper);
  keeper_of(object).runtime->tag->decref(object, false);
}

Tensor take_over(Owned owned, DLManagedTensor* managed, bool read_only) {
  PyObject* const keeper = owned.release();
  fill_keeper(keeper, managed, call_deleter<DLManagedTensor>);
  return adopt_dlpack(managed->dl_tensor, read_only, keeper, let_go_of_keeper);
}

// Of a struct of another major version nothing but the deleter is known.
Tensor take_over(Owned owned, DLManagedTensorVersioned* managed, bool read_only) {
  PyObject* const keeper = owned.release();
  fill_keeper(keeper, managed, call_deleter<DLManagedTensorVersioned>);
  if (read_only && managed->version.major == dlpack::kMajorVersion) {
    managed->flags |= dlpack::kReadOnly;
  }
  return adopt_dlpack(*managed, keeper, let_go_of_keeper);
}

void give_back_quietly(DLManagedTensor* managed) { call_deleter<DLManagedTensor>(managed); }
void give_back_quietly(DLManagedTensorVersioned* managed) {
  call_deleter<DLManagedTensorVersioned>(managed);
}

void add_keeper_type(Runtime& runtime) {
  ForeignState& state = *runtime.foreign;
  if (state.keeper_type != nullptr) return;
  state.keeper_type =
      reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&keeper_spec)).release());
}

void drop_keepers(Runtime& runtime) noexcept {
  ForeignState& state = *runtime.foreign;
  drop_exports(runtime);
  state.most_free_keepers = 0;
  while (state.free_keeper_count > 0) {
    free_object(state.free_keepers[--state.free_keeper_count]);
  }
}

}  // namespace opyard::python
