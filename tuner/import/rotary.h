// Rotary positions: pairs of channels turned by angles that depend on the place.
#pragma once

#include <functional>

#include "tuner/import/attention.h"
#include "tuner/import/op_context.h"

namespace kindred {

struct Rotation {
  // cos and sin of channel pair `pair` at a place of a batch.
  std::function<ExprPtr(const ExprPtr& batch, const ExprPtr& place, const ExprPtr& pair)> cosine,
      sine;
  bool interleaved = false;  // pairs are neighbours; else a first and a second half
  std::int64_t width = 0;    // channels that are turned, the first ones; even
};

// Output 0 of type `type` as `heads` (input 0) turned, in memory as [batch, length, heads, width]
// (`heads_first`: [batch, heads, length, width]) and of shape `shape`.
void EmitRotation(OpContext& op, const Heads& heads, bool heads_first, const Shape& shape,
                  const Rotation& rotation);

// The row of a table for each place, of input `input`: i64 or i32 [batch, length], or one number,
// the row of the first place. Error (kBadInput): a known one lies outside of the table's rows.
Result<std::function<ExprPtr(const ExprPtr& batch, const ExprPtr& place)>> TableRows(
    OpContext& op, int input, std::int64_t batch, std::int64_t length, std::int64_t rows);

}  // namespace kindred
