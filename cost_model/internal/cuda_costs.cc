#include "cost_model/internal/cuda_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "cost_model/internal/warp.h"

namespace kindred {
namespace {

constexpr double kSectorBytes = 32, kLineBytes = 128, kBanks = 32, kBankBytes = 4;
constexpr double kSchedulers = 4;  // of an SM: warp instructions started in a cycle
constexpr double kIntegerLanes = 64, kMathLanes = 16;
constexpr double kMemoryLatency = 600, kSharedLatency = 30, kArithmeticLatency = 4;  // cycles
constexpr double kBarrierLatency = 30, kStepLatency = 8;
constexpr double kOwnRegisters = 24;      // of a thread: addresses, indices, counters
constexpr double kReservedShared = 1024;  // of a block, by the system
constexpr double kBatched = 4;  // iterations of a plain loop whose loads a compiler moves together
constexpr double kOverlap = 0.2;  // what the shorter of overlapping times add

// Warp instructions of one operation, by OpClass: those of the type's own unit, and of others.
struct Price {
  double own, integer, math;
};
constexpr std::array<Price, static_cast<std::size_t>(OpClass::kCount)> kPrices = {{
    {1, 0, 0},   // multiply-add
    {1, 0, 0},   // add
    {1, 0, 0},   // multiply
    {8, 1, 1},   // divide, square root
    {8, 2, 1},   // exp, log, ...
    {0, 1, 0},   // compare
    {0, 1, 0},   // cast
    {0, 1, 0},   // integer
    {0, 12, 0},  // integer divide: by constants mostly, a multiplication of 64 bits
}};

bool Turns(const NestLoop& loop) { return loop.kind == LoopKind::kSerial && loop.extent > 1; }

double StrideAt(const LinearIndex& index, int depth) {
  return depth < kMaxNestDepth ? index.stride[static_cast<std::size_t>(depth)] : 0;
}

class Estimator {
 public:
  Estimator(const Nest& nest, const Target& target, CudaLaunch& out)
      : nest_(nest), target_(target), out_(out), warp_(nest), first_lanes_(nest) {}

  // The launch whose outermost loop is `root`.
  void Run(int root);

 private:
  struct Use {  // of a buffer in global memory
    double l2_bytes = 0;
    bool stored = false;
  };

  void Shape(int root);
  void Memory(const NestAccess& access);
  void Global(const NestAccess& access, const Lanes& at, double requests, double width);
  void Shared(const Lanes& at, double requests, double bytes);
  double Reuse(const NestAccess& access, double bytes) const;
  double WarpsThatDiffer(const NestAccess& access);
  void Arithmetic(const NestStatement& statement);
  void Residence(int root);
  void Latency(int root);
  void Times();
  const NestLoop& Loop(int id) const { return nest_.loops()[static_cast<std::size_t>(id)]; }
  const Buffer& BufferOf(int id) const {
    return nest_.program().buffers[static_cast<std::size_t>(id)];
  }
  double WarpsOf(double executions) const { return executions / std::max(1.0, lanes_); }

  const Nest& nest_;
  const Target& target_;
  CudaLaunch& out_;
  Warp warp_;         // the threads of the first warp
  Warp first_lanes_;  // the first threads of the first warps
  std::vector<int> thread_loops_;
  double lanes_ = 32;  // threads of a warp, on average
  double l1_bytes_ = 0, resident_warps_ = 1;
  double own_f32_ = 0, own_f64_ = 0, integer_ = 0, math_ = 0, access_slots_ = 0;
  double l1_cycles_ = 0;
  std::vector<Use> uses_;
};

void Estimator::Shape(int root) {
  out_.blocks = out_.threads = 1;
  for (int id = root; id >= 0;) {
    const NestLoop& loop = Loop(id);
    if (loop.kind == LoopKind::kBlock)
      out_.blocks *= std::max(1.0, loop.extent);
    else if (loop.kind == LoopKind::kThread)
      out_.threads *= std::max(1.0, loop.extent), thread_loops_.push_back(id);
    else
      break;
    id = id + 1 < loop.end_loop ? id + 1 : -1;
  }
  out_.warps = std::ceil(out_.threads / kWarpThreads);
  lanes_ = out_.threads / out_.warps;
  out_.warp_fill = lanes_ / kWarpThreads;
}

// What a block needs, and how many of them an SM holds.
void Estimator::Residence(int root) {
  const NestLoop& top = Loop(root);
  std::set<int> seen;
  double registers = kOwnRegisters;
  const auto hold = [&](int buffer) {
    if (buffer < 0 || !seen.insert(buffer).second) return;
    const Buffer& b = BufferOf(buffer);
    const double bytes = static_cast<double>(b.elements) * ByteSize(b.type);
    if (b.scope == Scope::kRegister)
      registers += static_cast<double>(b.elements) * std::max(1, ByteSize(b.type) / 4);
    else if (b.scope == Scope::kShared)
      out_.shared_bytes += bytes;
  };
  for (int s = top.first_statement; s < top.end_statement; ++s)
    hold(nest_.statements()[static_cast<std::size_t>(s)].buffer);
  const GpuLimits& gpu = target_.gpu;
  const double most = std::min<double>(
      gpu.registers_per_thread, gpu.registers_per_sm / std::max(1.0, out_.warps * kWarpThreads));
  out_.spilled = std::max(0.0, registers - most);
  out_.registers = std::min(registers, most);
  const double threads = out_.warps * kWarpThreads;
  out_.blocks_per_sm = std::max(
      1.0,
      std::floor(std::min(
          {static_cast<double>(gpu.blocks_per_sm), gpu.threads_per_sm / threads,
           static_cast<double>(gpu.shared_bytes_per_sm) / (out_.shared_bytes + kReservedShared),
           gpu.registers_per_sm / (out_.registers * threads)})));
  out_.occupancy = std::min(1.0, out_.blocks_per_sm * threads / gpu.threads_per_sm);
  const double sms = std::max(1, gpu.sms);
  out_.waves = out_.blocks / (sms * out_.blocks_per_sm);
  out_.last_wave = out_.waves / std::ceil(out_.waves);
  const double busiest = std::ceil(out_.blocks / sms);
  out_.balance = out_.blocks / sms / busiest;
  resident_warps_ = std::min(out_.blocks_per_sm, busiest) * out_.warps;
  l1_bytes_ = std::max(8.0 * 1024, static_cast<double>(gpu.shared_bytes_per_sm) -
                                       out_.shared_bytes * std::min(out_.blocks_per_sm, busiest));
}

// How often the bytes of a request are asked for again while they are still in L1: along the loops
// around it, from the inside out, as long as what all warps of the SM touch meanwhile fits.
double Estimator::Reuse(const NestAccess& access, double bytes) const {
  const double element = ByteSize(BufferOf(access.buffer).type);
  double reuse = 1, touched = bytes * resident_warps_;
  const NestStatement& statement = nest_.statements()[static_cast<std::size_t>(access.statement)];
  for (int id = statement.loop; id >= 0; id = Loop(id).parent) {
    const NestLoop& loop = Loop(id);
    if (loop.kind == LoopKind::kThread || loop.kind == LoopKind::kBlock || touched > l1_bytes_)
      break;
    if (loop.kind == LoopKind::kVectorized) continue;
    const double extent = std::max(1.0, loop.extent);
    const double step = std::abs(StrideAt(access.index, loop.depth)) * element;
    if (access.index.indirect && step > 0) break;
    const double again = step == 0 ? extent : std::clamp(kSectorBytes / step, 1.0, extent);
    reuse *= again;
    touched *= extent / again;
  }
  return reuse;
}

// Of the warps of a block, the share that does not read what another one reads too.
double Estimator::WarpsThatDiffer(const NestAccess& access) {
  const int warps = static_cast<int>(std::min<double>(out_.warps, kWarpThreads));
  if (warps <= 1) return 1;
  Lanes at = first_lanes_.Indices(*access.expression);
  std::sort(at.begin(), at.begin() + warps);
  const auto distinct = std::unique(at.begin(), at.begin() + warps) - at.begin();
  return static_cast<double>(distinct) / warps;
}

void Estimator::Global(const NestAccess& access, const Lanes& at, double requests, double width) {
  const double element = ByteSize(BufferOf(access.buffer).type), bytes = element * width;
  const auto lanes = static_cast<std::size_t>(std::min(out_.threads, double{kWarpThreads}));
  std::array<std::int64_t, kWarpThreads> sorted = at;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(lanes));
  double sectors = 0, lines = 0, distinct = 0;
  double last_sector = -1e30, last_line = -1e30;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (i > 0 && sorted[i] == sorted[i - 1]) continue;
    distinct += bytes;
    const double begin = static_cast<double>(sorted[i]) * element, end = begin + bytes - 1;
    const auto count = [&](double unit, double& last, double& sum) {
      const double from = std::max(std::floor(begin / unit), last + 1);
      const double to = std::floor(end / unit);
      if (to >= from) sum += to - from + 1;
      last = std::max(last, to);
    };
    count(kSectorBytes, last_sector, sectors);
    count(kLineBytes, last_line, lines);
  }
  CudaAccesses& sum = access.store ? out_.stores : out_.loads;
  sum.requests += requests;
  sum.bytes += requests * distinct;
  sum.sectors += requests * sectors;
  sum.lines += requests * lines;
  sum.accesses += requests * lanes_;
  sum.access_bytes += requests * lanes_ * bytes;
  l1_cycles_ += requests * std::max(lines, sectors * kSectorBytes / kLineBytes);
  double moved = requests * sectors * kSectorBytes;
  if (!access.store) moved *= WarpsThatDiffer(access) / Reuse(access, sectors * kSectorBytes);
  Use& use = uses_[static_cast<std::size_t>(access.buffer)];
  use.l2_bytes += moved;
  use.stored |= access.store;
  if (!access.store) out_.in_flight += sectors * kSectorBytes;
}

// A bank serves one word of four bytes in a cycle, for all threads that ask for it. Accesses of
// eight and sixteen bytes go in halves and quarters of a warp.
void Estimator::Shared(const Lanes& at, double requests, double bytes) {
  const auto lanes = static_cast<std::size_t>(std::min(out_.threads, double{kWarpThreads}));
  const auto together =
      static_cast<std::size_t>(kWarpThreads * kBankBytes / std::max(bytes, kBankBytes));
  const auto words = static_cast<std::int64_t>(std::max(1.0, bytes / kBankBytes));
  double wavefronts = 0, ideal = 0;
  for (std::size_t first = 0; first < lanes; first += together) {
    std::array<std::set<std::int64_t>, 32> banks;
    std::size_t most = 1;
    for (std::size_t i = first; i < std::min(lanes, first + together); ++i)
      for (std::int64_t w = 0; w < words; ++w) {
        const std::int64_t word = at[i] + w;
        auto& bank = banks[static_cast<std::size_t>(((word % 32) + 32) % 32)];
        bank.insert(word);
        most = std::max(most, bank.size());
      }
    wavefronts += static_cast<double>(most);
    ideal += 1;
  }
  out_.shared_wavefronts += requests * wavefronts;
  out_.shared_ideal += requests * ideal;
}

void Estimator::Memory(const NestAccess& access) {
  const Buffer& buffer = BufferOf(access.buffer);
  if (buffer.scope == Scope::kRegister || access.expression == nullptr) return;
  const NestStatement& statement = nest_.statements()[static_cast<std::size_t>(access.statement)];
  double requests = WarpsOf(access.executions), width = 1;
  for (int id = statement.loop; id >= 0; id = Loop(id).parent) {
    const NestLoop& loop = Loop(id);
    const double extent = std::max(1.0, loop.extent);
    const double step = StrideAt(access.index, loop.depth);
    if (loop.kind == LoopKind::kVectorized && !access.index.indirect && (step == 0 || step == 1)) {
      requests /= extent;
      if (step == 1) width = extent;
    } else if (loop.kind == LoopKind::kUnrolled && step == 0 && !access.store &&
               !access.index.indirect) {
      requests /= extent;
    } else if (loop.kind != LoopKind::kVectorized && loop.kind != LoopKind::kUnrolled) {
      break;
    }
  }
  const double element = ByteSize(buffer.type);
  // An access is of sixteen bytes at most.
  const double pieces = std::max(1.0, width * element / 16);
  requests *= pieces;
  width /= pieces;
  access_slots_ += requests;
  if (buffer.scope == Scope::kStack) {
    l1_cycles_ += requests;  // each thread's elements lie side by side with the others'
    return;
  }
  Lanes at = warp_.Indices(*access.expression);
  if (buffer.scope == Scope::kShared) {
    if (element != kBankBytes)
      for (std::int64_t& i : at)
        i = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * element / kBankBytes));
    Shared(at, requests, width * element);
  } else {
    Global(access, at, requests, width);
  }
}

void Estimator::Arithmetic(const NestStatement& statement) {
  const double warps = WarpsOf(statement.executions);
  const bool f64 = statement.type == DataType::kF64;
  const bool integer = IsInteger(statement.type);
  for (std::size_t i = 0; i < statement.ops.size(); ++i) {
    const double count = statement.ops[i] * warps;
    if (count == 0) continue;
    const Price& price = kPrices[i];
    (integer ? integer_ : f64 ? own_f64_ : own_f32_) += count * price.own;
    integer_ += count * price.integer;
    math_ += count * price.math;
  }
  const auto at = [&](OpClass kind) { return statement.ops[static_cast<std::size_t>(kind)]; };
  if (!integer)
    out_.flop += statement.executions * (statement.type == DataType::kC64 ? 2 : 1) *
                 (2 * at(OpClass::kFusedMultiplyAdd) + at(OpClass::kAdd) + at(OpClass::kMultiply) +
                  at(OpClass::kDivide) + at(OpClass::kMath));
}

// The time of a thread that waits for nothing but itself: its loops one after the other, each
// iteration as long as what it waits for.
void Estimator::Latency(int root) {
  const double all = out_.blocks * out_.threads;
  struct Body {
    double turns = 0, instructions = 0;
    bool global = false, shared = false, meets = false;
    double chain = 0;  // cycles of operations that wait for each other
  };
  std::vector<std::pair<int, Body>> bodies;
  const auto body_of = [&](int loop) -> Body& {
    while (loop >= 0 && !Turns(Loop(loop)) && Loop(loop).kind != LoopKind::kThread)
      loop = Loop(loop).parent;
    for (auto& [id, body] : bodies)
      if (id == loop) return body;
    bodies.emplace_back(loop, Body{});
    Body& body = bodies.back().second;
    body.turns = loop >= 0 && Turns(Loop(loop)) ? Loop(loop).entries * Loop(loop).extent / all : 1;
    return body;
  };
  const NestLoop& top = Loop(root);
  double hottest = 0;
  for (int s = top.first_statement; s < top.end_statement; ++s) {
    const NestStatement& statement = nest_.statements()[static_cast<std::size_t>(s)];
    Body& body = body_of(statement.loop);
    double operations = 0.25;
    for (std::size_t i = 0; i < statement.ops.size(); ++i)
      operations += statement.ops[i] * (kPrices[i].own + kPrices[i].integer + kPrices[i].math);
    for (int a = statement.first_access; a < statement.end_access; ++a) {
      const NestAccess& access = nest_.accesses()[static_cast<std::size_t>(a)];
      const Scope scope = BufferOf(access.buffer).scope;
      operations += 1;
      if (access.store) continue;
      (scope == Scope::kShared ? body.shared : body.global) = true;
    }
    const double executed = statement.executions / all * operations;
    body.instructions += executed;
    if (statement.recurrent && statement.to_register) {
      double copies = 1, repeats = 1;
      for (int id = statement.loop; id >= 0; id = Loop(id).parent) {
        if (Loop(id).kind != LoopKind::kUnrolled && Loop(id).kind != LoopKind::kVectorized) break;
        (StrideAt(statement.target, Loop(id).depth) != 0 ? copies : repeats) *=
            std::max(1.0, Loop(id).extent);
      }
      body.chain = std::max(body.chain, repeats * kArithmeticLatency);
      if (executed > hottest) {
        hottest = executed;
        out_.independent = copies;
      }
    }
  }
  for (const NestMeeting& meeting : nest_.meetings()) {
    if (meeting.loop < root || meeting.loop >= top.end_loop) continue;
    const double each = meeting.executions / all;
    (meeting.width == 0 ? out_.barriers : out_.combines) += each;
    Body& body = body_of(meeting.loop);
    if (meeting.width == 0)
      body.meets = true;
    else
      body.instructions += 2 * each * std::log2(std::max(2, meeting.width));
  }
  double cycles = 0;
  for (const auto& [id, body] : bodies) {
    // Loads of a few iterations go out together, unless threads meet in between.
    const double batch = body.meets || body.turns <= 1 ? 1 : std::min(kBatched, body.turns);
    cycles += body.turns * ((body.global ? kMemoryLatency / batch : 0) +
                            (body.shared ? kSharedLatency : 0) + body.chain + kStepLatency / batch);
    cycles += body.instructions;
    if (body.turns > 1) out_.turns += body.turns;
  }
  cycles += out_.barriers * kBarrierLatency;
  const double rounds = out_.waves <= 8 ? std::ceil(out_.waves) : out_.waves + 0.5;
  out_.latency_ns = rounds * cycles / std::max(0.1, target_.gpu.clock_ghz);
}

void Estimator::Times() {
  const double sms = std::max(1, target_.gpu.sms), ghz = std::max(0.1, target_.gpu.clock_ghz);
  const double busy = sms * ghz * out_.balance;  // cycles of all SMs in a ns
  const double lanes_f32 = std::max(1.0, target_.peak_f32_gflops / (2 * sms * ghz));
  const double lanes_f64 = std::max(0.5, target_.peak_f64_gflops / (2 * sms * ghz));
  const double spill = 1 + 2 * out_.spilled / std::max(1.0, out_.registers);
  out_.instructions = (own_f32_ + own_f64_ + integer_ + math_ + access_slots_) * spill;
  out_.issue_ns = out_.instructions / kSchedulers / busy;
  out_.f32_ns = own_f32_ * spill * kWarpThreads / lanes_f32 / busy;
  out_.f64_ns = own_f64_ * spill * kWarpThreads / lanes_f64 / busy;
  out_.integer_ns = integer_ * kWarpThreads / kIntegerLanes / busy;
  out_.math_ns = math_ * kWarpThreads / kMathLanes / busy;
  out_.shared_ns = out_.shared_wavefronts / busy;
  out_.l1_ns = l1_cycles_ / busy;
  const double l2 = static_cast<double>(target_.l2_bytes);
  for (std::size_t b = 0; b < uses_.size(); ++b) {
    const Buffer& buffer = BufferOf(static_cast<int>(b));
    const Use& use = uses_[b];
    const double all = static_cast<double>(buffer.elements) * ByteSize(buffer.type);
    const double once = std::min(use.l2_bytes, std::max(all, kSectorBytes));
    const double missed = 0.5 * std::clamp(1 - 0.5 * l2 / std::max(all, 1.0), 0.0, 1.0);
    const bool near = buffer.scope == Scope::kWorkspace && all < 0.5 * l2;
    out_.l2_bytes += use.l2_bytes;
    out_.memory_bytes += (near ? 0 : once) + missed * (use.l2_bytes - once);
  }
  out_.l2_ns = out_.l2_bytes / std::max(1e-3, target_.l2_gbps) / std::max(out_.balance, 0.01);
  out_.memory_ns = out_.memory_bytes / std::max(1e-3, target_.memory_gbps);
  const std::array<double, 10> times = {
      out_.issue_ns,  out_.f32_ns, out_.f64_ns, out_.integer_ns, out_.math_ns,
      out_.shared_ns, out_.l1_ns,  out_.l2_ns,  out_.memory_ns,  out_.latency_ns};
  const double longest = *std::max_element(times.begin(), times.end());
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  out_.total_ns = kLaunchNs + longest + kOverlap * (sum - longest);
}

void Estimator::Run(int root) {
  Shape(root);
  Residence(root);
  uses_.assign(nest_.program().buffers.size(), Use{});
  warp_.Begin(thread_loops_, 0, 1);
  first_lanes_.Begin(thread_loops_, 0, kWarpThreads);
  const NestLoop& top = Loop(root);
  for (int s = top.first_statement; s < top.end_statement; ++s)
    Arithmetic(nest_.statements()[static_cast<std::size_t>(s)]);
  for (int a = top.first_access; a < top.end_access; ++a)
    Memory(nest_.accesses()[static_cast<std::size_t>(a)]);
  out_.in_flight *= resident_warps_;
  Latency(root);
  Times();
}

}  // namespace

void EstimateCudaCosts(const Nest& nest, const Target& target, CudaCosts& costs) {
  costs.launches.clear();
  costs.longest = -1;
  costs.total_ns = 0;
  for (int id = 0; id < static_cast<int>(nest.loops().size());
       id = nest.loops()[static_cast<std::size_t>(id)].end_loop) {
    Estimator(nest, target, costs.launches.emplace_back()).Run(id);
    const double total = costs.launches.back().total_ns;
    costs.total_ns += total;
    if (costs.longest < 0 ||
        total > costs.launches[static_cast<std::size_t>(costs.longest)].total_ns)
      costs.longest = static_cast<int>(costs.launches.size()) - 1;
  }
}

}  // namespace kindred
