// xla/handlers.cpp: what XLA calls, and what opyard.jax asks for.
//
// XLA knows one target, "opyard_call", for all operators. For each call site of a program it calls
// `instantiate` once, which reads the attributes and leaves a CallSite; and `execute` for each run,
// on any thread, without the GIL. Nothing is thrown into XLA but the unwinding of a thread that
// Python ends.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "opyard/base/export.h"
#include "xla/call_site.h"

namespace opyard::xla {
namespace {

constinit TypeId site_type{0};

void destroy_site(void* site) { delete static_cast<CallSite*>(site); }

constexpr TypeInfo kSiteInfo{sizeof(TypeInfo), nullptr, destroy_site};

ErrorCode code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::OutOfMemory:
      return ErrorCode::ResourceExhausted;
    case ErrorKind::NoKernel:
    case ErrorKind::Unsupported:
      return ErrorCode::Unimplemented;
    case ErrorKind::BadArgument:
    case ErrorKind::BadValue:
    case ErrorKind::BadShape:
    case ErrorKind::BadIndex:
      return ErrorCode::InvalidArgument;
    case ErrorKind::NotFound:
    case ErrorKind::OperatorGone:
    case ErrorKind::InterpreterGone:
      return ErrorCode::FailedPrecondition;
    case ErrorKind::Cancelled:
      return ErrorCode::Aborted;
    default:
      return ErrorCode::Internal;
  }
}

FfiError* make_error(const Api& api, const char* text, ErrorCode code) {
  ErrorCreateArgs made{sizeof(ErrorCreateArgs), nullptr, text, code};
  return api.create_error(&made);
}

// Runs `body`, which gives an error of XLA or null; what it raises becomes one.
template <typename Body>
FfiError* at_border(const Api& api, const Body& body) {
  FfiError* given = nullptr;
  if (guarded([&] { given = body(); }) == Status::Ok) return given;
  const std::optional<Error> error = take_error();
  if (!error) return make_error(api, "an operator of Opyard failed", ErrorCode::Internal);
  return make_error(api, error->what(), code_of(error->kind()));
}

// The one call by which XLA asks for the version. It registers the type of what sites keep as well,
// which has to be known before a handler that makes one.
FfiError* tell_metadata(const CallFrame& frame, bool makes_site) {
  const Version& version = frame.api->version;
  if (version.major != kMajorVersion || version.minor < kMinorVersion) {
    return at_border(*frame.api, [&]() -> FfiError* {
      fail(ErrorKind::Unsupported,
           fmt::format("Opyard's custom calls are of version {}.{} of XLA's FFI, and this XLA has "
                       "version {}.{}",
                       kMajorVersion, kMinorVersion, version.major, version.minor));
    });
  }
  if (site_type.number == 0) {
    constexpr std::string_view kName = "opyard_call_site";
    TypeRegisterArgs registered{
        sizeof(TypeRegisterArgs), nullptr, {kName.data(), kName.size()}, &site_type, &kSiteInfo};
    if (FfiError* const error = frame.api->register_type(&registered)) return error;
  }
  Metadata& metadata = *reinterpret_cast<MetadataExtension*>(frame.extensions)->metadata;
  metadata.version = {sizeof(Version), nullptr, kMajorVersion, kMinorVersion};
  metadata.traits = 0;
  metadata.state = makes_site ? site_type : TypeId{0};
  return nullptr;
}

StateArgs state_args(const CallFrame& frame, CallSite* site) {
  return {sizeof(StateArgs), nullptr, frame.context, Stage::Instantiate, &site_type, site};
}

bool asks_for_metadata(const CallFrame& frame) {
  return __builtin_expect(frame.extensions != nullptr, 0) &&
         frame.extensions->kind == ExtensionKind::Metadata;
}

std::string_view attribute(const Attributes& attributes, std::string_view name) {
  for (std::int64_t i = 0; i < attributes.count; ++i) {
    const Text& known = *attributes.names[i];
    if (std::string_view(known.begin, known.size) != name) continue;
    if (attributes.kinds[i] != AttributeKind::Text) break;
    const auto& text = *static_cast<const Text*>(attributes.values[i]);
    return {text.begin, text.size};
  }
  fail(
      ErrorKind::BadValue,
      fmt::format("a call of opyard_call has no text '{}'; make it by opyard.jax.publish()", name));
}

}  // namespace
}  // namespace opyard::xla

using namespace opyard::xla;  // NOLINT

extern "C" {

OPYARD_API FfiError* opyard_xla_instantiate(CallFrame* frame) {
  if (asks_for_metadata(*frame)) return tell_metadata(*frame, true);
  return at_border(*frame->api, [&]() -> FfiError* {
    const Attributes& attributes = frame->attributes;
    auto site = std::make_unique<CallSite>(CallText{attribute(attributes, "declaration"),
                                                    attribute(attributes, "arguments"),
                                                    attribute(attributes, "given")});
    StateArgs kept = state_args(*frame, site.get());
    FfiError* const error = frame->api->set_state(&kept);
    if (error == nullptr) static_cast<void>(site.release());  // XLA has it
    return error;
  });
}

OPYARD_API FfiError* opyard_xla_execute(CallFrame* frame) {
  if (asks_for_metadata(*frame)) return tell_metadata(*frame, false);
  StateArgs kept = state_args(*frame, nullptr);
  if (FfiError* const error = frame->api->get_state(&kept)) return error;
  return at_border(*frame->api, [&]() -> FfiError* {
    static_cast<const CallSite*>(kept.state)->run(frame->arguments, frame->results);
    return nullptr;
  });
}

// Whether programs may call an operator, by its declaration. Gives a status.
OPYARD_API int opyard_xla_publish(const char* declaration, int is_on) {
  return int(opyard::guarded(
      [&] { publication_of(declaration).is_on.store(is_on != 0, std::memory_order_release); }));
}

}  // extern "C"
