#include "tuner/import/sort_nodes.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace kindred {

Result<void> SortNodes(const std::string& path, OnnxGraph& graph, bool nested) {
  const std::size_t count = graph.nodes.size();
  std::unordered_map<std::string, std::size_t> producer;
  std::unordered_set<std::string> given;
  for (const auto& input : graph.inputs) given.insert(input.name);
  for (const auto& tensor : graph.initializers) given.insert(tensor.name);
  for (std::size_t i = 0; i < count; ++i)
    for (const auto& output : graph.nodes[i].outputs) {
      if (output.empty()) continue;
      if (given.contains(output) || !producer.emplace(output, i).second)
        return BadInput(
            path + ": " + graph.nodes[i].Label() + " produces '" + output +
            "', which something else produces too; the model is damaged, export it again");
    }

  std::vector<std::vector<std::size_t>> users(count);
  std::vector<int> waits(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const OnnxNode& node = graph.nodes[i];
    const auto read = [&](const std::string& name) -> Result<void> {
      if (name.empty() || given.contains(name)) return {};
      const auto made = producer.find(name);
      if (made == producer.end() && nested) return {};
      if (made == producer.end())
        return BadInput(path + ": " + node.Label() + " reads '" + name +
                        "', which is no input, no initializer and no other node's output; export "
                        "the model again");
      users[made->second].push_back(i);
      ++waits[i];
      return {};
    };
    for (const auto& name : node.inputs) KINDRED_CHECK(read(name));
    for (const auto& name : node.captured) KINDRED_CHECK(read(name));
  }
  for (const auto& output : graph.outputs)
    if (!nested && !given.contains(output.name) && !producer.contains(output.name))
      return BadInput(path + ": the model's output '" + output.name +
                      "' is made by no node; export the model again");

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push(i);
  std::vector<OnnxNode> sorted;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    sorted.push_back(graph.nodes[i]);
    for (const std::size_t user : users[i])
      if (--waits[user] == 0) ready.push(user);
  }
  if (sorted.size() < count) {
    std::string stuck;
    for (std::size_t i = 0; i < count && stuck.size() < 200; ++i)
      if (waits[i] > 0) stuck += (stuck.empty() ? "'" : ", '") + graph.nodes[i].name + "'";
    return BadInput(path + ": nodes depend on each other in a cycle: " + stuck +
                    "; export the model again");
  }
  graph.nodes = std::move(sorted);
  return {};
}

}  // namespace kindred
