// test/cpp/pch/empty.cpp: nothing; the target that precompiles tests.h needs a source.
