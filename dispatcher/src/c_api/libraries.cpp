// c_api/libraries.cpp: the C API of registering operators and kernels.
//
// [Kernels] A kernel in C is in its record as a boxed function, with a context that holds the C
// function and its own context. Its arguments stay below its results until it has returned, so that
// what it has borrowed is good all the time; then they are taken out. What it says by its status
// and this thread's error is thrown, and what it throws, if it is C++ after all, is an error
// like any other. The error of an earlier failure on this thread is set aside meanwhile.
#include <fmt/format.h>

#include <memory>

#include "base/thread_error.h"
#include "base/versioned_struct.h"
#include "c_api/pointers.h"
#include "c_api/stack.h"
#include "opyard/ffi/c_function.h"
#include "opyard/plugin/plugin.h"
#include "opyard/registry/composite.h"
#include "plugin/c_block.h"

namespace opyard::c_api {
namespace {

// What a kernel in C needs, for as long as a call may use it.
struct KernelInC {
  const opyard_kernel kernel;

  explicit KernelInC(const opyard_kernel& k) noexcept : kernel(k) {}
  KernelInC(const KernelInC&) = delete;
  KernelInC& operator=(const KernelInC&) = delete;
  ~KernelInC() {
    if (kernel.destroy != nullptr) kernel.destroy(kernel.context);
  }
};

// The kernel gave a status: raises this thread's error, or the status if it left none.
[[noreturn]] OPYARD_COLD void raise_from_kernel(const Operator& op, const Record& record,
                                                int status) {
  if (const std::optional<Error> error = take_error()) {
    throw error->with_context(fmt::format("in {}, whose kernel in C was {}", to_string(op.name()),
                                          record.provenance.str()));
  }
  const bool known = status > OPYARD_OK && status < OPYARD_STATUS_COUNT;
  const ErrorKind kind = known ? ErrorKind(status - 1) : ErrorKind::BadReturn;
  fail(kind, fmt::format("{}: the kernel in C, {}, failed with status {} ({}) and left no text",
                         to_string(op.name()), record.provenance.str(), status,
                         known ? name_of(kind) : "which is none"));
}

// See [Kernels].
void run_kernel(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const opyard_kernel& kernel = static_cast<const KernelInC*>(record.context)->kernel;
  const std::size_t arguments = op.schema().arguments.size();
  opyard_stack window{stack, stack.size() - arguments, arguments};
  const detail::EarlierError earlier;
  int status = OPYARD_OK;
  const Status thrown = guarded(
      [&] { status = kernel.function(kernel.context, pointer_of(op), keys.raw(), &window); });
  if (__builtin_expect(thrown != Status::Ok, 0)) status = int(thrown);
  if (__builtin_expect(status != OPYARD_OK, 0)) raise_from_kernel(op, record, status);
  take_error();  // one that the kernel did not mind
  const std::size_t below = window.arguments;
  if (below == 0) return;
  for (std::size_t i = window.base + below; i < stack.size(); ++i) {
    stack[i - below] = std::move(stack[i]);
  }
  stack.drop(below);
}

void run_kernel_released(const Record& record, const Operator& op, DispatchKeySet keys,
                         Stack& stack) {
  detail::resolve_memory_of(stack.top(op.schema().arguments.size()));
  const GilReleased released;
  run_kernel(record, op, keys, stack);
}

// Takes the kernel's context over, also if this throws.
Kernel kernel_of(const opyard_kernel* given, bool& override) {
  const opyard_kernel kernel = read_sized(given, "opyard_kernel");
  std::unique_ptr<KernelInC> context;
  try {
    context = std::make_unique<KernelInC>(kernel);
  } catch (...) {
    if (kernel.destroy != nullptr) kernel.destroy(kernel.context);
    throw;
  }
  constexpr std::uint32_t kFlags =
      OPYARD_KERNEL_OVERRIDE | OPYARD_KERNEL_FALLTHROUGH | OPYARD_KERNEL_RELEASES_GIL;
  if ((kernel.flags & ~kFlags) != 0) {
    fail(ErrorKind::Unsupported, fmt::format("the flags of a kernel are {:#x}, of which this "
                                             "version of Opyard knows {:#x}",
                                             kernel.flags, kFlags));
  }
  const bool falls_through = (kernel.flags & OPYARD_KERNEL_FALLTHROUGH) != 0;
  if (falls_through != (kernel.function == nullptr)) {
    fail(ErrorKind::BadArgument,
         falls_through ? "a kernel that falls through has no function, but one was given"
                       : "a null pointer was given in place of the function of a kernel");
  }
  override = (kernel.flags & OPYARD_KERNEL_OVERRIDE) != 0;
  if (falls_through) return Kernel::fallthrough();
  const bool released = (kernel.flags & OPYARD_KERNEL_RELEASES_GIL) != 0;
  Kernel made = Kernel::with_context(
      released ? &run_kernel_released : &run_kernel, context.get(),
      [](void* memory) { delete static_cast<KernelInC*>(memory); },
      released ? Gil::Released : Gil::Held);
  static_cast<void>(context.release());
  return made;
}

// The tags and the documentation.
std::pair<std::vector<std::string>, std::string> read_definition(const opyard_definition* options) {
  opyard_definition known{};
  if (options != nullptr) known = read_sized(options, "opyard_definition");
  std::vector<std::string> tags;
  if (known.tag_count > 0) require(known.tags, "the tags");
  for (std::size_t i = 0; i < known.tag_count; ++i) {
    tags.emplace_back(require(known.tags[i], "a tag"));
  }
  return {std::move(tags), known.doc == nullptr ? "" : known.doc};
}

std::optional<DispatchKey> key_of(const char* name) {
  if (name == nullptr) return std::nullopt;
  return parse_dispatch_key(name);
}

}  // namespace
}  // namespace opyard::c_api

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

extern "C" {

int opyard_library_create(const opyard_block* block, opyard_library** library) {
  return border([&] {
    require(library, "the place of the library");
    *library = c_library(run_c_block(*require(block, "a block")).release());
  });
}

void opyard_library_destroy(opyard_library* library) {
  if (library != nullptr) delete &library_of(library);
}

int opyard_define(opyard_library* library, const char* schema, const opyard_definition* options) {
  return border([&] {
    auto [tags, doc] = read_definition(options);
    library_of(library).def(require(schema, "a schema"), std::move(tags), AliasAnalysis::FromSchema,
                            std::move(doc));
  });
}

int opyard_composite(opyard_library* library, const char* schema, const char* body,
                     const opyard_definition* options) {
  return border([&] {
    auto [tags, doc] = read_definition(options);
    composite(library_of(library), require(schema, "a schema"), require(body, "a body"),
              std::move(tags), std::move(doc));
  });
}

int opyard_implement(opyard_library* library, const char* name, const char* key,
                     const opyard_kernel* kernel) {
  return border([&] {
    bool override = false;
    Kernel made = kernel_of(kernel, override);
    library_of(library).implement(require(name, "the name of an operator"), key_of(key),
                                  std::move(made), override);
  });
}

int opyard_implement_function(opyard_library* library, const char* name, const char* key,
                              opyard_function function, const char* shown) {
  return border([&] {
    const Operator& op =
        detail::require_for_c(library_of(library), require(name, "the name of an operator"));
    library_of(library).implement(
        name, key_of(key),
        c_kernel(op, reinterpret_cast<const void*>(require(function, "a function")),
                 shown == nullptr ? "of a C program" : shown),
        false);
  });
}

int opyard_derivative(opyard_library* library, const char* name, size_t count,
                      const char* const* of, const char* const* texts) {
  return border([&] {
    std::vector<Formula> formulas;
    if (count > 0) require(of, "the names of arguments"), require(texts, "the formulas");
    for (std::size_t i = 0; i < count; ++i) {
      formulas.push_back(
          {require(of[i], "the name of an argument"), require(texts[i], "a formula")});
    }
    library_of(library).derivative(require(name, "the name of an operator"), std::move(formulas));
  });
}

int opyard_fallback(opyard_library* library, const opyard_kernel* kernel) {
  return border([&] {
    bool override = false;
    Kernel made = kernel_of(kernel, override);
    library_of(library).fallback(std::move(made));
  });
}

int opyard_load_library(const char* path) {
  return border([&] { load_library(require(path, "a path")); });
}

int opyard_load_environment_libraries(void) {
  return border([] { load_environment_libraries(); });
}

int opyard_unload_library(const char* path, size_t* in_use) {
  return border([&] {
    const std::size_t count = unload_library(require(path, "a path"));
    if (in_use != nullptr) *in_use = count;
  });
}

}  // extern "C"
