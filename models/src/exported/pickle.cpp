// exported/pickle.cpp: pickle decoder: opcodes of torch.save(), each checked. See [Steps].
#include "exported/pickle.h"

#include <bit>
#include <cstring>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "files/file_dtypes.h"
#include "files/json.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

constexpr const char* kTensor = "torch._utils _rebuild_tensor_v2";
// Of dtypes without a class of memory, such as uint16: the dtype is the argument behind the hooks.
constexpr const char* kTensorOfBytes = "torch._utils _rebuild_tensor_v3";
constexpr const char* kBytes = "torch.storage UntypedStorage";
constexpr const char* kOfType = "torch._tensor _rebuild_from_type_v2";
constexpr const char* kParameter = "torch._utils _rebuild_parameter";
constexpr const char* kOrderedDict = "collections OrderedDict";
constexpr std::string_view kStorage = "torch ";

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

// The folder that all entries are in: "archive/".
std::string pickle_folder(const ZipArchive& archive) {
  for (const auto& [name, entry] : archive.entries()) {
    const std::size_t slash = name.find('/');
    if (slash != name.npos && name.substr(slash + 1) == "data.pkl")
      return name.substr(0, slash + 1);
  }
  fail(ErrorKind::BadValue, archive.file()->path() + " holds no pickle");
}

class Machine {
 public:
  Machine(const ZipArchive& archive, std::deque<PickleItem>& items)
      : archive_(archive),
        folder_(pickle_folder(archive)),
        what_(archive.file()->path() + ": " + folder_ + "data.pkl"),
        bytes_(archive.text(folder_ + "data.pkl")),
        items_(items) {}

  const PickleItem* run() {
    while (step(std::uint8_t(take(1)[0]))) {
    }
    check(stack_.size() == 1 && marks_.empty() && at_ == bytes_.size());
    return stack_[0];
  }

 private:
  // ---- bytes

  void check(bool condition) const {
    OPYARD_CHECK(condition, BadValue, fmt::format("{} is broken at byte {}", what_, at_));
  }
  std::string_view take(std::size_t count) {
    check(count <= bytes_.size() - at_);
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  template <typename T>
  T number() {
    T given;
    std::memcpy(&given, take(sizeof(T)).data(), sizeof(T));
    return given;
  }
  std::string line() {
    const std::size_t end = bytes_.find('\n', at_);
    check(end != bytes_.npos);
    std::string text(take(end - at_));
    ++at_;
    return text;
  }

  // ---- the stack

  PickleItem* push(PickleKind kind, std::vector<const PickleItem*> parts = {}) {
    items_.emplace_back();
    items_.back().kind = kind;
    items_.back().items = std::move(parts);
    stack_.push_back(&items_.back());
    return stack_.back();
  }
  void push(opyard::Value value) { push(PickleKind::Plain)->value = std::move(value); }
  PickleItem* pop() {
    check(stack_.size() > (marks_.empty() ? 0 : marks_.back()));
    PickleItem* const item = stack_.back();
    stack_.pop_back();
    return item;
  }
  std::vector<const PickleItem*> pop(std::size_t count) {
    check(stack_.size() - (marks_.empty() ? 0 : marks_.back()) >= count);
    const std::vector<const PickleItem*> popped(stack_.end() - std::ptrdiff_t(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return popped;
  }
  std::vector<const PickleItem*> pop_to_mark() {
    check(!marks_.empty());
    const std::size_t count = stack_.size() - marks_.back();
    std::vector<const PickleItem*> popped = pop(count);
    marks_.pop_back();
    return popped;
  }
  void append(PickleKind kind, const std::vector<const PickleItem*>& more) {
    check(!stack_.empty() && stack_.size() > (marks_.empty() ? 0 : marks_.back()));
    PickleItem* const to = stack_.back();
    check(to->kind == kind && (kind == PickleKind::List || more.size() % 2 == 0));
    to->items.insert(to->items.end(), more.begin(), more.end());
  }
  void keep(std::uint32_t place) {
    PickleItem* const top = pop();
    stack_.push_back(top);
    memory_[place] = top;
  }
  void recall(std::uint32_t place) {
    const auto found = memory_.find(place);
    check(found != memory_.end());
    stack_.push_back(found->second);
  }

  // ---- instructions; false: the last one. Their names are those of CPython's pickletools.

  bool step(std::uint8_t code) {
    switch (code) {
      case 0x80:
        check(number<std::uint8_t>() == 2);
        break;  // PROTO
      case '.':
        return false;  // STOP
      case '(':
        marks_.push_back(stack_.size());
        break;  // MARK
      case 'q':
        keep(number<std::uint8_t>());
        break;  // BINPUT
      case 'r':
        keep(number<std::uint32_t>());
        break;  // LONG_BINPUT
      case 'h':
        recall(number<std::uint8_t>());
        break;  // BINGET
      case 'j':
        recall(number<std::uint32_t>());
        break;  // LONG_BINGET
      case ')':
        push(PickleKind::Tuple);
        break;  // EMPTY_TUPLE
      case 0x85:
        push(PickleKind::Tuple, pop(1));
        break;  // TUPLE1
      case 0x86:
        push(PickleKind::Tuple, pop(2));
        break;  // TUPLE2
      case 0x87:
        push(PickleKind::Tuple, pop(3));
        break;  // TUPLE3
      case 't':
        push(PickleKind::Tuple, pop_to_mark());
        break;  // TUPLE
      case ']':
        push(PickleKind::List);
        break;  // EMPTY_LIST
      case 'a':
        append(PickleKind::List, pop(1));
        break;  // APPEND
      case 'e':
        append(PickleKind::List, pop_to_mark());
        break;  // APPENDS
      case '}':
        push(PickleKind::Dict);
        break;  // EMPTY_DICT
      case 's':
        append(PickleKind::Dict, pop(2));
        break;  // SETITEM
      case 'u':
        append(PickleKind::Dict, pop_to_mark());
        break;  // SETITEMS
      default:
        plain_step(code);
    }
    return true;
  }

  void plain_step(std::uint8_t code) {
    switch (code) {
      case 'N':
        return push(opyard::Value());  // NONE
      case 0x88:
        return push(opyard::Value(true));  // NEWTRUE
      case 0x89:
        return push(opyard::Value(false));  // NEWFALSE
      case 'K':
        return push(std::int64_t(number<std::uint8_t>()));  // BININT1
      case 'M':
        return push(std::int64_t(number<std::uint16_t>()));  // BININT2
      case 'J':
        return push(std::int64_t(number<std::int32_t>()));  // BININT
      case 0x8a:
        return push_long();  // LONG1
      case 'G':
        return push(std::bit_cast<double>(swapped(number<std::uint64_t>())));  // BINFLOAT
      case 'X':
        return push_text(number<std::uint32_t>());  // BINUNICODE
      case 'c':
        return push_name();  // GLOBAL
      case 'Q':
        return push_memory();  // BINPERSID
      case 'R':
        return reduce();  // REDUCE
      default:
        fail(ErrorKind::Unsupported,
             fmt::format("{} has the instruction {:#x} at byte {}, which is not taken", what_, code,
                         at_ - 1));
    }
  }

  static std::uint64_t swapped(std::uint64_t bits) { return __builtin_bswap64(bits); }

  void push_long() {
    const std::size_t count = number<std::uint8_t>();
    OPYARD_CHECK(count <= 8, Unsupported, fmt::format("{} has an int above 64 bits", what_));
    const std::string_view bytes = take(count);
    std::uint64_t bits = count > 0 && bytes.back() < 0 ? ~std::uint64_t{0} : 0;
    std::memcpy(&bits, bytes.data(), count);
    push(std::int64_t(bits));
  }

  void push_text(std::size_t count) {
    const std::string_view text = take(count);
    check(is_utf8(text));
    push(opyard::Value(text));
  }

  void push_name() {
    const std::string module = line();
    push(PickleKind::Name)->name = module + ' ' + line();
  }

  std::string text_of(const PickleItem* item) const {
    check(item->kind == PickleKind::Plain && item->value.is_string());
    return std::string(item->value.to_string_view());
  }
  std::int64_t int_of(const PickleItem* item) const {
    check(item->kind == PickleKind::Plain && item->value.is_int());
    return item->value.to_int();
  }

  // ("storage", torch FloatStorage, "0", "cpu", number of elements)
  void push_memory() {
    const PickleItem* const said = pop();
    check(said->kind == PickleKind::Tuple && said->items.size() == 5);
    check(text_of(said->items[0]) == "storage" && said->items[1]->kind == PickleKind::Name);
    const std::string_view type = said->items[1]->name;
    const auto dtype = type.starts_with(kStorage)
                           ? find_dtype_by(&FileDType::storage, type.substr(kStorage.size()))
                           : std::nullopt;
    const bool is_typed = type != kBytes;
    OPYARD_CHECK((dtype || !is_typed) && text_of(said->items[3]) == "cpu", Unsupported,
                 fmt::format("{} has a tensor of another kind", what_));
    PickleItem* const memory = push(PickleKind::Memory);
    memory->name = folder_ + "data/" + text_of(said->items[2]);
    memory->dtype = dtype;
  }

  void reduce() {
    const PickleItem* arguments = pop();
    const PickleItem* name = pop();
    check(arguments->kind == PickleKind::Tuple && name->kind == PickleKind::Name);
    if (name->name == kOfType) {  // (what is called, a class, its arguments, attributes)
      check(arguments->items.size() == 4);
      name = arguments->items[0];
      arguments = arguments->items[2];
      check(arguments->kind == PickleKind::Tuple && name->kind == PickleKind::Name);
    }
    if (name->name == kTensor) {
      check(!arguments->items.empty());
      push(tensor_of(arguments->items, arguments->items[0]->dtype));
    } else if (name->name == kTensorOfBytes) {
      check(arguments->items.size() >= 7);
      push(tensor_of(arguments->items, dtype_named_by(arguments->items[6])));
    } else if (name->name == kParameter) {
      check(arguments->items.size() == 3 && arguments->items[0]->value.is_tensor());
      push(arguments->items[0]->value);
    } else if (name->name == kOrderedDict && arguments->items.empty()) {
      push(PickleKind::Dict);
    } else {
      fail(ErrorKind::Unsupported, fmt::format("{} calls something, and nothing is called", what_));
    }
  }

  DimVector ints_of(const PickleItem* tuple) const {
    check(tuple->kind == PickleKind::Tuple);
    DimVector ints;
    for (const PickleItem* const item : tuple->items) ints.push_back(int_of(item));
    return ints;
  }

  // torch uint16
  std::optional<DType> dtype_named_by(const PickleItem* item) const {
    check(item->kind == PickleKind::Name && item->name.starts_with(kStorage));
    return opyard::find_dtype(item->name.substr(kStorage.size()));
  }

  // (memory, first element, sizes, strides, …)
  opyard::Value tensor_of(const std::vector<const PickleItem*>& arguments,
                          std::optional<DType> given) const {
    check(arguments.size() >= 4 && arguments[0]->kind == PickleKind::Memory);
    OPYARD_CHECK(given, Unsupported, fmt::format("{} has a tensor of another kind", what_));
    const DType dtype = *given;
    const std::int64_t first = int_of(arguments[1]);
    const DimVector sizes = ints_of(arguments[2]);
    const DimVector strides = ints_of(arguments[3]);
    const CountedPtr<FileBytes> entry = archive_.aligned(arguments[0]->name);
    const std::size_t bytes = entry->bytes().size();
    check(first >= 0 && std::uint64_t(first) <= bytes / item_size(dtype));
    const std::size_t skipped = std::size_t(first) * item_size(dtype);
    return entry->strided_at(what_ + ": a tensor", skipped, bytes - skipped, dtype, sizes, strides);
  }

  const ZipArchive& archive_;
  const std::string folder_;
  const std::string what_;
  const std::string_view bytes_;
  std::size_t at_ = 0;
  std::deque<PickleItem>& items_;  // whose addresses stay
  std::vector<PickleItem*> stack_;
  std::vector<std::size_t> marks_;  // how high the stack was
  std::map<std::uint32_t, PickleItem*> memory_;
};

}  // namespace

Pickle::Pickle(CountedPtr<FileBytes> archive) : archive_(std::move(archive)) {
  top_ = Machine(archive_, items_).run();
}

}  // namespace opyard::jit
