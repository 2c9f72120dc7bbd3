#include "schedules/sketches/contraction_plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "schedules/sketches/contraction_box.h"
#include "schedules/sketches/contraction_build.h"

namespace kindred {
namespace {

std::vector<std::int64_t> Sorted(std::set<std::int64_t> values) {
  return {values.begin(), values.end()};
}

// Those of the ascending `sizes` that lie below `all`, and `all`.
std::vector<std::int64_t> BlockOptions(std::int64_t all,
                                       std::initializer_list<std::int64_t> sizes) {
  std::vector<std::int64_t> options;
  for (const std::int64_t size : sizes)
    if (size < all) options.push_back(size);
  options.push_back(all);
  return options;
}

// Register tiles rows x vectors: accumulators, one vector of b each, one value of a fit the
// registers. For every number of vectors the highest tile, one that divides the rows, one that
// balances them, and smaller ones for low register pressure.
std::vector<std::int64_t> TileOptions(std::int64_t rows, std::int64_t vectors,
                                      const Target& target) {
  std::set<std::int64_t> options;
  for (const std::int64_t v : {1, 2, 3, 4, 6, 8, 12}) {
    if (v > vectors) break;
    const std::int64_t limit = (target.vector_registers - 1 - v) / v;
    if (limit < 1) break;
    const std::int64_t highest = std::min({limit, rows, std::int64_t{28}});
    std::set<std::int64_t> heights = {highest, CeilDiv(rows, CeilDiv(rows, highest))};
    for (std::int64_t r = highest; r >= 1; --r)
      if (rows % r == 0) {
        heights.insert(r);
        break;
      }
    for (const std::int64_t r : {highest - 1, highest * 2 / 3, std::int64_t{8}})
      if (r >= 1 && r <= highest) heights.insert(r);
    for (const std::int64_t r : heights) {
      // Fewer than three rows read more than the multiply-adds can hide, fewer than twelve sums
      // make them wait for each other: only where the workload has no more.
      const bool tall = r >= std::min<std::int64_t>(3, rows);
      const bool busy = r * v >= std::min<std::int64_t>(12, highest * v);
      if (tall && busy) options.insert(r * 100 + v);
    }
  }
  if (options.empty()) options.insert(std::min<std::int64_t>(rows, 2) * 100 + 1);
  return Sorted(options);
}

}  // namespace

std::int64_t Chooser::Choose(std::string_view name, std::span<const std::int64_t> options,
                             std::span<const std::string_view> labels) {
  if (pending_ || options.size() == 1) return options.front();
  if (position_ < path_.size() && path_[position_].decision == name)
    return path_[position_++].value;
  pending_ =
      Decision{std::string(name), {options.begin(), options.end()}, {labels.begin(), labels.end()}};
  return options.front();
}

std::int64_t Chooser::Choose(std::string_view name, std::initializer_list<std::int64_t> options,
                             std::initializer_list<std::string_view> labels) {
  return Choose(name, std::span(options.begin(), options.size()),
                std::span(labels.begin(), labels.size()));
}

ContractionColumns ColumnsOf(const ContractionPattern& pattern, std::int64_t row_blocks) {
  ContractionColumns columns;
  columns.block_rows = CeilDiv(pattern.Extent(pattern.y), row_blocks);
  columns.pitch = pattern.Extent(pattern.x);
  if (pattern.b_slides && !pattern.b.weight) {
    std::vector<std::int64_t> box = pattern.extents;
    for (const int axis : pattern.outer) box[static_cast<std::size_t>(axis)] = 1;
    columns.pitch =
        BoxCopy(pattern.b, pattern.accumulator, box, pattern.extents, pattern.x, pattern.y, -1)
            .pitch();
  }
  columns.length = (columns.block_rows - 1) * columns.pitch + pattern.Extent(pattern.x);
  return columns;
}

void DecideBuild(const Target& target, Chooser& chooser, std::string& compiler,
                 std::vector<std::string>& flags) {
  // Sums are named and vectors written out: -O2 loses nothing to -O3 and compiles in half the time.
  // GCC's SLP pass tears the tile's named vectors apart.
  const bool two = std::find(target.compilers.begin(), target.compilers.end(), "clang") !=
                   target.compilers.end();
  const bool clang = two && chooser.Choose("compiler", {0, 1}, {"gcc", "clang"}) == 1;
  compiler = clang ? "clang" : "gcc";
  flags = {"-O2", "-mprefer-vector-width=512"};
  if (clang)
    flags.push_back("-ffp-contract=fast");
  else
    flags.insert(flags.end(), {"-fvect-cost-model=dynamic", "-fno-tree-slp-vectorize"});
}

ContractionMenu::ContractionMenu(const ContractionPattern& pattern, const Target& target)
    : lanes(target.VectorLanes(ByteSize(pattern.accumulator))) {
  const bool copy_b = pattern.b_slides && !pattern.b.weight;
  const ContractionColumns whole = kindred::ColumnsOf(pattern, 1);
  tiles = TileOptions(pattern.Extent(pattern.m), CeilDiv(whole.length, lanes), target);
  for (const std::int64_t tile : tiles)
    tile_names.push_back(fmt::format("{}x{}", tile / 100, tile % 100 * lanes));
  tile_labels.assign(tile_names.begin(), tile_names.end());

  // The outermost reduction axis is cut so that about this many products are summed at a time.
  const int k0 = pattern.k.front();
  const std::int64_t length = pattern.Extent(k0);
  const std::int64_t inner = pattern.ReductionExtent() / length;
  std::set<std::int64_t> blocks = {length};
  if (!copy_b || BoxCopy::CanBlock(pattern.b, k0, pattern.spatial))
    for (const std::int64_t products : {128, 256, 384, 512, 1024}) {
      const std::int64_t block = std::max<std::int64_t>(1, products / inner);
      if (block * 3 / 2 <= length) blocks.insert(block);
    }
  k_blocks.assign(blocks.rbegin(), blocks.rend());

  if (copy_b && pattern.y >= 0) {
    std::set<std::int64_t> counts;
    for (const std::int64_t count : {1, 2, 3, 4, 7, 8, 14, 16, 28})
      if (count <= pattern.Extent(pattern.y))
        counts.insert(EvenBlocks(pattern.Extent(pattern.y), count));
    row_blocks = Sorted(counts);
    for (const std::int64_t count : row_blocks)
      columns.push_back(kindred::ColumnsOf(pattern, count));
  }
  columns.push_back(whole);
}

const ContractionColumns& ContractionMenu::ColumnsOf(std::int64_t count) const {
  const auto found = std::find(row_blocks.begin(), row_blocks.end(), count);
  return columns[static_cast<std::size_t>(found - row_blocks.begin())];
}

ContractionPlan Decide(const ContractionPattern& pattern, const ContractionMenu& menu,
                       const Target& target, Chooser& chooser) {
  ContractionPlan plan;
  plan.lanes = menu.lanes;
  const bool copy_b = pattern.b_slides && !pattern.b.weight;

  if (pattern.b.weight) {
    plan.b = BSource::kPrepared;
  } else {
    constexpr auto kRows = static_cast<std::int64_t>(BSource::kRows),
                   kPanel = static_cast<std::int64_t>(BSource::kPanel),
                   kDirect = static_cast<std::int64_t>(BSource::kDirect);
    if (copy_b)
      plan.b =
          static_cast<BSource>(chooser.Choose("columns_from", {kRows, kPanel}, {"rows", "panel"}));
    else if (pattern.b.Stride(pattern.x) == 1 && pattern.b.type == pattern.accumulator)
      plan.b = static_cast<BSource>(
          chooser.Choose("columns_from", {kPanel, kDirect}, {"panel", "direct"}));
    else
      plan.b = BSource::kPanel;
  }
  if (pattern.a.weight) {
    plan.a = ASource::kPrepared;
  } else if (pattern.a.padded) {
    plan.a = ASource::kCopied;
  } else if (pattern.a.type != pattern.accumulator) {
    plan.a = ASource::kPacked;
  } else {
    plan.a = static_cast<ASource>(chooser.Choose(
        "rows_from", {static_cast<int>(ASource::kDirect), static_cast<int>(ASource::kPacked)},
        {"direct", "packed"}));
  }

  const std::int64_t m = pattern.Extent(pattern.m);
  const std::int64_t tile = chooser.Choose("register_tile", menu.tiles, menu.tile_labels);
  plan.rows = tile / 100;
  plan.vectors = tile % 100;

  plan.k_block = chooser.Choose("k_block", menu.k_blocks);

  plan.n_outer = chooser.Choose("outer", {0, 1}, {"columns", "rows"}) == 0;
  if (plan.n_outer && !menu.row_blocks.empty())
    plan.row_blocks = chooser.Choose("row_blocks", menu.row_blocks);
  const std::int64_t n_tiles = CeilDiv(menu.ColumnsOf(plan.row_blocks).length, plan.TileColumns());
  const std::int64_t m_tiles = CeilDiv(m, plan.rows);
  if (plan.n_outer) {
    // A box is filled once for all of its columns.
    plan.n_block =
        copy_b ? n_tiles : chooser.Choose("column_block", BlockOptions(n_tiles, {1, 2, 4, 8, 16}));
    plan.m_block = chooser.Choose("row_block", BlockOptions(m_tiles, {4, 16}));
  } else {
    plan.m_block = chooser.Choose("row_block", BlockOptions(m_tiles, {1, 2, 4, 8, 16}));
    plan.n_block = chooser.Choose("column_block", BlockOptions(n_tiles, {4, 16}));
  }
  if (plan.n_block > 1 && plan.m_block > 1)
    plan.n_tiles_outer =
        chooser.Choose("tile_order", {0, 1}, {"columns-rows", "rows-columns"}) == 0;
  else
    plan.n_tiles_outer = plan.n_block > 1;

  const std::int64_t innermost =
      pattern.k.size() > 1 ? pattern.Extent(pattern.k.back()) : plan.k_block;
  std::vector<std::int64_t> unrolls = {1};
  for (const std::int64_t u : {2, 4})
    if (u < innermost) unrolls.push_back(u);
  if (innermost > 1 && innermost <= 8 && plan.rows * plan.vectors * innermost <= 256)
    unrolls.push_back(0);
  plan.unroll = chooser.Choose("k_unroll", unrolls);
  DecideBuild(target, chooser, plan.compiler, plan.flags);
  return plan;
}

}  // namespace kindred
