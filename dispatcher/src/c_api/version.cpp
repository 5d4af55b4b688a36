// c_api/version.cpp: the C API of the version, and the count of live objects.
#include "base/versioned_struct.h"
#include "c_api/pointers.h"

extern "C" {

int opyard_version(opyard_version_info* info) {
  return opyard::c_api::border([&] {
    opyard::write_sized(info,
                        {sizeof(*info), OPYARD_C_ABI, OPYARD_VERSION_MAJOR, OPYARD_VERSION_MINOR,
                         OPYARD_VERSION_PATCH},
                        "opyard_version_info");
  });
}

void opyard_retain(const void* object) {
  if (object != nullptr) {
    opyard::CountedAccess::retain(static_cast<const opyard::Counted*>(object));
  }
}

void opyard_release(const void* object) {
  if (object != nullptr) {
    opyard::CountedAccess::release(static_cast<const opyard::Counted*>(object));
  }
}

}  // extern "C"
