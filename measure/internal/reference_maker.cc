#include "measure/internal/reference_maker.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "measure/internal/cpu_info.h"
#include "measure/internal/worker_requests.h"

namespace kindred {
namespace {

constexpr double kOpenTimeout_s = 120;

}  // namespace

Result<ComputeReferenceRequest> BuildReference(Builder& builder, const ReferencePlan& plan) {
  KINDRED_TRY(const BuiltKernel built, builder.BuildOne(plan.source, kReferenceBuildTimeout_s));
  if (built.status != Status::kOk)
    return Internal("the reference program of a workload does not compile: " + built.message);
  ComputeReferenceRequest request;
  request.call.library = built.library;
  request.call.entry = built.entry;
  request.call.prepare_entry = built.prepare_entry;
  request.call.arguments = plan.source.arguments;
  request.call.workspace_bytes = plan.source.workspace_bytes;
  request.outputs = plan.outputs;
  return request;
}

Result<std::unique_ptr<ReferenceMaker>> ReferenceMaker::Make(const std::string& cache_directory,
                                                             const std::string& program,
                                                             int build_jobs) {
  BuilderOptions build;
  build.cache_directory = cache_directory + "/build";
  build.jobs = build_jobs;
  KINDRED_TRY(CacheDirectory files, CacheDirectory::Open(cache_directory + "/reference"));
  files.Shrink(kReferenceCacheBytes);
  KINDRED_TRY(auto builder, Builder::Make(std::move(build)));
  return std::unique_ptr<ReferenceMaker>(
      new ReferenceMaker(program, std::move(builder), std::move(files)));
}

Result<std::string> ReferenceMaker::FileOf(const ReferencePlan& plan, bool anew) {
  const std::string file = files_.PathOf(plan.file_name);
  if (!anew && files_.Contains(plan.file_name)) return file;
  KINDRED_TRY(ComputeReferenceRequest request, BuildReference(*builder_, plan));
  request.file = file;
  OpenRequest open = plan.open;
  open.cpus = AllowedCpus();
  for (int attempt = 0;; ++attempt) {
    if (!worker_ || !worker_->alive()) {
      worker_.reset();
      KINDRED_TRY(worker_, WorkerProcess::Start(program_));
    }
    auto answer = Must(*worker_, ToJson(open).dump() + "\n", kOpenTimeout_s,
                       "a worker cannot open a workload");
    if (answer)
      answer = Must(*worker_, ToJson(request).dump() + "\n", kReferenceRunTimeout_s,
                    "the reference program of a workload cannot be run");
    if (answer) break;
    // A worker that was dead before it was asked is no verdict on the workload.
    if (worker_->alive() || attempt == 1) return answer.error();
  }
  worker_.reset();  // with the memory of its buffers
  return file;
}

}  // namespace kindred
