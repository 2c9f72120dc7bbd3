#include "tuner/included_files.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

namespace kindred {
namespace {

namespace fs = std::filesystem;

struct Include {
  std::string name;
  bool quoted = false;
};

// "#include" of a line, also "# include"; not of a macro.
std::optional<Include> IncludeOf(std::string_view line) {
  const auto skip = [&] {
    while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
  };
  skip();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip();
  constexpr std::string_view kInclude = "include";
  if (!line.starts_with(kInclude)) return std::nullopt;
  line.remove_prefix(kInclude.size());
  skip();
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const std::size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(1, end - 1)), line[0] == '"'};
}

class Collector {
 public:
  explicit Collector(const std::vector<std::string>& paths) : paths_(paths) {}

  void Collect(const std::string& text, const fs::path& folder) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto include = IncludeOf(line);
      if (!include) continue;
      const auto path = Find(*include, folder);
      if (!path || !met_.insert(path->string()).second) continue;
      std::stringstream content;
      content << std::ifstream(*path, std::ios::binary).rdbuf();
      files_.push_back({include->name, content.str()});
      const std::string included = files_.back().text;
      Collect(included, path->parent_path());
    }
  }
  std::vector<IncludedFile> Take() { return std::move(files_); }

 private:
  std::optional<fs::path> Find(const Include& include, const fs::path& folder) const {
    std::vector<fs::path> folders(paths_.begin(), paths_.end());
    if (include.quoted) folders.insert(folders.begin(), folder);
    for (const fs::path& from : folders) {
      std::error_code code;
      const fs::path path = fs::weakly_canonical(from / include.name, code);
      if (!code && fs::is_regular_file(path, code)) return path;
    }
    return std::nullopt;
  }

  const std::vector<std::string>& paths_;
  std::set<std::string> met_;
  std::vector<IncludedFile> files_;
};

}  // namespace

std::vector<IncludedFile> IncludedFiles(const std::string& text, const std::string& folder,
                                        const std::vector<std::string>& paths) {
  Collector collector(paths);
  collector.Collect(text, folder);
  return collector.Take();
}

}  // namespace kindred
