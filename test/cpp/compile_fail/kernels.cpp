// test/cpp/compile_fail/kernels.cpp: kernels that must not compile. test_compile_fail.cpp lets a
// compiler read this file once, and looks at what it says of each line.
//
// A type that is refused is refused once in a file: so no two cases share one.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <variant>

#include "opyard/library.h"
#include "opyard/value/dict.h"
#include "opyard/value/list.h"

using namespace opyard;

struct MyGenerator : Generator {};
struct Mine {};
struct Counter : Object {};
enum class Color { Red };

#define KERNEL(name, ...) \
  Kernel name() { return Kernel::from(static_cast<std::add_pointer_t<__VA_ARGS__>>(nullptr)); }

// Fine.
KERNEL(Fine, Tensor(Tensor&, const std::vector<Tensor>&, IntSpan, std::optional<double>))
KERNEL(FineKeys, Tensor&(DispatchKeySet, Tensor&, const std::string&, std::array<bool, 3>))
KERNEL(FineKinds,
       Color(CountedPtr<Generator>, CountedPtr<Counter>, Dict<std::string, Tensor>, EnumValue))
KERNEL(FineResults, std::tuple<Tensor&, Tensor&, std::vector<double>>(Tensor&, Tensor&))

// Arguments.
KERNEL(Float, void(float))
KERNEL(LongDouble, void(long double))
KERNEL(Int, void(int))
KERNEL(UnsignedLong, void(std::size_t))
KERNEL(LongLong, void(const long long&))
KERNEL(Char, void(char))
KERNEL(ComplexFloat, void(std::complex<float>))
KERNEL(Text, void(const char*))
KERNEL(TensorPointer, void(Tensor*))
KERNEL(Pointer, void(void*))
KERNEL(FunctionPointer, void(void (*)(int)))
KERNEL(SharedPointer, void(std::shared_ptr<Counter>))
KERNEL(OwnGenerator, void(CountedPtr<MyGenerator>))
KERNEL(Map, void(std::map<std::string, double>))
KERNEL(UnorderedMap, void(const std::unordered_map<std::string, Tensor>&))
KERNEL(Set, void(std::set<std::string>))
KERNEL(Deque, void(std::deque<Tensor>))
KERNEL(MutableSpan, void(std::span<double>))
KERNEL(Pair, void(std::pair<Tensor, Tensor>))
KERNEL(Variant, void(std::variant<Tensor, double>))
KERNEL(Function, void(std::function<void()>))
KERNEL(LateKeySet, void(const Tensor&, DispatchKeySet))
KERNEL(Own, void(const Mine&))

// Inside others.
KERNEL(VectorOfShort, void(std::vector<short>))
KERNEL(OptionalUnsigned, void(std::optional<unsigned>))
KERNEL(VectorOfSpans, void(const std::vector<IntSpan>&))
KERNEL(TupleOfSpans, void(const std::tuple<IntSpan, bool>&))
KERNEL(SpanOfBool, void(std::span<const bool>))
KERNEL(DictOfSignedChar, void(Dict<std::string, signed char>))
KERNEL(DictKeyDevice, void(Dict<Device, Tensor>))

// References.
KERNEL(MutableText, void(std::string&))
KERNEL(MutableVector, void(std::vector<Tensor>&))
KERNEL(MovedTensor, void(Tensor&&))

// Results.
KERNEL(ResultOfUnsignedShort, unsigned short())
KERNEL(ResultOfTextPointer, char*())
KERNEL(ResultOfView, std::string_view(const std::string&))
KERNEL(ResultOfSpan, IntSpan())
KERNEL(ResultOfViews, std::vector<std::string_view>())
KERNEL(ResultByReference, const std::string&(const std::string&))
KERNEL(ResultTupleOfReferences, std::tuple<const Tensor&, Tensor>())
KERNEL(ResultOfUniquePointer, std::unique_ptr<Mine>())
