// A direct interpreter of workloads: the meaning of the language, point by point, for differential
// tests.
//
// It shares no code with the lowering. Slow (a tree walk per point): keep extents small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/workload.h"

namespace kindred {

// The elements of one tensor, row-major: `floats` of floating types, `integers` of integer types. Of
// c64 real and imaginary parts in turn.
struct TensorValues {
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
};

struct InterpreterOptions {
  // Round every operation to its declared type and accumulate in the accumulator's type, as a
  // strict kernel would; otherwise floats stay f64 throughout (stores included), integers still
  // wrap.
  bool round = true;
};

// `tensors` has an entry per tensor of the workload, filled for inputs and weights; returns all of
// them filled. The workload must satisfy CheckWorkload; symbolic extents stand at their default
// value. A read outside a tensor, which CheckWorkload promises cannot happen, ends
// the test program with std::abort and a message.
std::vector<TensorValues> Interpret(const Workload& workload, std::vector<TensorValues> tensors,
                                    const InterpreterOptions& options = {});

// Elements in memory (Bytes(tensor) long) from and to values.
TensorValues FromBytes(const Tensor& tensor, std::span<const std::byte> bytes);
std::vector<std::byte> ToBytes(const Tensor& tensor, const TensorValues& values);

// An entry per tensor, with inputs and weights filled by FillInput.
std::vector<TensorValues> RandomInputs(const Workload& workload, std::uint64_t seed);

}  // namespace kindred
