// text/parse_tensor.cpp: parsing tensor literals.
#include <fmt/format.h>

#include <algorithm>

#include "opyard/detail/text/literal.h"
#include "text/graph_language.h"

namespace opyard::jit::detail {
namespace {

using opyard::detail::read_integer;

template <typename T>
void store(DType dtype, void* memory, std::size_t index, T number) {
  switch (dtype) {
    case DType::Bool:
      static_cast<bool*>(memory)[index] = number != 0;
      break;
    case DType::UInt8:
      static_cast<std::uint8_t*>(memory)[index] = std::uint8_t(number);
      break;
    case DType::Int8:
      static_cast<std::int8_t*>(memory)[index] = std::int8_t(number);
      break;
    case DType::Int16:
      static_cast<std::int16_t*>(memory)[index] = std::int16_t(number);
      break;
    case DType::Int32:
      static_cast<std::int32_t*>(memory)[index] = std::int32_t(number);
      break;
    case DType::Int64:
      static_cast<std::int64_t*>(memory)[index] = std::int64_t(number);
      break;
    case DType::UInt16:
      static_cast<std::uint16_t*>(memory)[index] = std::uint16_t(number);
      break;
    case DType::UInt32:
      static_cast<std::uint32_t*>(memory)[index] = std::uint32_t(number);
      break;
    case DType::UInt64:
      static_cast<std::uint64_t*>(memory)[index] = std::uint64_t(number);
      break;
    case DType::Float64:
      static_cast<double*>(memory)[index] = double(number);
      break;
    case DType::Float32:
      static_cast<float*>(memory)[index] = float(number);
      break;
    case DType::Half:
    case DType::BFloat16:
    case DType::ComplexFloat:
    case DType::ComplexDouble:
      fail(ErrorKind::Internal, "an element of a dtype that is not written as a number");
  }
}

template <typename T>
Tensor one_element(DType dtype, T number) {
  Tensor tensor = Tensor::empty({}, dtype);
  store(dtype, tensor.mutable_raw(), 0, number);
  return tensor;
}

bool holds_one(DType dtype) {
  return dtype != DType::Half && dtype != DType::BFloat16 && !is_complex(dtype);
}

}  // namespace

// {1}: of the element type and number of dimensions that the output says, if it says them.
Tensor tensor_of(Cursor& cursor, Span span, const opyard::Value& number, const Type* type) {
  const TensorShape* const shape = type == nullptr ? nullptr : find_shape(*type);
  DType dtype = number.is_double() ? DType::Float32 : number.is_bool() ? DType::Bool : DType::Int64;
  if (shape != nullptr && shape->dtype) dtype = *shape->dtype;
  if (!holds_one(dtype)) {
    cursor.fail_at(span,
                   fmt::format("a tensor of {} cannot be written as a number", name_of(dtype)));
  }
  if (number.is_double() && !is_floating_point(dtype)) {
    cursor.fail_at(span, fmt::format("an element of {} is an integer", name_of(dtype)));
  }
  Tensor tensor = number.is_double() ? one_element(dtype, number.to_double())
                  : number.is_bool() ? one_element(dtype, number.to_bool() ? 1 : 0)
                                     : one_element(dtype, number.to_int());
  if (shape != nullptr && shape->sizes && !shape->sizes->empty() &&
      std::all_of(shape->sizes->begin(), shape->sizes->end(),
                  [](std::int64_t size) { return size == 1; })) {
    return tensor.as_strided(*shape->sizes, *shape->sizes, 0);
  }
  return tensor;
}

namespace {

// [Printed tensors] TorchScript prints a tensor of 2 to 10 elements as a person would read it, with
// the digits that fit, and line ends as spaces:
//
//   value= 0  2 [ CPULongType{2} ]
//   value=1e-05 *  1.0000  2.0000 [ CPUFloatType{2} ]
//   value=(1,.,.) =   1  2  (2,.,.) =   3  4 [ CPULongType{2,1,2} ]
class PrintedTensor {
 public:
  PrintedTensor(Cursor& cursor, const Type* type, std::size_t begin)
      : cursor_(cursor), type_(type), begin_(begin) {}

  Tensor read(std::vector<double> numbers) {
    numbers_ = std::move(numbers);
    if (!numbers_.empty() && cursor_.take_if("*")) {
      scale_ = numbers_.front();
      numbers_.clear();
    }
    while (!cursor_.peek().is("[")) item();
    cursor_.expect("[");
    const Token name = cursor_.expect_name("the type of a tensor");
    DimVector sizes;
    parse_list(cursor_, "{", "}", [&] {
      const Token size = cursor_.take();
      const auto number = size.kind == TokenKind::Integer ? read_integer(size.text) : std::nullopt;
      if (!number) cursor_.fail_at(size.span(), "the size of a dimension is a number");
      sizes.push_back(*number);
    });
    cursor_.expect_close("]");
    return made(name, sizes);
  }

 private:
  static bool is_columns(const Token& token) {
    return token.is_name("Columns") || token.is_name("Column");
  }
  void item() {
    cursor_.count_node();
    if (cursor_.peek().is("(")) return skip_matrix();
    if (is_columns(cursor_.peek())) return skip_columns();
    const opyard::Value number = parse_number(cursor_);
    if (!number.is_int() && !number.is_double()) {
      cursor_.fail_at({begin_, cursor_.last_end()}, "a printed tensor is of real numbers");
    }
    numbers_.push_back(number.is_int() ? double(number.to_int()) : number.to_double());
    if (numbers_.size() > cursor_.limits().items) cursor_.fail_expected("fewer elements");
  }

  // "(1,.,.) ="
  void skip_matrix() {
    cursor_.expect("(");
    while (!cursor_.peek().is(")")) {
      const Token& token = cursor_.peek();
      if (token.kind != TokenKind::Integer && !token.is(",") && !token.is(".")) {
        cursor_.fail_expected("')'");
      }
      cursor_.take();
    }
    cursor_.take();
    cursor_.expect("=");
  }

  // "Columns 1 to 7": what follows is printed below each other, and is one row.
  void skip_columns() {
    cursor_.take();
    cursor_.take();
    if (cursor_.take_if_name("to") || cursor_.take_if_name("and")) cursor_.take();
  }

  Tensor made(const Token& name, const DimVector& sizes) {
    const Span span{begin_, cursor_.last_end()};
    const TensorShape* const shape = type_ == nullptr ? nullptr : find_shape(*type_);
    std::string_view element = name.text;
    if (element.starts_with("CPU")) element.remove_prefix(3);
    if (element.ends_with("Type")) element.remove_suffix(4);
    const std::optional<DType> dtype =
        shape != nullptr && shape->dtype ? shape->dtype : find_element_name(element);
    if (!dtype || !holds_one(*dtype)) {
      cursor_.fail_at(span, fmt::format("a tensor of {} cannot be written as numbers",
                                        opyard::detail::shown(name.text)));
    }
    std::size_t count = 1;
    for (const std::int64_t size : sizes) {
      count =
          size > std::int64_t(cursor_.limits().items) ? ~std::size_t{0} : count * std::size_t(size);
      if (count > cursor_.limits().items) break;
    }
    if (count != numbers_.size()) {
      cursor_.fail_at(span,
                      fmt::format("{} numbers are no tensor of these sizes", numbers_.size()));
    }
    Tensor tensor = Tensor::empty(sizes, *dtype);
    void* const memory = count == 0 ? nullptr : tensor.mutable_raw();
    for (std::size_t i = 0; i < count; ++i) {
      const double number = scale_ * numbers_[i];
      if (is_floating_point(*dtype)) {
        store(*dtype, memory, i, number);
      } else if (number >= -9.2e18 && number <= 9.2e18 && number == double(std::int64_t(number))) {
        store(*dtype, memory, i, std::int64_t(number));
      } else {
        cursor_.fail_at(span, fmt::format("an element of {} is an integer", name_of(*dtype)));
      }
    }
    return tensor;
  }

  Cursor& cursor_;
  const Type* const type_;
  const std::size_t begin_;
  std::vector<double> numbers_;
  double scale_ = 1;
};

// "(1,.,.) =", and no tuple.
bool begins_matrix(std::string_view text) {
  const std::size_t comma = text.find_first_not_of("0123456789", 1);
  return comma != std::string_view::npos && text.substr(comma).starts_with(",.");
}

}  // namespace

bool begins_printed_tensor(const Token& token) {
  return token.is_name("Columns") || token.is_name("Column") ||
         (token.kind == TokenKind::Name && token.text.starts_with("CPU") &&
          token.text.ends_with("Type"));
}

bool is_printed_tensor(const Cursor& cursor) {
  const Token& token = cursor.peek();
  if (token.is("(")) return begins_matrix(cursor.text({token.offset, token.offset + 16}));
  return begins_printed_tensor(token) ||
         (token.is("[") && begins_printed_tensor(cursor.peek_second()));
}

bool is_printed_tensor_behind_number(const Cursor& cursor) {
  const Token& token = cursor.peek();
  return token.kind == TokenKind::Integer || token.kind == TokenKind::Real || token.is("-") ||
         token.is("*") || token.is("[") || token.is_name("inf") || token.is_name("nan");
}

Tensor parse_printed_tensor(Cursor& cursor, const Type* type, std::size_t begin,
                            std::vector<double> numbers) {
  return PrintedTensor(cursor, type, begin).read(std::move(numbers));
}

}  // namespace opyard::jit::detail
