// kernels/common/define.h: definitions with the tags that PyTorch gives them.
//
//   define(m, "sin(Tensor self) -> Tensor", kPointwise);
//
// Depends on: opyard/library.h.
#pragma once

#include <opyard/library.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace opyard::kernels {

// Overlapping: takes calls that an earlier overload takes, too. InPlaceView: changes sizes and
// strides of an argument, not its elements. DataDependent: gives a number that depends on elements;
// DynamicShape: the sizes of the result do.
enum class Tagged : std::uint8_t {
  None,
  Pointwise,
  Random,
  Overlapping,
  InPlaceView,
  DataDependent,
  DynamicShape
};

// Adds the tag `core` to an operator of core.def.
void define(Library& library, std::string_view schema, Tagged tagged = Tagged::None);
void define(Library& library, std::initializer_list<std::string_view> schemas,
            Tagged tagged = Tagged::None);

// The two other forms of `f(Tensor self, ...) -> Tensor`, which is defined already: `f_` writes the
// result to self, and `f.out` (or `f.overload_out`) to `out`. They call `f` and copy. If `f` has a
// formula, they are taped with it; if it is a composition, what they call is taped.
enum class Form : std::uint8_t { Composition, WithFormula };
void define_in_place(Library& library, std::string_view name, Form form = Form::Composition);
void define_in_place(Library& library, std::initializer_list<std::string_view> names, Form form);
// With a schema in full, for an overload that is not called as that of the function is.
void define_form(Library& library, std::string_view schema, Form form);
void define_out(Library& library, std::string_view name, std::string_view overload = "out",
                Form form = Form::Composition);

}  // namespace opyard::kernels
