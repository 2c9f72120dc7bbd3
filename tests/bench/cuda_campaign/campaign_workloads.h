// Random workloads for the campaigns of CUDA schedules: awkward extents, layouts, types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/seed.h"

namespace kindred::bench {

struct CampaignForm {
  std::string_view sketch, name;
  // A workload over elements of `type` ("f32", ...); `large`: of sizes that are compiled, not run.
  std::string (*text)(std::string_view type, bool large, Random& random);
  bool floats_only = false;
};

const std::vector<CampaignForm>& CampaignForms();     // all
const std::vector<CampaignForm>& MemoryBoundForms();  // those of memory_workloads.cc

}  // namespace kindred::bench
