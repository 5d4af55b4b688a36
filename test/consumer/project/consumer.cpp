// consumer.cpp: the smallest program that uses Opyard from outside: it prints the version that was loaded.
#include <opyard/version.h>

#include <cstdio>

int main() { std::puts(opyard::version()); }
