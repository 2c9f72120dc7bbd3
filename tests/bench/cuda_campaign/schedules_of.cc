#include "tests/bench/cuda_campaign/schedules_of.h"

#include <fmt/format.h>

#include <cstdlib>

#include "schedules/canonical.h"
#include "schedules/text_form.h"

namespace kindred::bench {

std::optional<RandomSchedules> RandomSchedules::Draw(const CampaignForm& form,
                                                     std::string_view type, bool large,
                                                     const Target& target, Random& random) {
  const std::string text = form.text(type, large, random);
  auto parsed = ParseWorkload(text, std::string(form.name));
  if (!parsed) {
    fmt::print(stderr, "{}\n{}\n", text, parsed.error().message);
    std::abort();  // a defect of campaign_workloads.cc
  }
  RandomSchedules drawn;
  drawn.workload_ = std::make_unique<Workload>(Canonicalize(*parsed).workload);
  drawn.workload_->name = std::string(form.name);
  drawn.space_ = MakeSpace(*drawn.workload_, target);
  const Decision first = *drawn.space_->Next({});
  for (std::size_t i = 0; i < first.options.size(); ++i)
    if (first.labels[i] == form.sketch)
      drawn.sketch_ = {first.name, first.options[i], first.labels[i]};
  if (drawn.sketch_.decision.empty()) return std::nullopt;
  return drawn;
}

Path RandomSchedules::Next(Random& random) const {
  Path path = {sketch_};
  while (const auto decision = space_->Next(path)) {
    const std::size_t option = random.Below(decision->options.size());
    path.push_back({decision->name, decision->options[option],
                    decision->labels.empty() ? "" : decision->labels[option]});
  }
  return path;
}

}  // namespace kindred::bench
