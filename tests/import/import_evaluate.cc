// Imports models and runs what was imported on recorded inputs, for scripts/check_onnx_nodes.
//
//   import_evaluate LIST
//
// Each line of LIST is `FOLDER RELATIVE ABSOLUTE`: a folder with model.onnx, the tensors
// (serialized TensorProto) input_0.pb, input_1.pb, ... in the order of the model's inputs, "" where
// one is no tensor, and output_0.pb, ...; and the tolerances. Prints a line of JSON for each:
// "case", "status" (imported, error, crash, timeout), and where it was imported "nodes", "tunable",
// "left_out", "values" (match, differ, not run) and "detail". Every case runs in a process of its
// own.
#include <cmath>
#include <csignal>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <nlohmann/json.hpp>

#include "tests/import/run_model.h"
#include "tuner/import/onnx_model.h"

namespace kindred {
namespace {

constexpr unsigned kSeconds = 60;

struct Recorded {
  Tensor tensor;
  TensorValues values;
};

std::optional<onnx::TensorProto> ReadProto(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::TensorProto proto;
  if (!file || !proto.ParseFromIstream(&file)) return std::nullopt;
  return proto;
}

// nullopt: no such file, no tensor, or of a type that the workload language lacks.
std::optional<Recorded> ReadRecorded(const std::string& path) {
  const auto proto = ReadProto(path);
  const auto type = proto ? FromOnnxType(proto->data_type()) : std::nullopt;
  if (!type) return std::nullopt;
  Recorded recorded;
  recorded.tensor.name = proto->name();
  recorded.tensor.type = *type;
  for (const std::int64_t extent : proto->dims()) recorded.tensor.shape.push_back(Extent{extent});
  const std::string& raw = proto->raw_data();
  if (static_cast<std::int64_t>(raw.size()) != Bytes(recorded.tensor)) return std::nullopt;
  recorded.values = FromBytes(recorded.tensor, std::as_bytes(std::span(raw)));
  return recorded;
}

bool Close(double got, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return got == expected;
  return std::fabs(got - expected) <= absolute + relative * std::fabs(expected);
}

std::string Difference(const TensorValues& got, const Recorded& expected, double relative,
                       double absolute) {
  const TensorValues& values = expected.values;
  if (got.floats.size() != values.floats.size() || got.integers.size() != values.integers.size())
    return fmt::format("{} has {} elements, not {}", expected.tensor.name,
                       got.floats.size() + got.integers.size(),
                       values.floats.size() + values.integers.size());
  for (std::size_t i = 0; i < values.integers.size(); ++i)
    if (got.integers[i] != values.integers[i])
      return fmt::format("{}: element {} is {}, not {}", expected.tensor.name, i, got.integers[i],
                         values.integers[i]);
  // What is recorded was rounded to its type after every step.
  const double rounding = 8 * UnitRoundoff(expected.tensor.type);
  relative = std::max(relative, rounding);
  double largest = 0;
  for (const double x : values.floats)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  absolute = std::max(absolute, rounding * largest);  // terms that cancel
  for (std::size_t i = 0; i < values.floats.size(); ++i)
    if (!Close(got.floats[i], values.floats[i], relative, absolute))
      return fmt::format("{}: element {} is {}, not {}", expected.tensor.name, i, got.floats[i],
                         values.floats[i]);
  return "";
}

// Symbolic dimensions as they are in the recorded inputs.
ImportOptions DimsOf(const std::string& folder) {
  ImportOptions options;
  const auto loaded = LoadOnnx(folder + "/model.onnx");
  for (std::size_t i = 0; loaded && i < loaded->inputs.size(); ++i) {
    const OnnxValue& value = loaded->inputs[i];
    const auto input = ReadProto(fmt::format("{}/input_{}.pb", folder, i));
    if (!input || static_cast<std::size_t>(input->dims_size()) != value.dims.size()) continue;
    for (std::size_t d = 0; d < value.dims.size(); ++d) {
      const std::string& symbol = value.dims[d].symbol;
      if (value.dims[d].value < 1)
        options.dims[symbol.empty() ? fmt::format("{}:{}", value.name, d) : symbol] =
            input->dims(static_cast<int>(d));
    }
  }
  return options;
}

// Runs the imported model; fills "values" and "detail".
void Compare(const std::string& folder, const ImportedModel& model, double relative,
             double absolute, nlohmann::json& answer) {
  answer["values"] = "not run";
  NamedValues inputs;
  const auto loaded = LoadOnnx(folder + "/model.onnx");
  for (std::size_t i = 0; i < loaded->inputs.size(); ++i)
    if (auto input = ReadRecorded(fmt::format("{}/input_{}.pb", folder, i)))
      inputs[loaded->inputs[i].name] = std::move(input->values);
  for (const bool canonical : {false, true}) {
    const auto outputs = RunImported(folder + "/model.onnx", model, inputs, {canonical});
    if (!outputs) {
      answer["detail"] = outputs.error().message;
      return;
    }
    for (std::size_t i = 0; i < loaded->outputs.size(); ++i) {
      const auto expected = ReadRecorded(fmt::format("{}/output_{}.pb", folder, i));
      const auto made = outputs->find(loaded->outputs[i].name);
      if (!expected || made == outputs->end()) continue;
      answer["values"] = "match";
      const std::string text = Difference(made->second, *expected, relative, absolute);
      if (text.empty()) continue;
      answer["values"] = "differ";
      answer["detail"] = (canonical ? "canonical: " : "") + text;
      return;
    }
  }
}

void RunCase(const std::string& folder, double relative, double absolute) {
  nlohmann::json answer = {{"case", folder}};
  const auto model = ImportOnnx(folder + "/model.onnx", DimsOf(folder));
  if (!model) {
    answer["status"] = "error";
    answer["detail"] = model.error().message;
  } else {
    answer["status"] = "imported";
    answer["nodes"] = model->nodes;
    answer["tunable"] = model->tunable;
    for (const LeftOutNode& node : model->left_out)
      answer["left_out"].push_back({node.op, node.reason});
    if (model->left_out.empty()) Compare(folder, *model, relative, absolute, answer);
  }
  std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

}  // namespace
}  // namespace kindred

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: import_evaluate LIST\n";
    return 2;
  }
  std::ifstream list(argv[1]);
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string folder;
    double relative = 0, absolute = 0;
    words >> folder >> relative >> absolute;
    const pid_t child = fork();
    if (child == 0) {
      alarm(kindred::kSeconds);
      kindred::RunCase(folder, relative, absolute);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) continue;
    const bool slow = WTERMSIG(status) == SIGALRM;
    const nlohmann::json answer = {{"case", folder},
                                   {"status", slow ? "timeout" : "crash"},
                                   {"detail", strsignal(WTERMSIG(status))}};
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}
