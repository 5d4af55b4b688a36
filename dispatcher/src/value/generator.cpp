// value/generator.cpp: default methods of random generators.
#include "opyard/value/generator.h"

#include <fmt/format.h>

#include "opyard/base/error.h"

namespace opyard {

Generator::Generator(Device device) noexcept
    : Generator(device, DispatchKeySet{instance_of(DispatchKey::Dense, device.backend)}) {}

CountedPtr<Generator> Generator::clone() const {
  fail(ErrorKind::Unsupported,
       fmt::format("a generator on {} cannot be copied; its backend overrides "
                   "opyard::Generator::clone() where it can be",
                   to_string(device())));
}

}  // namespace opyard
