#include "tuner/import/fold_ops.h"

#include <algorithm>
#include <cmath>

namespace kindred {
namespace {

ConstantPtr ReadConstant(const OpContext& op) {
  auto result = std::make_shared<ConstantTensor>();
  for (const auto& [name, attribute] : op.node.attributes) {
    if (name == "value_int") return IntegerConstant(DataType::kI64, {}, {attribute.integer});
    if (name == "value_ints")
      return IntegerConstant(DataType::kI64, {static_cast<std::int64_t>(attribute.integers.size())},
                             attribute.integers);
    if (name != "value_float" && name != "value_floats") continue;
    result->type = DataType::kF32;
    result->numbers =
        name == "value_float" ? std::vector<double>{attribute.number} : attribute.numbers;
    if (name == "value_floats")
      result->shape = {static_cast<std::int64_t>(attribute.numbers.size())};
    return result;
  }
  return nullptr;
}

ConstantPtr ReadShape(OpContext& op) {
  if (!op.Has(0) || !op.InValue(0).has_shape) return nullptr;
  const Shape shape = op.InShape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = place(op.Int("start", 0)),
                     end = std::max(start, place(op.Int("end", rank)));
  const Shape part(shape.begin() + start, shape.begin() + end);
  return IntegerConstant(DataType::kI64, {static_cast<std::int64_t>(part.size())}, part);
}

ConstantPtr ReadRange(const OpContext& op) {
  const ConstantPtr start = op.Peek(0), limit = op.Peek(1), delta = op.Peek(2);
  if (!start || !limit || !delta || !op.InValue(0).has_type) return nullptr;
  if (start->elements() != 1 || limit->elements() != 1 || delta->elements() != 1) return nullptr;
  auto result = std::make_shared<ConstantTensor>();
  result->type = op.InValue(0).type;
  const double step = delta->Number(0);
  if (step == 0) return nullptr;
  const double count = std::max(0.0, std::ceil((limit->Number(0) - start->Number(0)) / step));
  if (!(count <= static_cast<double>(kLargestConstant))) return nullptr;
  result->shape = {static_cast<std::int64_t>(count)};
  for (std::int64_t i = 0; i < result->shape[0]; ++i) {
    if (IsFloat(result->type)) {
      result->numbers.push_back(start->Number(0) + static_cast<double>(i) * step);
    } else {
      std::int64_t next = 0;
      if (__builtin_mul_overflow(i, delta->Integer(0), &next) ||
          __builtin_add_overflow(start->Integer(0), next, &next))
        return nullptr;
      result->integers.push_back(next);
    }
  }
  return result;
}

}  // namespace

ConstantPtr FoldShapeOp(OpContext& op) {
  if (op.node.op == "Constant") return ReadConstant(op);
  if (op.node.op == "Shape") return ReadShape(op);
  if (op.node.op == "Range" && op.inputs() == 3) return ReadRange(op);
  if (op.node.op == "Size" && op.Has(0) && op.InValue(0).has_shape)
    return IntegerConstant(DataType::kI64, {}, {ElementCount(op.InShape(0))});
  return nullptr;
}

ConstantPtr FillOfShape(OpContext& op) {
  const ConstantPtr extents = op.Peek(0);
  if (!extents || !op.InValue(0).has_type) return nullptr;
  auto result = std::make_shared<ConstantTensor>();
  const auto attribute = op.node.attributes.find("value");
  if (attribute == op.node.attributes.end()) {
    result->numbers = {0};
  } else {
    const ConstantPtr& fill = attribute->second.tensor.data;
    if (!fill || fill->elements() != 1) return nullptr;
    *result = *fill;
  }
  result->shape.clear();
  for (std::int64_t i = 0; i < extents->elements(); ++i)
    result->shape.push_back(extents->Integer(i));
  if (!PossibleShape(result->shape)) return nullptr;
  result->splat = true;
  return result;
}

ConstantPtr Compact(const ConstantPtr& constant) {
  if (!constant || constant->splat || constant->elements() < 2) return constant;
  const auto equal = [](const auto& data) {
    return std::all_of(data.begin(), data.end(), [&](const auto& x) { return x == data.front(); });
  };
  if (IsFloat(constant->type) ? !equal(constant->numbers) : !equal(constant->integers))
    return constant;
  auto result = std::make_shared<ConstantTensor>(*constant);
  result->numbers.resize(std::min<std::size_t>(1, result->numbers.size()));
  result->integers.resize(std::min<std::size_t>(1, result->integers.size()));
  result->splat = true;
  return result;
}

}  // namespace kindred
