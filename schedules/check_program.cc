// CheckProgram: the promises of schedules/program.h, checked statement by statement.
#include <map>
#include <string>
#include <vector>

#include "schedules/program.h"

namespace kindred {
namespace {

constexpr std::int64_t kStackLimit = 64 << 10;
constexpr std::int64_t kMaxUnrolled = 4096;

class Checker {
 public:
  explicit Checker(const Program& program)
      : program_(program),
        bound_(program.variables.size(), Binding::kNone),
        varies_(program.variables.size(), false) {}

  Result<void> Run() {
    for (const Buffer& b : program_.buffers) {
      if (b.elements < 0) return Bad("buffer " + b.name + " has a negative size");
      if (b.scope == Scope::kShared && b.elements == 0)
        return Bad("shared buffer " + b.name + " is empty");
      if (b.scope == Scope::kStack && b.elements * ByteSize(b.type) > kStackLimit)
        return Bad("stack buffer " + b.name + " is larger than 64 KiB");
    }
    if (!program_.body) return Bad("there is no body");
    if (program_.prepare) KINDRED_CHECK(Statement(*program_.prepare, 1));
    lanes_.clear();
    return Statement(*program_.body, 1);
  }

 private:
  enum class Binding : std::uint8_t { kNone, kLoop, kUnrolled, kVector, kLet };

  // Threads of a block may differ in its value.
  bool Varies(const Expr& root) const {
    bool varies = false;
    Visit(root, [&](const Expr& e) {
      varies |= e.op == Op::kLoad;
      varies |= e.op == Op::kVar && varies_[static_cast<std::size_t>(e.index)];
    });
    return varies;
  }

  // Where threads meet.
  Result<void> Meeting(const char* what) const {
    if (threads_ == 0) return Bad(std::string(what) + " outside of thread loops");
    if (divergent_ > 0) return Bad(std::string(what) + " where only some threads may come by");
    return {};
  }

  Result<void> Combination(const Stmt& s) {
    KINDRED_CHECK(Meeting("a combination over threads"));
    if (s.width < 1 || s.width > 32 || (s.width & (s.width - 1)) != 0)
      return Bad("a combination over threads needs a power of two up to 32 as width");
    KINDRED_CHECK(Expression(*s.index));
    for (const int buffer : {s.buffer, s.position}) {
      if (buffer == -1 && buffer == s.position) continue;
      if (buffer < 0 || buffer >= static_cast<int>(program_.buffers.size()) ||
          program_.buffers[static_cast<std::size_t>(buffer)].scope != Scope::kRegister)
        return Bad("a combination over threads is not of registers");
      KINDRED_CHECK(Access(buffer, *s.index));
    }
    return {};
  }

  Result<void> Copy(const Stmt& s) {
    if (threads_ == 0) return Bad("asynchronous copies outside of thread loops");
    const auto buffers = static_cast<int>(program_.buffers.size());
    if (s.buffer < 0 || s.buffer >= buffers ||
        program_.buffers[static_cast<std::size_t>(s.buffer)].scope != Scope::kShared)
      return Bad("an asynchronous copy does not go to shared memory");
    KINDRED_CHECK(Expression(*s.index));
    KINDRED_CHECK(Expression(*s.value));
    if (s.extent) KINDRED_CHECK(Expression(*s.extent));
    const Buffer& to = program_.buffers[static_cast<std::size_t>(s.buffer)];
    if (s.value->op != Op::kLoad ||
        program_.buffers[static_cast<std::size_t>(s.value->index)].type != to.type)
      return Bad("an asynchronous copy is not of a load of the same type");
    const int bytes = s.width * ByteSize(to.type);
    if (bytes != 4 && bytes != 8 && bytes != 16)
      return Bad("an asynchronous copy of " + std::to_string(bytes) + " bytes");
    return {};
  }

  Error Bad(const std::string& what) const {
    return Internal("program " + program_.name + ": " + what);
  }

  Result<void> Expression(const Expr& root) {
    Result<void> result;
    Visit(root, [&](const Expr& e) {
      if (!result) return;
      if (e.op == Op::kVar && (e.index < 0 || e.index >= static_cast<int>(bound_.size()) ||
                               bound_[static_cast<std::size_t>(e.index)] == Binding::kNone))
        result = Bad("variable " + std::to_string(e.index) + " is used where it is not defined");
      if (e.op == Op::kPadded) result = Bad("a padded load was not lowered to a select");
      if (e.op == Op::kLoad) {
        if (e.index < 0 || e.index >= static_cast<int>(program_.buffers.size()))
          result = Bad("load from unknown buffer " + std::to_string(e.index));
        else if (e.args.size() != 1)
          result = Bad("load with " + std::to_string(e.args.size()) + " indices; one is needed");
        else if (auto access = Access(e.index, *e.args[0]); !access)
          result = access;
      }
    });
    return result;
  }

  // The rules of register buffers.
  Result<void> Access(int buffer, const Expr& index) {
    const Buffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
    if (b.scope != Scope::kRegister) return {};
    bool uses_vector = false;
    Result<void> result;
    Visit(index, [&](const Expr& e) {
      if (e.op == Op::kLoad || e.op == Op::kExtent)
        result = Bad("index into register buffer " + b.name + " is not constant");
      if (e.op != Op::kVar || e.index >= static_cast<int>(bound_.size())) return;
      const Binding binding = bound_[static_cast<std::size_t>(e.index)];
      if (binding == Binding::kVector)
        uses_vector = true;
      else if (binding != Binding::kUnrolled)
        result = Bad("index into register buffer " + b.name + " depends on variable " +
                     program_.variables[static_cast<std::size_t>(e.index)].name +
                     ", which is not unrolled");
    });
    if (!result || !uses_vector || threads_ > 0) return result;
    const auto affine = AsAffine(index, static_cast<int>(program_.variables.size()));
    if (!affine) return Bad("index into register buffer " + b.name + " is not affine");
    bool aligned = affine->constant % vector_lanes_ == 0;
    for (std::size_t v = 0; v < affine->coefficients.size(); ++v) {
      const std::int64_t c = affine->coefficients[v];
      aligned = aligned && (bound_[v] == Binding::kVector ? c == 1 : c % vector_lanes_ == 0);
    }
    if (!aligned)
      return Bad("vector access to register buffer " + b.name + " is not a multiple of its lanes");
    const auto [it, fresh] = lanes_.emplace(buffer, vector_lanes_);
    if (!fresh && it->second != vector_lanes_)
      return Bad("register buffer " + b.name + " is accessed with different lanes");
    return {};
  }

  Result<void> Statement(const Stmt& s, std::int64_t copies) {
    switch (s.kind) {
      case StmtKind::kComment: return {};
      case StmtKind::kBlock: {
        std::vector<int> lets;
        Result<void> result;
        for (const StmtPtr& child : s.children) {
          result = Statement(*child, copies);
          if (!result) break;
          if (child->kind == StmtKind::kLet) lets.push_back(child->var);
        }
        for (const int v : lets) bound_[static_cast<std::size_t>(v)] = Binding::kNone;
        return result;
      }
      case StmtKind::kLet:
        KINDRED_CHECK(Expression(*s.value));
        KINDRED_CHECK(Bind(s.var, Binding::kLet));
        varies_[static_cast<std::size_t>(s.var)] = Varies(*s.value);
        return {};
      case StmtKind::kIf: {
        KINDRED_CHECK(Expression(*s.value));
        const bool varies = Varies(*s.value);
        divergent_ += varies;
        Result<void> result;
        for (const StmtPtr& child : s.children)
          if (result) result = Statement(*child, copies);
        divergent_ -= varies;
        return result;
      }
      case StmtKind::kBarrier: return Meeting("a barrier");
      case StmtKind::kCombine: return Combination(s);
      case StmtKind::kCopy: return Copy(s);
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        if (threads_ == 0) return Bad("asynchronous copies outside of thread loops");
        return {};
      case StmtKind::kStore:
        if (s.buffer < 0 || s.buffer >= static_cast<int>(program_.buffers.size()))
          return Bad("store to unknown buffer " + std::to_string(s.buffer));
        KINDRED_CHECK(Expression(*s.index));
        KINDRED_CHECK(Access(s.buffer, *s.index));
        return Expression(*s.value);
      case StmtKind::kFor: return Loop(s, copies);
    }
    return {};
  }

  Result<void> Bind(int var, Binding binding) {
    if (var < 0 || var >= static_cast<int>(bound_.size()))
      return Bad("unknown variable " + std::to_string(var));
    auto& slot = bound_[static_cast<std::size_t>(var)];
    if (slot != Binding::kNone)
      return Bad("variable " + program_.variables[static_cast<std::size_t>(var)].name +
                 " is defined twice at once");
    slot = binding;
    return {};
  }

  Result<void> Loop(const Stmt& s, std::int64_t copies) {
    KINDRED_CHECK(Expression(*s.extent));
    Binding binding = Binding::kLoop;
    if (s.loop == LoopKind::kUnrolled) {
      if (s.extent->op != Op::kInt) return Bad("an unrolled loop needs a constant extent");
      binding = Binding::kUnrolled;
      copies *= std::max<std::int64_t>(s.extent->integer, 1);
      if (copies > kMaxUnrolled) return Bad("more than 4096 copies of one statement by unrolling");
    }
    if (s.loop == LoopKind::kVectorized) {
      if (s.extent->op != Op::kInt || s.extent->integer < 1 ||
          (s.extent->integer & (s.extent->integer - 1)) != 0)
        return Bad("a vectorized loop needs a power of two as extent");
      if (vector_lanes_ != 0) return Bad("vectorized loops are nested");
      binding = Binding::kVector;
      vector_lanes_ = s.extent->integer;
      std::vector<StmtPtr> work = {s.children[0]};
      while (!work.empty()) {
        const StmtPtr child = work.back();
        work.pop_back();
        if (child->kind == StmtKind::kBlock)
          work.insert(work.end(), child->children.begin(), child->children.end());
        else if (child->kind != StmtKind::kStore && child->kind != StmtKind::kComment)
          return Bad("a vectorized loop may hold stores only");
      }
    }
    const bool block = s.loop == LoopKind::kBlock, thread = s.loop == LoopKind::kThread;
    const int threads = threads_;
    if (block || thread) {
      if (depth_ != devices_ || (block && threads_ > 0))
        return Bad("block and thread loops must stand outside of all others");
      if (thread && (s.extent->op != Op::kInt || s.extent->integer < 1))
        return Bad("a thread loop needs a constant extent");
      if (thread) threads_ = static_cast<int>(s.extent->integer) * std::max(threads_, 1);
      if (threads_ > 1024) return Bad("more than 1024 threads in a block");
      ++devices_;
    }
    const bool varies = Varies(*s.extent);
    KINDRED_CHECK(Bind(s.var, binding));
    varies_[static_cast<std::size_t>(s.var)] = thread || varies;
    divergent_ += varies;
    ++depth_;
    auto result = Statement(*s.children[0], copies);
    --depth_;
    divergent_ -= varies;
    if (block || thread) --devices_;
    threads_ = threads;
    bound_[static_cast<std::size_t>(s.var)] = Binding::kNone;
    if (s.loop == LoopKind::kVectorized) vector_lanes_ = 0;
    return result;
  }

  const Program& program_;
  std::vector<Binding> bound_;
  std::map<int, std::int64_t> lanes_;  // of register buffers accessed as vectors
  std::int64_t vector_lanes_ = 0;
  // CUDA: variables in which threads differ, conditions on them around, threads of the block, loops
  // around and how many of them are block and thread loops.
  std::vector<bool> varies_;
  int divergent_ = 0, threads_ = 0, depth_ = 0, devices_ = 0;
};

}  // namespace

Result<void> CheckProgram(const Program& program) { return Checker(program).Run(); }

}  // namespace kindred
