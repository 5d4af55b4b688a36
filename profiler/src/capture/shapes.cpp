// profiler/capture/shapes.cpp: facts of arguments, as words and as text.
#include "opyard/detail/profiler/shapes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "json.h"
#include "opyard/tensor/tensor.h"

namespace opyard::profiler {
namespace {

enum What : std::uint64_t { kEnd, kOther, kTensor, kTensors, kCut, kIntegers };

// Which words follow a head, besides sizes and items.
enum Follows : std::uint64_t { kNothing = 0, kStrides = 1, kAddress = 2, kNumber = 4 };

constexpr std::uint64_t head(What what, std::uint64_t kind, std::size_t count,
                             std::uint64_t follows = kNothing) {
  return what | kind << 8 | std::uint64_t(std::min<std::size_t>(count, 0xffff)) << 16 |
         follows << 32;
}

std::uint64_t count_of(std::uint64_t start) { return start >> 16 & 0xffff; }
bool has(std::uint64_t start, Follows what) { return (start >> 32 & what) != 0; }

bool are_all(const Value& list, Kind kind) {
  if (!list.is_list() || list.items_unchecked().empty()) return false;
  return std::all_of(list.items_unchecked().begin(), list.items_unchecked().end(),
                     [kind](const Value& item) { return item.kind() == kind; });
}

bool are_contiguous(IntSpan sizes, IntSpan strides) noexcept {
  std::uint64_t expected = 1;
  for (std::size_t n = sizes.size(); n-- > 0;) {
    if (std::uint64_t(strides[n]) != expected) return false;
    expected *= std::uint64_t(std::max<std::int64_t>(sizes[n], 1));
  }
  return true;
}

// Reads the numbers of the words one after the other.
class Reader {
 public:
  explicit Reader(std::span<const Payload> words) : words_(words) {}
  std::uint64_t next() {
    const std::size_t n = at_++;
    if (n / 2 >= words_.size()) return kEnd;
    return n % 2 == 0 ? words_[n / 2].first : words_[n / 2].second;
  }

 private:
  std::span<const Payload> words_;
  std::size_t at_ = 0;
};

void append_item(std::string& list, const std::string& item) {
  list += (list.size() > 1 ? ", " : "") + item;
}

std::string text_of(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) append_item(text, std::to_string(number));
  return text + "]";
}

std::string quoted(const std::string& text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

// What follows the head of a tensor.
struct TensorWords {
  TensorWords(Reader& reader, std::uint64_t start) : dtype(DType(start >> 8 & 0xff)) {
    for (std::uint64_t left = count_of(start); left != 0; --left) {
      sizes.push_back(std::int64_t(reader.next()));
    }
    strides.resize(sizes.size());
    std::uint64_t expected = 1;  // of a damaged capture the sizes may be any
    for (std::size_t n = sizes.size(); n-- > 0;) {
      strides[n] = std::int64_t(expected);
      expected *= std::uint64_t(std::max<std::int64_t>(sizes[n], 1));
    }
    if (has(start, kStrides)) {
      for (std::int64_t& stride : strides) stride = std::int64_t(reader.next());
    }
    if (has(start, kAddress)) address = reader.next();
  }

  DType dtype;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::uint64_t address = 0;
};

std::string text_of_number(Kind kind, std::uint64_t word) {
  switch (kind) {
    case Kind::Int:
      return std::to_string(std::int64_t(word));
    case Kind::Double:
      return float_text(std::bit_cast<double>(word));
    case Kind::Bool:
      return word != 0 ? "True" : "False";
    default:
      return "";
  }
}

// Reads the words of a call, argument by argument.
class ArgumentReader {
 public:
  explicit ArgumentReader(std::span<const Payload> words) : reader_(words) {}

  ShapeTexts read() {
    while (read_argument()) {
    }
    for (std::string* const text : all()) *text += "]";
    return std::move(texts_);
  }

 private:
  std::array<std::string*, 5> all() {
    return {&texts_.sizes, &texts_.types, &texts_.strides, &texts_.values, &texts_.addresses};
  }

  void append(const std::string& sizes, const std::string& type, const std::string& strides,
              const std::string& value, const std::string& address) {
    append_item(texts_.sizes, sizes);
    append_item(texts_.types, quoted(type));
    append_item(texts_.strides, strides);
    append_item(texts_.values, quoted(value));
    append_item(texts_.addresses, address);
  }

  bool read_argument() {
    const std::uint64_t start = reader_.next();
    switch (start & 0xff) {
      case kTensor: {
        const TensorWords tensor(reader_, start);
        append(text_of(tensor.sizes), name_of(tensor.dtype), text_of(tensor.strides), "",
               std::to_string(tensor.address));
        return true;
      }
      case kOther: {
        const auto kind = Kind(start >> 8 & 0xff);
        const std::uint64_t word = has(start, kNumber) ? reader_.next() : 0;
        const std::string value = kind == Kind::None ? "None" : text_of_number(kind, word);
        append("[]", name_of(kind), "[]", has(start, kNumber) || kind == Kind::None ? value : "",
               "0");
        return true;
      }
      case kIntegers: {
        std::vector<std::int64_t> numbers;
        for (std::uint64_t left = count_of(start); left != 0; --left) {
          numbers.push_back(std::int64_t(reader_.next()));
        }
        append("[]", name_of(Kind::List), "[]", text_of(numbers), "0");
        return true;
      }
      case kTensors:
        read_tensors(count_of(start));
        return true;
      case kCut:
        for (std::string* const text : all()) append_item(*text, kCutText);
        return false;
      default:
        return false;
    }
  }

  void read_tensors(std::uint64_t count) {
    std::string sizes = "[";
    std::string strides = "[";
    std::string addresses = "[";
    std::string type = "list";
    for (; count != 0; --count) {
      const std::uint64_t item = reader_.next();
      if ((item & 0xff) == kCut) {
        for (std::string* const text : {&sizes, &strides, &addresses}) append_item(*text, kCutText);
        break;
      }
      if ((item & 0xff) != kTensor) {
        append_item(sizes, "[]");
        append_item(strides, "[]");
        append_item(addresses, "0");
        continue;
      }
      const TensorWords tensor(reader_, item);
      append_item(sizes, text_of(tensor.sizes));
      append_item(strides, text_of(tensor.strides));
      append_item(addresses, std::to_string(tensor.address));
      type = std::string("list of ") + name_of(tensor.dtype);
    }
    append(sizes + "]", type, strides + "]", "", addresses + "]");
  }

  static constexpr const char* kCutText = "\"…\"";

  Reader reader_;
  ShapeTexts texts_{"[", "[", "[", "[", "["};
};

}  // namespace

bool ShapeWords::put(std::uint64_t number) noexcept {
  if (used_ == kMost) return false;
  (used_ % 2 == 0 ? words_[used_ / 2].first : words_[used_ / 2].second) = number;
  ++used_;
  return true;
}

bool ShapeWords::put_tensor(const Tensor& tensor, bool with_address) noexcept {
  if (!tensor.defined()) {
    return has_room(1) && put(head(kOther, std::uint64_t(Kind::None), 0));
  }
  // As it was made: asking one that answers in Python would run Python here.
  const IntSpan sizes = tensor.impl()->own_sizes();
  const IntSpan strides = tensor.impl()->own_strides();
  const bool with_strides = !are_contiguous(sizes, strides);
  const std::uint64_t follows =
      (with_strides ? kStrides : kNothing) | (with_address ? kAddress : kNothing);
  const std::size_t count = sizes.size() * (with_strides ? 2 : 1) + (with_address ? 1 : 0);
  if (!has_room(1 + count)) return false;
  put(head(kTensor, std::uint64_t(tensor.dtype()), sizes.size(), follows));
  for (const std::int64_t size : sizes) put(std::uint64_t(size));
  if (with_strides) {
    for (const std::int64_t stride : strides) put(std::uint64_t(stride));
  }
  if (with_address) put(reinterpret_cast<std::uintptr_t>(tensor.impl()->storage()->data()));
  return true;
}

// What is no tensor and no list of tensors.
bool ShapeWords::put_plain(const Value& value) noexcept {
  const auto kind = std::uint64_t(value.kind());
  const auto put_number = [&](std::uint64_t number) {
    return has_room(2) && put(head(kOther, kind, 0, kNumber)) && put(number);
  };
  switch (value.kind()) {
    case Kind::Int:
      return put_number(std::uint64_t(value.int_unchecked()));
    case Kind::Double:
      return put_number(std::bit_cast<std::uint64_t>(value.double_unchecked()));
    case Kind::Bool:
      return put_number(value.bool_unchecked() ? 1 : 0);
    default:
      break;
  }
  if (!are_all(value, Kind::Int)) return has_room(1) && put(head(kOther, kind, 0));
  const std::vector<Value>& items = value.items_unchecked();
  if (!has_room(1 + items.size())) return has_room(1) && put(head(kOther, kind, 0));
  put(head(kIntegers, 0, items.size()));
  for (const Value& item : items) put(std::uint64_t(item.int_unchecked()));
  return true;
}

ShapeWords::ShapeWords(std::span<const Value> arguments, bool with_addresses) noexcept {
  const auto put_value = [&](const Value& value) {
    if (value.is_tensor()) return put_tensor(value.tensor_unchecked(), with_addresses);
    if (!are_all(value, Kind::Tensor)) return put_plain(value);
    const std::vector<Value>& items = value.items_unchecked();
    if (!has_room(1)) return false;
    put(head(kTensors, 0, items.size()));
    return std::all_of(items.begin(), items.end(), [&](const Value& item) {
      return put_tensor(item.tensor_unchecked(), with_addresses);
    });
  };
  if (!std::all_of(arguments.begin(), arguments.end(), put_value)) put(kCut);
  if (used_ % 2 != 0) words_[used_ / 2].second = kEnd;
}

ShapeTexts read_shapes(std::span<const Payload> words) { return ArgumentReader(words).read(); }

std::vector<std::uint64_t> addresses_of(std::span<const Payload> words) {
  std::vector<std::uint64_t> found;
  Reader reader(words);
  for (;;) {
    const std::uint64_t start = reader.next();
    switch (start & 0xff) {
      case kTensor:
        if (const std::uint64_t address = TensorWords(reader, start).address; address != 0) {
          found.push_back(address);
        }
        break;
      case kTensors:  // what follows are heads of tensors
        break;
      case kOther:
        if (has(start, kNumber)) reader.next();
        break;
      case kIntegers:
        for (std::uint64_t left = count_of(start); left != 0; --left) reader.next();
        break;
      default:
        return found;
    }
  }
}

}  // namespace opyard::profiler
