#include "tuner/sweep.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/text_form.h"

namespace kindred {
namespace {

constexpr std::size_t kMostValues = 4096;

bool ReadNumber(std::string_view text, std::int64_t& value) {
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return !text.empty() && parsed.ec == std::errc{} && parsed.ptr == end && value >= 1;
}

// --- the text

// A name or a number of the text, outside comments and quotes.
struct Word {
  std::size_t begin = 0, end = 0;
  bool first = false;          // of its statement
  bool bracket = false;        // the innermost open bracket is a square one
  bool before_equals = false;  // the next character that is no space is '='
};

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::vector<Word> Words(const std::string& text) {
  std::vector<Word> words;
  std::string open;
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"') {
      for (++at; at < text.size() && text[at] != '"';) at += text[at] == '\\' ? 2 : 1;
      ++at;
    } else if (IsWordCharacter(c)) {
      std::size_t end = at;
      while (end < text.size() && IsWordCharacter(text[end])) ++end;
      const std::size_t next = text.find_first_not_of(" \t", end);
      words.push_back({at, end, first, !open.empty() && open.back() == '[',
                       next != std::string::npos && text[next] == '='});
      first = false;
      at = end;
    } else {
      if (c == '[' || c == '(') open += c;
      if ((c == ']' || c == ')') && !open.empty()) open.pop_back();
      if (c == '\n' && open.empty()) first = true;
      ++at;
    }
  }
  return words;
}

std::string_view TextOf(const std::string& text, const Word& word) {
  return std::string_view(text).substr(word.begin, word.end - word.begin);
}

struct Replacement {
  std::size_t begin, end;
  std::string by;
};

// `replacements` in the order of the text.
std::string Replace(const std::string& text, const std::vector<Replacement>& replacements) {
  std::string out;
  std::size_t at = 0;
  for (const Replacement& r : replacements) {
    out += text.substr(at, r.begin - at) + r.by;
    at = r.end;
  }
  return out + text.substr(at);
}

// The text without the declaration of the symbol, and the value wherever it was read. The line
// stays, empty, so that messages name the right place.
std::string BindSymbol(const std::string& text, const std::string& name, std::int64_t value) {
  const std::vector<Word> words = Words(text);
  std::vector<Replacement> replacements;
  std::size_t skip_to = 0;
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (words[w].begin < skip_to) continue;
    const bool spelled = TextOf(text, words[w]) == "symbol";
    const std::size_t named = w + (spelled ? 1 : 0);
    if (words[w].first && named + 1 < words.size() && TextOf(text, words[named]) == name &&
        TextOf(text, words[named + 1]) == "in") {
      skip_to = std::min(text.find('\n', words[w].begin), text.size());
      replacements.push_back({words[w].begin, skip_to, ""});
    } else if (TextOf(text, words[w]) == name) {
      replacements.push_back({words[w].begin, words[w].end, std::to_string(value)});
    }
  }
  return Replace(text, replacements);
}

// Where the text gives names a number in brackets: the numbers, by name.
std::multimap<std::string, Word, std::less<>> WrittenExtents(const std::string& text) {
  std::multimap<std::string, Word, std::less<>> written;
  const std::vector<Word> words = Words(text);
  std::int64_t number = 0;
  for (std::size_t w = 0; w + 1 < words.size(); ++w)
    if (words[w].bracket && words[w].before_equals &&
        ReadNumber(TextOf(text, words[w + 1]), number))
      written.emplace(TextOf(text, words[w]), words[w + 1]);
  return written;
}

// --- axes

// Axes of stages and dimensions of tensors, and which of them are one extent.
class Ties {
 public:
  explicit Ties(Workload& workload) : workload_(workload) {
    for (Tensor& tensor : workload.tensors) {
      tensors_.push_back(extents_.size());
      for (Extent& extent : tensor.shape) extents_.push_back(&extent);
    }
    for (Stage& stage : workload.stages) {
      stages_.push_back(extents_.size());
      for (Axis& axis : stage.axes) extents_.push_back(&axis.extent);
    }
    parent_.resize(extents_.size());
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (std::size_t s = 0; s < workload.stages.size(); ++s) TieStage(s);
  }

  std::vector<std::size_t> AxesNamed(const std::string& name) const {
    std::vector<std::size_t> found;
    for (std::size_t s = 0; s < workload_.stages.size(); ++s)
      for (std::size_t a = 0; a < workload_.stages[s].axes.size(); ++a)
        if (workload_.stages[s].axes[a].name == name) found.push_back(stages_[s] + a);
    return found;
  }

  const Extent& ExtentOf(std::size_t node) const { return *extents_[node]; }

  // Of everything tied to `node`.
  void Set(std::size_t node, std::int64_t value) {
    const std::size_t root = Root(node);
    for (std::size_t i = 0; i < extents_.size(); ++i)
      if (Root(i) == root) extents_[i]->value = value;
  }

 private:
  std::size_t Root(std::size_t node) const {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }

  void Tie(std::size_t a, std::size_t b) {
    if (*extents_[a] == *extents_[b]) parent_[Root(a)] = Root(b);
  }

  void TieStage(std::size_t s) {
    const Stage& stage = workload_.stages[s];
    const auto dimension = [&](int tensor, std::size_t d) {
      return tensors_[static_cast<std::size_t>(tensor)] + d;
    };
    for (std::size_t a = 0; a < static_cast<std::size_t>(stage.spatial); ++a)
      Tie(stages_[s] + a, dimension(stage.tensor, a));
    Visit(*stage.body, [&](const Expr& e) {
      if (e.op != Op::kLoad) return;
      for (std::size_t d = 0; d < e.args.size(); ++d)
        if (e.args[d]->op == Op::kVar)
          Tie(stages_[s] + static_cast<std::size_t>(e.args[d]->index), dimension(e.index, d));
    });
  }

  Workload& workload_;
  std::vector<Extent*> extents_;
  std::vector<std::size_t> tensors_, stages_;  // where the extents of each begin
  std::vector<std::size_t> parent_;
};

Result<Workload> SetAxis(Workload workload, const std::string& where, const std::string& name,
                         std::int64_t value) {
  Ties ties(workload);
  const std::vector<std::size_t> axes = ties.AxesNamed(name);
  const Extent extent = ties.ExtentOf(axes.front());
  for (const std::size_t axis : axes)
    if (!(ties.ExtentOf(axis) == extent))
      return BadInput(
          fmt::format("{}: axes of several extents are called {} ({} and {}); name the one that is "
                      "meant where its tensor is declared, e.g. f32[width={}]",
                      where, name, extent.value, ties.ExtentOf(axis).value, extent.value));
  if (extent.symbol >= 0)
    return BadInput(fmt::format("{}: the axis {} runs over the symbolic extent {}; sweep that",
                                where, name,
                                workload.symbols[static_cast<std::size_t>(extent.symbol)].name));
  for (const std::size_t axis : axes) ties.Set(axis, value);
  const auto checked = CheckWorkload(workload);
  if (!checked) return BadInput(fmt::format("{}: {}", where, checked.error().message));
  return workload;
}

// `names` are those that the text has beside symbols and axes.
Error UnknownName(const Workload& workload, std::set<std::string> names, const std::string& file,
                  const std::string& name) {
  for (const Symbol& symbol : workload.symbols) names.insert(symbol.name);
  for (const Stage& stage : workload.stages)
    for (const Axis& axis : stage.axes) names.insert(axis.name);
  return NotFound(fmt::format("{}: has no symbolic extent, named extent or axis '{}'; it has {}",
                              file, name, fmt::join(names, ", ")));
}

}  // namespace

Result<Sweep> ParseSweep(std::string_view text) {
  const Error error = BadInput(fmt::format(
      "'{}' is not a sweep; write NAME=FIRST..LAST:STEP, e.g. co=16..512:16, or NAME=8,16,100",
      text));
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return error;
  Sweep sweep{std::string(text.substr(0, equals)), {}};
  std::string_view list = text.substr(equals + 1);
  if (const std::size_t dots = list.find(".."); dots != std::string_view::npos) {
    const std::size_t colon = list.find(':', dots);
    std::int64_t first = 0, last = 0, step = 1;
    if (!ReadNumber(list.substr(0, dots), first) ||
        !ReadNumber(list.substr(dots + 2, colon == list.npos ? list.npos : colon - dots - 2),
                    last) ||
        (colon != list.npos && !ReadNumber(list.substr(colon + 1), step)) || last < first)
      return error;
    if (static_cast<std::size_t>((last - first) / step) >= kMostValues)
      return BadInput(
          fmt::format("'{}' has more than {} values; take a larger step", text, kMostValues));
    for (std::int64_t steps = (last - first) / step, i = 0; i <= steps; ++i)
      sweep.values.push_back(first + i * step);
    return sweep;
  }
  while (true) {
    const std::size_t comma = list.find(',');
    if (!ReadNumber(list.substr(0, comma), sweep.values.emplace_back())) return error;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  std::sort(sweep.values.begin(), sweep.values.end());
  sweep.values.erase(std::unique(sweep.values.begin(), sweep.values.end()), sweep.values.end());
  if (sweep.values.size() > kMostValues)
    return BadInput(fmt::format("a sweep has at most {} values", kMostValues));
  return sweep;
}

Result<Workload> AtExtent(const std::string& text, const std::string& file, const std::string& name,
                          std::int64_t value) {
  KINDRED_TRY(Workload workload, ParseWorkload(text, file));
  const std::string where = fmt::format("{} with {}={}", file, name, value);
  for (const Symbol& symbol : workload.symbols) {
    if (symbol.name != name) continue;
    if (value < symbol.low || value > symbol.high)
      return BadInput(fmt::format("{}: {} is in {}..{}", where, name, symbol.low, symbol.high));
    return ParseWorkload(BindSymbol(text, name, value), where);
  }
  const auto written = WrittenExtents(text);
  std::vector<Replacement> replacements;
  for (auto [number, end] = written.equal_range(name); number != end; ++number)
    replacements.push_back({number->second.begin, number->second.end, std::to_string(value)});
  if (!replacements.empty()) return ParseWorkload(Replace(text, replacements), where);
  for (const Stage& stage : workload.stages)
    for (const Axis& axis : stage.axes)
      if (axis.name == name) return SetAxis(std::move(workload), where, name, value);
  std::set<std::string> names;
  for (const auto& [known, number] : written) names.insert(known);
  return UnknownName(workload, std::move(names), file, name);
}

}  // namespace kindred
