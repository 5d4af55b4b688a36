// test/cpp/ffi/c_functions.h: operators that are served by functions of plugins/c_functions.c.
//
//   const ServedByC add("add(int a, int b) -> int", "c_add");
//   EXPECT_EQ(add.call(2, 3)[0], Value(5));
//
// Depends on: opyard/ffi/c_function.h.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/ffi/c_function.h"
#include "opyard/tensor.h"

namespace opyard {

inline std::string c_functions() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path() / "plugins" / "test_c_functions.so").string();
}

// A function of that library.
template <typename Signature>
Signature* c_symbol(const char* name) {
  static void* const handle = dlopen(c_functions().c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Signature*>(dlsym(handle, name));
}

inline std::vector<Value> call_boxed(const Operator& op, std::vector<Value> arguments) {
  Stack stack;
  stack.push(Value("below"));
  for (Value& argument : arguments) stack.push(std::move(argument));
  op.call_boxed(stack);
  std::vector<Value> results;
  for (std::size_t i = 1; i < stack.size(); ++i) results.push_back(stack[i]);
  return results;
}

// An operator in the namespace t; without a symbol it has no kernel yet.
class ServedByC {
 public:
  explicit ServedByC(std::string_view schema, const char* symbol = nullptr,
                     CForm form = CForm::Standard)
      : name_(library_.def(schema)) {
    if (symbol != nullptr) serve(symbol, form);
  }
  void serve(const std::string& symbol, CForm form = CForm::Standard) {
    impl_c(library_, to_string(name_), c_functions(), symbol, std::nullopt, form);
  }
  const Operator& op() const { return Registry::instance().require(name_); }
  Library& library() { return library_; }

  template <typename... A>
  std::vector<Value> call(A&&... arguments) const {
    return call_boxed(op(), {Value(std::forward<A>(arguments))...});
  }

 private:
  Library library_{LibraryKind::Fragment, "t", std::nullopt, "c.cpp", 1};
  OperatorName name_;
};

inline Tensor doubles(std::initializer_list<double> numbers) {
  const auto size = std::int64_t(numbers.size());
  const Tensor tensor = Tensor::empty({&size, 1}, DType::Float64);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data<double>());
  return tensor;
}
inline std::vector<double> numbers_of(const Tensor& tensor) {
  const double* const data = tensor.data<double>();
  return {data, data + tensor.numel()};
}

}  // namespace opyard
