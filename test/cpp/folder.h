// test/cpp/folder.h: where the folder test/ of the sources is, and the library of kernels that was built.
#pragma once

namespace opyard {

extern const char* const kTestFolder;
extern const char* const kKernelsLibrary;

}  // namespace opyard
