// test/cpp/layouts/c_api_layout.cpp: the layouts of C, as C++ sees them. Compiled as C++17 and C++20.
#include "c_api_layout.c"
