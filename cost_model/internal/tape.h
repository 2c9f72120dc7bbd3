// Tape: an expression as a list of steps, to be evaluated again and again while the loops around it
// turn: what an outer loop decides is not computed anew for each iteration of an inner one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedules/expr.h"

namespace kindred {

struct NestVariable;

// The value of one operation; floor division and modulus, what is true is 1. Division by zero
// gives 0.
double ApplyOp(Op op, double a, double b, double c);

class Tape {
 public:
  static constexpr int kMostLevels = 33;  // 0: what no loop decides; then loops from the outside in

  void Clear(std::size_t variables);
  // The variable is that of the loop at `level`. Returns its slot.
  int AddLoop(int variable, int level);
  // Other variables are their lets, or keep their samples. Returns the slot of the result.
  int Add(const Expr& e, const std::vector<NestVariable>& variables);

  double& operator[](int slot) { return values_[static_cast<std::size_t>(slot)]; }
  // Computes what depends on the loop at `level`, and on no loop further inside.
  void Run(int level);

 private:
  struct Step {
    Op op;
    int to, a, b, c;
  };
  int Slot(double value, int level);

  std::vector<double> values_;
  std::vector<int> levels_;            // per slot
  std::vector<int> slot_of_variable_;  // -1: none yet
  std::array<std::vector<Step>, kMostLevels> steps_;
  int deepest_ = 0;
};

}  // namespace kindred
