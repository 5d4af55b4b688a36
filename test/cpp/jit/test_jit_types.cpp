// test_jit_types.cpp: protects subtypes and unions of types in graphs. Suspect jit/src/ir/types.cpp.
#include "opyard/jit/types.h"

#include <gtest/gtest.h>

namespace opyard::jit::test_jit_types {
namespace {

TEST(Types, H8_ShapesNarrowATensor) {
  TensorShape shape;
  shape.dtype = DType::Float32;
  shape.sizes = {2, 3};
  const TypePtr known = shaped_tensor(shape);
  shape.sizes = {2, kUnknownSize};
  const TypePtr partly = shaped_tensor(shape);
  const TypePtr tensor = base_type(TypeKind::Tensor);
  EXPECT_TRUE(fits_type(*known, *partly));
  EXPECT_FALSE(fits_type(*partly, *known));
  EXPECT_TRUE(fits_type(*known, *tensor));
  EXPECT_TRUE(fits_type(*known, *optional_of(tensor)));
  EXPECT_EQ(type_text(*unify(known, partly)), "Float(2, *)");
  EXPECT_EQ(type_text(*unify(known, base_type(TypeKind::None))), "Float(2, 3)?");
  EXPECT_EQ(unify(base_type(TypeKind::Int), base_type(TypeKind::Str)), nullptr);
  EXPECT_TRUE(equal(*known, *tensor)) << "to the schema it is a Tensor";
  EXPECT_FALSE(same_type(*known, *tensor));
}

TypePtr shaped(TensorShape shape) { return shaped_tensor(std::move(shape)); }

TEST(Types, H8_StridesGradientAndDeviceNarrowATensor) {
  TensorShape rows;
  rows.sizes = {2, 3};
  rows.strides = {3, 1};
  rows.requires_grad = true;
  rows.device = Device{Backend::CPU, -1};
  TensorShape columns = rows;
  columns.strides = {1, 2};
  columns.requires_grad = false;
  columns.device = Device{Backend::Meta, -1};
  TensorShape sizes;
  sizes.sizes = rows.sizes;
  TensorShape first_stride = sizes;
  first_stride.strides = {3, kUnknownSize};
  TensorShape on_cpu;
  on_cpu.device = rows.device;
  TensorShape on_meta;
  on_meta.device = columns.device;
  EXPECT_TRUE(fits_type(*shaped(rows), *shaped(sizes)));
  EXPECT_TRUE(fits_type(*shaped(rows), *shaped(first_stride)));
  EXPECT_FALSE(fits_type(*shaped(sizes), *shaped(first_stride)));
  EXPECT_FALSE(fits_type(*shaped(columns), *shaped(first_stride)));
  EXPECT_TRUE(fits_type(*shaped(rows), *shaped(on_cpu)));
  EXPECT_FALSE(fits_type(*shaped(rows), *shaped(on_meta)));
  EXPECT_EQ(type_text(*unify(shaped(rows), shaped(first_stride))), "Tensor(2, 3, strides=[3, *])");
  EXPECT_EQ(type_text(*unify(shaped(rows), shaped(columns))), "Tensor(2, 3, strides=[*, *])");
  EXPECT_EQ(type_text(*unify(shaped(on_cpu), shaped(rows))), type_text(*shaped(on_cpu)));
  EXPECT_TRUE(same_type(*unify(shaped(on_cpu), shaped(on_meta)), *base_type(TypeKind::Tensor)));
  columns.strides.reset();
  columns.sizes = {2};
  EXPECT_TRUE(same_type(*unify(shaped(rows), shaped(columns)), *base_type(TypeKind::Tensor)))
      << "without a common number of dimensions";
}

TEST(Types, H8_ContainersAreUnifiedByTheirElements) {
  const TypePtr number = base_type(TypeKind::Int);
  const TypePtr text = base_type(TypeKind::Str);
  const TypePtr tensor = base_type(TypeKind::Tensor);
  const TypePtr any = base_type(TypeKind::Any);
  const TypePtr none = base_type(TypeKind::None);
  const auto of = [](TypeKind kind, std::vector<TypePtr> elements) {
    return compound_type(kind, std::move(elements));
  };
  const TypePtr numbers = list_of(number);
  EXPECT_TRUE(same_type(*unify(numbers, list_of(number)), *numbers));
  EXPECT_EQ(unify(numbers, list_of(text)), nullptr);
  EXPECT_EQ(unify(numbers, number), nullptr);
  EXPECT_EQ(type_text(*unify(numbers, none)), "int[]?");

  const TypePtr pair = of(TypeKind::Tuple, {number, none});
  const TypePtr wider = of(TypeKind::Tuple, {number, optional_of(text)});
  EXPECT_TRUE(fits_type(*pair, *wider));
  EXPECT_FALSE(fits_type(*wider, *pair));
  EXPECT_EQ(type_text(*unify(pair, of(TypeKind::Tuple, {none, text}))), "(int?, str?)");
  EXPECT_EQ(unify(pair, of(TypeKind::Tuple, {text, none})), nullptr);
  EXPECT_EQ(unify(pair, of(TypeKind::Tuple, {number})), nullptr);

  const TypePtr dict = of(TypeKind::Dict, {text, tensor});
  EXPECT_TRUE(same_type(*unify(dict, of(TypeKind::Dict, {text, tensor})), *dict));
  EXPECT_EQ(unify(dict, of(TypeKind::Dict, {text, number})), nullptr);
  EXPECT_FALSE(fits_type(*dict, *of(TypeKind::Dict, {text, optional_of(tensor)})))
      << "more could be put into it";

  const TypePtr future = of(TypeKind::Future, {number});
  const TypePtr maybe = of(TypeKind::Future, {optional_of(number)});
  EXPECT_TRUE(fits_type(*future, *maybe));
  EXPECT_FALSE(fits_type(*maybe, *future));
  EXPECT_EQ(type_text(*unify(maybe, future)), "Future(int?)");
  EXPECT_EQ(unify(future, of(TypeKind::Future, {text})), nullptr);

  const TypePtr point = named_type(TypeKind::Class, "test.Point");
  EXPECT_TRUE(same_type(*unify(point, named_type(TypeKind::Class, "test.Point")), *point));
  EXPECT_EQ(unify(point, pullback_type()), nullptr);
  EXPECT_EQ(type_text(*unify(none, point)), "test.Point?");

  for (const TypePtr& type : {number, tensor, numbers, pair, dict, future, none, point}) {
    EXPECT_TRUE(fits_type(*type, *any)) << type_text(*type);
    EXPECT_FALSE(fits_type(*any, *type)) << type_text(*type);
    EXPECT_EQ(unify(type, any)->kind(), TypeKind::Any) << type_text(*type);
  }
}

}  // namespace
}  // namespace opyard::jit::test_jit_types
