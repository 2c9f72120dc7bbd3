// Any text is either refused with a message or a workload that holds its promises.
#include "schedules/text_form.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/workload_promises.h"

namespace kindred::fuzz {

void FuzzWorkloadText(std::string_view bytes) {
  const auto workload = ParseWorkload(bytes);
  if (workload)
    CheckPromises(*workload);
  else
    Require(!workload.error().message.empty(), "an error has a message");
}

}  // namespace kindred::fuzz
