// Program: a lowered schedule as a loop nest over buffers. Sketches build it, emit_c prints it,
// cost_model reads features from it.
//
//   prepare   runs once, ahead of time, when the weights are known: fills kPrepared buffers
//   (packing) body      one run of the kernel
//
// Statements and expressions (schedules/expr.h; every kLoad here has exactly one flat element
// index) are immutable and shared. Variables are numbered per program; VarInfo names them for the
// emitted source. Vectors: a kVectorized loop of constant extent `lanes` stands for one vector
// operation per statement in it; its statements are kStore only. A kRegister buffer holds named
// variables: after unrolled loops are expanded, every index into it must be constant, or constant +
// the vector variable with the constant a multiple of the lanes.
//
// Programs for CUDA: the body is a block of steps, each one launch: kBlock loops (the innermost is
// blockIdx.x, at most three), directly inside them kThread loops (the same for threadIdx; constant
// extents), then what one thread does. Workspace lives from step to step, kShared buffers as long
// as a block, registers and stack arrays belong to a thread. A kBarrier and a kCombine stand where
// all threads of the block come by together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/expr.h"

namespace kindred {

enum class Scope : std::uint8_t {
  kArgument,   // a tensor of the workload; `argument` is its place in ArgumentTensors
  kPrepared,   // filled by `prepare` from weights, read by `body`; passed after the arguments
  kWorkspace,  // scratch memory handed in by the caller, 64-byte aligned
  kStack,      // small array on the stack (at most 64 KiB each), 64-byte aligned
  kRegister,   // named scalars or vectors
  kShared,     // CUDA: memory of a thread block
};

struct Buffer {
  std::string name;
  DataType type = DataType::kF32;
  std::int64_t elements = 0;
  Scope scope = Scope::kArgument;
  int argument = -1;
  // kPrepared: how the weight lies there, for people and compilers, e.g. "W[o/16][c][r][s][16]".
  std::string layout;
};

enum class LoopKind : std::uint8_t { kSerial, kUnrolled, kVectorized, kParallel, kBlock, kThread };

enum class StmtKind : std::uint8_t {
  kBlock,
  kFor,
  kIf,
  kLet,
  kStore,
  kComment,
  kBarrier,       // all threads of the block, with shared memory up to date
  kCombine,       // a register over neighbouring threads of a warp; all get the result
  kCopy,          // CUDA: global to shared memory without a stop (cp.async)
  kCommitCopies,  // the thread's copies since the last one are a group
  kWaitCopies,    // until at most `width` of the thread's newest groups are under way
};

struct Stmt;
using StmtPtr = NodePtr<const Stmt>;
using StmtList = NodeList<StmtPtr>;

struct Stmt : Node {
  StmtKind kind = StmtKind::kBlock;
  StmtList children;  // kBlock: all in order; kFor: [body]; kIf: [then] or [then, else]
  // kFor: var runs from 0 to extent-1. kLet: var = value (i64 or float), visible to later siblings.
  int var = -1;
  ExprPtr extent;
  LoopKind loop = LoopKind::kSerial;
  int unroll = 1;  // kFor kSerial: hint, "#pragma GCC unroll n"
  // kStore: buffers[buffer][index] = value. kIf: value is the condition.
  int buffer = -1;
  ExprPtr index;
  ExprPtr value;
  std::string text;  // kComment
  // kCombine: buffers[buffer][index] becomes the kAdd, kMul, kMax or kMin of those of `width` (a
  // power of two, at most 32) neighbouring threads. With `position` >= 0 (kMax, kMin) that register
  // (same index) becomes the one that belongs to the best value, the smallest among equals.
  Op combine = Op::kAdd;
  int width = 0;
  int position = -1;
  // kCopy: buffers[buffer][index ...] (kShared) becomes `width` neighbours (4, 8 or 16 bytes, both
  // ends aligned to as many) from where `value`, a load, begins; zeros where the condition `extent`
  // (may be null: always) does not hold. Until the thread has waited nobody may touch them.
};

StmtPtr Block(StmtList children);
StmtPtr For(int var, ExprPtr extent, LoopKind kind, StmtPtr body, int unroll = 1);
StmtPtr If(ExprPtr condition, StmtPtr then, StmtPtr otherwise = nullptr);
StmtPtr Let(int var, ExprPtr value);
StmtPtr Store(int buffer, ExprPtr index, ExprPtr value);
StmtPtr Comment(std::string text);
StmtPtr Barrier();
StmtPtr CopyAsync(int buffer, ExprPtr index, ExprPtr load, ExprPtr condition, int elements);
StmtPtr CommitCopies();
StmtPtr WaitCopies(int groups_left);
StmtPtr CombineThreads(int buffer, ExprPtr index, Op combine, int width, int position = -1);

struct VarInfo {
  std::string name;                // made unique by the emitter
  DataType type = DataType::kI64;  // floats only for kLet
};

struct Program {
  std::shared_ptr<const NodeArena> nodes;  // where those of a lowered program lie; may be null
  std::string name;                        // C identifier of the entry function
  std::vector<VarInfo> variables;
  std::vector<Buffer> buffers;
  StmtPtr prepare;  // nullptr: nothing to prepare
  StmtPtr body;
  // The untuned program (schedules/lower_naive.h): libm's functions, and no flags beyond -O3
  // -march=native.
  bool plain = false;
  // Build decisions of the schedule.
  std::string compiler = "gcc";    // "gcc" or "clang"; CUDA: "nvrtc"
  std::vector<std::string> flags;  // beyond -O3 -march=native
  std::string head_comment;        // schedule decisions, one line each, for the source's head

  int AddVar(std::string name, DataType type = DataType::kI64);
  int AddBuffer(Buffer buffer);
  std::int64_t WorkspaceBytes() const;  // each kWorkspace buffer rounded up to 64 bytes
};

// Checks: every variable defined before use, register indices constant after unrolling, stack
// within its limit, vectorized bodies of stores only. For tests: sketches make nothing else.
Result<void> CheckProgram(const Program& program);

}  // namespace kindred
