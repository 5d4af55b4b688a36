// profiler/exports/report_page.h: the page of a report, which profiler/report/bundle.py makes.
//
// Depends on: nothing of ours.
#pragma once

#include <cstddef>
#include <string_view>

namespace opyard::profiler {

extern const char kReportPage[];
extern const std::size_t kReportPageSize;
// Where in the page the data belongs.
inline constexpr std::string_view kReportPlace = "@DATA@";

}  // namespace opyard::profiler
