// code/load_state.cpp: loading a saved state from untrusted bytes.
//
// [Checks] Instructions do not ask what is in their registers, so everything is asked here: that
// the position is an instruction, that each register that will be read holds a value of its type,
// and that others hold nothing. A tensor's geometry is checked against its memory when it is made.
#include <fmt/format.h>

#include <cstring>

#include "code/plan.h"
#include "code/saved_state.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/tensor/tensor.h"

namespace opyard::jit {
namespace {

using namespace saved;  // NOLINT: the form

[[noreturn]] OPYARD_COLD void refuse_state(std::string_view what) {
  fail(ErrorKind::BadValue, fmt::format("this is no saved state of the code: {}", what));
}

class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes), size_(bytes.size()) {}

  std::string_view raw(std::uint64_t count) {
    if (count > rest_.size()) {
      refuse_state(
          fmt::format("it ends at byte {}, where {} more are wanted", size_, count - rest_.size()));
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  void expect_end() const {
    if (!rest_.empty()) refuse_state(fmt::format("{} bytes follow its end", rest_.size()));
  }

  opyard::Value value(std::size_t depth) {
    if (depth == kMostNesting) refuse_state("its containers are nested too deep");
    const auto kind = number<std::uint8_t>();
    if (kind == kUndefinedTensor) return opyard::Value(Tensor());
    if (kind == kSeen) return seen(number<std::uint32_t>());
    switch (Kind(kind)) {
      case Kind::None:
        return {};
      case Kind::Bool:
        return opyard::Value(number<std::uint8_t>() != 0);
      case Kind::Int:
        return opyard::Value(number<std::int64_t>());
      case Kind::Double:
        return opyard::Value(number<double>());
      case Kind::Complex: {
        const auto real = number<double>();
        return opyard::Value(std::complex<double>(real, number<double>()));
      }
      case Kind::Device:
        return device();
      case Kind::String:
        return opyard::Value(raw(number<std::uint64_t>()));
      case Kind::Tensor:
        return tensor();
      case Kind::List:
      case Kind::Tuple:
        return items(Kind(kind), depth);
      case Kind::Dict:
        return dict(depth);
      default:
        refuse_state(fmt::format("byte {} is no kind of value", size_ - rest_.size() - 1));
    }
  }

 private:
  // A count of things of at least one byte each.
  std::size_t count() {
    const auto given = number<std::uint64_t>();
    if (given > rest_.size()) refuse_state(fmt::format("it holds a container of {} values", given));
    return given;
  }

  opyard::Value seen(std::uint32_t index) const {
    if (index >= seen_.size() || seen_[index].is_none()) {
      refuse_state(fmt::format("it refers to part {}, which is not before", index));
    }
    return seen_[index];
  }

  opyard::Value device() {
    const auto backend = number<std::uint8_t>();
    const auto index = number<std::int16_t>();
    if (backend >= kBackendCount) refuse_state(fmt::format("{} is no backend", backend));
    return opyard::Value(Device{Backend(backend), index});
  }

  // Nothing may refer to it before it is whole: one that holds itself would never be freed.
  std::size_t begin() {
    seen_.emplace_back();
    return seen_.size() - 1;
  }

  opyard::Value items(Kind kind, std::size_t depth) {
    const std::size_t own = begin();
    const std::size_t size = count();
    std::vector<opyard::Value> items;
    for (std::size_t i = 0; i < size; ++i) items.push_back(value(depth + 1));
    seen_[own] = kind == Kind::List ? opyard::Value::list(std::move(items))
                                    : opyard::Value::tuple(std::move(items));
    return seen_[own];
  }

  opyard::Value dict(std::size_t depth) {
    const std::size_t own = begin();
    const std::size_t size = count();
    const opyard::Value made = opyard::Value::dict({});
    auto& dict = const_cast<DictObject&>(made.to_dict());
    for (std::size_t i = 0; i < size; ++i) {
      opyard::Value key = value(depth + 1);
      if (!is_key(key)) refuse_state(fmt::format("a dict has {} as a key", name_of(key.kind())));
      dict.insert_or_assign(std::move(key), value(depth + 1));
    }
    seen_[own] = made;
    return made;
  }

  opyard::Value tensor() {
    const std::size_t own = begin();
    const auto code = number<std::uint8_t>();
    const auto dims = number<std::uint8_t>();
    DimVector sizes;
    DimVector strides;
    for (int i = 0; i < dims; ++i) sizes.push_back(number<std::int64_t>());
    for (int i = 0; i < dims; ++i) strides.push_back(number<std::int64_t>());
    const auto offset = number<std::int64_t>();
    const opyard::Value memory = storage();
    const std::optional<DType> dtype = find_dtype(code);
    if (!dtype) refuse_state(fmt::format("{} is no element type", code));
    try {
      seen_[own] = opyard::Value(Tensor(make_counted<TensorImpl>(
          CountedPtr<Storage>::share(&memory.to_storage()), *dtype, IntSpan(sizes),
          IntSpan(strides), offset, Tensor::empty({}).keys())));
    } catch (const Error& error) {
      refuse_state(error.what());
    }
    return seen_[own];
  }

  opyard::Value storage() {
    const auto kind = number<std::uint8_t>();
    if (kind == kSeen) {
      const opyard::Value known = seen(number<std::uint32_t>());
      if (!known.is_storage()) refuse_state("a tensor's memory is something else");
      return known;
    }
    if (Kind(kind) != Kind::Storage) refuse_state("a tensor has no memory");
    const std::string_view bytes = raw(number<std::uint64_t>());
    const CountedPtr<Storage> made = Storage::allocate(bytes.size(), Device{});
    if (!bytes.empty()) std::memcpy(made->data(), bytes.data(), bytes.size());
    seen_.emplace_back(made);
    return seen_.back();
  }

  static std::optional<DType> find_dtype(std::uint8_t code) {
    switch (DType(code)) {
#define OPYARD_DTYPE(number, Name, python_name, type, dlpack, bits, ...) case DType::Name:
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
      return DType(code);
    }
    return std::nullopt;
  }

  std::string_view rest_;
  const std::size_t size_;
  std::vector<opyard::Value> seen_;
};

// See [Checks].
void check_register(const RegisterInfo& info, std::uint32_t index, const Register& given,
                    bool lives) {
  const std::string name =
      info.value != nullptr ? "%" + info.value->printed_name() : fmt::format("register {}", index);
  if (!lives) {
    if (info.owns && !given.is_none()) {
      refuse_state(fmt::format("{} holds {}, and is not used from there on", name,
                               opyard::name_of(given.kind())));
    }
    return;
  }
  const bool fits =
      info.type->kind() == TypeKind::Tensor ? given.is_tensor() : accepts(*info.type, given);
  if (fits) return;
  refuse_state(fmt::format("{} holds {}, where {} is wanted", name, opyard::name_of(given.kind()),
                           type_text(*info.type)));
}

}  // namespace

InterpreterState InterpreterState::load(CodePtr code, std::string_view bytes) {
  OPYARD_CHECK(code != nullptr, BadArgument, "a state is of a code, not of null");
  const CodeData& data = code->data();
  check_unchanged(data);
  InterpreterState state(code);
  StateReader reader(bytes);
  if (bytes.substr(0, kMagic.size()) != kMagic) refuse_state("it does not begin as one");
  reader.raw(kMagic.size());
  const auto version = reader.number<std::uint32_t>();
  if (version != kVersion) {
    refuse_state(
        fmt::format("it is of version {}, and this Opyard reads version {}", version, kVersion));
  }
  if (reader.number<std::uint64_t>() != fingerprint(*code)) {
    refuse_state("it was saved with another graph, or with another version of Opyard");
  }
  const auto stage = reader.number<std::uint32_t>();
  const auto position = reader.number<std::uint32_t>();
  if (stage > data.stages.size()) refuse_state(fmt::format("there is no stage {}", stage));
  state.stage_ = stage;
  if (position != kBetweenStages) {
    if (position >= data.instructions.size() || data.origins[position].stage != stage) {
      refuse_state(fmt::format("instruction {} is not in stage {}", position, stage));
    }
    state.at_ = data.instructions.data() + position;
  }
  const auto held = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < held; ++i) {
    const auto index = reader.number<std::uint32_t>();
    if (index >= state.registers_.size() || !state.registers_[index].is_none()) {
      refuse_state(fmt::format("register {} is not there, or comes twice", index));
    }
    state.registers_[index] = reader.value(0);
  }
  reader.expect_end();
  const Plan plan = make_plan(data);
  std::vector<bool> lives(data.registers.size(), false);
  if (position != kBetweenStages) {
    lives = plan[position];
  } else if (stage > 0) {
    lives = live_behind(data, plan, stage - 1);
  }
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    check_register(data.registers[i], i, state.registers_[i], lives[i]);
  }
  return state;
}

}  // namespace opyard::jit
