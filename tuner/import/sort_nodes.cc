#include "tuner/import/sort_nodes.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace kindred {

Result<void> SortNodes(OnnxModel& model) {
  const std::size_t count = model.nodes.size();
  std::unordered_map<std::string, std::size_t> producer;
  std::unordered_set<std::string> given;
  for (const auto& input : model.inputs) given.insert(input.name);
  for (const auto& tensor : model.initializers) given.insert(tensor.name);
  for (std::size_t i = 0; i < count; ++i)
    for (const auto& output : model.nodes[i].outputs) {
      if (output.empty()) continue;
      if (given.contains(output) || !producer.emplace(output, i).second)
        return BadInput(
            model.path + ": " + model.nodes[i].Label() + " produces '" + output +
            "', which something else produces too; the model is damaged, export it again");
    }

  std::vector<std::vector<std::size_t>> users(count);
  std::vector<int> waits(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const OnnxNode& node = model.nodes[i];
    const auto read = [&](const std::string& name) -> Result<void> {
      if (name.empty() || given.contains(name)) return {};
      const auto made = producer.find(name);
      if (made == producer.end())
        return BadInput(model.path + ": " + node.Label() + " reads '" + name +
                        "', which is no input, no initializer and no other node's output; export "
                        "the model again");
      users[made->second].push_back(i);
      ++waits[i];
      return {};
    };
    for (const auto& name : node.inputs) KINDRED_CHECK(read(name));
    for (const auto& name : node.captured) KINDRED_CHECK(read(name));
  }
  for (const auto& output : model.outputs)
    if (!given.contains(output.name) && !producer.contains(output.name))
      return BadInput(model.path + ": the model's output '" + output.name +
                      "' is made by no node; export the model again");

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push(i);
  std::vector<OnnxNode> sorted;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    sorted.push_back(model.nodes[i]);
    for (const std::size_t user : users[i])
      if (--waits[user] == 0) ready.push(user);
  }
  if (sorted.size() < count) {
    std::string stuck;
    for (std::size_t i = 0; i < count && stuck.size() < 200; ++i)
      if (waits[i] > 0) stuck += (stuck.empty() ? "'" : ", '") + model.nodes[i].name + "'";
    return BadInput(model.path + ": nodes depend on each other in a cycle: " + stuck +
                    "; export the model again");
  }
  model.nodes = std::move(sorted);
  return {};
}

}  // namespace kindred
