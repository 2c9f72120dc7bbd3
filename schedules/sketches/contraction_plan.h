// The decisions of a contraction's schedule, and what follows from them.
//
// Decide() asks for one decision after the other; Chooser answers from a path and stops at the
// first decision that the path does not hold. It runs some ten times for every path that is drawn:
// what does not depend on the path is in the ContractionMenu, which a sketch makes once. Plans are
// plain values; lengths are in elements, blocks in tiles.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/sketches/contraction_pattern.h"
#include "schedules/space.h"
#include "schedules/target.h"

namespace kindred {

// Replays a path. A decision with one option is not asked.
class Chooser {
 public:
  explicit Chooser(const Path& path) : path_(path) {}
  // The chosen option; the first one once a decision is pending. `labels`: empty, or one per
  // option.
  std::int64_t Choose(std::string_view name, std::span<const std::int64_t> options,
                      std::span<const std::string_view> labels = {});
  std::int64_t Choose(std::string_view name, std::initializer_list<std::int64_t> options,
                      std::initializer_list<std::string_view> labels);
  const std::optional<Decision>& pending() const { return pending_; }

 private:
  const Path& path_;
  std::size_t position_ = 0;
  std::optional<Decision> pending_;
};

enum class ASource : std::uint8_t { kPrepared, kDirect, kPacked, kCopied };
enum class BSource : std::uint8_t { kPrepared, kDirect, kPanel, kRows };

struct ContractionPlan {
  ASource a = ASource::kPrepared;
  BSource b = BSource::kPrepared;
  std::int64_t rows = 1, vectors = 1, lanes = 1;  // register tile
  std::int64_t k_block = 1;                       // of the outermost reduction axis
  bool n_outer = true;                    // outer cache loop runs over columns (else over rows)
  std::int64_t row_blocks = 1;            // blocks of y whose input is copied at once
  std::int64_t n_block = 1, m_block = 1;  // in tiles
  bool n_tiles_outer = true;              // within a block: tiles of n outside those of m
  std::int64_t unroll = 1;                // of the innermost reduction loop; 0: fully
  std::string compiler = "gcc";
  std::vector<std::string> flags;

  std::int64_t TileColumns() const { return vectors * lanes; }
};

// Columns of one row block as the tiles see them: y*pitch + x. `pitch` is that of the copied box
// (or the extent of x), rows those of one block.
struct ContractionColumns {
  std::int64_t block_rows = 1;  // of y
  std::int64_t pitch = 1;
  std::int64_t length = 1;  // (block_rows - 1) * pitch + extent of x
};
ContractionColumns ColumnsOf(const ContractionPattern& pattern, std::int64_t row_blocks);

// Options that hold for every path.
struct ContractionMenu {
  ContractionMenu(const ContractionPattern& pattern, const Target& target);
  // As the function of that name; of one block, or of as many as an option of row_blocks says.
  const ContractionColumns& ColumnsOf(std::int64_t row_blocks) const;

  std::int64_t lanes = 1;
  std::vector<std::int64_t> tiles, k_blocks, row_blocks;
  std::vector<std::string> tile_names;
  std::vector<std::string_view> tile_labels;  // views of tile_names
  std::vector<ContractionColumns> columns;    // one per option of row_blocks, then that of 1
  ContractionMenu(const ContractionMenu&) = delete;
  ContractionMenu& operator=(const ContractionMenu&) = delete;
};

ContractionPlan Decide(const ContractionPattern& pattern, const ContractionMenu& menu,
                       const Target& target, Chooser& chooser);

// "compiler", of those the target has, and the flags that go with it. Shared by all sketches with
// register tiles.
void DecideBuild(const Target& target, Chooser& chooser, std::string& compiler,
                 std::vector<std::string>& flags);

}  // namespace kindred
