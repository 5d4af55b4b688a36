// code/save_state.cpp: saving a state as bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "code/entered.h"
#include "code/saved_state.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/jit/print.h"
#include "opyard/tensor/tensor.h"

namespace opyard::jit {

std::uint64_t saved::fingerprint(const Code& code) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const std::string& text : {to_string(code.graph()), code.disassemble()}) {
    for (const char c : text) hash = (hash ^ std::uint8_t(c)) * 0x100'0000'01b3;
  }
  return hash;
}

namespace {

using namespace saved;  // NOLINT: the form

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are");

class Writer {
 public:
  template <typename T>
  void number(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof value);
  }
  void text(std::string_view value) {
    number(std::uint64_t(value.size()));
    out_ += value;
  }
  void raw(std::string_view bytes) { out_ += bytes; }

  // Raises Unsupported for what is of this process only.
  void value(const opyard::Value& value, std::size_t depth) {
    if (depth == kMostNesting) refuse("containers that are nested too deep");
    switch (value.kind()) {
      case Kind::None:
        return kind(value);
      case Kind::Bool:
        kind(value);
        return number(std::uint8_t(value.to_bool()));
      case Kind::Int:
        kind(value);
        return number(value.to_int());
      case Kind::Double:
        kind(value);
        return number(value.to_double());
      case Kind::Complex:
        kind(value);
        number(value.to_complex().real());
        return number(value.to_complex().imag());
      case Kind::Device:
        kind(value);
        number(std::uint8_t(value.to_device().backend));
        return number(std::int16_t(value.to_device().index));
      case Kind::String:
        kind(value);
        return text(value.to_string_view());
      case Kind::Tensor:
        return tensor(value);
      case Kind::List:
      case Kind::Tuple:
        return items(value, depth);
      case Kind::Dict:
        return dict(value, depth);
      default:
        refuse(describe(value));
    }
  }

  std::string take() && { return std::move(out_); }

 private:
  [[noreturn]] static void refuse(std::string_view what) {
    fail(ErrorKind::Unsupported, fmt::format("it cannot be saved: it holds {}", what));
  }
  static std::string describe(const opyard::Value& value) {
    switch (value.kind()) {
      case Kind::PyObject:
        return fmt::format("a Python object, {}", opyard::to_string(value));
      case Kind::Future:
        return "a future, which has to be waited for first";
      default:
        return fmt::format("a value of kind {}", name_of(value.kind()));
    }
  }

  void kind(const opyard::Value& value) { number(std::uint8_t(value.kind())); }

  // Whether it was written before; else it gets the next number.
  bool is_seen(const void* object) {
    const auto [known, fresh] = seen_.try_emplace(object, std::uint32_t(seen_.size()));
    if (fresh) return false;
    if (std::find(open_.begin(), open_.end(), object) != open_.end()) {
      refuse("a container that holds itself");
    }
    number(kSeen);
    number(known->second);
    return true;
  }

  void items(const opyard::Value& value, std::size_t depth) {
    if (is_seen(value.object_unchecked())) return;
    kind(value);
    open_.push_back(value.object_unchecked());
    number(std::uint64_t(value.items_unchecked().size()));
    for (const opyard::Value& item : value.items_unchecked()) this->value(item, depth + 1);
    open_.pop_back();
  }

  void dict(const opyard::Value& value, std::size_t depth) {
    if (is_seen(value.object_unchecked())) return;
    kind(value);
    open_.push_back(value.object_unchecked());
    const DictObject& dict = value.to_dict();
    number(std::uint64_t(dict.size()));
    for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
      this->value(dict.key_at(at), depth + 1);
      this->value(dict.value_at(at), depth + 1);
    }
    open_.pop_back();
  }

  void tensor(const opyard::Value& value) {
    const Tensor& tensor = value.tensor_unchecked();
    if (!tensor.defined()) return number(kUndefinedTensor);
    const TensorImpl& impl = *tensor.impl();
    if (is_seen(&impl)) return;
    if (impl.policies() != 0 || tensor.keys() != plain_keys()) {
      refuse(fmt::format("{} with keys of its own, as a Python class gives",
                         opyard::describe(tensor)));
    }
    if (impl.gradient_state() || impl.storage()->gradient_state()) {
      refuse(fmt::format("{} that is on the tape; detach it first", opyard::describe(tensor)));
    }
    kind(value);
    number(std::uint8_t(impl.dtype()));
    number(std::uint8_t(impl.sizes().size()));
    for (const std::int64_t size : impl.sizes()) number(size);
    for (const std::int64_t stride : impl.strides()) number(stride);
    number(impl.storage_offset());
    storage(*impl.storage());
  }

  void storage(const Storage& storage) {
    if (is_seen(&storage)) return;
    number(std::uint8_t(Kind::Storage));
    storage.resolve();
    text({static_cast<const char*>(storage.data()), storage.bytes()});
  }

  // Of a tensor in the memory of this process that is nothing else.
  static DispatchKeySet plain_keys() {
    static const DispatchKeySet keys = Tensor::empty({}).keys();
    return keys;
  }

  std::string out_;
  std::unordered_map<const void*, std::uint32_t> seen_;
  std::vector<const void*> open_;  // the containers that are being written
};

}  // namespace

std::string InterpreterState::save() const {
  const Entered entered(*this);
  const CodeData& data = code_->data();
  Writer writer;
  writer.raw(kMagic);
  writer.number(kVersion);
  writer.number(fingerprint(*code_));
  writer.number(std::uint32_t(stage_));
  writer.number(at_ == nullptr ? kBetweenStages : data.index_of(at_));
  std::uint32_t held = 0;
  for (const Register& reg : registers_) held += !reg.is_none();
  writer.number(held);
  for (std::uint32_t i = 0; i < registers_.size(); ++i) {
    if (registers_[i].is_none()) continue;
    writer.number(i);
    try {
      writer.value(registers_[i], 0);
    } catch (const Error& error) {
      const Value* const value = data.registers[i].value;
      throw error.with_context(fmt::format(
          "saving {}, stage {}",
          value != nullptr ? "%" + value->printed_name() : fmt::format("register {}", i), stage_));
    }
  }
  return std::move(writer).take();
}

}  // namespace opyard::jit
