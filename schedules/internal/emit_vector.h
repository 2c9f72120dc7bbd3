// Prints the statements of kVectorized loops with GNU vector extensions.
//
// A value that does not depend on the lane stays scalar (the language broadcasts it in arithmetic).
// Truth values are integer vectors of 0 and -1. What has no vector form (gathers, integer division,
// branches that may not be read) is built lane by lane.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "schedules/internal/emit_context.h"
#include "schedules/internal/emit_expr.h"

namespace kindred::internal {

class VectorPrinter {
 public:
  VectorPrinter(EmitContext& context, int lane, int lanes)
      : context_(context), lane_(lane), lanes_(lanes), scalar_(context) {}

  void PrintStore(const Stmt& store);

 private:
  struct Value {
    CText text;
    std::string_view element;  // f32 f64 i32 i64 c64
    bool vector = false;
    bool mask = false;  // a truth value
  };
  // index = base + stride * lane, where it has that form.
  struct Walk {
    ExprPtr base;
    std::int64_t stride = 0;
  };

  Value Print(const ExprPtr& e);
  Value PrintNode(const ExprPtr& e);
  Value Load(const ExprPtr& e);
  Value Select(const ExprPtr& e);
  Value Cast(const ExprPtr& e);
  Value LaneByLane(const ExprPtr& e);
  Value Complex(const ExprPtr& e);
  Value ComplexSum(const ExprPtr& e);
  // The terms whose sum is a product of complex numbers, each a product of vectors of floats. The
  // second is empty where a factor is real.
  std::pair<std::string, std::string> ComplexTerms(const Expr& product);
  // A complex number as a vector whose text may be written twice.
  std::string ComplexName(const ExprPtr& e);
  // A vector of compute type from one in storage type, and back.
  Value Widen(DataType type, const std::string& text);
  std::string Narrow(DataType type, const Value& value);

  std::string AsVector(const Value& v);
  // As a mask whose elements have the width of `element`.
  std::string AsMask(const Value& v, std::string_view element);
  Value Convert(const Value& v, std::string_view element);
  std::optional<Walk> WalkOf(const ExprPtr& index) const;
  ExprPtr AtLane(const ExprPtr& e, std::int64_t lane) const;
  std::string VectorRegister(int buffer, const Expr& base) const;
  void StoreLaneByLane(const Stmt& store);

  EmitContext& context_;
  int lane_, lanes_;
  ScalarPrinter scalar_;
  UseCounts uses_;
  std::unordered_map<const Expr*, Value> names_;
};

}  // namespace kindred::internal
