// Recursive-descent parser of the workload language (docs/workload_language.md).
//
// One statement at a time: the right-hand side is parsed straight into expressions whose variables
// are the statement's axes (AxisInfo), reads of plain axes are noted, and at the statement's end
// extents are inferred, nested reductions become stages of their own, and variables are renumbered
// per stage. The whole workload is then checked (internal/check_workload.h), with failures traced
// back to a place in the text. The first error wins. Recursion and the size of expressions are
// bounded, so any text is safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schedules/internal/lexer.h"
#include "schedules/workload.h"

namespace kindred {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string_view file)
      : tokens_(std::move(tokens)), file_(file) {}

  Result<Workload> Run();

  // For the JSON form: one expression over given axes of a stage of `workload`, without reductions.
  // A constant alone takes `type`.
  Result<ExprPtr> RunExpression(const Workload& workload, std::span<const Axis> axes,
                                std::optional<DataType> type);

 private:
  struct AxisInfo {
    std::string name;
    SourcePosition position;
    bool reduction = false;
    bool visible = true;  // a reduction axis only inside its reduction
    std::optional<Extent> extent;
  };
  // A read whose index is a plain axis: the axis has that dimension's extent, unless told
  // otherwise.
  struct Binding {
    int axis, tensor, dimension;
    bool padded;
    SourcePosition position;
  };
  struct Reduction {
    Combiner combiner = Combiner::kSum;
    std::optional<DataType> accumulator;
    std::vector<int> axes;  // reduction axes
    std::vector<int> free;  // other axes that the body uses, in order
    ExprPtr body;
    DataType type = DataType::kF32;  // of its value
  };
  struct Value {
    ExprPtr expr;          // null: an error was reported
    bool literal = false;  // a constant whose type is still open
  };
  struct Measure {
    int depth = 1;
    std::int64_t size = 1;
  };

  // Tokens.
  const Token& Peek(std::size_t ahead = 0) const;
  const Token& Next();
  bool Accept(std::string_view symbol);
  bool AcceptWord(std::string_view word);
  bool Expect(std::string_view symbol, std::string_view after);
  bool Fail(SourcePosition position, std::string_view message,
            ErrorKind kind = ErrorKind::kBadInput);
  Value FailValue(SourcePosition position, std::string_view message,
                  ErrorKind kind = ErrorKind::kBadInput);
  std::string Shown(const Token& token) const;

  // Statements (parser.cc).
  bool Statement();
  bool WorkloadName();
  bool SymbolStatement();
  bool AllowStatement();
  bool InputStatement(Role role);
  bool StageStatement();
  bool StageAxes();
  bool Data(Tensor& tensor);
  bool DeclaredName(std::string& name, std::string_view what);
  bool ParseType(DataType& type, std::string_view where);
  bool ParseExtent(Extent& extent, std::string_view what);
  bool ParseInteger(std::int64_t& value, std::string_view what);
  bool ParseSigned(double& value, std::string_view what);

  // Stages out of a parsed statement (parser_stages.cc).
  bool FinishStage(Tensor target, bool typed, Value value, SourcePosition position);
  bool InferExtents();
  int AddStage(Tensor tensor, const std::vector<int>& spatial, const Reduction* reduction,
               const ExprPtr& body, SourcePosition position);
  ExprPtr Remap(const ExprPtr& e, const std::vector<int>& axis_to_var,
                std::unordered_map<const Expr*, ExprPtr>& memo);
  std::string TemporaryName(const std::string& target, Combiner combiner) const;
  Error Locate(Error error, int tensor, int stage, const Expr* at) const;

  // Expressions (parser_expressions.cc), loosest binding first.
  Value Expression();
  Value OrExpression();
  Value AndExpression();
  Value NotExpression();
  Value Comparison();
  Value Sum();
  Value Product();
  Value Unary();
  Value Primary();
  Value NamedPrimary();
  Value Load(const Token& name, int tensor);
  Value Call(const Token& name);
  Value Select(const Token& name);
  Value Padded(const Token& name);
  Value Cast(const Token& name, DataType type);
  Value Reduce(const Token& name, Combiner combiner);
  bool ReductionAxes(Reduction& reduction);
  bool Arguments(std::vector<Value>& arguments);
  Value Binary(Op op, const Token& where, Value a, Value b);
  Value Finish(ExprPtr e, bool literal, SourcePosition position);
  Measure MeasureOf(const ExprPtr& e, SourcePosition position);
  int FindAxis(std::string_view name) const;

  std::vector<Token> tokens_;
  std::size_t place_ = 0;
  std::string_view file_;
  std::optional<Error> error_;

  Workload workload_;
  std::map<std::string, int, std::less<>> tensors_;
  std::map<std::string, Extent, std::less<>> extents_;  // named extents and symbols
  std::vector<SourcePosition> tensor_positions_;
  std::vector<SourcePosition> stage_positions_;
  std::unordered_map<const Expr*, SourcePosition> node_positions_;  // of nodes in finished stages

  // Of the statement at hand.
  std::vector<AxisInfo> axes_;
  std::vector<Binding> bindings_;
  std::vector<Reduction> reductions_;
  std::vector<ExprPtr> alive_;  // keeps the addresses in the maps below unique
  std::unordered_map<const Expr*, SourcePosition> positions_;
  std::unordered_map<const Expr*, Measure> measures_;
  std::vector<int> reduction_tensors_;  // per reduction, once it has become a stage
  int depth_ = 0;
};

// Tensor ids at and below this stand for reductions of the statement at hand: kFirstReduction - i.
inline constexpr int kFirstReduction = -2;

}  // namespace kindred
