/* in_c.c: a plugin in plain C for test_plugin_c.cpp; built several times. */
#include <opyard/c_api.h>

#ifdef OPYARD_TEST_MISSING
/* A symbol of some later version. */
int opyard_of_a_later_version(void);
#endif

static int tenfold(void* context, const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
  (void)context, (void)op, (void)keys;
  return opyard_push_int(stack, 10 * opyard_get(stack, 0).as.integer);
}

static int register_it(opyard_library* library) {
  const opyard_kernel kernel = {sizeof(kernel), tenfold, NULL, NULL, 0};
  int status = opyard_define(library, "tenfold(int n) -> int", NULL);
#ifdef OPYARD_TEST_MISSING
  status = opyard_of_a_later_version();
#endif
  if (status == OPYARD_OK) status = opyard_implement(library, "tenfold", NULL, &kernel);
#ifdef OPYARD_TEST_FAILS
  if (status == OPYARD_OK) status = opyard_define(library, "broken(int n -> int", NULL);
#endif
  return status;
}

#if defined(OPYARD_TEST_ABI)
/* As the macro would write it in a program that was compiled against another header. */
static const opyard_block blocks[] = {
    {sizeof(opyard_block), OPYARD_DEFINE, "plugin_in_c", NULL, register_it, __FILE__, __LINE__}};
OPYARD_API const opyard_c_plugin* opyard_c_plugin_v1(void);
const opyard_c_plugin* opyard_c_plugin_v1(void) {
  static const opyard_c_plugin plugin = {sizeof(opyard_c_plugin), OPYARD_TEST_ABI, 9, 8, 7, 1, blocks};
  return &plugin;
}
#elif defined(OPYARD_TEST_EMPTY)
/* One whose blocks are all in parts that were left out when it was built. */
OPYARD_API const opyard_c_plugin* opyard_c_plugin_v1(void);
const opyard_c_plugin* opyard_c_plugin_v1(void) {
  static const opyard_c_plugin plugin = {
      sizeof(opyard_c_plugin), OPYARD_C_ABI, OPYARD_VERSION_MAJOR, OPYARD_VERSION_MINOR,
      OPYARD_VERSION_PATCH,    OPYARD_TEST_EMPTY, NULL};
  (void)register_it;
  return &plugin;
}
#elif defined(OPYARD_TEST_FRAGMENT)
static const opyard_block blocks[] = {
    {sizeof(opyard_block), OPYARD_FRAGMENT, "plugin_both", NULL, register_it, __FILE__, __LINE__}};
OPYARD_C_LIBRARIES(blocks)
#else
OPYARD_C_LIBRARY(plugin_in_c, register_it)
#endif
