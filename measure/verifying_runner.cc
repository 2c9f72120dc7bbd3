#include "measure/verifying_runner.h"

#include <cstdlib>
#include <filesystem>

#include "measure/internal/user_program.h"

namespace kindred {
namespace {

class VerifyingRunner final : public KernelRunner {
 public:
  VerifyingRunner(std::unique_ptr<KernelRunner> kernels, std::string outputs,
                  VerifierOptions options)
      : kernels_(std::move(kernels)), outputs_(std::move(outputs)), options_(std::move(options)) {
    for (std::string& word : options_.command.words)
      for (std::size_t at = word.find(kOutputs); at != std::string::npos;
           at = word.find(kOutputs, at + outputs_.size()))
        word.replace(at, kOutputs.size(), outputs_);
    options_.command.environment.emplace_back("KINDRED_OUTPUTS", outputs_);
  }
  ~VerifyingRunner() override {
    std::error_code ignored;
    std::filesystem::remove_all(outputs_, ignored);
  }

  Result<Outcome> TakeReference(const KernelSource& reference) override {
    return kernels_->TakeReference(reference);
  }
  bool has_reference() const override { return true; }
  Result<void> BuildAhead(std::span<const KernelSource> candidates,
                          const std::function<bool()>& stop) override {
    return kernels_->BuildAhead(candidates, stop);
  }
  Result<Outcome> Measure(const KernelSource& candidate, double incumbent_ns,
                          bool patient) override;

 private:
  static constexpr std::string_view kOutputs = "{outputs}";
  const std::unique_ptr<KernelRunner> kernels_;
  const std::string outputs_;
  VerifierOptions options_;
};

Result<Outcome> VerifyingRunner::Measure(const KernelSource& candidate, double incumbent_ns,
                                         bool patient) {
  KINDRED_TRY(Outcome taken, kernels_->TakeReference(candidate));
  if (taken.status != Status::kOk) return taken;
  KINDRED_TRY(const UserProgramRun run,
              RunUserProgram(options_.command, options_.folder, options_.timeout_s));
  if (run.failure.status == Status::kOk) return kernels_->Measure(candidate, incumbent_ns, patient);
  Outcome refused;
  refused.status =
      run.failure.status == Status::kRunError ? Status::kWrongAnswer : run.failure.status;
  refused.message = "the verifier: " + run.failure.message;
  refused.run_s = run.wall_s;
  return refused;
}

}  // namespace

std::unique_ptr<KernelRunner> MakeVerifyingRunner(std::unique_ptr<KernelRunner> kernels,
                                                  std::string outputs, VerifierOptions options) {
  return std::make_unique<VerifyingRunner>(std::move(kernels), std::move(outputs),
                                           std::move(options));
}

Result<std::string> MakeOutputsFolder() {
  std::error_code code;
  std::string pattern =
      (std::filesystem::temp_directory_path(code) / "kindred-outputs-XXXXXX").string();
  if (code || mkdtemp(pattern.data()) == nullptr)
    return Environment("no temporary folder for a kernel's outputs can be made");
  return pattern;
}

}  // namespace kindred
