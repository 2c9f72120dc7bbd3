#include "schedules/listed_space.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kindred {
namespace {

class ListedSpace final : public Space {
 public:
  ListedSpace(std::unique_ptr<Space> whole, std::span<const Path> paths)
      : whole_(std::move(whole)) {
    std::vector<const Path*> all;
    for (const Path& path : paths) all.push_back(&path);
    Path prefix;
    Grow(all, prefix);
  }

  std::optional<Decision> Next(const Path& path) const override {
    std::size_t node = 0;
    for (const Choice& choice : path) {
      const Node& at = nodes_[node];
      const auto option =
          std::find(at.decision.options.begin(), at.decision.options.end(), choice.value);
      node = at.children[static_cast<std::size_t>(option - at.decision.options.begin())];
    }
    if (nodes_[node].children.empty()) return std::nullopt;
    return nodes_[node].decision;
  }

  Result<Candidate> Lower(const Path& path) const override { return whole_->Lower(path); }

 private:
  struct Node {
    Decision decision;                  // of the whole space, with the listed options
    std::vector<std::size_t> children;  // one per option; none: the path is complete
  };

  // The node below `prefix`, which all of `paths` begin with.
  std::size_t Grow(const std::vector<const Path*>& paths, Path& prefix) {
    const std::size_t self = nodes_.size();
    nodes_.emplace_back();
    std::optional<Decision> decision = whole_->Next(prefix);
    if (!decision) return self;
    const std::size_t depth = prefix.size();
    Node node;
    node.decision.name = decision->name;
    for (std::size_t i = 0; i < decision->options.size(); ++i) {
      std::vector<const Path*> below;
      for (const Path* path : paths)
        if ((*path)[depth].value == decision->options[i]) below.push_back(path);
      if (below.empty()) continue;
      prefix.push_back((*below.front())[depth]);
      node.decision.options.push_back(decision->options[i]);
      if (!decision->labels.empty()) node.decision.labels.push_back(decision->labels[i]);
      node.children.push_back(Grow(below, prefix));
      prefix.pop_back();
    }
    nodes_[self] = std::move(node);
    return self;
  }

  std::unique_ptr<Space> whole_;
  std::vector<Node> nodes_;
};

}  // namespace

std::unique_ptr<Space> MakeListedSpace(std::unique_ptr<Space> whole, std::span<const Path> paths) {
  return std::make_unique<ListedSpace>(std::move(whole), paths);
}

}  // namespace kindred
