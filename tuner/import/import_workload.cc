#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "schedules/text_form.h"
#include "tuner/import/import.h"

namespace kindred {

Result<ImportedModel> ImportWorkloadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    return BadInput(path + ": cannot be read" +
                    (errno != 0 ? std::string(" (") + std::strerror(errno) + ")" : ""));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  KINDRED_TRY(Workload workload, ParseWorkload(text, path));
  ImportedModel model;
  model.name = std::filesystem::path(path).stem().string();
  if (workload.name.empty()) workload.name = model.name;
  model.nodes = model.tunable = 1;
  ImportedTask task;
  task.name = workload.name;
  task.canonical = Canonicalize(workload);
  SubgraphUse use;
  use.nodes = {model.name};
  for (const int id : ArgumentTensors(workload)) {
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(id)];
    use.tensors[tensor.name] = tensor.name;
    if (tensor.role == Role::kInput) model.inputs.push_back(tensor.name);
    if (tensor.role == Role::kOutput) model.outputs.push_back(tensor.name);
  }
  task.uses.push_back(std::move(use));
  task.workload = std::move(workload);
  model.tasks.push_back(std::move(task));
  return model;
}

}  // namespace kindred
