#include "schedules/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

#include "schedules/base/seed.h"

namespace kindred {
namespace {

// What the uses of a tensor ask of its data.
struct Uses {
  bool positive = false;         // some use wants values above zero
  std::int64_t index_limit = 0;  // > 0: used as an index below this
};

// The tensor itself where `e` is a read of it, cast, padded, or with a constant added or
// multiplied.
bool IsReadOf(const Expr& e, int tensor) {
  switch (e.op) {
    case Op::kLoad: return e.index == tensor;
    case Op::kCast:
    case Op::kPadded: return IsReadOf(*e.args[0], tensor);
    case Op::kAdd:
    case Op::kMul:
    case Op::kMax:
      return (IsConstant(*e.args[1]) && IsReadOf(*e.args[0], tensor)) ||
             (IsConstant(*e.args[0]) && IsReadOf(*e.args[1], tensor));
    default: return false;
  }
}

Uses UsesOf(const Workload& workload, int tensor) {
  Uses uses;
  for (const Stage& stage : workload.stages) {
    Visit(*stage.body, [&](const Expr& e) {
      switch (e.op) {
        case Op::kLog:
        case Op::kSqrt:
        case Op::kRsqrt:
        case Op::kPow: uses.positive |= IsReadOf(*e.args[0], tensor); break;
        case Op::kDiv:
        case Op::kMod: uses.positive |= IsReadOf(*e.args[1], tensor); break;
        case Op::kLoad:
          for (std::size_t d = 0; d < e.args.size(); ++d) {
            const Expr* index = e.args[d].get();
            while (index->op == Op::kCast) index = index->args[0].get();
            if (index->op != Op::kLoad || index->index != tensor) continue;
            const std::int64_t extent =
                workload.tensors[static_cast<std::size_t>(e.index)].shape[d].value;
            uses.index_limit = uses.index_limit == 0 ? extent : std::min(uses.index_limit, extent);
          }
          break;
        default: break;
      }
    });
  }
  return uses;
}

// Draws the elements of one tensor.
class Source {
 public:
  Source(const Tensor& tensor, const Uses& uses, std::uint64_t seed)
      : tensor_(tensor), uses_(uses), random_(seed) {}

  double Float() {
    const DataSpec& data = tensor_.data;
    if (data.kind == "mask") return random_.Uniform() < data.density ? 1 : 0;
    if (data.density < 1 && random_.Uniform() >= data.density) return 0;
    return Part();
  }

  // A number, or a part of a complex one, that is not left out for sparsity.
  double Part() {
    const DataSpec& data = tensor_.data;
    if (data.kind == "uniform") return data.low + (data.high - data.low) * random_.Uniform();
    if (data.kind == "normal") return data.low + data.high * Normal();
    if (uses_.positive) return 0.25 + random_.Uniform();
    const double value = RoundTo(tensor_.type, 2 * random_.Uniform() - 1);
    return value == 0 ? 0.5 : value;
  }

  std::int64_t Integer() {
    const DataSpec& data = tensor_.data;
    if (tensor_.type == DataType::kBool)
      return random_.Uniform() < (data.kind == "mask" || data.density < 1 ? data.density : 0.5);
    if (data.kind == "mask") return random_.Uniform() < data.density ? 1 : 0;
    if (data.density < 1 && random_.Uniform() >= data.density) return 0;
    if (data.kind == "uniform" || data.kind == "index")
      return Between(static_cast<std::int64_t>(std::ceil(data.low)),
                     static_cast<std::int64_t>(std::ceil(data.high)) - 1);
    if (data.kind == "normal")
      return static_cast<std::int64_t>(std::nearbyint(data.low + data.high * Normal()));
    const std::int64_t highest = IntegerHighest(tensor_.type);
    if (uses_.index_limit > 0) return Between(0, std::min(uses_.index_limit - 1, highest));
    const bool small = ByteSize(tensor_.type) == 1;
    std::int64_t value = Between(uses_.positive ? 1
                                 : small        ? IntegerLowest(tensor_.type)
                                                : -64,
                                 small ? highest : 64);
    return value == 0 ? 1 : value;
  }

  std::uint64_t Below(std::uint64_t bound) { return random_.Below(bound); }

 private:
  // Both ends included.
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    return low +
           static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low) + 1));
  }

  double Normal() {  // Box and Muller, 1958
    const double radius = std::sqrt(-2 * std::log(1 - random_.Uniform()));
    return radius * std::cos(2 * std::numbers::pi * random_.Uniform());
  }

  const Tensor& tensor_;
  const Uses& uses_;
  Random random_;
};

}  // namespace

void FillInput(const Workload& workload, int tensor, std::uint64_t seed,
               std::span<std::byte> bytes) {
  const Tensor& t = workload.tensors[static_cast<std::size_t>(tensor)];
  const Uses uses = UsesOf(workload, tensor);
  Source source(t, uses, DeriveSeed(seed, "input", static_cast<std::uint64_t>(tensor)));
  const auto size = static_cast<std::size_t>(ByteSize(t.type));
  const std::size_t count = bytes.size() / size;
  if (IsInteger(t.type)) {
    for (std::size_t i = 0; i < count; ++i)
      StoreInteger(t.type, source.Integer(), bytes.data() + i * size);
    return;
  }
  if (t.type == DataType::kC64) {
    for (std::size_t i = 0; i < count; ++i) {
      const double real = source.Float();
      // What is zero, or a mask's one, is so as a whole.
      const bool sparse = t.data.kind == "mask" || (t.data.density < 1 && real == 0);
      StoreFloat(DataType::kF32, real, bytes.data() + i * 8);
      StoreFloat(DataType::kF32, sparse ? 0 : source.Part(), bytes.data() + i * 8 + 4);
    }
    return;
  }
  if (size >= 4) {
    for (std::size_t i = 0; i < count; ++i)
      StoreFloat(t.type, source.Float(), bytes.data() + i * size);
    return;
  }
  // Encoding the narrow types is slow: draw from a table of encoded numbers.
  constexpr std::size_t kTable = 4096;
  std::array<std::byte, 2 * kTable> table;
  for (std::size_t i = 0; i < kTable; ++i)
    StoreFloat(t.type, source.Float(), table.data() + i * size);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(bytes.data() + i * size, table.data() + source.Below(kTable) * size, size);
}

}  // namespace kindred
