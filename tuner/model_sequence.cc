#include "tuner/model_sequence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <string>

#include <fmt/format.h>

namespace kindred {
namespace {

struct Place {
  int task = 0;
  std::size_t runs = 1;
  std::vector<std::size_t> users;
  int waits_for = 0;
};

// The value whose memory a value is.
std::string Stored(const ImportedModel& model, std::string value) {
  for (auto view = model.views.find(value); view != model.views.end();
       view = model.views.find(value))
    value = view->second;
  return value;
}

}  // namespace

Result<std::vector<int>> SequenceOf(const ImportedModel& model, std::size_t most) {
  std::vector<Place> places;
  std::map<std::string, std::size_t> made_by;
  std::vector<std::vector<std::string>> reads;
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const ImportedTask& task = model.tasks[t];
    for (const SubgraphUse& use : task.uses) {
      std::vector<std::string>& read = reads.emplace_back();
      for (const Tensor& tensor : task.workload.tensors) {
        const auto value = use.tensors.find(tensor.name);
        if (value == use.tensors.end()) continue;
        if (tensor.role == Role::kOutput)
          made_by[Stored(model, value->second)] = places.size();
        else
          read.push_back(Stored(model, value->second));
      }
      places.push_back({static_cast<int>(t),
                        static_cast<std::size_t>(std::max(1.0, std::round(use.times))),
                        {},
                        0});
    }
  }
  for (std::size_t p = 0; p < places.size(); ++p)
    for (const std::string& value : reads[p]) {
      const auto made = made_by.find(value);
      if (made == made_by.end() || made->second == p) continue;
      places[made->second].users.push_back(p);
      ++places[p].waits_for;
    }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t p = 0; p < places.size(); ++p)
    if (places[p].waits_for == 0) ready.push(p);
  std::vector<int> order;
  while (!ready.empty()) {
    const Place& place = places[ready.top()];
    ready.pop();
    if (order.size() + place.runs > most)
      return Unsupported(
          fmt::format("{} runs more than {} subgraphs one after the other: too many "
                      "for one replay",
                      model.name, most));
    order.insert(order.end(), place.runs, place.task);
    for (const std::size_t user : place.users)
      if (--places[user].waits_for == 0) ready.push(user);
  }
  return order;
}

}  // namespace kindred
