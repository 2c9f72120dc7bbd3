#include "schedules/internal/cuda_context.h"

#include <algorithm>
#include <limits>

namespace kindred::internal {
namespace {

bool FitsInt(const Bounds& b) {
  return b.low >= std::numeric_limits<std::int32_t>::min() &&
         b.high <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

bool CudaContext::IsWide(const Expr& e) const {
  if (e.type != DataType::kI64) return false;
  switch (e.op) {
    case Op::kLoad: return true;
    case Op::kInt:
    case Op::kVar:
    case Op::kExtent: {
      const auto range = BoundsOf(e, Ranges());
      return !range || !FitsInt(*range);
    }
    case Op::kCast: return !IsInteger(e.args[0]->type) || IsWide(*e.args[0]);
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kNeg:
    case Op::kAbs: {
      const auto range = BoundsOf(e, Ranges());
      if (!range || !FitsInt(*range)) return true;
      break;
    }
    case Op::kPow: return true;
    default: break;
  }
  const std::size_t first = e.op == Op::kSelect ? 1 : 0;
  return std::any_of(e.args.begin() + static_cast<std::ptrdiff_t>(first), e.args.end(),
                     [this](const ExprPtr& arg) { return IsWide(*arg); });
}

std::int64_t CudaContext::Divisor(const Expr& e) const {
  return DivisorOf(e, [this](int var) { return divisors[static_cast<std::size_t>(var)]; });
}

std::string_view CudaStorageType(DataType type) {
  switch (type) {
    case DataType::kF64: return "double";
    case DataType::kF32: return "float";
    case DataType::kF16: return "kd_f16";
    case DataType::kBF16: return "kd_bf16";
    case DataType::kF8E4M3: return "kd_f8e4m3";
    case DataType::kF8E5M2: return "kd_f8e5m2";
    case DataType::kI64: return "long long";
    case DataType::kI32: return "int";
    case DataType::kI8: return "signed char";
    case DataType::kC64: return "kd_c64";
    default: return "unsigned char";
  }
}

std::string_view CudaComputeType(DataType type) {
  if (type == DataType::kBool) return "bool";
  const std::string_view element = ComputeElement(type);
  if (element == "f32") return "float";
  if (element == "f64") return "double";
  if (element == "c64") return "kd_c64";
  return element == "i64" ? "long long" : "int";
}

}  // namespace kindred::internal
