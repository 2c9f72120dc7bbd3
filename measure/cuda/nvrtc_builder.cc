#include "measure/cuda/nvrtc_builder.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>
#include <unordered_map>
#include <utility>

#include "measure/cuda/cubin_facts.h"
#include "measure/cuda/nvrtc_process.h"
#include "measure/internal/cache_directory.h"
#include "schedules/base/hash.h"
#include "schedules/base/mutex.h"

namespace kindred {
namespace {

constexpr int kCacheFormat = 1;  // part of the key: raise it when what is kept changes

// The line that names the error, or the first line at all. Of too much shared memory ptxas tells
// what the kernel uses, and no more.
std::string FirstError(const std::string& log) {
  std::istringstream lines(log);
  std::string line, first, used;
  while (std::getline(lines, line)) {
    if (line.find("error") != std::string::npos) return line;
    if (line.find(": Used ") != std::string::npos) used = line;
    if (first.empty() && !line.starts_with("ptxas")) first = line;
  }
  if (!first.empty()) return first;
  return used.empty() ? "NVRTC failed without a word" : "ptxas refuses the kernel: " + used;
}

std::string FactsText(const BuildFacts& facts) {
  std::ostringstream text;
  text << facts.code_bytes << ' ' << facts.registers << ' ' << facts.spill_bytes << ' '
       << facts.shared_bytes << '\n';
  return text.str();
}

BuildFacts ParseFacts(const std::string& text) {
  BuildFacts facts;
  std::istringstream(text) >> facts.code_bytes >> facts.registers >> facts.spill_bytes >>
      facts.shared_bytes;
  return facts;
}

std::vector<std::string> NamesOf(const KernelSource& source) {
  std::vector<std::string> names;
  for (const KernelStep& step : source.steps)
    if (source.lower_names) names.push_back(step.entry);
  return names;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

std::int64_t DynamicSharedBytes(const KernelSource& source) {
  std::int64_t most = 0;
  for (const KernelStep& step : source.steps) most = std::max(most, step.shared_bytes);
  return most;
}

}  // namespace

struct NvrtcBuilder::State {
  NvrtcBuilderOptions options;
  CacheDirectory cache;
  std::string compiler;
  std::vector<std::optional<NvrtcProcess>> processes;  // one per job
  Mutex mutex;
  BuilderCounters counters KINDRED_GUARDED_BY(mutex);
  std::optional<Error> failure KINDRED_GUARDED_BY(mutex);  // of the environment: ends the call

  State(NvrtcBuilderOptions o, CacheDirectory c) : options(std::move(o)), cache(std::move(c)) {}

  std::vector<std::string> OptionsOf(const KernelSource& source) const {
    std::vector<std::string> all = {"--gpu-architecture=" + options.architecture,
                                    "--ptxas-options=-v", "-diag-suppress=177"};
    const auto names_standard = [](const std::string& flag) {
      return flag.starts_with("-std") || flag.starts_with("--std");
    };
    if (std::none_of(source.flags.begin(), source.flags.end(), names_standard))
      all.insert(all.begin(), "--std=c++17");
    all.insert(all.end(), source.flags.begin(), source.flags.end());
    return all;
  }

  std::string KeyOf(const KernelSource& source) const {
    std::string text = "cubin " + std::to_string(kCacheFormat);
    const auto add = [&text](std::string_view part) {
      text += '\0';
      text += std::to_string(part.size()) + ":";
      text += part;
    };
    add(compiler);
    for (const std::string& option : OptionsOf(source)) add(option);
    add("");
    add(std::to_string(DynamicSharedBytes(source)));
    add(source.code);
    for (const std::string& name : NamesOf(source)) add(name);
    return HashOf(text).Hex();
  }

  std::optional<BuiltKernel> Lookup(const KernelSource& source, const std::string& key) const {
    const auto facts = cache.Read(key + ".facts");
    if (!facts || !cache.Contains(key + ".cubin")) return std::nullopt;
    BuiltKernel built;
    built.key = key;
    built.library = cache.PathOf(key + ".cubin");
    built.entry = source.entry;
    built.facts = ParseFacts(*facts);
    if (source.lower_names) {
      const auto names = cache.Read(key + ".names");
      if (!names) return std::nullopt;
      built.lowered = Lines(*names);
    }
    return built;
  }

  Result<BuiltKernel> Compile(const KernelSource& source, const std::string& key, std::size_t job);
};

Result<BuiltKernel> NvrtcBuilder::State::Compile(const KernelSource& source, const std::string& key,
                                                 std::size_t job) {
  using Clock = std::chrono::steady_clock;
  std::optional<NvrtcProcess>& process = processes[job];
  if (!process || !process->alive()) {
    KINDRED_TRY(process, NvrtcProcess::Start(options.program));
    KINDRED_TRY([[maybe_unused]] const NvrtcVersion loaded, process->Version());
  }
  KINDRED_TRY(const std::string scratch, cache.MakeScratch());
  struct Cleanup {
    const std::string& path;
    ~Cleanup() { RemoveTree(path); }
  } cleanup{scratch};
  const std::string unfinished = scratch + "/out.cubin";
  const auto begin = Clock::now();
  KINDRED_TRY(const NvrtcProcess::Reply reply,
              process->Compile(source.code, OptionsOf(source), NamesOf(source), unfinished,
                               options.timeout_s));
  BuiltKernel built;
  built.key = key;
  built.entry = source.entry;
  built.build_s = std::chrono::duration<double>(Clock::now() - begin).count();
  switch (reply.end) {
    case NvrtcProcess::End::kBuilt: break;
    case NvrtcProcess::End::kRefused:
      built.status = Status::kBuildError;
      built.message = FirstError(reply.log);
      return built;
    case NvrtcProcess::End::kTimedOut:
      built.status = Status::kBuildTimeout;
      built.message = reply.log;
      return built;
    case NvrtcProcess::End::kDied:
      built.status = Status::kBuildError;
      built.message = reply.log;
      return built;
  }
  std::ifstream file(unfinished, std::ios::binary);
  const std::string cubin(std::istreambuf_iterator<char>(file), {});
  if (!file) return Environment("NVRTC's output " + unfinished + " cannot be read");
  built.facts = FactsOfCubin(reply.log, cubin);
  built.facts.shared_bytes += DynamicSharedBytes(source);
  built.library = cache.PathOf(key + ".cubin");
  built.lowered = reply.lowered;
  if (source.lower_names) {
    std::string names;
    for (const std::string& name : built.lowered) names += name + "\n";
    KINDRED_CHECK(cache.Write(key + ".names", names));
  }
  KINDRED_CHECK(cache.Write(key + ".cubin", cubin));
  KINDRED_CHECK(cache.Write(key + ".facts", FactsText(built.facts)));
  return built;
}

NvrtcBuilder::NvrtcBuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
NvrtcBuilder::~NvrtcBuilder() = default;

Result<std::unique_ptr<NvrtcBuilder>> NvrtcBuilder::Make(NvrtcBuilderOptions options) {
  KINDRED_TRY(CacheDirectory cache, CacheDirectory::Open(options.cache_directory));
  auto state = std::make_unique<State>(std::move(options), std::move(cache));
  state->processes.resize(static_cast<std::size_t>(std::max(1, state->options.jobs)));
  KINDRED_TRY(state->processes[0], NvrtcProcess::Start(state->options.program));
  KINDRED_TRY(const NvrtcVersion nvrtc, state->processes[0]->Version());
  state->compiler = "NVRTC " + nvrtc.version;
  const std::string& architecture = state->options.architecture;
  const int number = architecture.starts_with("sm_") ? std::atoi(architecture.c_str() + 3) : 0;
  const auto& known = nvrtc.architectures;
  if (std::find(known.begin(), known.end(), number) == known.end()) {
    std::string list;
    for (const int a : known) list += (list.empty() ? "sm_" : " sm_") + std::to_string(a);
    return Unsupported(state->compiler + " (" + nvrtc.path + ") does not compile for '" +
                       architecture + "'; it knows " + list);
  }
  state->cache.Shrink(state->options.cache_limit_bytes);
  return std::unique_ptr<NvrtcBuilder>(new NvrtcBuilder(std::move(state)));
}

Result<std::vector<BuiltKernel>> NvrtcBuilder::Build(std::span<const KernelSource> sources,
                                                     const std::function<bool()>& stop,
                                                     const OnBuilt& on_built) {
  State& s = *state_;
  struct Pending {
    std::string key;
    std::vector<std::size_t> wanted_by;
  };
  std::vector<std::optional<BuiltKernel>> results(sources.size());
  std::vector<Pending> pending;
  std::unordered_map<std::string, std::size_t> pending_by_key;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string key = s.KeyOf(sources[i]);
    const auto waiting = pending_by_key.find(key);
    if (waiting != pending_by_key.end()) {
      pending[waiting->second].wanted_by.push_back(i);
    } else if (!(results[i] = s.Lookup(sources[i], key))) {
      pending_by_key[key] = pending.size();
      pending.push_back({key, {i}});
      continue;
    }
    const MutexLock lock(s.mutex);
    ++s.counters.cache_hits;
    if (on_built && results[i]) on_built(i, *results[i]);
  }

  std::size_t next = 0;  // guarded by the mutex below
  Mutex next_mutex;
  const auto take = [&]() -> std::optional<std::size_t> {
    const MutexLock lock(next_mutex);
    if (next >= pending.size() || (stop && stop())) return std::nullopt;
    return next++;
  };
  const auto work = [&](std::size_t job) {
    while (const auto index = take()) {
      const Pending& item = pending[*index];
      {
        const MutexLock lock(s.mutex);
        if (s.failure) return;
        ++s.counters.compiler_runs;
      }
      Result<BuiltKernel> built = s.Compile(sources[item.wanted_by.front()], item.key, job);
      const MutexLock lock(s.mutex);
      if (!built) {
        if (!s.failure) s.failure = built.error();
        return;
      }
      s.counters.compiled += built->status == Status::kOk ? 1 : 0;
      for (const std::size_t place : item.wanted_by) {
        results[place] = *built;
        if (place != item.wanted_by.front()) results[place]->build_s = 0;
        if (on_built) on_built(place, *results[place]);
      }
    }
  };
  std::vector<std::thread> threads;
  const std::size_t jobs = std::min(s.processes.size(), pending.size());
  for (std::size_t job = 1; job < jobs; ++job) threads.emplace_back(work, job);
  if (jobs > 0) work(0);
  for (std::thread& thread : threads) thread.join();
  {
    const MutexLock lock(s.mutex);
    if (s.failure) return *std::exchange(s.failure, std::nullopt);
  }
  s.cache.Shrink(s.options.cache_limit_bytes);
  std::vector<BuiltKernel> reached;
  for (auto& result : results) {
    if (!result) break;
    reached.push_back(*std::move(result));
  }
  return reached;
}

const std::string& NvrtcBuilder::compiler() const { return state_->compiler; }

BuilderCounters NvrtcBuilder::counters() const {
  const MutexLock lock(state_->mutex);
  return state_->counters;
}

}  // namespace kindred
