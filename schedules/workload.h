// Workload: a tensor computation as a DAG of stages over tensors (the language of
// docs/workload_language.md).
//
// A stage computes one tensor: for every point of its spatial axes (in the order of that tensor's
// dimensions) it evaluates `body`, combined over the reduction axes where there are any. Stages
// stand in topological order; a tensor has one producer or is an input or weight. Workloads are
// plain values: copy them, compare their Key (schedules/canonical.h).
//
// What later forms add: ragged and triangular axes (Axis::begin/end), scatter (Stage::scatter
// indices), scans (Combiner), computed indices (already plain expressions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/expr.h"

namespace kindred {

// A symbolic extent: `seq in 1..4096, likely 1 128 512`.
struct Symbol {
  std::string name;
  std::int64_t low = 1, high = 1;
  std::vector<std::int64_t> likely;
};

// A fixed extent, or (symbol >= 0) the value bound to Workload::symbols[symbol]; `value` then is
// the symbol's first likely value, or its upper bound.
struct Extent {
  std::int64_t value = 1;
  int symbol = -1;
  bool operator==(const Extent&) const = default;
};

enum class Role : std::uint8_t { kInput, kWeight, kOutput, kTemporary };

// How an input's test data are made; empty kind: from dtype, role and use (schedules/inputs.h).
struct DataSpec {
  std::string kind;  // "", "uniform", "normal", "index", "mask", "file"
  double low = 0, high = 0;
  double density = 1;
  std::string file;
};

struct Tensor {
  std::string name;
  DataType type = DataType::kF32;
  std::vector<Extent> shape;  // row-major, contiguous
  Role role = Role::kInput;
  DataSpec data;
};

enum class Combiner : std::uint8_t { kNone, kSum, kMax, kMin, kProd, kArgMax, kArgMin };

struct Axis {
  std::string name;
  Extent extent;
};

struct Stage {
  int tensor = -1;  // id of the tensor it computes
  std::vector<Axis>
      axes;  // first the spatial ones, one per dimension of the tensor, then the reduction axes
  int spatial = 0;                      // number of spatial axes
  Combiner combiner = Combiner::kNone;  // kNone if and only if there are no reduction axes
  // Type in which the reduction accumulates (argmax, argmin: compares); part of the key. Each value
  // of the body is cast to it, and the result is cast to the tensor's type: a store converts
  // between floating types, or between integer types, without a kCast. Without a combiner it means
  // nothing (and is kF32).
  DataType accumulator = DataType::kF32;
  // For argmax/argmin: the value compared; the result is the index along the one reduction axis
  // (first of equals; a NaN is never the best; 0 where all are NaN or the worst infinity).
  ExprPtr body;

  int reduction() const { return static_cast<int>(axes.size()) - spatial; }
};

// What a kernel may do beyond strict arithmetic in the declared types. Part of the key.
struct NumericContract {
  bool tf32 = false, winograd = false, atomics = false, fast_math = false;
  bool operator==(const NumericContract&) const = default;
};

struct Workload {
  std::string name;  // for people; not part of the key
  std::vector<Symbol> symbols;
  std::vector<Tensor> tensors;
  std::vector<Stage> stages;
  NumericContract contract;

  const Stage* ProducerOf(int tensor) const;
};

// Checks every promise above: ids in range, producers before uses, index counts, extents equal,
// types, every index inside its tensor unless padded or guarded by a select. The message names
// tensor and stage.
Result<void> CheckWorkload(const Workload& workload);

// Points of a stage's axes, spatial times reduction; symbolic extents at their default value.
std::int64_t Points(const Stage& stage);
// Operations that one point costs, counted as in Flop, the combination with the accumulator
// included.
std::int64_t OperationsPerPoint(const Stage& stage);
// Floating (or integer) operations of one run: additions, multiplications, comparisons of
// reductions and each arithmetic node count 1, math functions 1; index arithmetic, comparisons,
// selects and casts count nothing, and an operation that a body writes twice counts once. A
// multiply-add is 2. Of complex numbers an addition counts 2, a multiplication 6 (by a real number
// 2), a division 11 (2), abs 4.
std::int64_t Flop(const Workload& workload);
// Compulsory traffic: each input, weight and output read or written once. Bytes.
std::int64_t CompulsoryBytes(const Workload& workload);

std::int64_t Elements(const Tensor& tensor);
std::int64_t Bytes(const Tensor& tensor);

// Tensor ids in the order of a kernel's arguments: inputs and weights as declared (by id), then
// outputs in the order of their stages.
std::vector<int> ArgumentTensors(const Workload& workload);

}  // namespace kindred
