// Any JSON is either refused with a message or a workload that holds its promises.
#include <nlohmann/json.hpp>

#include "schedules/text_form.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/workload_promises.h"

namespace kindred::fuzz {

void FuzzWorkloadJson(std::string_view bytes) {
  const auto json = nlohmann::json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return;
  const auto workload = WorkloadFromJson(json);
  if (workload)
    CheckPromises(*workload);
  else
    Require(!workload.error().message.empty(), "an error has a message");
}

}  // namespace kindred::fuzz
