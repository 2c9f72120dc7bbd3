// The passes behind Canonicalize, in the order in which they run. Each takes and leaves a valid
// workload that computes the same outputs from the same memory; tensors are never renumbered before
// OrderWorkload.
#pragma once

#include <vector>

#include "schedules/workload.h"

namespace kindred {

// Rebuilds all expressions through the folding builders; drops padding that is never read and
// selects whose condition is always true or always false.
void NormalizeExpressions(Workload& workload);

// Drops stages that no output needs. Their tensors stay behind, unused.
void DropDeadStages(Workload& workload);

// Drops axes and dimensions of extent 1 (unless a padded read leaves the tensor there); a reduction
// whose axes are all dropped becomes pointwise.
void DropUnitAxes(Workload& workload);

// Temporaries that equal an earlier stage, but for the order of operands and of reduction axes, are
// replaced by it.
void MergeEqualStages(Workload& workload);

// Inlines pointwise temporaries into their one consumer where no work is repeated: see canonical.h.
void InlinePointwise(Workload& workload);

// Merges neighbouring axes that every access walks together, in tensors and stages at once.
void MergeAxes(Workload& workload);

// Orders operands, reduction axes, stages and tensors, and renames everything. source[i]: the id
// that tensor i of the result had before.
Workload OrderWorkload(const Workload& workload, std::vector<int>& source);

}  // namespace kindred
