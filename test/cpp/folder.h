// test/cpp/folder.h: paths of the sources' folder test/ and of the built library of kernels.
#pragma once

namespace opyard {

extern const char* const kTestFolder;
extern const char* const kKernelsLibrary;

}  // namespace opyard
