// State shared by the printers of emitted C: names, ranges of variables, helpers asked for, output
// lines.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedules/internal/bounds.h"
#include "schedules/internal/c_helpers.h"
#include "schedules/program.h"
#include "schedules/workload.h"

namespace kindred::internal {

// `wanted`, or `wanted` with a number behind it where that is taken; taken from then on.
std::string TakeName(std::set<std::string>& taken, const std::string& wanted);

struct EmitContext {
  EmitContext(const Program& p, const Workload& w) : program(p), workload(w) {}

  const Program& program;
  const Workload& workload;
  CHelpers helpers;
  std::vector<std::string> buffer_names, symbol_names;
  // Variables get their name where they are bound, and free it where their scope ends.
  std::vector<std::string> wanted_names, variable_names;
  std::set<std::string> taken_names;
  std::vector<std::optional<Bounds>> ranges;  // of variables, while they are in scope
  // Register buffers accessed as vectors: their lanes; 1: scalars.
  std::vector<int> register_lanes;
  std::string out;
  int indent = 1;
  int temporaries = 0;

  void Line(const std::string& text) {
    out.append(static_cast<std::size_t>(indent) * 2, ' ');
    out += text;
    out += '\n';
  }

  const Buffer& BufferAt(int id) const { return program.buffers[static_cast<std::size_t>(id)]; }
  RangeOf Ranges() const;
  // Reading every load of `e` is harmless, whatever the conditions around it say.
  bool Safe(const Expr& e) const;
  bool UsesVar(const Expr& e, int var) const;
};

// "f32", "f16", "bf16", "u8" (bool too), ...: how elements of the type lie in memory.
std::string_view StorageElement(DataType type);
// f16 bf16 f8e4m3 f8e5m2: converted by the functions kd_f16_to_f32, kd_f32_to_f16, ...
bool IsNarrowFloat(DataType type);
// The type arithmetic happens in: "f32", "f64", "i32", "i64" or "c64".
std::string_view ComputeElement(DataType type);

// Nodes that compute with complex numbers in another way than C's operators do.
bool IsComplex(const Expr& e);
// A number of type c64 whose imaginary part is known to be zero.
bool IsRealNumber(const Expr& e);
// Such a number in f32; other expressions as they are.
ExprPtr RealPart(const ExprPtr& e);

// C text with its precedence, for parentheses where they are needed.
struct CText {
  std::string text;
  int precedence = 100;
};
constexpr int kPrimary = 100, kUnary = 90, kProduct = 80, kSum = 70, kCompare = 60, kEquals = 55,
              kLogicalAnd = 40, kLogicalOr = 30, kConditional = 20;
std::string Wrap(const CText& t, int at_least);

std::string IntLiteral(std::int64_t value);
std::string FloatLiteral(double value, bool is_double);

// Nodes that are reached more than once without a condition in between: worth a temporary each.
using UseCounts = std::unordered_map<const Expr*, int>;
void CountUses(const EmitContext& context, const Expr& e, UseCounts& uses);
bool WorthTemporary(const UseCounts& uses, const Expr& e);

}  // namespace kindred::internal
