// opyard/ffi/c_function.h: C functions as kernels, and operators as C functions.
//
//   impl_c(library, "cosine", "libm.so.6", "cos");          double cos(double) serves demo::cosine
//
//   const CFunction f = c_function(require_operator("demo::cosine"));
//   integrate(f.as<double(double)>(), 0.0, 1.0, 100);      demo::cosine as a callback
//
// [Signature] Each schema has one C signature, the same in both directions. Its parameters are the
// arguments in the order of the schema, then an out-pointer for each result that is not returned.
//
//   type in the schema                       argument                        result
//   int, SymInt, DeviceIndex, ScalarType,    int64_t                         int64_t *
//     Layout, MemoryFormat, QScheme
//   float, SymFloat                          double                          double *
//   bool, SymBool                            bool, one byte                  bool *
//   complex                                  double _Complex                 double _Complex *
//   str, Dimname                             const char*                     char**
//   Device, as in "cuda:1"                   const char*                     char**
//   Tensor                                   const DLTensor*                 DLManagedTensorVersioned**
//   Tensor(a!)                               DLTensor*                       none: the argument itself
//   Capsule                                  void*, what it leads to
//   T? of a number                           const T*, null for None
//   T? of str, Device, Tensor, Capsule       null for None                   null for None
//   int[], float[], bool[], complex[]        const T* data, int64_t size     T** data, int64_t* size
//   str[], Device[]                          const char* const*, int64_t
//   Tensor[], Tensor?[]                      const DLTensor* const*, int64_t
//   Tensor(a!)[]                             DLTensor* const*, int64_t
//   T[]?                                     as T[]; data is null for None, and only then
//
//   * the only result of the schema, if it is a number, is the return value of the function;
//     every other function returns an int, OPYARD_OK or another opyard_status (ffi/c_error.h).
//
// Everything else has no C signature, a view as a result among it: a C function cannot keep the
// memory of an argument alive. The refusal says which argument it is about.
//
// [Ownership] What an argument points to is borrowed for the call: it is neither written to, unless
// it is a DLTensor* of Tensor(a!), nor held. Texts are UTF-8, end with a zero byte and have none
// inside. A result of char** or T** is memory from malloc(), which the receiver frees with free(),
// null being the empty list; a DLManagedTensorVersioned* is given back through its deleter. Tensors
// are on the cpu.
//
// [Failure] A function that returns a status fails by another one than OPYARD_OK, and then its
// out-pointers are not looked at; it may leave a text with opyard_set_error(). Any function fails
// by leaving an error: one that is there when the function returns is raised, whatever it returned.
// So an operator that failed as a callback in a C library fails the kernel that called this
// library, with its own error, also if the library knows nothing of it; a function that knows
// better calls opyard_clear_error(). An operator that fails as a C function without a status
// returns a NaN, 0 or false and leaves its error to opyard_last_error().
//
// Depends on: registry/library.h, ffi/c_error.h.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include "opyard/ffi/c_error.h"
#include "opyard/registry/library.h"

namespace opyard {

// Other signatures, for functions that were there first.
enum class CForm : std::uint8_t {
  // The table above.
  Standard,
  // Without a return value where Standard has a status: void scale(DLTensor* x, double factor).
  Void,
  // What qsort(), bsearch() and the like call, for an operator of two arguments of one number type
  // T and a result of int: int compare(const T*, const T*) gives -1, 0 or 1, the sign of the
  // result.
  Comparator,
};

// "Standard", "Void", "Comparator"
OPYARD_API const char* name_of(CForm form) noexcept;
// Raises BadValue for another name.
OPYARD_API CForm parse_c_form(std::string_view name);

// A kernel that calls a C function of the operator's signature, at any address. `shown` is what
// errors call it: "scale of libdemo.so". Only calls of this very operator reach it: where the
// name is defined anew with another schema, they raise BadSignature.
//
// With Gil::Released the function runs with the lock of the interpreter released: see
// interpreter/gil.h.
//
// Raises Unsupported if the schema has no such signature, BadArgument for a null address.
OPYARD_API Kernel c_kernel(const Operator& op, const void* function, std::string shown,
                           CForm form = CForm::Standard, Gil gil = Gil::Held);

// Registers the C function of this name from a shared library as a kernel of an operator that is
// defined already, at a key as Library::impl() does. The library is opened for itself, with what it
// links to, and never closed: a path, or a name that is looked for where the system looks.
//
// Raises NotFound if the operator is not defined or the library has no such function, BadPlugin
// if it cannot be opened, Unsupported if the schema has no C signature, and what
// Library::impl() raises. Nothing is registered then.
OPYARD_API void impl_c(Library& library, std::string_view name, const std::string& file,
                       const std::string& symbol, std::optional<DispatchKey> key = std::nullopt,
                       CForm form = CForm::Standard);

namespace detail {

// The steps of impl_c(), for a caller that may not hold a lock while a library is opened. The
// operator that a name stands for in this library. Raises NotFound.
OPYARD_API const Operator& require_for_c(const Library& library, std::string_view name);
// Opens the library, and gives the address. Raises NotFound, BadPlugin, naming the operator.
OPYARD_API const void* require_c_function(const Operator& op, const std::string& file,
                                          const std::string& symbol);
// "scale of libdemo.so"
OPYARD_API std::string show_c_function(const std::string& file, const std::string& symbol);

// The C type of a parameter or return value as a letter: v, i (int), l (int64_t), d, b, c, p.
template <typename T>
constexpr char letter_of() {
  if constexpr (std::is_void_v<T>) {
    return 'v';
  } else if constexpr (std::is_pointer_v<T>) {
    return 'p';
  } else if constexpr (std::same_as<T, bool>) {
    return 'b';
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    return 'l';
  } else if constexpr (std::same_as<T, int>) {
    return 'i';
  } else if constexpr (std::same_as<T, double>) {
    return 'd';
  } else {
    static_assert(std::same_as<T, std::complex<double>>,
                  "no C function of an operator has this type");
    return 'c';
  }
}

template <typename Signature>
struct LettersOf;
template <typename R, typename... A>
struct LettersOf<R(A...)> {
  static constexpr char value[] = {letter_of<R>(), letter_of<A>()..., '\0'};
};

}  // namespace detail

// An operator as a C function. The address is good as long as this object lives, on any thread;
// what calls it must have ended before. It calls the operator through dispatch, as everyone does.
//
// No exception leaves it; see [Failure] above. Once the operator is gone it fails with
// OperatorGone, and if the kernel is a Python function after the interpreter's end, with
// InterpreterGone. The memory of arguments is the caller's: if a kernel keeps a tensor argument, or
// returns a view of one, the call fails with BadReturn.
class OPYARD_API CFunction {
 public:
  // Raises Unsupported if the schema has no such signature, bad_alloc.
  explicit CFunction(const Operator& op, CForm form = CForm::Standard);
  CFunction(CFunction&& other) noexcept;
  CFunction& operator=(CFunction&& other) noexcept;
  ~CFunction();

  void* address() const noexcept;
  // The same as a pointer: f.as<double(double)>(). Raises BadSignature if that is another one.
  template <typename Signature>
  Signature* as() const {
    check(detail::LettersOf<Signature>::value, typeid(Signature));
    return reinterpret_cast<Signature*>(address());
  }

  const Operator& op() const noexcept;
  CForm form() const noexcept;
  // For people: "double cosine(double x)".
  const std::string& prototype() const noexcept;
  // The C types: the return value's letter, then one for each parameter; see detail::letter_of().
  const std::string& letters() const noexcept;

  // Keeps the function for ever; this object keeps its address.
  void keep() noexcept;

 private:
  struct State;
  void check(const char* letters, const std::type_info& signature) const;

  State* state_;
  bool owned_ = true;
};

// A C function of an operator, in the standard form or another one.
inline CFunction c_function(const Operator& op, CForm form = CForm::Standard) {
  return CFunction(op, form);
}

// "double cosine(double x)": what a C function must look like to serve the operator. Raises
// Unsupported.
OPYARD_API std::string c_prototype(const Operator& op, CForm form = CForm::Standard);

}  // namespace opyard
