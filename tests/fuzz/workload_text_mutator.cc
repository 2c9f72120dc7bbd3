// How libFuzzer mutates workloads: what is one gets a rewrite or a change of the key's tests every
// other time, so that deep inputs stay valid; all else is left to libFuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "schedules/base/seed.h"
#include "schedules/text_form.h"
#include "tests/schedules/change_workload.h"
#include "tests/schedules/rewrite_workload.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace kindred::fuzz {
namespace {

// Empty: `text` is no workload, or nothing was changed.
std::string Changed(std::string_view text, Random& random) {
  auto parsed = ParseWorkload(text);
  if (!parsed) return "";
  Disguised d = Undisguised(*parsed);
  bool changed = false;
  for (std::uint64_t count = 1 + random.Below(3); count > 0; --count) {
    const Workload before = d.workload;
    const auto changes = ChangeKinds();
    const auto rewrites = RewriteKinds();
    const std::size_t kind = random.Below(changes.size() + rewrites.size());
    const bool applied = kind < changes.size() ? changes[kind].apply(d.workload, random)
                                               : rewrites[kind - changes.size()].apply(d, random);
    if (applied && CheckWorkload(d.workload))
      changed = true;
    else
      d = Undisguised(before);
  }
  return changed ? PrintWorkload(d.workload) : "";
}

}  // namespace
}  // namespace kindred::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  kindred::Random random(seed);
  if (random.Below(2) == 0) {
    const std::string text =
        kindred::fuzz::Changed({reinterpret_cast<const char*>(data), size}, random);
    if (!text.empty() && text.size() <= most) {
      std::copy(text.begin(), text.end(), data);
      return text.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
