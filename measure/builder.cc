#include "measure/builder.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "measure/internal/cache_directory.h"
#include "measure/internal/cpu_info.h"
#include "measure/internal/elf_symbols.h"
#include "measure/internal/subprocess.h"
#include "schedules/base/hash.h"
#include "schedules/base/mutex.h"

namespace kindred {
namespace {

constexpr int kCacheFormat = 1;  // part of the key: raise it when what a library exports changes
constexpr int kLibrariesBetweenShrinks = 64;

std::string EntrySymbol(const std::string& key) { return "kindred_" + key; }
std::string PrepareSymbol(const std::string& key) { return "kindred_prepare_" + key; }

// A source to compile, and every place in the answer that waits for it.
struct Pending {
  const KernelSource* source = nullptr;
  std::string key;
  std::vector<std::size_t> wanted_by;
};

// The source as the compiler gets it: entries renamed to the key's symbols, lines numbered as in
// the source.
std::string SourceText(const Pending& item) {
  const KernelSource& source = *item.source;
  std::string text = "#define " + source.entry + " " + EntrySymbol(item.key) + "\n";
  if (!source.prepare_entry.empty())
    text += "#define " + source.prepare_entry + " " + PrepareSymbol(item.key) + "\n";
  return text + "#line 1 \"kernel.c\"\n" + source.code + "\n";
}

// The first line that names an error, or the first line at all.
std::string FirstError(const std::string& text) {
  std::istringstream lines(text);
  std::string line, first;
  while (std::getline(lines, line)) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos ||
        line.find("undefined reference") != std::string::npos)
      return line;
  }
  return first;
}

// Frame bytes of a function from gcc's -fstack-usage file:
// "file:line:column:function\tbytes\tkind".
std::int64_t FrameBytes(const std::string& path, const std::string& symbol) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const auto tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string_view name = std::string_view(line).substr(0, tab);
    if (name.ends_with(symbol) || name.ends_with(":" + symbol))
      return std::strtoll(line.c_str() + tab + 1, nullptr, 10);
  }
  return 0;
}

// "Facts" file beside a library: what cannot be read from the library itself.
std::string FactsText(const BuildFacts& facts) {
  return std::to_string(facts.code_bytes) + " " + std::to_string(facts.spill_bytes) + "\n";
}

BuildFacts ParseFacts(const std::string& text) {
  BuildFacts facts;
  std::istringstream(text) >> facts.code_bytes >> facts.spill_bytes;
  return facts;
}

}  // namespace

Result<CompilerInfo> FindCompiler(const std::string& compiler) {
  const std::string path = FindOnPath(compiler);
  if (path.empty())
    return Environment("no C compiler '" + compiler +
                       "' on PATH; install it (on Debian: apt-get install " + compiler +
                       ") or correct PATH");
  SpawnOptions options;
  options.program = path;
  options.arguments = {"--version"};
  options.extra_environment = {"LC_ALL=C"};
  KINDRED_TRY(const FileDescriptor output, MemoryFile("stdout"));
  options.descriptors = {-1, output.get(), -1};
  KINDRED_TRY(ChildProcess child, ChildProcess::Spawn(options));
  ExitStatus status;
  const bool ended = child.Wait(10, status);
  const std::string text = Tail(output.get(), 1 << 16);
  if (!ended || status.code != 0 || text.empty())
    return Environment("the C compiler " + path +
                       " does not answer to --version; install a working '" + compiler + "'");
  return CompilerInfo{path, text.substr(0, text.find('\n'))};
}

struct Builder::State {
  BuilderOptions options;
  CacheDirectory cache;
  std::string cpu_model;
  std::map<std::string, Result<CompilerInfo>> compilers;
  Mutex mutex;
  BuilderCounters counters KINDRED_GUARDED_BY(mutex);
  std::int64_t linked_since_shrink KINDRED_GUARDED_BY(mutex) = 0;
  std::optional<Error> failure KINDRED_GUARDED_BY(mutex);  // of the environment: ends the call

  State(BuilderOptions o, CacheDirectory c) : options(std::move(o)), cache(std::move(c)) {}

  const Result<CompilerInfo>& Compiler(const std::string& name) {
    auto found = compilers.find(name);
    if (found == compilers.end()) found = compilers.emplace(name, FindCompiler(name)).first;
    return found->second;
  }

  std::string KeyOf(const KernelSource& source, const CompilerInfo& compiler) const {
    std::string text = std::to_string(kCacheFormat);
    const auto add = [&text](std::string_view part) {
      text += '\0';
      text += std::to_string(part.size()) + ":";
      text += part;
    };
    add(cpu_model);
    add(compiler.version);
    add(source.compiler);
    add(source.entry);
    add(source.prepare_entry);
    for (const std::string& flag : source.flags) add(flag);
    add("");
    add(source.code);
    return HashOf(text).Hex();
  }

  // A finished build from the cache.
  std::optional<BuiltKernel> Lookup(const KernelSource& source, const std::string& key) const {
    const auto facts = cache.Read(key + ".facts");
    if (!facts || !cache.Contains(key + ".so")) return std::nullopt;
    BuiltKernel built;
    built.key = key;
    built.library = cache.PathOf(key + ".so");
    built.entry = EntrySymbol(key);
    if (!source.prepare_entry.empty()) built.prepare_entry = PrepareSymbol(key);
    built.facts = ParseFacts(*facts);
    return built;
  }

  // One compiler run for `items`; appends one result each, or (more than one item, failed) nothing.
  Result<std::vector<BuiltKernel>> Compile(std::span<const Pending> items, double timeout_s);
  Result<void> Link(const Pending& item, const std::string& scratch, std::size_t index,
                    double build_s, BuiltKernel& built);
  // Compiles one group, one by one where the group fails, and files the results.
  void CompileGroup(std::span<const Pending> items, double timeout_s,
                    std::span<std::optional<BuiltKernel>> results);
};

Result<void> Builder::State::Link(const Pending& item, const std::string& scratch,
                                  std::size_t index, double build_s, BuiltKernel& built) {
  BuildFacts facts;
  facts.code_bytes = FunctionBytes(scratch + "/out.so", EntrySymbol(item.key));
  for (const std::string& name :
       {"/out.so-k" + std::to_string(index) + ".su", std::string("/out.su")}) {
    if (facts.spill_bytes == 0)
      facts.spill_bytes = FrameBytes(scratch + name, EntrySymbol(item.key));
  }
  const std::string library = cache.PathOf(item.key + ".so");
  if (link((scratch + "/out.so").c_str(), library.c_str()) != 0 && errno != EEXIST)
    return Environment("cannot write " + library + ": " + std::strerror(errno));
  KINDRED_CHECK(cache.Write(item.key + ".facts", FactsText(facts)));
  built.key = item.key;
  built.library = library;
  built.entry = EntrySymbol(item.key);
  if (!item.source->prepare_entry.empty()) built.prepare_entry = PrepareSymbol(item.key);
  built.facts = facts;
  built.build_s = build_s;
  return {};
}

Result<std::vector<BuiltKernel>> Builder::State::Compile(std::span<const Pending> items,
                                                         double timeout_s) {
  const KernelSource& first = *items.front().source;
  const CompilerInfo& compiler = *compilers.at(first.compiler);
  KINDRED_TRY(const std::string scratch, cache.MakeScratch());
  struct Cleanup {
    const std::string& path;
    ~Cleanup() { RemoveTree(path); }
  } cleanup{scratch};

  SpawnOptions run;
  run.program = compiler.path;
  run.extra_environment = {"LC_ALL=C", "TMPDIR=" + scratch};
  run.cpu_seconds = static_cast<int>(timeout_s) + 5;
  run.arguments = first.flags;
  for (const char* flag : {"-fPIC", "-shared", "-w"}) run.arguments.emplace_back(flag);
  if (first.compiler.find("gcc") != std::string::npos || first.compiler == "g++")
    run.arguments.emplace_back("-fstack-usage");
  for (const char* flag : {"-x", first.compiler.ends_with("++") ? "c++" : "c"})
    run.arguments.emplace_back(flag);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string path = scratch + "/k" + std::to_string(i) + ".c";
    KINDRED_CHECK(WriteFile(path, SourceText(items[i])));
    run.arguments.push_back(path);
  }
  for (const std::string& flag : {std::string("-o"), scratch + "/out.so", std::string("-lm")})
    run.arguments.push_back(flag);
  KINDRED_TRY(const RunResult result, RunProgram(run, timeout_s));
  {
    const MutexLock lock(mutex);
    ++counters.compiler_runs;
  }
  const double build_s = result.wall_s / static_cast<double>(items.size());

  std::vector<BuiltKernel> built;
  if (!result.timed_out && result.status.code == 0) {
    for (std::size_t i = 0; i < items.size(); ++i)
      KINDRED_CHECK(Link(items[i], scratch, i, build_s, built.emplace_back()));
    const MutexLock lock(mutex);
    counters.compiled += static_cast<std::int64_t>(items.size());
    linked_since_shrink += static_cast<std::int64_t>(items.size());
    return built;
  }
  if (result.error_text.find("No space left on device") != std::string::npos)
    return Environment("the disk of " + cache.path() +
                       " is full: " + FirstError(result.error_text));
  if (items.size() > 1) return built;
  BuiltKernel& failed = built.emplace_back();
  failed.key = items.front().key;
  failed.build_s = build_s;
  if (result.timed_out || result.status.signal == SIGXCPU) {
    failed.status = Status::kBuildTimeout;
    failed.message =
        first.compiler + " took longer than " + std::to_string(static_cast<int>(timeout_s)) + " s";
  } else {
    failed.status = Status::kBuildError;
    failed.message = FirstError(result.error_text);
    if (failed.message.empty())
      failed.message =
          first.compiler + (result.status.signal != 0
                                ? " died of " + SignalName(result.status.signal)
                                : " failed with exit code " + std::to_string(result.status.code));
  }
  return built;
}

void Builder::State::CompileGroup(std::span<const Pending> items, double timeout_s,
                                  std::span<std::optional<BuiltKernel>> results) {
  Result<std::vector<BuiltKernel>> built = Compile(items, timeout_s);
  if (built && built->empty()) {
    for (const Pending& item : items) CompileGroup({&item, 1}, timeout_s, results);
    return;
  }
  if (!built) {
    const MutexLock lock(mutex);
    if (!failure) failure = built.error();
    return;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const std::size_t place : items[i].wanted_by) {
      results[place] = (*built)[i];
      if (place != items[i].wanted_by.front()) results[place]->build_s = 0;
    }
  }
}

Builder::Builder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Builder::~Builder() = default;

Result<std::unique_ptr<Builder>> Builder::Make(BuilderOptions options) {
  KINDRED_TRY(CacheDirectory cache, CacheDirectory::Open(options.cache_directory));
  auto state = std::make_unique<State>(std::move(options), std::move(cache));
  state->cpu_model = ReadCpuInfo().model;
  if (const auto& gcc = state->Compiler("gcc"); !gcc) return gcc.error();
  state->cache.Shrink(state->options.cache_limit_bytes);
  return std::unique_ptr<Builder>(new Builder(std::move(state)));
}

Result<std::vector<BuiltKernel>> Builder::Build(std::span<const KernelSource> sources,
                                                const std::function<bool()>& stop) {
  State& s = *state_;
  std::vector<std::optional<BuiltKernel>> results(sources.size());
  std::vector<Pending> pending;
  std::unordered_map<std::string, std::size_t> pending_by_key;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const KernelSource& source = sources[i];
    const auto& compiler = s.Compiler(source.compiler);
    if (!compiler) {
      results[i].emplace();
      results[i]->status = Status::kBuildError;
      results[i]->message = compiler.error().message;
      continue;
    }
    const std::string key = s.KeyOf(source, *compiler);
    const auto waiting = pending_by_key.find(key);
    if (waiting == pending_by_key.end()) results[i] = s.Lookup(source, key);
    if (waiting != pending_by_key.end() || results[i]) {
      const MutexLock lock(s.mutex);
      ++s.counters.cache_hits;
    }
    if (waiting != pending_by_key.end()) {
      pending[waiting->second].wanted_by.push_back(i);
    } else if (!results[i]) {
      pending_by_key[key] = pending.size();
      pending.push_back({&source, key, {i}});
    }
  }

  // Equal compiler and flags side by side, then runs that keep every job busy.
  std::stable_sort(pending.begin(), pending.end(), [](const Pending& a, const Pending& b) {
    return std::tie(a.source->compiler, a.source->flags) <
           std::tie(b.source->compiler, b.source->flags);
  });
  const std::size_t jobs = static_cast<std::size_t>(std::max(1, s.options.jobs));
  const std::size_t most =
      std::clamp<std::size_t>(pending.size() / jobs, 1, static_cast<std::size_t>(kSourcesPerRun));
  std::vector<std::span<const Pending>> groups;
  for (std::size_t begin = 0; begin < pending.size();) {
    std::size_t end = begin + 1;
    while (end < pending.size() && end - begin < most &&
           pending[end].source->compiler == pending[begin].source->compiler &&
           pending[end].source->flags == pending[begin].source->flags)
      ++end;
    groups.push_back(std::span(pending).subspan(begin, end - begin));
    begin = end;
  }

  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](bool asks) {
    for (;;) {
      if (asks && stop && stop()) stopped = true;
      if (stopped) return;
      {
        const MutexLock lock(s.mutex);
        if (s.failure) return;
      }
      const std::size_t group = next++;
      if (group >= groups.size()) return;
      s.CompileGroup(groups[group], s.options.timeout_s, results);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(jobs, groups.size()); ++i) threads.emplace_back(work, false);
  work(true);
  for (std::thread& thread : threads) thread.join();

  bool shrink = false;
  {
    const MutexLock lock(s.mutex);
    if (s.failure) {
      Error error = *s.failure;
      s.failure.reset();
      return error;
    }
    shrink = s.linked_since_shrink >= kLibrariesBetweenShrinks;
    if (shrink) s.linked_since_shrink = 0;
  }
  if (shrink) s.cache.Shrink(s.options.cache_limit_bytes);

  std::vector<BuiltKernel> built;
  for (std::optional<BuiltKernel>& result : results) {
    if (!result) break;
    built.push_back(std::move(*result));
  }
  return built;
}

Result<BuiltKernel> Builder::BuildOne(const KernelSource& source, double timeout_s) {
  const double usual = std::exchange(state_->options.timeout_s, timeout_s);
  auto built = Build({&source, 1});
  state_->options.timeout_s = usual;
  if (!built) return built.error();
  return std::move(built->front());
}

BuilderCounters Builder::counters() const {
  const MutexLock lock(state_->mutex);
  return state_->counters;
}

}  // namespace kindred
