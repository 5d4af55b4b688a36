// profiler/capture/shapes.cpp: sizes and dtypes of arguments, as words and as text.
#include "opyard/profiler/shapes.h"

#include <algorithm>

#include "opyard/tensor/tensor.h"

namespace opyard::profiler {
namespace {

enum What : std::uint64_t { kEnd, kOther, kTensor, kTensors, kCut };

constexpr std::uint64_t head(What what, std::uint64_t kind, std::size_t count) {
  return what | kind << 8 | std::uint64_t(std::min<std::size_t>(count, 0xffff)) << 16;
}

bool is_tensor_list(const Value& value) {
  if (!value.is_list() || value.items_unchecked().empty()) return false;
  return std::all_of(value.items_unchecked().begin(), value.items_unchecked().end(),
                     [](const Value& item) { return item.is_tensor(); });
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

std::string quoted(const char* text) { return std::string("\"") + text + "\""; }

void append_item(std::string& list, const std::string& item) {
  list += (list.size() > 1 ? ", " : "") + item;
}

// What follows the head of a tensor.
std::string sizes_of(Reader& reader, std::uint64_t start) {
  std::string sizes = "[";
  for (std::uint64_t left = start >> 16; left != 0; --left) {
    append_item(sizes, std::to_string(std::int64_t(reader.next())));
  }
  return sizes + "]";
}

std::string dtype_of_head(std::uint64_t start) { return name_of(DType(start >> 8 & 0xff)); }

}  // namespace

bool ShapeWords::put(std::uint64_t number) noexcept {
  if (used_ == kMost) return false;
  (used_ % 2 == 0 ? words_[used_ / 2].first : words_[used_ / 2].second) = number;
  ++used_;
  return true;
}

ShapeWords::ShapeWords(std::span<const Value> arguments) noexcept {
  const auto put_tensor = [&](const Tensor& tensor) {
    if (!tensor.defined()) return put(head(kOther, std::uint64_t(Kind::None), 0));
    // As it was made: asking one that answers in Python would run Python here.
    const auto sizes = tensor.impl()->own_sizes();
    if (used_ + 1 + sizes.size() > kMost - 1) return false;
    put(head(kTensor, std::uint64_t(tensor.dtype()), sizes.size()));
    for (const std::int64_t size : sizes) put(std::uint64_t(size));
    return true;
  };
  const auto put_value = [&](const Value& value) {
    if (used_ + 1 > kMost - 1) return false;
    if (value.is_tensor()) return put_tensor(value.tensor_unchecked());
    if (!is_tensor_list(value)) return put(head(kOther, std::uint64_t(value.kind()), 0));
    put(head(kTensors, 0, value.items_unchecked().size()));
    return std::all_of(value.items_unchecked().begin(), value.items_unchecked().end(),
                       [&](const Value& item) { return put_tensor(item.tensor_unchecked()); });
  };
  if (!std::all_of(arguments.begin(), arguments.end(), put_value)) put(kCut);
  if (used_ % 2 != 0) words_[used_ / 2].second = kEnd;
}

ShapeTexts read_shapes(std::span<const Payload> words) {
  ShapeTexts texts{"[", "["};
  Reader reader(words);
  for (;;) {
    const std::uint64_t start = reader.next();
    switch (start & 0xff) {
      case kTensor:
        append_item(texts.sizes, sizes_of(reader, start));
        append_item(texts.types, quoted(dtype_of_head(start).c_str()));
        continue;
      case kOther:
        append_item(texts.sizes, "[]");
        append_item(texts.types, quoted(name_of(Kind(start >> 8 & 0xff))));
        continue;
      case kTensors: {
        std::string items = "[";
        std::string type = "list";
        for (std::uint64_t left = start >> 16; left != 0; --left) {
          const std::uint64_t item = reader.next();
          if ((item & 0xff) == kCut) {
            append_item(items, "\"…\"");
            break;
          }
          if ((item & 0xff) != kTensor) {
            append_item(items, "[]");
            continue;
          }
          append_item(items, sizes_of(reader, item));
          type = "list of " + dtype_of_head(item);
        }
        append_item(texts.sizes, items + "]");
        append_item(texts.types, quoted(type.c_str()));
        continue;
      }
      case kCut:
        append_item(texts.sizes, "\"…\"");
        append_item(texts.types, "\"…\"");
        break;
      default:
        break;
    }
    break;
  }
  texts.sizes += "]";
  texts.types += "]";
  return texts;
}

}  // namespace opyard::profiler
