// base/fmt_bodies.cpp: compiled half of fmt, once for all libraries.
//
// fmt is either header-only, compiled again in each file that includes it, or a shared library that
// a wheel would have to carry along. This is the third way: fmt's own bodies in one file of a
// static library, hidden in whatever links it. A file that only formats a message compiles in 1.1 s
// instead of 4.3 s (g++ 12 -O3, registry/built_in_records.cpp); count them before undoing this.
//
// The templates below are those that fmt declares in its header and has the bodies of in the file
// that is included here. For a major version that is not known yet, dispatcher/meson.build falls
// back to header-only: try it, add what the linker misses, and raise both bounds.
//
// Depends on: fmt 9 to 12.
#include <fmt/format-inl.h>

static_assert(FMT_VERSION >= 90000 && FMT_VERSION < 130000, "this list belongs to fmt 9 to 12");

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
#if FMT_VERSION < 110000  // later it is a function
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
