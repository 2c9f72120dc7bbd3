// Any bytes are either refused with a message or a model whose tasks are valid workloads.
#include <string>

#include "tests/fuzz/fuzz_target.h"
#include "tuner/import/import.h"

namespace kindred::fuzz {

void FuzzOnnx(std::string_view bytes) {
  ImportOptions options;
  options.dims = {{"batch", 2}, {"seq", 3}, {"N", 2}};
  const auto model = ImportOnnx(MemoryFile(bytes), options);
  if (!model) {
    Require(!model.error().message.empty(), "an error has a message");
    Require(model.error().kind != ErrorKind::kInternal,
            "what is wrong is the model: " + model.error().message);
    return;
  }
  for (const ImportedTask& task : model->tasks) {
    const auto checked = CheckWorkload(task.workload);
    Require(checked.has_value(), "a task is a valid workload: " + task.name + ": " +
                                     (checked ? "" : checked.error().message));
    Require(!task.name.empty() && task.count() > 0, "a task has a name and a place in the model");
  }
  Require(model->tunable <= model->nodes, "tunable nodes are nodes of the model");
}

}  // namespace kindred::fuzz
