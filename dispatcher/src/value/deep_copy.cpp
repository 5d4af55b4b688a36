// value/deep_copy.cpp: deep copies of values.
//
// [Order] The copy of a container is made empty, noted in the memo, and put on a list; the list is
// worked off until it is empty. So a container inside itself finds its own copy, and nesting
// costs no stack.
//
// [Failure] When something cannot be copied, the containers made so far may be inside each other
// and would never be freed. They are emptied, and the memo forgets them.
#include "opyard/value/deep_copy.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "opyard/detail/value/dict_object.h"

namespace opyard {

struct CopyMemo::State {
  struct Entry {
    Value original;  // so that its address is not used again
    Value copy;      // None while an object of a user is being copied
  };
  std::unordered_map<const Counted*, std::size_t> positions;
  std::vector<Entry> entries;
};

CopyMemo::CopyMemo() : state_(std::make_unique<State>()) {}
CopyMemo::~CopyMemo() = default;

namespace {

CountedPtr<Storage> copy_storage(const Storage& storage) {
  const Device device = storage.device();
  if (device.backend != Backend::CPU && device.backend != Backend::Meta) {
    fail(ErrorKind::Unsupported,
         fmt::format("memory on {} cannot be copied here; only memory on cpu and meta can",
                     to_string(device)));
  }
  if (storage.data() == nullptr) {
    return Storage::adopt(nullptr, storage.bytes(), device, nullptr, nullptr);
  }
  CountedPtr<Storage> copy = Storage::allocate(storage.bytes(), device);
  if (storage.bytes() != 0) std::memcpy(copy->data(), storage.data(), storage.bytes());
  return copy;
}

void empty_out(const Value& container) noexcept {
  if (container.is_dict()) {
    static_cast<DictObject*>(container.object_unchecked())->clear();
  } else if (container.is_list() || container.is_tuple()) {
    const std::vector<Value> old =
        std::move(static_cast<ListObject*>(container.object_unchecked())->items);
  }
}

}  // namespace

// One call of deep_copy().
class DeepCopy {
 public:
  explicit DeepCopy(CopyMemo& memo) noexcept
      : memo_(memo), state_(*memo.state_), before_(state_.entries.size()) {}
  DeepCopy(const DeepCopy&) = delete;
  DeepCopy& operator=(const DeepCopy&) = delete;
  ~DeepCopy() {
    if (!done_) undo();
  }

  Value run(const Value& value) {
    Value copy = copy_of(value);
    while (!later_.empty()) {
      const std::size_t at = later_.back();
      later_.pop_back();
      fill(Value(state_.entries[at].original), Value(state_.entries[at].copy));
    }
    done_ = true;
    return copy;
  }

 private:
  // See [Failure].
  void undo() noexcept {
    for (std::size_t i = before_; i < state_.entries.size(); ++i) {
      empty_out(state_.entries[i].copy);
      state_.positions.erase(state_.entries[i].original.object_unchecked());
    }
    state_.entries.resize(before_);
  }

  std::size_t note(const Value& original, Value copy) {
    const std::size_t at = state_.entries.size();
    state_.entries.push_back({original, std::move(copy)});
    state_.positions[original.object_unchecked()] = at;
    return at;
  }

  Value copy_of(const Value& value) {
    if (!is_heap(value.kind()) || value.object_unchecked() == nullptr) return value;
    const auto found = state_.positions.find(value.object_unchecked());
    if (found == state_.positions.end()) return fresh_copy(value);
    const Value& copy = state_.entries[found->second].copy;
    if (copy.is_none()) refuse_cycle(value);
    return copy;
  }

  Value fresh_copy(const Value& value) {
    switch (value.kind()) {
      case Kind::List:
        return begin(value, Value::list({}));
      case Kind::Tuple:
        return begin(value, Value::tuple({}));
      case Kind::Dict:
        return begin(value, Value::dict({}));
      case Kind::Tensor:
        return noted(value, Value(copy_tensor(value.tensor_unchecked())));
      case Kind::Storage:
        return noted(value, Value(copy_storage(value.to_storage())));
      case Kind::Generator:
        return noted(value, Value(value.to_generator().clone()));
      case Kind::Object:
        return copy_object(value);
      case Kind::Future:
        fail(ErrorKind::Unsupported,
             "a Future cannot be copied: what completes it knows the one that there is; copy the "
             "value once it is there");
      case Kind::Capsule:
      case Kind::PyObject:
        fail(ErrorKind::Unsupported,
             fmt::format("a {} cannot be copied: only those who made it know what it holds",
                         name_of(value.kind())));
      default:
        return value;  // it cannot change
    }
  }

  Value noted(const Value& original, Value copy) {
    note(original, copy);
    return copy;
  }

  // See [Order].
  Value begin(const Value& original, Value copy) {
    later_.push_back(note(original, copy));
    return copy;
  }

  void fill(const Value& original, const Value& copy) {
    if (original.is_dict()) {
      const DictObject& from = original.to_dict();
      auto& to = *static_cast<DictObject*>(copy.object_unchecked());
      to.reserve(from.size());
      for (std::size_t at = from.next(0); at != DictObject::kEnd; at = from.next(at + 1)) {
        to.insert_or_assign(copy_of(from.key_at(at)), copy_of(from.value_at(at)));
      }
      return;
    }
    const std::vector<Value>& from = original.items_unchecked();
    std::vector<Value>& to = static_cast<ListObject*>(copy.object_unchecked())->items;
    to.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to.push_back(copy_of(from[i]));
  }

  Tensor copy_tensor(const Tensor& tensor) {
    const Value storage = copy_of(Value(tensor.impl()->storage()));
    return Tensor(make_counted<TensorImpl>(CountedPtr<Storage>::share(&storage.to_storage()),
                                           tensor.dtype(), tensor.sizes(), tensor.strides(),
                                           tensor.storage_offset(), tensor.alias().keys()));
  }

  Value copy_object(const Value& value) {
    const std::size_t at = note(value, Value());
    CountedPtr<Object> copy = value.to_object().copy(memo_);
    return state_.entries[at].copy = Value(std::move(copy));
  }

  [[noreturn]] static void refuse_cycle(const Value& value) {
    fail(ErrorKind::Unsupported,
         fmt::format("an object of class {} that holds itself cannot be copied",
                     value.to_object().type().name()));
  }

  CopyMemo& memo_;
  CopyMemo::State& state_;
  const std::size_t before_;
  std::vector<std::size_t> later_;  // positions of containers whose copies are still empty
  bool done_ = false;
};

Value deep_copy(const Value& value) {
  CopyMemo memo;
  return deep_copy(value, memo);
}

Value deep_copy(const Value& value, CopyMemo& memo) { return DeepCopy(memo).run(value); }

}  // namespace opyard
