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
  std::string_view types = "real";  // "real", "float", "any", or the one type there is

  bool Takes(std::string_view type) const;
};

const std::vector<CampaignForm>& CampaignForms();     // all
const std::vector<CampaignForm>& MemoryBoundForms();  // those of memory_workloads.cc
const std::vector<CampaignForm>& OtherForms();        // those of other_workloads.cc

}  // namespace kindred::bench
