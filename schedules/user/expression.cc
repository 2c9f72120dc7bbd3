#include "schedules/user/expression.h"

#include "schedules/user/internal/expression_node.h"

namespace kindred {
namespace {

using Node = Expression::Node;

class Evaluator {
 public:
  Evaluator(std::string_view text, std::span<const Value> values, std::size_t slots)
      : text_(text), values_(values), variables_(slots - values.size()) {}

  Result<Value> Of(const Node& node);

 private:
  // The error of an operation, where it happened.
  template <typename T>
  Result<Value> At(const Node& node, Result<T> result) const {
    if (!result) return internal::ExpressionError(text_, node.column, result.error().message);
    return Value(std::move(*result));
  }
  Result<Value> Comparison(const Node& node);
  Result<Value> Index(const Node& node);
  Result<Value> Comprehension(const Node& node);
  Result<ValueList> Children(const Node& node);

  std::string_view text_;
  std::span<const Value> values_;
  std::vector<Value> variables_;
};

Result<ValueList> Evaluator::Children(const Node& node) {
  ValueList values;
  for (const auto& child : node.children) {
    KINDRED_TRY(Value value, Of(*child));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Value> Evaluator::Comparison(const Node& node) {
  KINDRED_TRY(Value left, Of(*node.children[0]));
  for (std::size_t i = 0; i < node.ops.size(); ++i) {
    KINDRED_TRY(Value right, Of(*node.children[i + 1]));
    KINDRED_TRY(const Value holds, At(node, Compare(node.ops[i], left, right)));
    if (!Truth(holds)) return holds;
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Evaluator::Index(const Node& node) {
  KINDRED_TRY(const Value list, Of(*node.children[0]));
  KINDRED_TRY(const Value position, Of(*node.children[1]));
  const auto fail = [&](const char* why) {
    return internal::ExpressionError(text_, node.column, why);
  };
  if (!position.IsInteger() || list.IsNumber())
    return fail("only lists are indexed, by whole numbers");
  const auto size =
      static_cast<std::int64_t>(list.List() ? list.List()->size() : list.Text()->size());
  std::int64_t at = position.Integer();
  if (at < 0) at += size;
  if (at < 0 || at >= size) return fail("the index is outside of the list");
  if (list.List()) return (*list.List())[static_cast<std::size_t>(at)];
  return Value(std::string(1, (*list.Text())[static_cast<std::size_t>(at)]));
}

Result<Value> Evaluator::Comprehension(const Node& node) {
  KINDRED_TRY(const Value list, Of(*node.children[1]));
  if (!list.List())
    return internal::ExpressionError(text_, node.children[1]->column,
                                     "only lists are gone through");
  Value& variable = variables_[node.slot - values_.size()];
  ValueList values;
  for (const Value& element : *list.List()) {
    variable = element;
    if (node.children.size() > 2) {
      KINDRED_TRY(const Value wanted, Of(*node.children[2]));
      if (!Truth(wanted)) continue;
    }
    KINDRED_TRY(Value value, Of(*node.children[0]));
    values.push_back(std::move(value));
  }
  return Value(std::move(values));
}

Result<Value> Evaluator::Of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kConstant: return node.constant;
    case Node::Kind::kSlot:
      return node.slot < values_.size() ? values_[node.slot]
                                        : variables_[node.slot - values_.size()];
    case Node::Kind::kUnary: {
      KINDRED_TRY(const Value operand, Of(*node.children[0]));
      return At(node, Negate(node.op, operand));
    }
    case Node::Kind::kArithmetic: {
      KINDRED_TRY(const Value left, Of(*node.children[0]));
      KINDRED_TRY(const Value right, Of(*node.children[1]));
      return At(node, Arithmetic(node.op, left, right));
    }
    case Node::Kind::kAnd:
    case Node::Kind::kOr: {
      Value value;
      for (const auto& child : node.children) {
        KINDRED_TRY(value, Of(*child));
        if (Truth(value) == (node.kind == Node::Kind::kOr)) break;
      }
      return value;
    }
    case Node::Kind::kNot: {
      KINDRED_TRY(const Value operand, Of(*node.children[0]));
      return Value(!Truth(operand));
    }
    case Node::Kind::kComparison: return Comparison(node);
    case Node::Kind::kConditional: {
      KINDRED_TRY(const Value condition, Of(*node.children[0]));
      return Of(*node.children[Truth(condition) ? 1 : 2]);
    }
    case Node::Kind::kList: {
      KINDRED_TRY(ValueList values, Children(node));
      return Value(std::move(values));
    }
    case Node::Kind::kIndex: return Index(node);
    case Node::Kind::kCall: {
      KINDRED_TRY(const ValueList arguments, Children(node));
      return At(node, Call(node.op, arguments));
    }
    case Node::Kind::kComprehension: return Comprehension(node);
  }
  return Internal("an expression of no kind");
}

}  // namespace

Result<Value> Expression::Evaluate(std::span<const Value> values) const {
  if (values.size() > slots_) return Internal("an expression was given values without a name");
  return Evaluator(text_, values, slots_).Of(*root_);
}

}  // namespace kindred
