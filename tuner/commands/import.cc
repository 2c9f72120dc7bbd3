// kindred import: what a model consists of, without tuning it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/commands/commands.h"
#include "tuner/import/report.h"
#include "tuner/inputs.h"

namespace kindred {

int RunImport(const ImportCommand& command) {
  const auto dims = ParseDims(command.dims);
  if (!dims) return Fail(dims.error());
  const auto model = ReadModel(command.model, *dims);
  if (!model) return Fail(model.error());
  if (command.json)
    fmt::print("{}\n", ImportToJson(*model).dump(2));
  else
    fmt::print("{}", DescribeImport(*model));
  return 0;
}

}  // namespace kindred
