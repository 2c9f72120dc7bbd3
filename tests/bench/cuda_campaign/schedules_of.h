// Random schedules of one sketch over random workloads.
#pragma once

#include <optional>
#include <string_view>

#include "schedules/space.h"
#include "schedules/target.h"
#include "schedules/workload.h"
#include "tests/bench/cuda_campaign/campaign_workloads.h"

namespace kindred::bench {

// One canonical workload of the form with its space, and paths drawn from that.
class RandomSchedules {
 public:
  // nullopt: the sketch does not apply to the workload that was drawn.
  static std::optional<RandomSchedules> Draw(const CampaignForm& form, std::string_view type,
                                             bool large, const Target& target, Random& random);

  Path Next(Random& random) const;
  const Workload& workload() const { return *workload_; }
  const Space& space() const { return *space_; }

 private:
  RandomSchedules() = default;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<Space> space_;
  Choice sketch_;
};

}  // namespace kindred::bench
