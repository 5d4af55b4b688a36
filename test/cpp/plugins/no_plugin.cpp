// test/cpp/plugins/no_plugin.cpp: a shared library that has nothing to do with Opyard.
extern "C" __attribute__((visibility("default"))) int opyard_test_answer() { return 42; }
