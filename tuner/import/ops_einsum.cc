// Einsum of any number of operands.
//
// Dimensions under an ellipsis get labels of their own, aligned at the end. Labels that stand in
// one operand only, and not in the result, are summed first. Then operands are contracted in pairs,
// at each step the pair whose product has the fewest terms, so that every step is a contraction of
// two operands (the greedy order of opt_einsum).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

using Labels = std::string;  // one character per dimension

struct Operand {
  int value = -1;
  Labels labels;
};

struct Equation {
  std::vector<Labels> terms;
  Labels result;
  std::map<char, std::int64_t> extents;
};

constexpr std::string_view kEllipsisLabels = "0123456789";

bool Contains(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The labels of a term for a tensor of `rank` dimensions; the last of `wide` ellipsis dimensions is
// the last of kEllipsisLabels' first `wide`.
Result<Labels> ExpandTerm(const std::string& term, std::size_t rank, std::size_t wide) {
  const std::size_t dots = term.find("...");
  const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
  Labels rest = term;
  if (dots != std::string::npos) rest.erase(dots, 3);
  if (!std::all_of(rest.begin(), rest.end(), IsLetter) || letters > rank ||
      (dots == std::string::npos && letters != rank) || rank - letters > wide)
    return Unsupported("an equation that does not fit its inputs");
  if (dots == std::string::npos) return rest;
  const std::size_t own = rank - letters;
  return rest.insert(dots, std::string(kEllipsisLabels.substr(wide - own, own)));
}

Result<Equation> ReadEquation(OpContext& op) {
  std::string text = op.Text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (static_cast<int>(terms.size()) != op.inputs())
    return Unsupported("an equation that does not name every input: " + text);
  std::size_t wide = 0;
  bool any = false;
  for (int i = 0; i < op.inputs(); ++i) {
    const std::string& term = terms[static_cast<std::size_t>(i)];
    if (term.find("...") == std::string::npos) continue;
    any = true;
    const std::size_t rank = op.InShape(i).size();
    wide = std::max(wide, rank - std::min(rank, term.size() - 3));
  }
  if (wide > kEllipsisLabels.size()) return Unsupported("more than ten dimensions under '...'");
  Equation equation;
  std::map<char, int> uses;
  for (int i = 0; i < op.inputs(); ++i) {
    const Shape shape = op.InShape(i);
    KINDRED_TRY(Labels labels, ExpandTerm(terms[static_cast<std::size_t>(i)], shape.size(), wide));
    for (std::size_t d = 0; d < labels.size(); ++d) {
      ++uses[labels[d]];
      std::int64_t& extent = equation.extents.emplace(labels[d], 1).first->second;
      if (extent != 1 && shape[d] != 1 && shape[d] != extent)
        return BadInput(fmt::format("{}: {}: '{}' has the extents {} and {}", op.model.path,
                                    op.node.Label(), labels[d], extent, shape[d]));
      if (shape[d] != 1) extent = shape[d];
    }
    equation.terms.push_back(std::move(labels));
  }
  // Without an arrow: what stands under '...', then all letters that stand once, in order.
  std::string result = any ? "..." : "";
  for (const auto& [label, count] : uses)
    if (IsLetter(label) && count == 1) result += label;
  if (arrow != std::string::npos) result = text.substr(arrow + 2);
  const bool dots = result.find("...") != std::string::npos;
  KINDRED_TRY(equation.result,
              ExpandTerm(result, result.size() - (dots ? 3 : 0) + (dots ? wide : 0), wide));
  for (const char label : equation.result)
    if (!equation.extents.contains(label) ||
        std::count(equation.result.begin(), equation.result.end(), label) > 1)
      return Unsupported("an equation whose result names a new axis, or one twice: " + text);
  return equation;
}

class Contractor {
 public:
  Contractor(OpContext& op, Equation equation)
      : op_(op), equation_(std::move(equation)), type_(op.InValue(0).type) {
    for (int i = 0; i < op.inputs(); ++i)
      operands_.push_back({op.In(i), equation_.terms[static_cast<std::size_t>(i)]});
  }

  void Run() {
    if (operands_.size() > 1)
      for (Operand& operand : operands_) SumAlone(operand);
    while (operands_.size() > 2) {
      const auto [a, b] = CheapestPair();
      const Operand left = operands_[a], right = operands_[b];
      operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(b));
      operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(a));
      const Labels kept = KeptOf(left.labels + right.labels);
      operands_.push_back({Emit({left, right}, kept, Temp(kept)), kept});
    }
    Emit(operands_, equation_.result, op_.Out(0, type_, ShapeOf(equation_.result)));
  }

 private:
  Shape ShapeOf(const Labels& labels) const {
    Shape shape;
    for (const char label : labels) shape.push_back(equation_.extents.at(label));
    return shape;
  }

  int Temp(const Labels& labels) {
    return op_.Temp("part" + std::to_string(parts_++), DefaultAccumulator(type_), ShapeOf(labels));
  }

  // Labels, each once, that the result or an operand still to be contracted has.
  Labels KeptOf(const Labels& labels) const {
    Labels kept;
    for (const char label : labels) {
      bool needed = Contains(equation_.result, label);
      for (const Operand& operand : operands_) needed = needed || Contains(operand.labels, label);
      if (needed && !Contains(kept, label)) kept += label;
    }
    return kept;
  }

  void SumAlone(Operand& operand) {
    Labels kept;
    for (const char label : operand.labels) {
      bool needed = Contains(equation_.result, label);
      for (const Operand& other : operands_)
        needed = needed || (&other != &operand && Contains(other.labels, label));
      if (needed && !Contains(kept, label)) kept += label;
    }
    const bool sums = std::any_of(operand.labels.begin(), operand.labels.end(), [&](char label) {
      return !Contains(kept, label) && equation_.extents.at(label) != 1;
    });
    if (sums) operand = {Emit({operand}, kept, Temp(kept)), kept};
  }

  std::pair<std::size_t, std::size_t> CheapestPair() const {
    std::pair<std::size_t, std::size_t> best = {0, 1};
    std::int64_t fewest = -1;
    for (std::size_t a = 0; a < operands_.size(); ++a)
      for (std::size_t b = a + 1; b < operands_.size(); ++b) {
        Labels all;
        for (const char label : operands_[a].labels + operands_[b].labels)
          if (!Contains(all, label)) all += label;
        const std::int64_t terms = ElementCount(ShapeOf(all));
        if (fewest >= 0 && terms >= fewest) continue;
        fewest = terms;
        best = {a, b};
      }
    return best;
  }

  // target[labels] = sum over all other labels of the product of the operands
  int Emit(const std::vector<Operand>& operands, const Labels& labels, int target) {
    Stage stage = MakeStage(target, ShapeOf(labels), labels);
    Labels all = labels;
    for (const Operand& operand : operands)
      for (const char label : operand.labels) {
        if (Contains(all, label)) continue;
        all += label;
        AddReductionAxis(stage, std::string(1, label), equation_.extents.at(label));
      }
    for (std::size_t a = 0; a < all.size(); ++a)  // names begin with a letter
      if (!IsLetter(all[a])) stage.axes[a].name = std::string("e") + all[a];
    for (const Operand& operand : operands) {
      const GraphValue& value = op_.graph.values[static_cast<std::size_t>(operand.value)];
      Exprs at;
      for (std::size_t d = 0; d < operand.labels.size(); ++d)
        at.push_back(value.shape[d] == 1 ? IntExpr(0)
                                         : VarExpr(static_cast<int>(all.find(operand.labels[d]))));
      const ExprPtr factor = LoadExpr(operand.value, std::move(at), value.type);
      stage.body = stage.body ? stage.body * factor : factor;
    }
    SetReduction(stage, Combiner::kSum, DefaultAccumulator(type_));
    op_.kind = UnitKind::kMovement;
    if (stage.reduction() > 0)
      op_.kind = operands.size() == 1 ? UnitKind::kRow : UnitKind::kContraction;
    op_.NewUnit();
    op_.Emit(std::move(stage));
    return target;
  }

  OpContext& op_;
  Equation equation_;
  DataType type_;
  std::vector<Operand> operands_;
  int parts_ = 0;
};

Result<void> Einsum(OpContext& op) {
  KINDRED_TRY(Equation equation, ReadEquation(op));
  Contractor(op, std::move(equation)).Run();
  return {};
}

}  // namespace

void AddEinsumOps(LoweringTable& table) { table["Einsum"] = Einsum; }

}  // namespace kindred
