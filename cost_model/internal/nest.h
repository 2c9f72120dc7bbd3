// Nest: a lowered program's loops, statements and memory accesses as flat tables, the raw material
// of features.
//
// Built by one walk over the body (the prepare part is never walked: it is not timed). Loops and
// accesses stand in preorder, so what lies below a loop is a contiguous range of each table.
// Indices into memory are reduced to one stride per enclosing loop; what is not affine (floor
// division, modulus, clamps) is replaced by its average stride. Counts are averages over the whole
// run: branches and ragged extents contribute by how often they are taken, sampled over the
// iterations of the loops they depend on (all of them where these are few, else the first, the last
// and some between). Nests are scratch: Build() reuses the memory of the tables. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cost_model/internal/tape.h"
#include "schedules/program.h"

namespace kindred {

inline constexpr int kMaxNestDepth = 24;  // deeper loops count as executions, without strides

// constant + sum over enclosing loops of stride[depth] * iteration, in elements.
struct LinearIndex {
  double constant = 0;
  std::array<double, kMaxNestDepth> stride{};
  bool indirect = false;  // depends on loaded values
};

struct NestLoop {
  int parent = -1;
  int depth = 0;
  int variable = -1;
  const Expr* extent_expression = nullptr;
  LoopKind kind = LoopKind::kSerial;
  int unroll = 1;
  double extent = 1;   // average trip count
  double entries = 1;  // how often the loop starts
  int first_access = 0, end_access = 0;
  int first_statement = 0, end_statement = 0;
  int end_loop = 0;  // loops below are (own index, end_loop)
};

struct NestVariable {
  int depth = -1;               // loop variable at this depth
  const Expr* value = nullptr;  // let
  double sample = 0;            // a value of a loop variable: in the middle of its loop
  std::uint32_t depends = 0;    // on the loops around it, as a bit per depth
};

// Operations of one statement, per execution of it.
enum class OpClass : std::uint8_t {
  kFusedMultiplyAdd,
  kAdd,
  kMultiply,
  kDivide,
  kMath,
  kCompare,
  kCast,
  kInteger,
  kIntegerDivide,
  kCount
};

struct NestStatement {
  int loop = -1;          // innermost loop around it; -1: none
  int depth = 0;          // number of loops around it
  double executions = 1;  // scalar executions (vector lanes counted each)
  std::array<double, static_cast<std::size_t>(OpClass::kCount)> ops{};
  int first_access = 0, end_access = 0;
  int buffer = -1;  // stored to; -1: a let
  bool to_register = false;
  bool recurrent = false;  // reads what it writes: a reduction's update
  DataType type = DataType::kF32;
  LinearIndex target;  // where it stores
};

struct NestAccess {
  int buffer = -1;
  bool store = false;
  int statement = -1;
  int depth = 0;  // number of loops around it
  double executions = 1;
  LinearIndex index;
  const Expr* expression = nullptr;  // the index itself
};

// Threads of a block that wait for each other, or combine their registers.
struct NestMeeting {
  int loop = -1;          // innermost loop around it; -1: none
  double executions = 1;  // counted for each thread
  int width = 0;          // threads that combine; 0: a barrier
};

class Nest {
 public:
  void Build(const Program& program);

  const std::vector<NestLoop>& loops() const { return loops_; }
  const std::vector<NestStatement>& statements() const { return statements_; }
  const std::vector<NestAccess>& accesses() const { return accesses_; }
  const std::vector<NestMeeting>& meetings() const { return meetings_; }
  const std::vector<NestVariable>& variables() const { return variables_; }
  const Program& program() const { return *program_; }

  double branches() const { return branches_; }    // executed conditionals
  double code_size() const { return code_size_; }  // operations after unrolling

 private:
  void Walk(const Stmt& stmt, double executions, double copies);
  void WalkFor(const Stmt& stmt, double executions, double copies);
  void AddStatement(const Stmt& stmt, double executions, double copies);
  void CountOps(const Expr& e, NestStatement& statement, bool inside_fma);
  void CountIndexOps(const Expr& e);
  void AddIndex(const Expr& e, double scale, LinearIndex& out);
  double Evaluate(const Expr& e) const;
  double Average(const Expr& e);
  double Probability(const Expr& condition);
  // Sums over the iterations of loops_[stack_[depths[i]]] for all i >= next.
  struct Sampling {
    std::array<int, 32> depths, slots;  // slots: of the loops' variables on the tape
    int result = 0;                     // its slot
    int count = 0, points = 2;
    double sum = 0, weight = 0;
  };
  void Sample(Sampling& sampling, int next, double weight);
  // The loops of the stack whose variables `e` depends on, as a bit per depth.
  std::uint32_t DependsOn(const Expr& e) const;
  double& IndexOps(OpClass kind) { return index_ops_[static_cast<std::size_t>(kind)]; }

  const Program* program_ = nullptr;
  std::vector<NestLoop> loops_;
  std::vector<NestStatement> statements_;
  std::vector<NestAccess> accesses_;
  std::vector<NestMeeting> meetings_;
  std::vector<NestVariable> variables_;
  std::vector<int> stack_;  // loop ids, outermost first
  std::array<double, static_cast<std::size_t>(OpClass::kCount)>
      index_ops_{};  // of the statement that is being added
  Tape tape_;        // of the expression that is being averaged
  double branches_ = 0;
  double code_size_ = 0;
};

}  // namespace kindred
