// Canonical form, key, structure and descriptors of a workload.
//
// Two workloads with the same key are the same computation on the same memory: names removed, unit
// axes and dimensions dropped, neighbouring axes that every access walks together merged, operands,
// reduction axes and stages ordered, no-op casts dropped, pointwise temporaries inlined into their
// single reader where no work is repeated. The full list stands in docs/workload_language.md; no
// more is promised.
#pragma once

#include <string>
#include <vector>

#include "schedules/base/hash.h"
#include "schedules/workload.h"

namespace kindred {

struct CanonicalWorkload {
  // Names are t0, t1, ... / i0, i1, ... All tuning happens on this form. Reinterpreting the asker's
  // contiguous buffers in this form's shapes is always valid.
  Workload workload;
  Hash128 key;
  // arguments[i]: tensor id in the *asker's* workload that is argument i of the canonical one
  // (order of ArgumentTensors(workload)).
  std::vector<int> arguments;
};

// `workload` must satisfy CheckWorkload; so does the result. Canonicalizing a canonical form
// changes nothing.
CanonicalWorkload Canonicalize(const Workload& workload);

// What a family is made of. `structure` hashes the anchor's access pattern with dtypes; extents,
// strides, dilations, offsets and epilogues are numbers in `descriptors`, so that stride-1 and
// stride-2 convolutions share a structure. Families never cross structures.
struct FamilyDescriptor {
  Hash128 structure;
  std::string structure_text;       // for people, e.g. "sum f32 [s s s | r r r] ..."
  std::vector<double> descriptors;  // same length and meaning within one structure
  std::vector<std::string> names;   // of the descriptors
  int anchor_stage = 0;             // index into workload.stages
};

// `canonical` must be CanonicalWorkload::workload.
FamilyDescriptor DescribeFamily(const Workload& canonical);

}  // namespace kindred
