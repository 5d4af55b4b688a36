/* consumer.c: a program in C99 that asks Opyard for its version. */
#include <opyard/c_api.h>
#include <stdio.h>

int main(void) {
  opyard_version_info info;
  info.bytes = sizeof info;
  if (opyard_version(&info) != OPYARD_OK) return 1;
  printf("%d.%d.%d\n", (int)info.major, (int)info.minor, (int)info.patch);
  return 0;
}
