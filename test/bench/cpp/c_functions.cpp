// test/bench/cpp/c_functions.cpp: C functions as kernels, and operators as C functions.
//
// The floors are libffi alone, with a call interface that was prepared before: no operator, no
// dispatch, no boxes, no errors. Ours are whole calls of an operator, and may be faster where a
// function can be called without libffi.
#include <ffi.h>

#include <string>
#include <type_traits>

#include "bench.h"
#include "opyard/ffi/c_function.h"

namespace opyard::bench {
namespace {

double one(double x) { return x; }
double two(double x, std::int64_t n) { return x + double(n); }
double ten(double a, double b, double c, double d, double e, double f, double g, double h, double i,
           double j) {
  return a + b + c + d + e + f + g + h + i + j;
}
double first(const dlpack::DLTensor* x, const dlpack::DLTensor* y) {
  return static_cast<const float*>(x->data)[0] + static_cast<const float*>(y->data)[0];
}

// More numbers than are ever passed without libffi.
using Many = std::make_index_sequence<24>;
template <typename Sequence>
struct SumOf;
template <std::size_t... I>
struct SumOf<std::index_sequence<I...>> {
  static double sum(decltype(void(I), double())... numbers) { return (numbers + ...); }
};

template <typename F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}

// Floors.
class Interface {
 public:
  explicit Interface(std::vector<ffi_type*> types) : types_(std::move(types)) {
    ffi_prep_cif(&cif_, FFI_DEFAULT_ABI, unsigned(types_.size()), &ffi_type_double, types_.data());
  }
  ffi_cif* get() { return &cif_; }

 private:
  std::vector<ffi_type*> types_;
  ffi_cif cif_{};
};

template <typename Function, typename... A>
void bare_call(benchmark::State& state, Function* function, std::vector<ffi_type*> types,
               A... arguments) {
  Interface interface(std::move(types));
  Function* const callee = hidden(function);
  measure(state, [&] {
    double result = 0;
    void* pointers[] = {&arguments...};
    ffi_call(interface.get(), reinterpret_cast<void (*)()>(callee), &result, pointers);
    benchmark::DoNotOptimize(result);
  });
}

ffi_type* const kReal = &ffi_type_double;

void one_floor(benchmark::State& state) { bare_call(state, &one, {kReal}, 1.0); }
void two_floor(benchmark::State& state) {
  bare_call(state, &two, {kReal, &ffi_type_sint64}, 1.0, std::int64_t{2});
}
void ten_floor(benchmark::State& state) {
  bare_call(state, &ten, std::vector<ffi_type*>(10, kReal), 1., 2., 3., 4., 5., 6., 7., 8., 9.,
            10.);
}
void many_floor(benchmark::State& state) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    bare_call(state, &SumOf<Many>::sum, std::vector<ffi_type*>(sizeof...(I), kReal), double(I)...);
  }(Many());
}

// Writes down what the function is to see of a float32 tensor on the cpu.
void write_view(const TensorImpl& impl, dlpack::DLTensor& view) {
  view.data = impl.data();
  view.device = {dlpack::kCPU, 0};
  view.ndim = std::int32_t(impl.dim());
  view.dtype = {2, 32, 1};
  view.shape = const_cast<std::int64_t*>(impl.sizes().data());
  view.strides = const_cast<std::int64_t*>(impl.strides().data());
  view.byte_offset = 0;
}

void tensors_floor(benchmark::State& state) {
  Interface interface({&ffi_type_pointer, &ffi_type_pointer});
  const auto callee = hidden(&first);
  const Tensor tensor = small_tensor();
  measure(state, [&] {
    dlpack::DLTensor views[2];
    write_view(*tensor.impl(), views[0]);
    write_view(*tensor.impl(), views[1]);
    const dlpack::DLTensor* words[] = {&views[0], &views[1]};
    void* pointers[] = {&words[0], &words[1]};
    double result = 0;
    ffi_call(interface.get(), reinterpret_cast<void (*)()>(callee), &result, pointers);
    benchmark::DoNotOptimize(result);
  });
}

void run_closure(ffi_cif*, void* result, void** arguments, void*) {
  *static_cast<double*>(result) = *static_cast<double*>(arguments[0]);
}
void closure_ten_floor(benchmark::State& state) {
  Interface interface(std::vector<ffi_type*>(10, kReal));
  void* code = nullptr;
  auto* const closure = static_cast<ffi_closure*>(ffi_closure_alloc(sizeof(ffi_closure), &code));
  ffi_prep_closure_loc(closure, interface.get(), &run_closure, nullptr, code);
  const auto function = reinterpret_cast<decltype(&ten)>(hidden(code));
  measure(state,
          [&] { benchmark::DoNotOptimize(function(1., 2., 3., 4., 5., 6., 7., 8., 9., 10.)); });
  ffi_closure_free(closure);
}
void closure_floor(benchmark::State& state) {
  Interface interface({kReal});
  void* code = nullptr;
  auto* const closure = static_cast<ffi_closure*>(ffi_closure_alloc(sizeof(ffi_closure), &code));
  ffi_prep_closure_loc(closure, interface.get(), &run_closure, nullptr, code);
  const auto function = reinterpret_cast<double (*)(double)>(hidden(code));
  measure(state, [&] { benchmark::DoNotOptimize(function(1.0)); });
  ffi_closure_free(closure);
}

// Ours.
const Operator& served(const char* schema, const void* function) {
  auto& library = *new Library(LibraryKind::Fragment, "bench_c");  // for ever
  const OperatorName name = library.def(schema);
  const Operator& op = Registry::instance().require(name);
  library.impl(to_string(name), c_kernel(op, function, "a function of the benchmark"));
  return op;
}

template <typename... A>
void operator_call(benchmark::State& state, const Operator& op, A... arguments) {
  measure(state, [&] {
    InlineStack<sizeof...(A)> stack;
    (stack.push(Value(arguments)), ...);
    op.call_boxed(stack);
    benchmark::DoNotOptimize(stack[0]);
  });
}

void one_ours(benchmark::State& state) {
  static const Operator& op = served("one(float x) -> float", address_of(&one));
  operator_call(state, op, 1.0);
}
void two_ours(benchmark::State& state) {
  static const Operator& op = served("two(float x, int n) -> float", address_of(&two));
  operator_call(state, op, 1.0, std::int64_t{2});
}
void ten_ours(benchmark::State& state) {
  static const Operator& op = served(
      "ten(float a, float b, float c, float d, float e, float f, float g, float h, float i, float "
      "j) "
      "-> float",
      address_of(&ten));
  operator_call(state, op, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.);
}
void many_ours(benchmark::State& state) {
  static const Operator& op = []() -> const Operator& {
    std::string schema;
    for (std::size_t i = 0; i < Many::size(); ++i) {
      schema += (i == 0 ? "many(float a" : ", float a") + std::to_string(i);
    }
    return served((schema + ") -> float").c_str(), address_of(&SumOf<Many>::sum));
  }();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    operator_call(state, op, double(I)...);
  }(Many());
}
void tensors_ours(benchmark::State& state) {
  static const Operator& op = served("tensors(Tensor x, Tensor y) -> float", address_of(&first));
  const Tensor x = small_tensor();
  measure(state, [&] {
    InlineStack<2> stack;
    stack.borrow(x);
    stack.borrow(x);
    op.call_boxed(stack);
    benchmark::DoNotOptimize(stack[0]);
  });
}

void closure_ours(benchmark::State& state) {
  static const Operator& op = []() -> const Operator& {
    auto& library = *new Library(LibraryKind::Fragment, "bench_c");  // for ever
    return Registry::instance().require(library.def("same(float x) -> float", &one));
  }();
  const CFunction made = c_function(op);
  const auto function = hidden(made.as<double(double)>());
  measure(state, [&] { benchmark::DoNotOptimize(function(1.0)); });
}

void closure_ten_ours(benchmark::State& state) {
  static const Operator& op = []() -> const Operator& {
    auto& library = *new Library(LibraryKind::Fragment, "bench_c");  // for ever
    return Registry::instance().require(
        library.def("sum(float a, float b, float c, float d, float e, float f, float g, float h, "
                    "float i, float j) -> float",
                    &ten));
  }();
  const CFunction made = c_function(op);
  const auto function = hidden(made.as<std::remove_pointer_t<decltype(&ten)>>());
  measure(state,
          [&] { benchmark::DoNotOptimize(function(1., 2., 3., 4., 5., 6., 7., 8., 9., 10.)); });
}

BENCHMARK(one_floor)->Name("c_function/floor");
BENCHMARK(one_ours)->Name("c_function/ours");
BENCHMARK(two_floor)->Name("c_function_two/floor");
BENCHMARK(two_ours)->Name("c_function_two/ours");
BENCHMARK(ten_floor)->Name("c_function_ten/floor");
BENCHMARK(ten_ours)->Name("c_function_ten/ours");
BENCHMARK(many_floor)->Name("c_function_libffi/floor");
BENCHMARK(many_ours)->Name("c_function_libffi/ours");
BENCHMARK(tensors_floor)->Name("c_function_tensors/floor");
BENCHMARK(tensors_ours)->Name("c_function_tensors/ours");
BENCHMARK(closure_floor)->Name("closure/floor");
BENCHMARK(closure_ours)->Name("closure/ours");
BENCHMARK(closure_ten_floor)->Name("closure_libffi/floor");
BENCHMARK(closure_ten_ours)->Name("closure_libffi/ours");

}  // namespace
}  // namespace opyard::bench
