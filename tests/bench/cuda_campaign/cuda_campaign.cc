// Random CUDA schedules, proved and built without a GPU. Prints one JSON object; exits with 1 where
// a kernel was wrong, or did not build.
//
//   cuda_campaign emulate   small awkward workloads, run in tests/cuda_emulation and compared with
//                           the interpreter
//   cuda_campaign build     large ones, compiled by NVRTC for the architectures of several devices
//                           in turn: rejected and spilling kernels, time per kernel
//
// Per sketch and type (emulate), per sketch and form (build).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "measure/cuda/nvrtc_builder.h"
#include "measure/cuda/nvrtc_process.h"
#include "schedules/cuda_targets.h"
#include "schedules/emit_cuda.h"
#include "schedules/sketches/cuda_contraction.h"
#include "schedules/text_form.h"
#include "tests/bench/cuda_campaign/schedules_of.h"
#include "tests/schedules/compile_and_run.h"

namespace kindred::bench {
namespace {

using nlohmann::ordered_json;

constexpr int kNotTested = 77;  // what ctest takes for "skipped"

struct Options {
  std::vector<std::string> sketches = {"contraction", "rows", "elementwise", "window", "generic"};
  std::vector<std::string> types = {"f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2",
                                    "i8",  "u8",  "i32", "i64",  "bool",   "c64"};
  std::vector<std::string> forms;  // empty: all
  std::vector<std::string> devices = {"h200", "a100", "rtx4090", "b200"};
  std::string json;
  std::uint64_t seed = 0;
  int count = 200, per_workload = 5, jobs = 2;
  std::int64_t spill_bound = internal::kContractionSpillBound;
};

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::set<std::string> FormNames() {
  std::set<std::string> names;
  for (const CampaignForm& form : CampaignForms()) names.emplace(form.name);
  return names;
}

std::vector<CampaignForm> FormsOf(const Options& options, std::string_view sketch) {
  std::vector<CampaignForm> forms;
  for (const CampaignForm& form : CampaignForms())
    if (form.sketch == sketch && (options.forms.empty() || Has(options.forms, form.name)))
      forms.push_back(form);
  return forms;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Report(const std::string& line) { fmt::print(stderr, "{}\n", line); }

// `count` different schedules of the sketch over elements of the type.
ordered_json Emulate(const Options& options, const std::string& sketch, const std::string& type,
                     int* wrong) {
  Random random(DeriveSeed(options.seed, sketch + type));
  std::vector<CampaignForm> forms = FormsOf(options, sketch);
  std::erase_if(forms, [&](const CampaignForm& form) { return !form.Takes(type); });
  if (forms.empty()) return nullptr;
  const Target target = *NamedCudaTarget(options.devices.front());
  std::map<std::string, int> by_form;
  ordered_json complaints = ordered_json::array();
  const auto start = std::chrono::steady_clock::now();
  int done = 0, draws = 0;
  for (; done < options.count && draws < 20 * options.count; ++draws) {
    const CampaignForm& form = forms[static_cast<std::size_t>(draws) % forms.size()];
    const auto schedules = RandomSchedules::Draw(form, type, false, target, random);
    if (!schedules) continue;
    test::KernelBatch batch(target);
    std::set<std::string> seen;
    for (int i = 0; i < options.per_workload && done < options.count; ++i) {
      const Path path = schedules->Next(random);
      const std::string label = fmt::format("{} {} {}\n{}", form.name, type, PathToJson(path),
                                            PrintWorkload(schedules->workload()));
      std::string complaint;
      if (const auto candidate = schedules->space().Lower(path); !candidate) {
        complaint = candidate.error().message;
      } else {
        if (!seen.insert(candidate->key.Hex()).second) continue;
        const auto kernel = batch.Add(schedules->workload(), *candidate->program, label);
        complaint =
            kernel ? test::CompareWithInterpreter(batch, *kernel, schedules->workload(), random())
                   : kernel.error().message;
      }
      ++done;
      ++by_form[std::string(form.name)];
      if (complaint.empty()) continue;
      ++*wrong;
      complaints.push_back(label + complaint);
      Report(complaints.back().get<std::string>());
    }
  }
  Report(fmt::format("{} {}: {} schedules, {} wrong", sketch, type, done, complaints.size()));
  return {{"sketch", sketch},           {"type", type},     {"schedules", done},
          {"wrong", complaints.size()}, {"forms", by_form}, {"seconds", SecondsSince(start)},
          {"complaints", complaints}};
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// `count` different schedules of the form, each compiled for one of the devices.
Result<void> Build(const Options& options, const CampaignForm& form, const std::string& program,
                   const std::string& cache, int* failed, ordered_json* rows) {
  Random random(DeriveSeed(options.seed, std::string(form.sketch) + std::string(form.name)));
  std::int64_t kernels = 0, rejected = 0, spilling = 0, past_bound = 0, most_spilled = 0;
  std::vector<double> build_ms, registers;
  std::map<std::string, std::int64_t> by_architecture;
  ordered_json complaints = ordered_json::array(), refused = ordered_json::array();
  double seconds = 0;
  for (std::size_t d = 0; d < options.devices.size(); ++d) {
    const auto target = NamedCudaTarget(options.devices[d]);
    if (!target)
      return BadInput(options.devices[d] + " is no device; known are " + KnownCudaTargets());
    auto builder = NvrtcBuilder::Make({.cache_directory = cache,
                                       .architecture = target->gpu.arch,
                                       .program = program,
                                       .jobs = options.jobs});
    if (!builder && builder.error().kind == ErrorKind::kUnsupported) {
      refused.push_back(builder.error().message);
      continue;
    }
    if (!builder) return builder.error();
    const auto devices = static_cast<int>(options.devices.size());
    const int wanted = (options.count + devices - 1) / devices;
    std::vector<KernelSource> sources;
    std::vector<std::string> labels;
    std::set<std::string> seen;
    for (int draw = 0; draw < 20 * wanted && static_cast<int>(sources.size()) < wanted; ++draw) {
      const std::string& type =
          options.types[static_cast<std::size_t>(draw) % options.types.size()];
      if (!form.Takes(type)) continue;
      const auto schedules = RandomSchedules::Draw(form, type, true, *target, random);
      if (!schedules) continue;
      for (int i = 0; i < options.per_workload && static_cast<int>(sources.size()) < wanted; ++i) {
        const Path path = schedules->Next(random);
        KINDRED_TRY(const Candidate candidate, schedules->space().Lower(path));
        if (!seen.insert(candidate.key.Hex()).second) continue;
        sources.push_back(EmitCuda(*candidate.program, schedules->workload()));
        labels.push_back(fmt::format("{} {} {} {}\n{}", form.name, type, target->gpu.arch,
                                     PathToJson(path), PrintWorkload(schedules->workload())));
      }
    }
    const auto start = std::chrono::steady_clock::now();
    KINDRED_TRY(const auto built, (*builder)->Build(sources));
    seconds += SecondsSince(start);
    for (std::size_t i = 0; i < built.size(); ++i) {
      ++kernels;
      ++by_architecture[target->gpu.arch];
      const BuiltKernel& kernel = built[i];
      if (kernel.build_s > 0) build_ms.push_back(1e3 * kernel.build_s);
      if (kernel.status != Status::kOk) {
        ++rejected;
        complaints.push_back(labels[i] + kernel.message);
        continue;
      }
      registers.push_back(static_cast<double>(kernel.facts.registers));
      spilling += kernel.facts.spill_bytes > 0;
      most_spilled = std::max(most_spilled, kernel.facts.spill_bytes);
      if (kernel.facts.spill_bytes <= options.spill_bound) continue;
      ++past_bound;
      complaints.push_back(fmt::format("{}spills {} bytes", labels[i], kernel.facts.spill_bytes));
    }
  }
  for (const auto& complaint : complaints) Report(complaint.get<std::string>());
  Report(fmt::format("{} {}: {} kernels, {} rejected, {} spill, {} past the bound", form.sketch,
                     form.name, kernels, rejected, spilling, past_bound));
  *failed += static_cast<int>(rejected + past_bound);
  ordered_json json;
  json["sketch"] = form.sketch;
  json["form"] = form.name;
  json["kernels"] = kernels;
  json["architectures"] = by_architecture;
  json["not_compiled_for"] = refused;
  json["rejected"] = rejected;
  json["spilling"] = spilling;
  json["spilling_past_bound"] = past_bound;
  json["spill_bound_bytes"] = options.spill_bound;
  json["most_spilled_bytes"] = most_spilled;
  json["registers_median"] = Quantile(registers, 0.5);
  json["registers_most"] = Quantile(registers, 1);
  json["ms_per_kernel_median"] = Quantile(build_ms, 0.5);
  json["ms_per_kernel_p95"] = Quantile(build_ms, 0.95);
  json["builders"] = options.jobs;
  json["kernels_per_second"] = seconds > 0 ? static_cast<double>(build_ms.size()) / seconds : 0.0;
  json["complaints"] = complaints;
  rows->push_back(std::move(json));
  return {};
}

Result<int> Run(const Options& options, bool build, const std::string& program) {
  ordered_json rows = ordered_json::array();
  int failed = 0;
  std::string cache = (std::filesystem::temp_directory_path() / "kindred-campaign-XXXXXX").string();
  if (build && mkdtemp(cache.data()) == nullptr) return Environment("no temporary directory");
  const std::shared_ptr<void> removed(nullptr, [&](void*) {
    std::error_code ignored;
    if (build) std::filesystem::remove_all(cache, ignored);
  });
  for (const std::string& sketch : options.sketches) {
    if (!build) {
      for (const std::string& type : options.types)
        if (ordered_json row = Emulate(options, sketch, type, &failed); !row.is_null())
          rows.push_back(std::move(row));
      continue;
    }
    for (const CampaignForm& form : FormsOf(options, sketch)) {
      KINDRED_CHECK(Build(options, form, program, cache, &failed, &rows));
    }
  }
  const ordered_json all = {
      {"campaign", build ? "build" : "emulate"}, {"seed", options.seed}, {"rows", rows}};
  if (options.json.empty())
    std::cout << all.dump(1) << "\n";
  else
    std::ofstream(options.json) << all.dump(1) << "\n";
  return failed == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Random CUDA schedules, proved and built without a GPU");
  app.require_subcommand(1);
  CLI::App* emulate = app.add_subcommand("emulate", "run in the emulation and compare");
  CLI::App* build = app.add_subcommand("build", "compile with NVRTC");
  bool rotate = false;
  for (CLI::App* command : {emulate, build}) {
    command->add_option("--sketch", options.sketches, "kinds of kernel")
        ->check(CLI::IsMember(Options().sketches))
        ->delimiter(',');
    command->add_option("--type", options.types, "of the elements")
        ->check(CLI::IsMember(Options().types))
        ->delimiter(',');
    command->add_option("--form", options.forms, "of the workloads: gemm, conv_nhwc, ...")
        ->check(CLI::IsMember(FormNames()))
        ->delimiter(',');
    command->add_option("--seed", options.seed);
    command->add_flag("--rotate", rotate, "a seed of the day");
    command->add_option("--count", options.count, "schedules of each sketch and type, or form");
    command->add_option("--per-workload", options.per_workload, "schedules of one workload");
    command->add_option("--device", options.devices, "named targets");
    command->add_option("--json", options.json, "instead of standard output");
  }
  build->add_option("--jobs", options.jobs, "builders");
  build->add_option("--spill-bound", options.spill_bound, "bytes of stores and loads");
  CLI11_PARSE(app, argc, argv);
  if (rotate) {
    options.seed =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::hours>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count() /
                                   24);
    Report(fmt::format("seed {}", options.seed));
  }
  const auto result =
      Run(options, build->parsed(), std::filesystem::read_symlink("/proc/self/exe").string());
  if (result) return *result;
  Report(result.error().message);
  return result.error().kind == ErrorKind::kEnvironment ? kNotTested : 2;
}

}  // namespace
}  // namespace kindred::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "nvrtc") return kindred::RunNvrtcProcess();
  return kindred::bench::Main(argc, argv);
}
