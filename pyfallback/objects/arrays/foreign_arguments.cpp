// objects/arrays/foreign_arguments.cpp: foreign arrays of one call.
//
// [Moved] An array that is exported is read where it was when it was bound. Code that the
// conversion of a later argument runs may give it other memory, as resize_() of PyTorch's tensors
// does, even if a struct owns it. So if such code may have run, each array whose table exports is
// looked at again right before the call. Buffers cannot move while they are exported.
#include "objects/arrays/dlpack_source.h"
#include "objects/arrays/exported_array.h"
#include "objects/arrays/foreign_array.h"
#include "objects/arrays/foreign_kind.h"
#include "runtime/types.h"

#include <algorithm>

namespace opyard::python {
namespace {

bool has_read_only_memory(Runtime& runtime, const TensorImpl& tensor, PyObject* array) {
  try {
    return tensor.storage()->read_only() || has_read_only_buffer(array);
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);
  }
}

void require_writable(Runtime& runtime, const TensorImpl& tensor, PyObject* array) {
  if (!has_read_only_memory(runtime, tensor, array)) return;
  throw RefusedArray(Error(ErrorKind::BadValue,
                           "the operator writes to this argument, and the memory of the array is "
                           "read-only; pass one that can be written, such as a copy"));
}

// A copy is no one's but the call's: what is written there is lost.
void make_read_only(ExportedOrTaken& taken) {
  if (taken.exported != nullptr) {
    taken.exported->tensor.set_access(true);
  } else {
    taken.tensor = as_read_only(std::move(taken.tensor));
  }
}

// Ends an export that turns out to be too little for its array.
class Provisional {
 public:
  explicit Provisional(ExportedArray& exported) noexcept : exported_(&exported) {}
  Provisional(const Provisional&) = delete;
  Provisional& operator=(const Provisional&) = delete;
  ~Provisional() {
    if (exported_ != nullptr) end_export(*exported_);
  }
  void keep() noexcept { exported_ = nullptr; }

 private:
  ExportedArray* exported_;
};

// See [Moved].
bool is_where_it_was(const ForeignKind& kind, PyObject* array, const TensorImpl& tensor) {
  if (kind.way != ForeignWay::Table || kind.table->dltensor_from_py_object_no_sync == nullptr) {
    return true;
  }
  dlpack::DLTensor now;
  if (in_python([&] { return kind.table->dltensor_from_py_object_no_sync(array, &now); }) != 0) {
    throw PythonErrorSet();
  }
  const IntSpan sizes = tensor.sizes();
  return static_cast<std::byte*>(now.data) + now.byte_offset == tensor.storage()->data() &&
         std::equal(sizes.begin(), sizes.end(), now.shape, now.shape + now.ndim);
}

}  // namespace

ForeignArguments::Item* ForeignArguments::find(PyObject* object) noexcept {
  constexpr std::size_t kMost = 64;  // a call with more need not know that two are the same
  const std::size_t count = std::min(items_.size(), kMost);
  for (std::size_t i = 0; i < count; ++i) {
    if (items_[i].object == object) return &items_[i];
  }
  return nullptr;
}

PyObject* ForeignArguments::find_array(const TensorImpl* tensor) const noexcept {
  for (const Item& item : items_) {
    if (item.tensor == tensor) return item.object;
  }
  return nullptr;
}

// The caller of the operator holds the array, and nothing is looked at in its type's place once
// Python code may have run.
TensorImpl* ForeignArguments::export_of_known_type(Runtime& runtime, PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  const ForeignState::Known& near = place_of(*runtime.foreign, type);
  const TypeVersion version = type_version(runtime, type);
  if (near.type != type || near.version != version || version == 0 || near.kind.is_ours ||
      find(object) != nullptr) {
    return nullptr;
  }
  items_.reserve(items_.size() + 1);
  const dlpack::DLPackExchangeAPI* const table = near.kind.table;
  const BeyondMemory* const beyond = near.kind.beyond;
  ExportedArray* const exported =
      table != nullptr && table->dltensor_from_py_object_no_sync != nullptr
          ? export_by_table(runtime, *table, object)
          : export_array(runtime, near.kind, object, false);
  if (exported == nullptr) return nullptr;
  exported->hold_array(false);
  TensorImpl* const tensor = &exported->tensor.tensor();
  if (beyond != nullptr) {
    Provisional provisional(*exported);
    if (!is_only_memory(*beyond, object, tensor->dtype(), grad_mode_)) return nullptr;
    provisional.keep();
  }
  items_.push_back({object, tensor, exported, false, false});
  if (first_ == nullptr) first_ = object;
  return tensor;
}

// An array that was not given before in this call.
ForeignArguments::Item& ForeignArguments::take(Runtime& runtime, const ForeignKind& kind,
                                               PyObject* object) {
  if (kind.way != ForeignWay::Table) expect_code();
  items_.reserve(items_.size() + 1);
  const Owned copy = copy_or_refuse(runtime, kind, object, written_, grad_mode_);
  ExportedOrTaken taken;
  if (copy) {
    taken = take_or_refuse(runtime, foreign_kind_of(runtime, Py_TYPE(copy.get())), copy.get());
    make_read_only(taken);
  } else {
    if (!outlives_call_) taken.exported = export_array(runtime, kind, object, written_);
    if (taken.exported == nullptr) taken = take_or_refuse(runtime, kind, object);
  }
  if (outlives_call_) taken = {nullptr, settle(std::move(taken))};
  TensorImpl* tensor = nullptr;
  if (taken.exported != nullptr) {
    taken.exported->hold_array(true);
    tensor = &taken.exported->tensor.tensor();
  } else {
    tensor = taken.tensor.release_impl();
  }
  if (copy || taken.exported == nullptr) Py_INCREF(object);
  items_.push_back({object, tensor, taken.exported, bool(copy), false});
  return items_.back();
}

TensorImpl* ForeignArguments::convert(Runtime& runtime, PyObject* object) {
  Item* item = find(object);
  if (item == nullptr) {
    const ForeignKind kind = foreign_kind_of(runtime, Py_TYPE(object));
    if (kind.way == ForeignWay::None) return nullptr;
    item = &take(runtime, kind, object);
  }
  if (written_) {
    if (item->is_copy) {
      copy_or_refuse(runtime, foreign_kind_of(runtime, Py_TYPE(object)), object, true, grad_mode_);
    }
    require_writable(runtime, *item->tensor, object);
    item->is_written = any_written_ = true;
  }
  if (first_ == nullptr) first_ = object;
  return item->tensor;
}

void ForeignArguments::forget_writes() noexcept {
  any_written_ = false;
  for (Item& item : items_) item.is_written = false;
}

// Counting first: it may run code as well.
void ForeignArguments::finish_conversion(Runtime& runtime, const std::string& op) {
  for (const Item& item : items_) {
    if (item.is_written) {
      count_write(foreign_kind_of(runtime, Py_TYPE(item.object)).beyond, item.object);
    }
  }
  if (!code_ran_) return;
  for (const Item& item : items_) {
    const ForeignKind kind = foreign_kind_of(runtime, Py_TYPE(item.object));
    if (item.is_copy || is_where_it_was(kind, item.object, *item.tensor)) continue;
    fail(ErrorKind::BadValue,
         op + "(): an argument of type '" + Py_TYPE(item.object)->tp_name +
             "' was resized, or given other memory, while the arguments after it were converted; "
             "convert them before the call");
  }
}

std::int64_t ForeignArguments::storage_offset_of(Runtime& runtime, const TensorImpl& tensor) const {
  for (const Item& item : items_) {
    if (item.tensor != &tensor || item.is_copy) continue;
    return python::storage_offset_of(foreign_kind_of(runtime, Py_TYPE(item.object)).beyond,
                                     item.object);
  }
  return 0;
}

// The last one first, so that the same argument of the next call gets the same export.
void ForeignArguments::drop() noexcept {
  for (std::size_t i = items_.size(); i-- > 0;) {
    const Item& item = items_[i];
    if (item.exported != nullptr) {
      end_export(*item.exported);
    } else {
      const Tensor owner(CountedPtr<TensorImpl>::steal(item.tensor));
    }
    if (item.is_copy || item.exported == nullptr) drop_reference(item.object);
  }
}

}  // namespace opyard::python
