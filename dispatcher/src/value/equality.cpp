// value/equality.cpp: equality and hashes of values.
//
// [Pairs] Containers are compared with a list of pairs that are still to be looked at, so that
// nesting costs no stack. A pair of nested containers is looked at once: that ends a walk through
// containers that are inside themselves, and makes one through containers that share their
// elements as long as they are many, not as long as there are ways to them. Nothing is noted for
// containers without containers in them.
//
// [Tuples] The hash of a tuple is made when those of the tuples in it are known, from the inside
// out and once for each. A tuple is made after its elements, so it can only be inside itself
// through a list or dict, and those are refused.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "opyard/detail/value/dict_object.h"
#include "opyard/value/hash.h"
#include "value/hashing.h"

namespace opyard {
namespace {

using detail::combine;
using detail::is_container;

using Pair = std::pair<const Counted*, const Counted*>;
struct HashOfPair {
  std::size_t operator()(const Pair& pair) const noexcept {
    return combine(reinterpret_cast<std::uintptr_t>(pair.first),
                   reinterpret_cast<std::uintptr_t>(pair.second));
  }
};

class Comparison {
 public:
  // Two containers of one kind.
  bool equal(const Value& a, const Value& b) {
    if (!equal_contents(a, b)) return false;
    while (!later_.empty()) {
      const auto [left, right] = later_.back();
      later_.pop_back();
      if (!equal_contents(*left, *right)) return false;
    }
    return true;
  }

 private:
  // Whether two values in containers can still be equal. See [Pairs].
  bool equal_so_far(const Value& a, const Value& b) {
    if (a.kind() != b.kind()) return false;
    if (!is_container(a.kind())) return detail::equal_leaves(a, b);
    if (a.identical(b)) return true;
    if (seen_.emplace(a.object_unchecked(), b.object_unchecked()).second) {
      later_.emplace_back(&a, &b);
    }
    return true;
  }

  bool equal_contents(const Value& a, const Value& b) {
    if (a.is_dict()) return equal_entries(a.to_dict(), b.to_dict());
    const std::vector<Value>& left = a.items_unchecked();
    const std::vector<Value>& right = b.items_unchecked();
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!equal_so_far(left[i], right[i])) return false;
    }
    return true;
  }

  bool equal_entries(const DictObject& a, const DictObject& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t at = a.next(0); at != DictObject::kEnd; at = a.next(at + 1)) {
      const Value* const other = b.find(a.key_at(at));
      if (other == nullptr || !equal_so_far(a.value_at(at), *other)) return false;
    }
    return true;
  }

  std::vector<std::pair<const Value*, const Value*>> later_;
  std::unordered_set<Pair, HashOfPair> seen_;
};

std::uint64_t hash_of_double(double number) noexcept {
  if (std::isnan(number)) return 1;
  return std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);  // -0.0 equals 0.0
}

std::uint64_t hash_of_payload(const Value& leaf) noexcept {
  switch (leaf.kind()) {
    case Kind::None:
      return 0;
    case Kind::Bool:
      return leaf.bool_unchecked() ? 1 : 0;
    case Kind::Int:
      return std::uint64_t(leaf.int_unchecked());
    case Kind::Double:
      return hash_of_double(leaf.double_unchecked());
    case Kind::Device:
      return std::uint64_t(leaf.device_unchecked().backend) << 16 |
             std::uint16_t(leaf.device_unchecked().index);
    case Kind::String:
      return std::hash<std::string_view>()(leaf.to_string_view());
    case Kind::Complex: {
      const std::complex<double> number = leaf.to_complex();
      return combine(hash_of_double(number.real()), hash_of_double(number.imag()));
    }
    case Kind::Stream:
      return combine(hash_of_payload(leaf.to_stream().device), std::uint64_t(leaf.to_stream().id));
    case Kind::Enum:
      return combine(reinterpret_cast<std::uintptr_t>(leaf.to_enum().type), leaf.to_enum().member);
    case Kind::PyObject:
      return reinterpret_cast<std::uintptr_t>(leaf.to_foreign().object);
    default:
      return reinterpret_cast<std::uintptr_t>(leaf.object_unchecked());
  }
}

[[noreturn]] void refuse_hash(const Value& container) {
  fail(ErrorKind::BadArgument,
       fmt::format("a {} has no hash, since it can change; a Tuple of the same elements has one",
                   name_of(container.kind())));
}

// Hashes of tuples by their objects. See [Tuples].
class TupleHashes {
 public:
  std::uint64_t of(const Value& tuple) {
    later_.push_back(&tuple);
    while (!later_.empty()) {
      const Value& at = *later_.back();
      const std::size_t before = later_.size();
      if (!known_.contains(at.object_unchecked())) {
        const std::uint64_t hash = hash_if_known(at);
        if (later_.size() != before) continue;  // elements come first
        known_[at.object_unchecked()] = hash;
      }
      later_.pop_back();
    }
    return known_.at(tuple.object_unchecked());
  }

 private:
  // The hash of a tuple; if those of elements are not known, they are put on the list instead.
  std::uint64_t hash_if_known(const Value& tuple) {
    const std::vector<Value>& items = tuple.items_unchecked();
    std::uint64_t hash = combine(std::uint64_t(Kind::Tuple), items.size());
    for (const Value& item : items) {
      if (item.is_tuple()) {
        const auto found = known_.find(item.object_unchecked());
        if (found == known_.end()) {
          later_.push_back(&item);
        } else {
          hash = combine(hash, found->second);
        }
      } else if (is_container(item.kind())) {
        refuse_hash(item);
      } else {
        hash = combine(hash, detail::hash_of_leaf(item));
      }
    }
    return hash;
  }

  std::vector<const Value*> later_;
  std::unordered_map<const Counted*, std::uint64_t> known_;
};

}  // namespace

namespace detail {

bool equal_leaves(const Value& a, const Value& b) noexcept {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::None:
      return true;
    case Kind::Bool:
      return a.bool_unchecked() == b.bool_unchecked();
    case Kind::Int:
      return a.int_unchecked() == b.int_unchecked();
    case Kind::Double:
      return a.double_unchecked() == b.double_unchecked();
    case Kind::Device:
      return a.device_unchecked() == b.device_unchecked();
    case Kind::String:
      return a.to_string_view() == b.to_string_view();
    case Kind::Complex:
      return a.to_complex() == b.to_complex();
    case Kind::Stream:
      return a.to_stream() == b.to_stream();
    case Kind::Enum:
      return a.to_enum() == b.to_enum();
    case Kind::PyObject:
      return a.to_foreign().interpreter == b.to_foreign().interpreter &&
             a.to_foreign().object == b.to_foreign().object;
    case Kind::Tensor:
    case Kind::Storage:
    case Kind::Generator:
    case Kind::Capsule:
    case Kind::Future:
    case Kind::SymInt:
    case Kind::SymFloat:
    case Kind::SymBool:
    case Kind::Object:
      return a.object_unchecked() == b.object_unchecked();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
      break;  // no leaves
  }
  return false;
}

std::uint64_t hash_of_leaf(const Value& leaf) noexcept {
  return combine(std::uint64_t(leaf.kind()), hash_of_payload(leaf));
}

}  // namespace detail

bool Value::operator==(const Value& other) const {
  if (!is_container(kind())) return detail::equal_leaves(*this, other);
  return kind() == other.kind() && (identical(other) || Comparison().equal(*this, other));
}

std::size_t hash_of(const Value& value) {
  if (value.is_tuple()) return TupleHashes().of(value);
  if (is_container(value.kind())) refuse_hash(value);
  return detail::hash_of_leaf(value);
}

}  // namespace opyard
