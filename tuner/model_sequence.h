// A model's subgraphs in an order in which they can run, each as often as one run of the model
// needs it.
#pragma once

#include <vector>

#include "schedules/base/result.h"
#include "tuner/import/import.h"

namespace kindred {

// Indices of the model's tasks. A place comes after those that make its inputs; of places that do
// not depend on each other, the first task's first. The body of a loop stands there as often as it
// runs (rounded, at least once). Error (kUnsupported): more than `most` of them.
Result<std::vector<int>> SequenceOf(const ImportedModel& model, std::size_t most);

}  // namespace kindred
