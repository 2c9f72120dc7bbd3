#include "search/path_sampling.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace kindred {
namespace {

std::uint64_t HashText(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

// The choice of that name in a path; paths are short.
const Choice* Find(const Path& path, std::string_view name) {
  for (const Choice& choice : path)
    if (choice.decision == name) return &choice;
  return nullptr;
}

bool SameValue(const Decision& decision, std::uint16_t option, const Choice& choice) {
  if (!decision.labels.empty() && !choice.label.empty())
    return decision.labels[option] == choice.label;
  return decision.options[option] == choice.value;
}

// The allowed option nearest to a choice: the same, else by ratio of values where these are sizes.
std::uint16_t Nearest(const Decision& decision, std::span<const std::uint16_t> allowed,
                      const Choice& choice) {
  std::uint16_t best = allowed[0];
  double least = 1e300;
  for (const std::uint16_t option : allowed) {
    if (SameValue(decision, option, choice)) return option;
    if (!decision.labels.empty()) continue;
    const double a = static_cast<double>(decision.options[option]),
                 b = static_cast<double>(choice.value);
    const double distance = a > 0 && b > 0 ? std::abs(std::log2(a / b)) : std::abs(a - b) + 64;
    if (distance < least) {
      least = distance;
      best = option;
    }
  }
  return best;
}

}  // namespace

std::uint64_t MarkOf(const Decision& decision, std::size_t option, std::uint64_t sketch) {
  return Random(HashText(decision.name) +
                0x9e3779b97f4a7c15ull * static_cast<std::uint64_t>(decision.options[option]) +
                sketch)();
}

double Similarity(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  const std::size_t shorter = std::min(a.size(), b.size()), longer = std::max(a.size(), b.size());
  if (longer == 0) return 1;
  std::size_t same = 0;
  if (a.size() == b.size()) {
    for (std::size_t i = 0; i < shorter; ++i) same += a[i] == b[i];
  } else {  // decisions may be skipped: compare as sets
    for (const std::uint64_t mark : a) same += std::find(b.begin(), b.end(), mark) != b.end();
  }
  return static_cast<double>(same) / static_cast<double>(longer);
}

PathSampler::PathSampler(const Space& space) : space_(space) {
  std::optional<Decision> first = space.Next({});
  Node root;
  if (first) {
    root.left = first->options.size();
    root.children.assign(root.left, kOutside);
    root.retired.assign(root.left, false);
    root.decision = std::make_shared<const Decision>(std::move(*first));
  }
  nodes_.push_back(std::move(root));
}

std::int32_t PathSampler::Child(std::int32_t node, std::uint16_t option) const {
  return node == kOutside ? kOutside : nodes_[static_cast<std::size_t>(node)].children[option];
}

bool PathSampler::Retired(std::int32_t node, std::uint16_t option) const {
  return node != kOutside && nodes_[static_cast<std::size_t>(node)].retired[option];
}

std::shared_ptr<const Decision> PathSampler::DecisionAt(std::int32_t node, const Path& path) const {
  if (node != kOutside) return nodes_[static_cast<std::size_t>(node)].decision;
  std::optional<Decision> next = space_.Next(path);
  return next ? std::make_shared<const Decision>(std::move(*next)) : nullptr;
}

void PathSampler::Push(SampledPath& sampled, std::shared_ptr<const Decision> decision,
                       std::uint16_t option) const {
  sampled.path.push_back({decision->name, decision->options[option],
                          decision->labels.empty() ? std::string() : decision->labels[option]});
  sampled.marks.push_back(MarkOf(*decision, option, sampled.marks.empty() ? 0 : sampled.marks[0]));
  sampled.options.push_back(option);
  sampled.decisions.push_back(std::move(decision));
}

std::optional<SampledPath> PathSampler::Draw(const Chooser& choose) { return Walk(choose, false); }

// With `retired_too`, all options are allowed, but a path that turns out to be retired is not
// returned.
std::optional<SampledPath> PathSampler::Walk(const Chooser& choose, bool retired_too) {
  if (exhausted_) return std::nullopt;
  SampledPath sampled;
  bool retired = false;
  std::int32_t node = kRoot;
  while (std::shared_ptr<const Decision> decision = DecisionAt(node, sampled.path)) {
    allowed_.clear();
    for (std::size_t i = 0; i < decision->options.size(); ++i)
      if (retired_too || !Retired(node, static_cast<std::uint16_t>(i)))
        allowed_.push_back(static_cast<std::uint16_t>(i));
    const std::uint16_t option = choose(*decision, allowed_, sampled);
    retired = retired || Retired(node, option);
    node = Child(node, option);
    Push(sampled, std::move(decision), option);
  }
  if (retired) return std::nullopt;
  return sampled;
}

std::optional<SampledPath> PathSampler::DrawRandom(Random& random) {
  return Draw([&](const Decision&, std::span<const std::uint16_t> allowed, const SampledPath&) {
    return allowed[random.Below(allowed.size())];
  });
}

std::optional<SampledPath> PathSampler::Mutate(const SampledPath& path, Random& random) {
  std::vector<std::size_t> changeable;
  for (std::size_t i = 0; i < path.decisions.size(); ++i)
    if (path.decisions[i]->options.size() > 1) changeable.push_back(i);
  if (changeable.empty()) return std::nullopt;
  const std::size_t changed = changeable[random.Below(changeable.size())];
  const std::string& name = path.decisions[changed]->name;
  const std::uint16_t old = path.options[changed];
  const bool neighbour = path.decisions[changed]->labels.empty() && random.Uniform() < 0.5;
  const std::uint64_t pick = random();
  return Draw([&](const Decision& decision, std::span<const std::uint16_t> allowed,
                  const SampledPath& so_far) {
    if (decision.name == name && so_far.path.size() == changed) {
      // Neighbours in the order of the options: one step up or down, where that is left.
      std::vector<std::uint16_t> others;
      for (const std::uint16_t option : allowed)
        if (option != old && (!neighbour || option + 1 == old || option == old + 1))
          others.push_back(option);
      if (others.empty())
        for (const std::uint16_t option : allowed)
          if (option != old) others.push_back(option);
      if (!others.empty()) return others[pick % others.size()];
      return allowed[0];
    }
    const Choice* kept = Find(path.path, decision.name);
    return kept ? Nearest(decision, allowed, *kept) : allowed[random.Below(allowed.size())];
  });
}

std::optional<SampledPath> PathSampler::Cross(const SampledPath& a, const SampledPath& b,
                                              Random& random) {
  return Draw(
      [&](const Decision& decision, std::span<const std::uint16_t> allowed, const SampledPath&) {
        const bool first = random.Uniform() < 0.5;
        const Choice* choice = Find(first ? a.path : b.path, decision.name);
        if (!choice) choice = Find(first ? b.path : a.path, decision.name);
        return choice ? Nearest(decision, allowed, *choice) : allowed[random.Below(allowed.size())];
      });
}

std::optional<SampledPath> PathSampler::Follow(const Path& path) {
  return Walk(
      [&](const Decision& decision, std::span<const std::uint16_t> allowed, const SampledPath&) {
        const Choice* choice = Find(path, decision.name);
        return choice ? Nearest(decision, allowed, *choice) : allowed[0];
      },
      true);
}

std::optional<SampledPath> PathSampler::Exact(const Path& path) {
  SampledPath sampled;
  std::int32_t node = kRoot;
  for (const Choice& choice : path) {
    std::shared_ptr<const Decision> decision = DecisionAt(node, sampled.path);
    if (!decision || decision->name != choice.decision) return std::nullopt;
    std::size_t option = 0;
    while (option < decision->options.size() &&
           !SameValue(*decision, static_cast<std::uint16_t>(option), choice))
      ++option;
    if (option == decision->options.size()) return std::nullopt;
    node = Child(node, static_cast<std::uint16_t>(option));
    Push(sampled, std::move(decision), static_cast<std::uint16_t>(option));
  }
  if (DecisionAt(node, sampled.path)) return std::nullopt;
  return sampled;
}

void PathSampler::Retire(const SampledPath& path) {
  if (path.options.empty()) {
    exhausted_ = true;
    return;
  }
  std::vector<std::int32_t> way = {kRoot};
  for (std::size_t depth = 0; depth + 1 < path.options.size(); ++depth) {
    const auto at = static_cast<std::size_t>(way.back());
    const std::uint16_t option = path.options[depth];
    if (nodes_[at].children[option] == kOutside) {
      nodes_[at].children[option] = static_cast<std::int32_t>(nodes_.size());
      Node node;
      node.decision = path.decisions[depth + 1];
      node.left = node.decision->options.size();
      node.children.assign(node.left, kOutside);
      node.retired.assign(node.left, false);
      nodes_.push_back(std::move(node));
    }
    way.push_back(nodes_[at].children[option]);
  }
  for (std::size_t depth = path.options.size(); depth-- > 0;) {
    Node& node = nodes_[static_cast<std::size_t>(way[depth])];
    if (node.retired[path.options[depth]]) return;
    node.retired[path.options[depth]] = true;
    if (--node.left > 0) return;
  }
  exhausted_ = true;
}

void PathSampler::Revive(const SampledPath& path) {
  exhausted_ = false;
  std::int32_t at = kRoot;
  for (const std::uint16_t option : path.options) {
    Node& node = nodes_[static_cast<std::size_t>(at)];
    if (node.retired[option]) {
      node.retired[option] = false;
      ++node.left;
    }
    at = node.children[option];
  }
}

}  // namespace kindred
