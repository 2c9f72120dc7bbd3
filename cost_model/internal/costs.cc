#include "cost_model/internal/costs.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kindred {
namespace {

// Slots of one instruction, scalar or vector, by OpClass.
constexpr std::array<double, static_cast<std::size_t>(OpClass::kCount)> kVectorSlots = {
    1, 1, 1, 24, 40, 1, 2, 0.1, 80};
constexpr std::array<double, static_cast<std::size_t>(OpClass::kCount)> kScalarSlots = {
    1, 1, 1, 8, 60, 1, 1, 0.1, 20};
constexpr double kChainLatencySlots = 8;  // four cycles of a multiply-add
constexpr double kMemoryChainSlots = 20;  // a sum kept in memory: store forwarding on top
constexpr double kLoopSlots = 2;          // compare, branch and index update per iteration
constexpr double kAutomaticShare = 0.6;   // how well compilers vectorize plain loops

bool Inner(LoopKind kind) { return kind == LoopKind::kUnrolled || kind == LoopKind::kVectorized; }

double StrideAt(const LinearIndex& index, int depth) {
  return depth < kMaxNestDepth ? index.stride[static_cast<std::size_t>(depth)] : 0;
}

double Longest(const StatementCost& cost) {
  return std::max({cost.compute_slots + cost.math_slots + cost.integer_slots, cost.load_slots,
                   cost.store_slots, cost.latency_slots});
}

class Estimator {
 public:
  Estimator(const Nest& nest, const Target& target, Costs& costs)
      : nest_(nest), target_(target), costs_(costs) {}

  void Run();

 private:
  void Statement(int id);
  void JoinBody(const StatementCost& cost);
  void Describe(const NestStatement& statement, StatementCost& cost);
  void Memory(const NestStatement& statement, StatementCost& cost);
  bool CompilerVectorizes(const NestStatement& statement, const StatementCost& cost) const;
  const NestLoop& Loop(int id) const { return nest_.loops()[static_cast<std::size_t>(id)]; }

  const Nest& nest_;
  const Target& target_;
  Costs& costs_;
};

// Fills in vector lanes, unrolled copies and the loop that turns innermost.
void Estimator::Describe(const NestStatement& statement, StatementCost& cost) {
  const double element = ByteSize(statement.type);
  int loop = statement.loop;
  for (; loop >= 0 && Inner(Loop(loop).kind); loop = Loop(loop).parent) {
    const NestLoop& around = Loop(loop);
    if (around.kind == LoopKind::kVectorized) {
      const double bytes = around.extent * element;
      const double registers = std::max(1.0, std::ceil(bytes / target_.vector_bytes));
      cost.explicit_vector = true;
      cost.lanes = around.extent / registers;
      cost.tile *= registers;
    } else if (StrideAt(statement.target, around.depth) != 0 || !statement.recurrent) {
      cost.tile *= around.extent;  // unrolled reduction steps go one after the other instead
    }
  }
  cost.inner_loop = loop;
  if (!cost.explicit_vector && CompilerVectorizes(statement, cost)) {
    cost.automatic_vector = true;
    cost.lanes = std::max(1.0, kAutomaticShare * target_.VectorLanes(static_cast<int>(element)));
  }
  cost.tile_registers = statement.to_register ? cost.tile : 0;
}

bool Estimator::CompilerVectorizes(const NestStatement& statement,
                                   const StatementCost& cost) const {
  const int loop = cost.inner_loop;
  if (loop < 0 || loop != statement.loop || Loop(loop).extent < 4) return false;
  if (statement.buffer < 0 || statement.to_register) return false;
  const NestLoop& around = Loop(loop);
  if (around.end_loop != loop + 1) return false;
  if (StrideAt(statement.target, around.depth) != 1) return false;
  if (statement.ops[static_cast<std::size_t>(OpClass::kMath)] > 0) return false;
  if (statement.ops[static_cast<std::size_t>(OpClass::kIntegerDivide)] > 0.5) return false;
  for (int a = statement.first_access; a < statement.end_access; ++a) {
    const NestAccess& access = nest_.accesses()[static_cast<std::size_t>(a)];
    const double stride = StrideAt(access.index, around.depth);
    if (access.index.indirect || (stride != 0 && stride != 1)) return false;
  }
  return true;
}

// Loads and stores. A load that does not move with an unrolled loop is done once for all its
// copies.
void Estimator::Memory(const NestStatement& statement, StatementCost& cost) {
  for (int a = statement.first_access; a < statement.end_access; ++a) {
    const NestAccess& access = nest_.accesses()[static_cast<std::size_t>(a)];
    double count = access.executions;
    double stride = 0;
    double width = 1;
    int loop = statement.loop;
    for (; loop >= 0 && Inner(Loop(loop).kind); loop = Loop(loop).parent) {
      const double step = StrideAt(access.index, Loop(loop).depth);
      if (Loop(loop).kind == LoopKind::kVectorized) {
        stride = step;
        width = Loop(loop).extent;
        count /= width;
      } else if (step == 0 && !access.index.indirect) {
        count /= std::max(1.0, Loop(loop).extent);
      }
    }
    const double element =
        ByteSize(nest_.program().buffers[static_cast<std::size_t>(access.buffer)].type);
    if (cost.explicit_vector) {
      const double registers = std::max(1.0, std::ceil(width * element / target_.vector_bytes));
      if (access.index.indirect)
        cost.loads_gather += count * width;
      else if (access.store)
        (stride == 1 ? cost.stores_unit : cost.stores_strided) +=
            count * (stride == 1 ? registers : width);
      else if (stride == 0)
        cost.loads_broadcast += count;
      else if (stride == 1)
        cost.loads_unit += count * registers;
      else
        cost.loads_strided += count * width;
      continue;
    }
    if (cost.inner_loop >= 0) stride = StrideAt(access.index, Loop(cost.inner_loop).depth);
    if (cost.automatic_vector) count /= cost.lanes;
    if (access.index.indirect)
      cost.loads_gather += count;
    else if (access.store)
      (stride == 1 ? cost.stores_unit : cost.stores_strided) += count;
    else if (stride == 0) {
      // Loop invariant: a compiler keeps it in a register while the loop turns.
      cost.loads_broadcast +=
          cost.inner_loop >= 0 ? count / std::max(1.0, Loop(cost.inner_loop).extent) : count;
    } else {
      (stride == 1 ? cost.loads_unit : cost.loads_strided) += count;
    }
  }
  cost.load_slots =
      cost.loads_unit + cost.loads_broadcast + cost.loads_strided + 1.5 * cost.loads_gather;
  cost.store_slots = 2 * (cost.stores_unit + cost.stores_strided);
}

void Estimator::Statement(int id) {
  const NestStatement& statement = nest_.statements()[static_cast<std::size_t>(id)];
  StatementCost& cost = costs_.statements.emplace_back();
  cost.statement = id;
  Describe(statement, cost);
  Memory(statement, cost);
  const double instructions = statement.executions / cost.lanes;
  const auto& slots = cost.explicit_vector || cost.automatic_vector ? kVectorSlots : kScalarSlots;
  for (std::size_t i = 0; i < statement.ops.size(); ++i) {
    const double ops = statement.ops[i] * instructions;
    const auto kind = static_cast<OpClass>(i);
    cost.instructions += ops;
    const double paid =
        ops * slots[i] * (statement.type == DataType::kF64 && kind == OpClass::kDivide ? 2 : 1);
    if (kind == OpClass::kMath || kind == OpClass::kDivide)
      cost.math_slots += paid;
    else if (kind == OpClass::kInteger || kind == OpClass::kIntegerDivide)
      cost.integer_slots += paid;
    else
      cost.compute_slots += paid;
  }
  if (!target_.fused_multiply_add)
    cost.compute_slots +=
        statement.ops[static_cast<std::size_t>(OpClass::kFusedMultiplyAdd)] * instructions;
  if (statement.recurrent && cost.inner_loop >= 0) {
    const bool carried = StrideAt(statement.target, Loop(cost.inner_loop).depth) == 0;
    const double latency =
        statement.to_register || carried ? kChainLatencySlots : kMemoryChainSlots;
    if (carried) cost.latency_slots = instructions / cost.tile * latency;
  }
  cost.slots = Longest(cost);
  const auto& ops = statement.ops;
  const auto at = [&](OpClass kind) { return ops[static_cast<std::size_t>(kind)]; };
  const double parts = statement.type == DataType::kC64 ? 2 : 1;
  if (!IsInteger(statement.type))
    costs_.flop += statement.executions * parts *
                   (2 * at(OpClass::kFusedMultiplyAdd) + at(OpClass::kAdd) +
                    at(OpClass::kMultiply) + at(OpClass::kDivide) + at(OpClass::kMath));
}

// Adds a statement to the body of its innermost loop. Chains of different statements hide each
// other.
void Estimator::JoinBody(const StatementCost& cost) {
  auto body =
      std::find_if(costs_.bodies.begin(), costs_.bodies.end(),
                   [&](const StatementCost& other) { return other.inner_loop == cost.inner_loop; });
  if (body == costs_.bodies.end()) {
    costs_.bodies.push_back(cost);
    return;
  }
  const auto add = [](StatementCost& sum, const StatementCost& other) {
    sum.instructions += other.instructions;
    sum.compute_slots += other.compute_slots;
    sum.load_slots += other.load_slots;
    sum.store_slots += other.store_slots;
    sum.math_slots += other.math_slots;
    sum.integer_slots += other.integer_slots;
    sum.latency_slots = std::max(sum.latency_slots, other.latency_slots);
    sum.loads_unit += other.loads_unit;
    sum.loads_broadcast += other.loads_broadcast;
    sum.loads_strided += other.loads_strided;
    sum.loads_gather += other.loads_gather;
    sum.stores_unit += other.stores_unit;
    sum.stores_strided += other.stores_strided;
    sum.slots = Longest(sum);
  };
  const auto work = [](const StatementCost& of) { return of.compute_slots + of.math_slots; };
  if (work(cost) > work(*body)) {
    StatementCost sum = cost;
    add(sum, *body);
    *body = sum;
  } else {
    add(*body, cost);
  }
}

void Estimator::Run() {
  costs_ = Costs{.statements = std::move(costs_.statements), .bodies = std::move(costs_.bodies)};
  costs_.statements.clear();
  costs_.bodies.clear();
  const double threads = std::max(1, target_.threads);
  const double flop_per_slot = (target_.fused_multiply_add ? 2.0 : 1.0) * target_.VectorLanes(4);
  costs_.slots_per_ns = std::max(0.05, target_.peak_f32_gflops / threads / flop_per_slot);
  for (int id = 0; id < static_cast<int>(nest_.statements().size()); ++id) Statement(id);

  for (std::size_t id = 0; id < nest_.loops().size(); ++id) {
    const NestLoop& loop = nest_.loops()[id];
    if (Inner(loop.kind)) continue;
    costs_.loop_slots += kLoopSlots * loop.entries * (1 + loop.extent / std::max(1, loop.unroll));
    if (loop.kind == LoopKind::kParallel && threads > 1 && loop.extent >= 1) {
      const double rounds = std::ceil(loop.extent / threads);
      costs_.threads_used = std::max(costs_.threads_used, loop.extent / rounds);
    }
  }
  // Accumulators beyond the registers are loaded and stored around each use.
  for (StatementCost& cost : costs_.statements) {
    if (cost.tile_registers > 0 && cost.inner_loop >= 0 &&
        nest_.statements()[static_cast<std::size_t>(cost.statement)].recurrent) {
      const double free = std::max(1, target_.vector_registers - 2);
      if (cost.tile_registers > free) {
        const double spilled = (cost.tile_registers - free) / cost.tile_registers;
        const double instructions = cost.compute_slots * spilled;
        costs_.spill_slots += 3 * instructions;
      }
    }
    costs_.compute_slots += cost.compute_slots;
    costs_.load_slots += cost.load_slots;
    costs_.store_slots += cost.store_slots;
    costs_.math_slots += cost.math_slots;
    costs_.integer_slots += cost.integer_slots;
    costs_.instructions += cost.instructions;
    if (cost.explicit_vector) costs_.vector_instructions += cost.instructions;
    if (cost.automatic_vector) costs_.automatic_instructions += cost.instructions;
    JoinBody(cost);
  }
  const auto slots_of = [&](int id) { return costs_.bodies[static_cast<std::size_t>(id)].slots; };
  for (int id = 0; id < static_cast<int>(costs_.bodies.size()); ++id) {
    costs_.slots += slots_of(id);
    costs_.latency_slots += costs_.bodies[static_cast<std::size_t>(id)].latency_slots;
    if (costs_.hottest < 0 || slots_of(id) > slots_of(costs_.hottest)) {
      costs_.second = costs_.hottest;
      costs_.hottest = id;
    } else if (costs_.second < 0 || slots_of(id) > slots_of(costs_.second)) {
      costs_.second = id;
    }
  }
}

}  // namespace

void EstimateCosts(const Nest& nest, const Target& target, Costs& costs) {
  Estimator(nest, target, costs).Run();
}

}  // namespace kindred
