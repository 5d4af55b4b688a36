// test_c_api.cpp: protects the C API: handles, values, calls, kernels, and that
// a failure is a status whatever was thrown. Suspect dispatcher/src/c_api/.
#include "opyard/c_api.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "../failing_allocator.h"
#include "../registering.h"
#include "opyard/base/warning.h"
#include "opyard/keys/local.h"
#include "opyard/library.h"
#include "opyard/value/value.h"

namespace opyard::test_c_api {
namespace {

// The error that a function left, as "BadValue: text"; clears it.
std::string left() {
  const std::optional<Error> error = take_error();
  return error ? std::string(name_of(error->kind())) + ": " + error->what() : "nothing";
}
#define EXPECT_FAILS(call, expected_status, expected_text)                   \
  do {                                                                       \
    EXPECT_EQ(call, OPYARD_ERROR_##expected_status);                         \
    EXPECT_EQ(left(), std::string(#expected_status ": ") + (expected_text)); \
  } while (false)

struct CStack {
  CStack() { EXPECT_EQ(opyard_stack_create(&stack), OPYARD_OK); }
  ~CStack() { opyard_stack_destroy(stack); }
  operator opyard_stack*() const { return stack; }  // NOLINT
  opyard_value operator[](std::size_t index) const { return opyard_get(stack, index); }
  std::string text(std::size_t index) const {
    char buffer[100];
    EXPECT_EQ(opyard_value_text((*this)[index], buffer, sizeof(buffer), nullptr), OPYARD_OK);
    return buffer;
  }
  opyard_stack* stack = nullptr;
};

struct CLibrary {
  explicit CLibrary(int kind, const char* name_space, const char* key = nullptr) {
    const opyard_block block = {sizeof(block), kind, name_space, key, nullptr, "demo.c", 7};
    EXPECT_EQ(opyard_library_create(&block, &library), OPYARD_OK) << left();
  }
  ~CLibrary() { opyard_library_destroy(library); }
  operator opyard_library*() const { return library; }  // NOLINT
  void def(const char* schema) {
    EXPECT_EQ(opyard_define(library, schema, nullptr), OPYARD_OK) << left();
  }
  void impl(const char* name, const char* key, opyard_kernel_function function,
            void* context = nullptr) {
    const opyard_kernel kernel = {sizeof(kernel), function, context, nullptr, 0};
    EXPECT_EQ(opyard_implement(library, name, key, &kernel), OPYARD_OK) << left();
  }
  opyard_library* library = nullptr;
};

const opyard_operator* find(const char* name) {
  const opyard_operator* op = nullptr;
  EXPECT_EQ(opyard_find_operator(name, &op), OPYARD_OK) << left();
  return op;
}

// Calls an operator of ints and gives its only result; the error where it fails.
std::string call(const char* name, std::vector<std::int64_t> arguments) {
  const CStack stack;
  for (const std::int64_t argument : arguments) opyard_push_int(stack, argument);
  if (opyard_call(find(name), stack) != OPYARD_OK) return left();
  EXPECT_EQ(opyard_stack_size(stack), 1u);
  return stack.text(0);
}

int twice(void*, const opyard_operator*, std::uint64_t, opyard_stack* stack) {
  return opyard_push_int(stack, 2 * opyard_get(stack, 0).as.integer);
}

// ---- Version and sizes

TEST(CApi, TheVersionCallFillsWhatBothSidesKnow) {
  opyard_version_info info{};
  info.bytes = sizeof(info);
  ASSERT_EQ(opyard_version(&info), OPYARD_OK);
  EXPECT_EQ(info.abi, unsigned{OPYARD_C_ABI});
  EXPECT_EQ(std::to_string(info.major) + "." + std::to_string(info.minor) + "." +
                std::to_string(info.patch),
            version());

  opyard_version_info older{};
  older.bytes = offsetof(opyard_version_info, minor);
  older.minor = 77;
  ASSERT_EQ(opyard_version(&older), OPYARD_OK);
  EXPECT_EQ(older.abi, unsigned{OPYARD_C_ABI});
  EXPECT_EQ(older.minor, 77u) << "an older program has no such field";

  struct Later {
    opyard_version_info known;
    std::uint64_t added;
  } later{{}, 77};
  later.known.bytes = sizeof(later);
  ASSERT_EQ(opyard_version(&later.known), OPYARD_OK);
  EXPECT_EQ(later.known.major, info.major);
  EXPECT_EQ(later.added, 0u) << "this library knows nothing of it";
  EXPECT_EQ(later.known.bytes, sizeof(later));
}

TEST(CApi, AStructWithoutItsSizeIsRefused) {
  opyard_version_info info{};
  EXPECT_FAILS(opyard_version(&info), BadArgument,
               "an opyard_version_info begins with its size, but the first field is 0; write "
               "sizeof(opyard_version_info) there");
  EXPECT_FAILS(opyard_version(nullptr), BadArgument,
               "a null pointer was given in place of an opyard_version_info");
}

TEST(CApi, AStructOfALaterVersionIsTakenWhereItAsksForNothingNew) {
  CLibrary library(OPYARD_FRAGMENT, "c_sized");
  library.def("f(int n) -> int");
  struct Later {
    opyard_kernel known;
    std::uint32_t added[2];
  } later{{sizeof(Later), twice, nullptr, nullptr, OPYARD_KERNEL_OVERRIDE}, {0, 0}};
  EXPECT_EQ(opyard_implement(library, "f", "CPU", &later.known), OPYARD_OK);
  later.added[1] = 1;
  EXPECT_FAILS(opyard_implement(library, "f", "CPU", &later.known), Unsupported,
               "the opyard_kernel comes from a later version of Opyard: it has 48 bytes, of which "
               "this version knows 40, and byte 44 is not zero");
  opyard_kernel flags{sizeof(flags), twice, nullptr, nullptr, 24};
  EXPECT_FAILS(opyard_implement(library, "f", "CPU", &flags), Unsupported,
               "the flags of a kernel are 0x18, of which this version of Opyard knows 0x7");
}

TEST(CApi, AStructOfAnEarlierVersionCountsAsZeroBeyond) {
  CLibrary library(OPYARD_FRAGMENT, "c_sized");
  library.def("g(int n) -> int");
  opyard_kernel earlier{offsetof(opyard_kernel, destroy), twice, nullptr,
                        [](void*) { ADD_FAILURE() << "an earlier program has no such field"; }, 77};
  EXPECT_EQ(opyard_implement(library, "g", nullptr, &earlier), OPYARD_OK) << left();
  EXPECT_EQ(call("c_sized::g", {4}), "8");
}

// ---- Values and stacks

TEST(CApi, EveryKindOfValueIsPushedAndRead) {
  const CStack stack;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;
  double number[2];
  const char* text = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(opyard_push_none(stack), OPYARD_OK);
  EXPECT_EQ(opyard_push_bool(stack, true), OPYARD_OK);
  EXPECT_EQ(opyard_push_int(stack, -7), OPYARD_OK);
  EXPECT_EQ(opyard_push_double(stack, 1.5), OPYARD_OK);
  EXPECT_EQ(opyard_push_complex(stack, 1, -2), OPYARD_OK);
  EXPECT_EQ(opyard_push_string(stack, "grün", 5), OPYARD_OK);
  EXPECT_EQ(opyard_push_device(stack, "cuda:3"), OPYARD_OK);
  ASSERT_EQ(opyard_stack_size(stack), 7u);

  EXPECT_EQ(stack[0].kind, OPYARD_KIND_None);
  EXPECT_EQ(opyard_to_bool(stack[1], &boolean), OPYARD_OK);
  EXPECT_TRUE(boolean);
  EXPECT_EQ(opyard_to_int(stack[2], &integer), OPYARD_OK);
  EXPECT_EQ(integer, -7);
  EXPECT_EQ(stack[2].as.integer, -7) << "or without a call, where the kind is known";
  EXPECT_EQ(opyard_to_double(stack[3], &real), OPYARD_OK);
  EXPECT_EQ(real, 1.5);
  EXPECT_EQ(opyard_to_complex(stack[4], number), OPYARD_OK);
  EXPECT_EQ(number[0], 1);
  EXPECT_EQ(number[1], -2);
  EXPECT_EQ(opyard_to_string(stack[5], &text, &bytes), OPYARD_OK);
  EXPECT_STREQ(text, "grün");
  EXPECT_EQ(bytes, 5u);
  EXPECT_EQ(stack[6].as.device.backend, std::uint8_t(Backend::CUDA));
  EXPECT_EQ(stack[6].as.device.index, 3);
  EXPECT_EQ(stack[7].kind, OPYARD_KIND_None) << "past the end";
  // Each of them pushed again is the same value.
  for (std::size_t i = 0; i < 7; ++i) {
    ASSERT_EQ(opyard_push(stack, stack[i]), OPYARD_OK) << left();
    EXPECT_EQ(stack.text(7 + i), stack.text(i));
    EXPECT_EQ(stack[7 + i].kind, stack[i].kind);
  }
}

TEST(CApi, AWrongKindIsRefusedAndNothingIsWritten) {
  const CStack stack;
  opyard_push_double(stack, 1.5);
  std::int64_t integer = 77;
  EXPECT_FAILS(opyard_to_int(stack[0], &integer), BadArgument, "expected Int but got Double");
  EXPECT_EQ(integer, 77);
  EXPECT_FAILS(opyard_to_int(stack[0], nullptr), BadArgument,
               "a null pointer was given in place of the place of the result");
  opyard_value odd{};
  odd.kind = 99;
  EXPECT_EQ(opyard_push(stack, odd), OPYARD_ERROR_BadValue);
  odd.kind = OPYARD_KIND_String;
  EXPECT_FAILS(opyard_push(stack, odd), BadArgument,
               "a null pointer was given in place of the object of a value");
  EXPECT_EQ(opyard_stack_size(stack), 1u);
  take_error();
}

TEST(CApi, ContainersArePackedAndRead) {
  const CStack stack;
  opyard_push_int(stack, 1);
  opyard_push_int(stack, 2);
  opyard_push_int(stack, 3);
  EXPECT_EQ(opyard_pack_list(stack, 2), OPYARD_OK);
  EXPECT_EQ(opyard_pack_tuple(stack, 2), OPYARD_OK);
  EXPECT_EQ(stack.text(0), "(1, [2, 3])");
  opyard_value inner{};
  opyard_value item{};
  EXPECT_EQ(opyard_item(stack[0], 1, &inner), OPYARD_OK);
  EXPECT_EQ(opyard_item(inner, 1, &item), OPYARD_OK);
  EXPECT_EQ(item.as.integer, 3);
  EXPECT_FAILS(opyard_item(inner, 2, &item), BadIndex, "element 2 was asked for, but there are 2");

  opyard_push_string(stack, "a", 1);
  opyard_push_int(stack, 5);
  EXPECT_EQ(opyard_pack_dict(stack, 1), OPYARD_OK);
  EXPECT_EQ(opyard_pack_list(stack, 0), OPYARD_OK);
  EXPECT_EQ(stack.text(2), "[]");
  std::size_t size = 0;
  EXPECT_EQ(opyard_size(stack[1], &size), OPYARD_OK);
  EXPECT_EQ(size, 1u);
  std::size_t position = 0;
  opyard_value key{};
  EXPECT_EQ(opyard_next_entry(stack[1], &position, &key, &item), OPYARD_OK);
  EXPECT_EQ(key.kind, OPYARD_KIND_String);
  EXPECT_EQ(item.as.integer, 5);
  EXPECT_FAILS(opyard_next_entry(stack[1], &position, &key, &item), NotFound,
               "the dict has no more entries");
  EXPECT_FAILS(opyard_pack_list(stack, 4), BadArgument,
               "a list takes 4 values from the stack, which has 3");
  EXPECT_EQ(opyard_stack_size(stack), 3u);
}

TEST(CApi, ACapsuleGoesBackThroughItsDeleterOnce) {
  int deleted = 0;
  const auto count = [](void* context) { ++*static_cast<int*>(context); };
  {
    const CStack stack;
    void* pointer = nullptr;
    ASSERT_EQ(opyard_push_capsule(stack, &deleted, "counter", &deleted, count), OPYARD_OK);
    ASSERT_EQ(opyard_push(stack, stack[0]), OPYARD_OK);
    EXPECT_EQ(opyard_to_capsule(stack[0], "counter", &pointer), OPYARD_OK);
    EXPECT_EQ(pointer, &deleted);
    EXPECT_FAILS(opyard_to_capsule(stack[0], "other", &pointer), BadValue,
                 "a capsule \"other\" was expected, but this one is \"counter\"");
    opyard_drop(stack, 1);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(opyard_push_capsule(nullptr, &deleted, "counter", &deleted, count),
            OPYARD_ERROR_BadArgument);
  EXPECT_EQ(deleted, 2) << "also where it could not be pushed";
  take_error();
}

TEST(CApi, ATextIsCutToItsBuffer) {
  const CStack stack;
  opyard_push_string(stack, "a long text", 11);
  char buffer[5];
  std::size_t bytes = 0;
  EXPECT_EQ(opyard_value_text(stack[0], buffer, sizeof(buffer), &bytes), OPYARD_OK);
  EXPECT_STREQ(buffer, "a lo");
  EXPECT_EQ(bytes, 11u);
  EXPECT_EQ(opyard_value_text(stack[0], nullptr, 0, &bytes), OPYARD_OK);
}

// ---- Tensors

TEST(CApi, D20_ATensorIsCountedByItsHandles) {
  const std::int64_t sizes[] = {2, 3};
  opyard_tensor* tensor = nullptr;
  ASSERT_EQ(opyard_tensor_empty(sizes, 2, DLDataType{2, 32, 1}, "cpu", &tensor), OPYARD_OK);
  const auto owners = [&] { return reinterpret_cast<Counted*>(tensor)->owner_count(); };
  EXPECT_EQ(owners(), 1u);
  {
    const CStack stack;
    EXPECT_EQ(opyard_push_tensor(stack, tensor), OPYARD_OK);
    EXPECT_EQ(owners(), 2u);
    EXPECT_EQ(opyard_push(stack, stack[0]), OPYARD_OK);
    EXPECT_EQ(owners(), 3u);
    opyard_tensor* same = nullptr;
    EXPECT_EQ(opyard_to_tensor(stack[1], &same), OPYARD_OK);
    EXPECT_EQ(same, tensor);
    EXPECT_EQ(owners(), 3u) << "what is read is borrowed";
    opyard_retain(same);
    EXPECT_EQ(owners(), 4u);
    opyard_release(same);
  }
  EXPECT_EQ(owners(), 1u);
  opyard_release(tensor);
  opyard_release(nullptr);
}

TEST(CApi, D20_ATensorIsSeenWhereItLies) {
  const std::int64_t sizes[] = {2, 3};
  opyard_tensor* tensor = nullptr;
  ASSERT_EQ(opyard_tensor_empty(sizes, 2, DLDataType{0, 64, 1}, nullptr, &tensor), OPYARD_OK);
  DLTensor view{};
  ASSERT_EQ(opyard_tensor_view(tensor, true, &view), OPYARD_OK) << left();
  EXPECT_EQ(view.ndim, 2);
  EXPECT_EQ(view.shape[1], 3);
  EXPECT_EQ(view.strides[0], 3);
  EXPECT_EQ(view.dtype.code, 0);
  EXPECT_EQ(view.dtype.bits, 64);
  EXPECT_EQ(view.device.device_type, 1);
  static_cast<std::int64_t*>(view.data)[5] = 42;
  opyard_device device{};
  EXPECT_EQ(opyard_tensor_device(tensor, &device), OPYARD_OK);
  EXPECT_EQ(device.backend, 0);
  EXPECT_NE(opyard_tensor_keys(tensor), 0u);

  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(opyard_tensor_to_dlpack(tensor, &managed), OPYARD_OK);
  opyard_release(tensor);
  opyard_tensor* again = nullptr;
  ASSERT_EQ(opyard_tensor_from_dlpack(managed, &again), OPYARD_OK);
  ASSERT_EQ(opyard_tensor_view(again, false, &view), OPYARD_OK);
  EXPECT_EQ(static_cast<const std::int64_t*>(view.data)[5], 42);
  opyard_release(again);

  EXPECT_FAILS(opyard_tensor_empty(sizes, 2, DLDataType{2, 32, 4}, nullptr, &tensor), Unsupported,
               "no tensor has elements of DLPack code 2, 32 bits and 4 lanes");
  EXPECT_EQ(opyard_tensor_view(nullptr, false, &view), OPYARD_ERROR_BadValue);
  take_error();
}

// ---- Keys

TEST(CApi, X27_KeysHaveNamesAndSetsAreNumbers) {
  std::uint64_t cpu = 0;
  std::uint64_t autograd = 0;
  std::uint64_t below = 0;
  ASSERT_EQ(opyard_keys_of("CPU", &cpu), OPYARD_OK);
  ASSERT_EQ(opyard_keys_of("AutogradCPU", &autograd), OPYARD_OK);
  ASSERT_EQ(opyard_keys_below("AutogradCPU", &below), OPYARD_OK);
  char text[100];
  EXPECT_EQ(opyard_keys_text(cpu | autograd, text, sizeof(text), nullptr), OPYARD_OK);
  EXPECT_STREQ(text, "DispatchKeySet(CPU, AutogradCPU)");
  EXPECT_EQ((cpu | autograd) & below, cpu);
  EXPECT_EQ(opyard_keys_without(cpu | autograd, autograd), cpu) << "backends stay";
  std::uint64_t alias = 0;
  EXPECT_EQ(opyard_keys_of("Autograd", &alias), OPYARD_OK);
  EXPECT_EQ(alias & autograd, autograd) << "an alias is all keys that it stands for";
  EXPECT_EQ(opyard_keys_of("Nonsense", &cpu), OPYARD_ERROR_NotFound);
  take_error();
}

TEST(CApi, X27_ScopesOfKeysAreNestedAndUndone) {
  const LocalKeys before = local_keys();
  std::uint64_t tracer = 0;
  std::uint64_t autograd = 0;
  ASSERT_EQ(opyard_keys_of("Tracer", &tracer), OPYARD_OK);
  ASSERT_EQ(opyard_keys_of("AutogradCPU", &autograd), OPYARD_OK);
  const opyard_local_keys first = opyard_include_keys(tracer);
  const opyard_local_keys second = opyard_exclude_keys(autograd);
  EXPECT_EQ(local_keys().include.raw(), before.include.raw() | tracer);
  EXPECT_EQ(local_keys().exclude.raw() & autograd, autograd);
  opyard_restore_keys(second);
  EXPECT_EQ(local_keys().exclude, before.exclude);
  EXPECT_EQ(local_keys().include.raw(), before.include.raw() | tracer);
  opyard_restore_keys(first);
  EXPECT_EQ(local_keys(), before);
}

// ---- Operators and kernels

TEST(CApi, D20_AKernelPushesItsResultsAboveItsArguments) {
  CLibrary library(OPYARD_DEFINE, "c_kernels");
  library.def("twice(int n) -> int");
  library.impl("twice", nullptr, twice);
  EXPECT_EQ(call("c_kernels::twice", {21}), "42");
  EXPECT_EQ(require_operator("c_kernels::twice").typed<std::int64_t(std::int64_t)>().call(4), 8)
      << "from C++, too";
  library.def("swap(int a, int b) -> (int, int)");
  library.impl("swap", "CompositeExplicitAutograd", [](auto*, auto*, auto, opyard_stack* stack) {
    opyard_push(stack, opyard_get(stack, 1));
    return opyard_push(stack, opyard_get(stack, 0));
  });
  const CStack stack;
  for (const int n : {7, 1, 2}) opyard_push_int(stack, n);
  ASSERT_EQ(opyard_call(find("c_kernels::swap"), stack), OPYARD_OK) << left();
  EXPECT_EQ(stack.text(0) + stack.text(1) + stack.text(2), "721") << "what is below stays";
  EXPECT_EQ(opyard_stack_size(stack), 3u);
}

TEST(CApi, D21_AWrongArgumentIsNamedByItsOperatorAndItsName) {
  CLibrary library(OPYARD_FRAGMENT, "c_kernels");
  library.def("named(str label, int n) -> int");
  library.impl("named", nullptr, [](auto*, auto*, auto, opyard_stack* stack) {
    return opyard_push_int(stack, opyard_get(stack, 1).as.integer);
  });
  const opyard_operator* const op = find("c_kernels::named");
  const CStack stack;
  opyard_push_string(stack, "a", 1);
  opyard_push_double(stack, 1.5);
  EXPECT_EQ(opyard_call(op, stack), OPYARD_ERROR_BadArgument);
  const std::string text = left();
  EXPECT_EQ(text.find("BadArgument: c_kernels::named"), 0u) << text;
  EXPECT_NE(text.find("argument 'n'"), std::string::npos) << text;
  EXPECT_NE(text.find("int"), std::string::npos) << text;
  opyard_push_int(stack, 1);
  EXPECT_EQ(opyard_call(op, stack), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(left(),
            "BadArgument: c_kernels::named(str label, int n) -> int takes 2 values from the "
            "stack, which has 1");
}

TEST(CApi, AnOperatorTellsItsSchemaAndItsDefaults) {
  CLibrary library(OPYARD_FRAGMENT, "c_kernels");
  library.def("scale.by(int n, *, int factor=3) -> int");
  library.impl("scale.by", nullptr, [](auto*, auto*, auto, opyard_stack* stack) {
    return opyard_push_int(stack,
                           opyard_get(stack, 0).as.integer * opyard_get(stack, 1).as.integer);
  });
  const opyard_operator* const op = find("c_kernels::scale.by");
  EXPECT_STREQ(opyard_operator_schema(op), "c_kernels::scale.by(int n, *, int factor=3) -> int");
  EXPECT_EQ(opyard_operator_arguments(op), 2u);
  EXPECT_EQ(opyard_operator_results(op), 1u);
  const CStack stack;
  opyard_push_int(stack, 5);
  EXPECT_EQ(opyard_push_defaults(op, stack, 1), OPYARD_OK);
  EXPECT_EQ(opyard_call(op, stack), OPYARD_OK) << left();
  EXPECT_EQ(stack.text(0), "15");
  opyard_drop(stack, 9);
  EXPECT_EQ(opyard_stack_size(stack), 0u);
  EXPECT_EQ(opyard_push_defaults(op, stack, 0), OPYARD_ERROR_BadArgument);
  EXPECT_NE(left().find("argument 'n' at position 0 has no default"), std::string::npos);
  EXPECT_EQ(opyard_stack_size(stack), 0u);
  EXPECT_EQ(opyard_call(op, stack), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(left(),
            "BadArgument: c_kernels::scale.by(int n, *, int factor=3) -> int takes 2 values from "
            "the stack, which has 0");
}

TEST(CApi, X27_ALayerInCHandsItsArgumentsOn) {
  static std::uint64_t below;
  static int seen;
  seen = 0;
  ASSERT_EQ(opyard_keys_below("Tracer", &below), OPYARD_OK);
  CLibrary library(OPYARD_FRAGMENT, "c_kernels");
  library.def("thrice(int n) -> int");
  library.impl("thrice", "CompositeExplicitAutograd", [](auto*, auto*, auto, opyard_stack* stack) {
    return opyard_push_int(stack, 3 * opyard_get(stack, 0).as.integer);
  });
  CLibrary layer(OPYARD_IMPLEMENT, "_", "Tracer");
  const opyard_kernel kernel = {
      sizeof(kernel),
      [](void*, const opyard_operator* op, std::uint64_t keys, opyard_stack* stack) {
        ++seen;
        return opyard_redispatch(op, keys & below, stack);
      },
      nullptr, nullptr, 0};
  ASSERT_EQ(opyard_fallback(layer, &kernel), OPYARD_OK) << left();
  std::uint64_t tracer = 0;
  ASSERT_EQ(opyard_keys_of("Tracer", &tracer), OPYARD_OK);
  const opyard_local_keys former = opyard_include_keys(tracer);
  const CStack stack;
  opyard_push_int(stack, 5);
  EXPECT_EQ(opyard_call_at(find("c_kernels::thrice"), "Tracer", stack), OPYARD_OK) << left();
  EXPECT_EQ(stack.text(0), "15");
  EXPECT_EQ(seen, 1);
  opyard_restore_keys(former);
}

TEST(CApi, AKernelWithTheWrongResultsIsNamed) {
  CLibrary library(OPYARD_FRAGMENT, "c_kernels");
  library.def("odd(int n) -> int");
  library.impl("odd", nullptr, [](auto*, auto*, auto, opyard_stack*) { return int(OPYARD_OK); });
  EXPECT_EQ(call("c_kernels::odd", {1}),
            "BadReturn: c_kernels::odd: the kernel registered at demo.c:7 left 0 results on the "
            "stack, but the schema has 1.\nDeclaration: c_kernels::odd(int n) -> int");
  CLibrary other(OPYARD_FRAGMENT, "c_kernels");
  const opyard_kernel kernel = {sizeof(kernel),
                                [](auto*, auto*, auto, opyard_stack* stack) {
                                  opyard_drop(stack, 9);  // no more than its own
                                  return opyard_push_double(stack, 1.5);
                                },
                                nullptr, nullptr, OPYARD_KERNEL_OVERRIDE};
  ASSERT_EQ(opyard_implement(other, "odd", nullptr, &kernel), OPYARD_OK);
  EXPECT_EQ(call("c_kernels::odd", {1}),
            "BadReturn: c_kernels::odd: the kernel registered at demo.c:7 left Double (1.5) as "
            "result 0, but the schema says int.\nDeclaration: c_kernels::odd(int n) -> int");
}

TEST(CApi, AFunctionOfTheOperatorsOwnSignatureNeedsNoGlue) {
  CLibrary library(OPYARD_FRAGMENT, "c_kernels");
  library.def("add(int a, int b) -> int");
  std::int64_t (*const add)(std::int64_t, std::int64_t) = [](std::int64_t a, std::int64_t b) {
    return a + b;
  };
  ASSERT_EQ(opyard_implement_function(library, "add", nullptr,
                                      reinterpret_cast<opyard_function>(add), "add of the test"),
            OPYARD_OK)
      << left();
  EXPECT_EQ(call("c_kernels::add", {40, 2}), "42");
  EXPECT_FAILS(opyard_implement_function(library, "add", nullptr, nullptr, nullptr), BadArgument,
               "a null pointer was given in place of a function");
}

TEST(CApi, ALibrarysEndTakesAllBackAndEndsItsContexts) {
  int destroyed = 0;
  const opyard_kernel kernel = {sizeof(kernel), twice, &destroyed,
                                [](void* context) { ++*static_cast<int*>(context); }, 0};
  {
    CLibrary library(OPYARD_DEFINE, "c_end");
    library.def("twice(int n) -> int");
    ASSERT_EQ(opyard_implement(library, "twice", "CPU", &kernel), OPYARD_OK);
    EXPECT_EQ(opyard_implement(library, "twice", "Nonsense", &kernel), OPYARD_ERROR_NotFound);
    EXPECT_EQ(destroyed, 1) << "the context of a kernel that was refused";
    EXPECT_EQ(opyard_implement(library, "other::twice", "CPU", &kernel),
              OPYARD_ERROR_BadRegistration);
    EXPECT_EQ(destroyed, 2);
    take_error();
  }
  EXPECT_EQ(destroyed, 3);
  EXPECT_EQ(registry().find(parse_operator_name("c_end::twice")), nullptr);
}

TEST(CApi, ABlockThatFailsLeavesNothingBehind) {
  opyard_library* library = nullptr;
  opyard_block block = {sizeof(block),
                        OPYARD_DEFINE,
                        "c_block",
                        nullptr,
                        [](opyard_library* made) {
                          opyard_define(made, "f() -> int", nullptr);
                          return opyard_set_error(OPYARD_ERROR_BadValue, "no luck");
                        },
                        "demo.c",
                        7};
  EXPECT_FAILS(opyard_library_create(&block, &library), BadValue, "no luck");
  block.run = [](opyard_library*) { return 77; };
  EXPECT_FAILS(opyard_library_create(&block, &library), BadReturn,
               "the block of namespace c_block at demo.c:7 failed with status 77 and left no text");
  block.run = [](opyard_library*) -> int { throw 42; };
  EXPECT_FAILS(opyard_library_create(&block, &library), Foreign,
               "something was thrown that is no std::exception");
  block.kind = 9;
  EXPECT_EQ(opyard_library_create(&block, &library), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(library, nullptr);
  EXPECT_EQ(registry().find(parse_operator_name("c_block::f")), nullptr);
  take_error();
}

TEST(CApi, AWarningGoesWhereTheHostSaysAndMayBeAnError) {
  static std::string heard;
  WarningHandler const former =
      set_warning_handler([](const Warning& each) { heard = each.message; });
  EXPECT_EQ(opyard_warn("mind the gap"), OPYARD_OK);
  EXPECT_EQ(heard, "mind the gap");
  set_warning_handler([](const Warning&) { throw 42; });
  EXPECT_EQ(opyard_warn("mind the gap"), OPYARD_ERROR_Foreign);
  set_warning_handler(former);
  take_error();
}

// ---- Memory

TEST(CApi, WhereMemoryFailsACallFailsAndAllStandsAsBefore) {
  CLibrary library(OPYARD_FRAGMENT, "c_memory");
  library.def("twice(int n) -> int");
  int destroyed = 0;
  int attempts = 0;
  for (bool done = false; !done; ++attempts) {
    ASSERT_LT(attempts, 1000);
    const opyard_kernel kernel = {sizeof(kernel), twice, &destroyed,
                                  [](void* context) { ++*static_cast<int*>(context); }, 0};
    int status = OPYARD_OK;
    {
      FailingAllocator failing(attempts);
      status = opyard_implement(library, "twice", nullptr, &kernel);
      done = !FailingAllocator::refused();
    }
    if (!done) {
      EXPECT_EQ(status, OPYARD_ERROR_OutOfMemory) << "at allocation " << attempts;
      EXPECT_EQ(destroyed, attempts + 1);
      take_error();
    }
  }
  EXPECT_EQ(call("c_memory::twice", {3}), "6");
}

}  // namespace
}  // namespace opyard::test_c_api
