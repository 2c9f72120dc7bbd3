// Running error analysis of one expression: its value in f64 and a first-order bound on the error
// that a kernel in the declared types may have there. schedules/tolerance.h states the model.
#pragma once

#include <functional>
#include <unordered_map>

#include "schedules/expr.h"

namespace kindred {

struct BoundedExpr {
  ExprPtr value;  // floats: f64; integers and bools: as in the original
  // nullptr: exact. Floats and integers: f64, absolute. Bools: a bool that is true where the value
  // may be the other one.
  ExprPtr error;
};

class ErrorAnalysis {
 public:
  // Where the errors of a tensor's elements are stored: in an f64 tensor of its shape, as multiples
  // of `scale`; tensor < 0: they are exact.
  struct StoredError {
    int tensor = -1;
    double scale = 1;
  };
  using FindError = std::function<StoredError(int tensor)>;
  // The type in which a tensor's values are stored now (f64 for computed floats).
  using TypeOf = std::function<DataType(int tensor)>;
  // May store a large intermediate result in tensors and return reads of them; else returns it
  // unchanged.
  using Materialize = std::function<BoundedExpr(BoundedExpr)>;

  ErrorAnalysis(double safety, FindError find_error, TypeOf type_of, Materialize materialize);

  BoundedExpr Of(const ExprPtr& e);

  // The error of `value` (of error `error`) after rounding to a floating type; `value` is f64.
  static ExprPtr Rounded(const ExprPtr& value, const ExprPtr& error, DataType type);
  // A floating value of type `from` after rounding to a type of at most 16 bits. Kernels round
  // these where the workload says so, so the value is rounded too; its error is 0, unless the
  // value's own error reaches another number: then it is the distance of the numbers within reach.
  static BoundedExpr Narrowed(const BoundedExpr& e, DataType from, DataType type, double safety);
  // The same as an f64 number, for bools too; nullptr stays.
  static ExprPtr AsNumber(const BoundedExpr& e);

 private:
  BoundedExpr Analyze(const ExprPtr& e);
  // `otherwise`: the read is padded with this value; else nullptr.
  BoundedExpr Load(const Expr& e, const ExprPtr& otherwise);
  BoundedExpr Select(const Expr& e);
  BoundedExpr Cast(const Expr& e);
  BoundedExpr Compare(const Expr& e);
  BoundedExpr Logic(const Expr& e);
  BoundedExpr Integer(const Expr& e);
  BoundedExpr Arithmetic(const Expr& e);
  BoundedExpr Function(const Expr& e);
  BoundedExpr Power(const BoundedExpr& a, const BoundedExpr& b, double unit);

  double safety_;
  FindError find_error_;
  TypeOf type_of_;
  Materialize materialize_;
  std::unordered_map<const Expr*, BoundedExpr> memo_;
  std::unordered_map<const Expr*, BoundedExpr> guarded_memo_;
  std::vector<ExprPtr> alive_;  // keys of the memos
  int guards_ = 0;              // selects around the expression at hand
};

}  // namespace kindred
