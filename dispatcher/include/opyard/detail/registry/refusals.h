// opyard/detail/registry/refusals.h: C++ types that no kernel can take or return, and overloaded names.
//
// No one needs it by hand. ArgumentOf<T> (registry/argument.h) ends here for a type that no
// schema can express, so that the compiler prints the sentence that belongs to it.
// test/cpp/compile_fail/ has a case for each line.
//
// [Overloaded names] A name of several functions has no type, so no template parameter can be
// deduced from it, and compilers say no more than "unresolved overloaded function type". A
// parameter that is not deduced takes its default: OverloadedName stands for such a name, and
// NamesOneFunction says what to write.
//
// Depends on: value/value.h.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "opyard/keys/dispatch_key_set.h"
#include "opyard/value/value.h"

namespace opyard {

class Stack;
class Type;

namespace detail {

// FAULT(Name, sentence), the most special one first.
#define OPYARD_TYPE_FAULTS(FAULT)                                                                  \
  FAULT(Float, "a kernel cannot take or return float; write double, which is the schema's float")  \
  FAULT(LongDouble, "a kernel cannot take or return long double; write double")                    \
  FAULT(Character,                                                                                 \
        "a kernel cannot take or return a character; write std::string_view for text, "            \
        "std::int64_t for a number")                                                               \
  FAULT(Integer, "a kernel cannot take or return this integer type; write std::int64_t")           \
  FAULT(Complex, "a kernel cannot take or return this complex type; write std::complex<double>")   \
  FAULT(Text,                                                                                      \
        "a kernel cannot take or return a pointer to characters; write std::string_view, and "     \
        "std::string for a result")                                                                \
  FAULT(TensorPointer, "a kernel cannot take or return a pointer to a tensor; write Tensor")       \
  FAULT(Pointer,                                                                                   \
        "a kernel cannot take or return a pointer; write CountedPtr<T> of a class derived from "   \
        "opyard::Object, or CountedPtr<CapsuleObject>")                                            \
  FAULT(SmartPointer,                                                                              \
        "a kernel cannot take or return a smart pointer of the standard library; write "           \
        "CountedPtr<T> of a class derived from opyard::Object")                                    \
  FAULT(Counted,                                                                                   \
        "a kernel can take and return CountedPtr<T> for Storage, Generator, CapsuleObject, "       \
        "FutureObject and classes derived from opyard::Object; for a generator of a backend "      \
        "write CountedPtr<Generator>")                                                             \
  FAULT(Map, "a kernel cannot take or return a map of the standard library; write Dict<K, V>")     \
  FAULT(Set, "a kernel cannot take or return a set: schemas have none; write std::vector<T>")      \
  FAULT(Sequence, "a kernel cannot take or return this sequence; write std::vector<T> or List<T>") \
  FAULT(SpanOfBool, "a kernel cannot take a span of bool; write std::vector<bool>")                \
  FAULT(Span, "a kernel cannot take a span that it could write to; write std::span<const T>")      \
  FAULT(Pair, "a kernel cannot take or return std::pair; write std::tuple<A, B>")                  \
  FAULT(Variant,                                                                                   \
        "a kernel takes and returns std::variant where opyard/registry/variant.h is included; "    \
        "or write Value, which is the schema's Any")                                               \
  FAULT(Function, "a kernel cannot take or return a function: schemas have none")                  \
  FAULT(KeySet, "a kernel takes a DispatchKeySet as its first parameter or not at all")            \
  FAULT(Other,                                                                                     \
        "a kernel cannot take or return this type; opyard/detail/registry/types.h lists those "    \
        "that a "                                                                                  \
        "schema can express")

enum class TypeFault {
#define OPYARD_TYPE_FAULT(name, text) name,
  OPYARD_TYPE_FAULTS(OPYARD_TYPE_FAULT)
#undef OPYARD_TYPE_FAULT
};

// The name of a class template of namespace std that T was made from, such as "map"; else empty.
// Read out of what the compiler calls this function, since including all those headers would cost
// every file that registers a kernel a fifth of a second.
template <typename T>
constexpr std::string_view std_template() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  if (!name.starts_with("std::")) return {};
  name = name.substr(0, name.find('<'));
  return name.substr(name.rfind(':') + 1);  // behind an inline namespace, if there is one
}

template <typename T>
inline constexpr bool kIsSpan = false;
template <typename T, std::size_t N>
inline constexpr bool kIsSpan<std::span<T, N>> = true;

template <typename T>
inline constexpr bool kIsCounted = false;
template <typename T>
inline constexpr bool kIsCounted<CountedPtr<T>> = true;

template <typename T>
inline constexpr bool kIsCharacter =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

template <typename T>
consteval TypeFault fault_of_pointer() {
  if (kIsCharacter<T>) return TypeFault::Text;
  if (std::is_same_v<T, Tensor> || std::is_same_v<T, TensorImpl>) return TypeFault::TensorPointer;
  return std::is_function_v<T> ? TypeFault::Function : TypeFault::Pointer;
}

template <typename T>
consteval TypeFault fault_of_template() {
  if (kIsCounted<T>) return TypeFault::Counted;
  if (std::is_same_v<T, std::span<const bool>>) return TypeFault::SpanOfBool;
  struct Row {
    std::string_view name;
    TypeFault fault;
  };
  constexpr Row kRows[] = {
      {"complex", TypeFault::Complex},
      {"shared_ptr", TypeFault::SmartPointer},
      {"unique_ptr", TypeFault::SmartPointer},
      {"weak_ptr", TypeFault::SmartPointer},
      {"map", TypeFault::Map},
      {"unordered_map", TypeFault::Map},
      {"multimap", TypeFault::Map},
      {"set", TypeFault::Set},
      {"unordered_set", TypeFault::Set},
      {"deque", TypeFault::Sequence},
      {"list", TypeFault::Sequence},
      {"initializer_list", TypeFault::Sequence},
      {"span", TypeFault::Span},
      {"pair", TypeFault::Pair},
      {"variant", TypeFault::Variant},
      {"function", TypeFault::Function},
  };
  for (const Row& row : kRows) {
    if (row.name == std_template<T>()) return row.fault;
  }
  return TypeFault::Other;
}

template <typename T>
consteval TypeFault fault_of() {
  if (std::is_same_v<T, float>) return TypeFault::Float;
  if (std::is_same_v<T, long double>) return TypeFault::LongDouble;
  if (kIsCharacter<T>) return TypeFault::Character;
  if (std::is_integral_v<T>) return TypeFault::Integer;
  if (std::is_pointer_v<T>) {
    return fault_of_pointer<std::remove_cv_t<std::remove_pointer_t<T>>>();
  }
  if (std::is_same_v<T, DispatchKeySet>) return TypeFault::KeySet;
  return fault_of_template<T>();
}

// The sentence. The members are there so that the compiler has nothing else to complain about.
template <typename T, TypeFault fault = fault_of<T>()>
struct Refused;
#define OPYARD_TYPE_FAULT(name, text)                 \
  template <typename T>                               \
  struct Refused<T, TypeFault::name> {                \
    static_assert(!std::is_same_v<T, T>, text);       \
    static constexpr bool carries_keys = false;       \
    static CountedPtr<const Type> type();             \
    static T& unbox(const Value& value);              \
    static void box(Stack& stack, const T& argument); \
  };
OPYARD_TYPE_FAULTS(OPYARD_TYPE_FAULT)
#undef OPYARD_TYPE_FAULT

// See [Overloaded names].
struct OverloadedName;
template <typename F>
struct OneFunction : std::true_type {};
template <std::same_as<OverloadedName> F>
struct OneFunction<F> {
  static_assert(!std::is_same_v<F, F>,
                "the name of this kernel is that of several functions: after `using namespace "
                "opyard` also of one of opyard's; give the kernel another name, write ::name if it "
                "is in the global namespace itself, or leave the using directive out");
  static constexpr bool value = false;
};
template <typename F>
concept NamesOneFunction = OneFunction<F>::value;

// A parameter that takes nothing: it gives overloaded names their sentence in an overload beside
// one that takes a list in braces, which is not deduced either.
class NoFunction {
 public:
  template <typename F = OverloadedName>
    requires NamesOneFunction<F> && std::same_as<F, OverloadedName>
  NoFunction(F&& function);
};

// For a parameter of type P, what its bare type alone does not tell.
template <typename P>
struct CheckedParameter {
  static_assert(!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>> ||
                    std::is_same_v<P, Tensor&>,
                "a kernel can only write to a Tensor& it is given; write T or const T& for any "
                "other argument, and List<T> or Dict<K, V> for a container that it changes");
  static_assert(!std::is_rvalue_reference_v<P>,
                "a kernel cannot take an rvalue reference; write T or const T&");
};

// For a result of type R, or for one in a tuple of results.
template <typename R>
struct CheckedResult {
  static_assert(!std::is_reference_v<R> || std::is_same_v<R, Tensor&> ||
                    std::is_same_v<R, const Tensor&>,
                "a kernel can return a reference to a tensor only; write T for any other result");
  static constexpr bool value = true;
};

// Whether T holds a view of memory that somebody else owns.
template <typename T>
inline constexpr bool kIsView = std::is_same_v<T, std::string_view> || kIsSpan<T>;
template <typename T>
inline constexpr bool kIsView<std::optional<T>> = kIsView<T>;
template <typename T>
inline constexpr bool kIsView<std::vector<T>> = kIsView<T>;
template <typename T, std::size_t N>
inline constexpr bool kIsView<std::array<T, N>> = kIsView<T>;

}  // namespace detail
}  // namespace opyard
