// PathSampler: complete paths of a space, drawn, changed, crossed and repaired; never one that is
// used up.
//
// Keeps a trie of the paths that were retired (proposed, or found to be equal to one that was). A
// node whose options are all retired is retired itself, so that sampling never enters a part of the
// tree with nothing left, and exhaustion of the space shows at the root. The trie also caches the
// decisions on those paths. Draws depend only on the generator and on what is retired. Not
// thread-safe; the space must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "schedules/base/seed.h"
#include "schedules/space.h"

namespace kindred {

struct SampledPath {
  Path path;
  std::vector<std::shared_ptr<const Decision>> decisions;  // as many as choices
  std::vector<std::uint16_t> options;                      // the choices as indices into them
  std::vector<std::uint64_t> marks;                        // MarkOf each choice
};

// Identifies (sketch, decision, value) in one number; `sketch` is the mark of the path's first
// choice, 0 for that choice itself.
std::uint64_t MarkOf(const Decision& decision, std::size_t option, std::uint64_t sketch);

// Share of choices that two paths have in common, 0 to 1.
double Similarity(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

class PathSampler {
 public:
  explicit PathSampler(const Space& space);

  // Returns one of `allowed` (indices into decision.options, ascending, never empty). `depth`
  // counts choices.
  using Chooser = std::function<std::uint16_t(
      const Decision& decision, std::span<const std::uint16_t> allowed, const SampledPath& so_far)>;

  // nullopt: nothing is left. Never returns a retired path.
  std::optional<SampledPath> Draw(const Chooser& choose);
  // Uniform over the options that are left at each decision.
  std::optional<SampledPath> DrawRandom(Random& random);
  // One decision of `path` changed (half of the time to a neighbouring value), the rest kept where
  // legal. nullopt also where the path has no decision with two options.
  std::optional<SampledPath> Mutate(const SampledPath& path, Random& random);
  // Each choice from one of the parents.
  std::optional<SampledPath> Cross(const SampledPath& a, const SampledPath& b, Random& random);
  // The path that resembles `path` most: values where they are legal, else the nearest. nullopt
  // where that one is retired.
  std::optional<SampledPath> Follow(const Path& path);
  // Exactly this path, retired or not; nullopt if this space does not offer it.
  std::optional<SampledPath> Exact(const Path& path);

  void Retire(const SampledPath& path);
  void Revive(const SampledPath& path);  // undoes Retire
  bool exhausted() const { return exhausted_; }

  // Position in the trie: kRoot, and from there by option; kOutside where nothing was retired.
  static constexpr std::int32_t kRoot = 0, kOutside = -1;
  std::int32_t Child(std::int32_t node, std::uint16_t option) const;
  bool Retired(std::int32_t node, std::uint16_t option) const;

 private:
  struct Node {
    std::shared_ptr<const Decision> decision;
    std::vector<std::int32_t> children;  // kOutside: not in the trie
    std::vector<bool> retired;
    std::size_t left = 0;  // options not retired
  };

  std::optional<SampledPath> Walk(const Chooser& choose, bool retired_too);
  std::shared_ptr<const Decision> DecisionAt(std::int32_t node, const Path& path) const;
  void Push(SampledPath& sampled, std::shared_ptr<const Decision> decision,
            std::uint16_t option) const;

  const Space& space_;
  std::vector<Node> nodes_;
  bool exhausted_ = false;
  std::vector<std::uint16_t> allowed_;
};

}  // namespace kindred
