// Stripped models: the import finds the same in them, and no weight is left.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <nlohmann/json.hpp>

#include "schedules/base/seed.h"
#include "tests/import/text_model.h"
#include "tuner/import/strip.h"

namespace kindred {
namespace {

using onnx::TensorProto;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file of its own for each call.
std::string FreshPath() { return WriteFile("stripped.onnx", ""); }

Result<StripReport> Strip(const onnx::ModelProto& model, std::string& out) {
  out = FreshPath();
  return StripOnnx(WriteFile("whole.onnx", model.SerializeAsString()), out);
}

onnx::ModelProto Parse(const std::string& graph) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ModelBytes(graph)));
  return model;
}

// --- the import of both is the same

struct Found {
  std::vector<std::tuple<std::string, std::string, int>> tasks;  // key, name, places
  std::vector<std::string> left_out, unused;
  int nodes = 0, tunable = 0;
  bool operator==(const Found&) const = default;
};

void PrintTo(const Found& found, std::ostream* out) {
  for (const auto& [key, name, count] : found.tasks)
    *out << key << " " << name << " x" << count << "\n";
  for (const std::string& node : found.left_out) *out << node << "\n";
  *out << found.tunable << " of " << found.nodes;
}

Found FindIn(const std::string& path, const std::map<std::string, std::int64_t>& dims) {
  ImportOptions options;
  options.dims = dims;
  const auto model = ImportOnnx(path, options);
  EXPECT_TRUE(model) << model.error().message;
  Found found;
  if (!model) return found;
  for (const ImportedTask& task : model->tasks)
    found.tasks.emplace_back(task.canonical.key.Hex(), task.name, task.count());
  for (const LeftOutNode& node : model->left_out)
    found.left_out.push_back(node.node + ": " + node.reason);
  found.unused = model->unused;
  found.nodes = model->nodes;
  found.tunable = model->tunable;
  return found;
}

class Stripped : public testing::TestWithParam<std::string> {};

TEST_P(Stripped, IsImportedAlike) {
  const fs::path path = fs::path(KINDRED_TEST_MODELS) / (GetParam() + ".onnx");
  std::map<std::string, std::int64_t> dims;
  if (fs::path record = path; fs::exists(record.replace_extension(".json"))) {
    std::ifstream file(record);
    dims = nlohmann::json::parse(file).at("dims").get<std::map<std::string, std::int64_t>>();
  }
  const std::string out = FreshPath();
  const auto report = StripOnnx(path.string(), out);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->bytes_after, static_cast<std::int64_t>(fs::file_size(out)));
  EXPECT_EQ(FindIn(out, dims), FindIn(path.string(), dims));
  // Stripping what is stripped changes nothing.
  const std::string again = FreshPath();
  ASSERT_TRUE(StripOnnx(out, again));
  EXPECT_EQ(ReadFile(again), ReadFile(out));
}

std::vector<std::string> Models() {
  std::vector<std::string> names;
  const fs::path folder(KINDRED_TEST_MODELS);
  for (const fs::path& at : {folder, folder / "tiny"})
    for (const auto& entry : fs::directory_iterator(at))
      if (entry.path().extension() == ".onnx" && entry.path().stem() != "truncated")
        names.push_back((fs::relative(at, folder) / entry.path().stem()).lexically_normal());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, Stripped, testing::ValuesIn(Models()), [](const auto& model) {
  std::string name = model.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

// --- no weight is left

constexpr char kMark[] = "SECR";  // the bytes of a float

void FillMarked(TensorProto& tensor, std::initializer_list<std::int64_t> shape, bool raw) {
  tensor.set_data_type(TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
    count *= extent;
  }
  float value;
  std::memcpy(&value, kMark, sizeof value);
  for (; count > 0; --count) {
    if (raw) {
      tensor.mutable_raw_data()->append(kMark, sizeof value);
    } else {
      tensor.add_float_data(value);
    }
  }
}

TEST(StrippedData, AreGoneWhereverTheyStood) {
  onnx::ModelProto model = Parse(
      "g (float[2,2] x, float[2,2] w, bool b) => (float[2,2] y) "
      "{ a = MatMul(x, w) c = Constant <value = float[1] {1}> () "
      "d = Constant <value_floats = [1.0, 2.0]> () e = Add(a, c) f = Add(e, d) h = Add(f, v) "
      "i = DequantizeLinear(q, s) k = Add(h, i) y = com.example.Forest(k) }");
  auto& graph = *model.mutable_graph();
  auto& w = *graph.add_initializer();
  w.set_name("w");
  FillMarked(w, {2, 2}, true);
  auto& v = *graph.add_initializer();
  v.set_name("v");
  FillMarked(v, {2}, false);
  auto& q = *graph.add_initializer();
  q.set_name("q");
  q.set_data_type(TensorProto::INT8);
  q.add_dims(4);
  q.set_raw_data(kMark);
  auto& s = *graph.add_initializer();
  s.set_name("s");
  s.set_data_type(TensorProto::FLOAT);
  s.add_float_data(0.5F);
  float value;
  std::memcpy(&value, kMark, sizeof value);
  for (auto& node : *graph.mutable_node()) {
    node.set_doc_string("secret of a node");
    if (node.output(0) == "c") {
      node.mutable_attribute(0)->mutable_t()->Clear();
      FillMarked(*node.mutable_attribute(0)->mutable_t(), {2, 2}, true);
    }
    if (node.output(0) == "d")
      for (float& x : *node.mutable_attribute(0)->mutable_floats()) x = value;
    if (node.op_type() == "Forest") {
      auto& splits = *node.add_attribute();
      splits.set_name("splits");
      splits.set_type(onnx::AttributeProto::FLOATS);
      for (int i = 0; i < 40; ++i) splits.add_floats(value);
      auto& blob = *node.add_attribute();
      blob.set_name("blob");
      blob.set_type(onnx::AttributeProto::STRING);
      for (int i = 0; i < 100; ++i) blob.mutable_s()->append(kMark);
      auto& body = *node.add_attribute();
      body.set_name("body");
      body.set_type(onnx::AttributeProto::GRAPH);
      auto& inner = *body.mutable_g()->add_initializer();
      inner.set_name("inner");
      FillMarked(inner, {3}, true);
      body.mutable_g()->set_doc_string("secret of a body");
    }
  }
  auto& sparse = *graph.add_sparse_initializer();
  sparse.mutable_values()->set_name("sparse");
  FillMarked(*sparse.mutable_values(), {2}, true);
  sparse.add_dims(8);
  auto& function = *model.add_functions();
  function.set_name("Layer");
  function.set_domain("com.example");
  auto& constant = *function.add_node();
  constant.set_op_type("Constant");
  constant.add_output("t");
  auto& attribute = *constant.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  FillMarked(*attribute.mutable_t(), {5}, true);
  // Defaults of its attributes are in a field that libonnx 1.12 does not know.
  onnx::AttributeProto table, slope;
  table.set_name("table");
  table.set_type(onnx::AttributeProto::TENSOR);
  FillMarked(*table.mutable_t(), {5}, true);
  slope.set_name("slope");
  slope.set_f(0.25F);
  slope.set_doc_string("secret of an attribute");
  for (const auto& one : {table, slope})
    function.mutable_unknown_fields()->AddLengthDelimited(11, one.SerializeAsString());
  function.mutable_unknown_fields()->AddLengthDelimited(14, "secret of a function");
  FillMarked(*model.add_training_info()->mutable_initialization()->add_initializer(), {5}, true);
  auto& metadata = *model.add_metadata_props();
  metadata.set_key("owner");
  metadata.set_value("secret of the metadata");
  model.set_doc_string("secret of the model");
  graph.set_doc_string("secret of the graph");
  // A field of a later version of the format.
  model.mutable_unknown_fields()->AddLengthDelimited(77, "secret of the future");
  graph.mutable_node(0)->mutable_unknown_fields()->AddLengthDelimited(9, "secret of a node");
  // Larger than what the import looks at, and in a field that comes before its dimensions.
  auto& large = *graph.add_initializer();
  large.set_name("large");
  FillMarked(large, {1 << 10, 1 << 7}, true);

  std::string out;
  const auto report = Strip(model, out);
  ASSERT_TRUE(report) << report.error().message;
  const std::string bytes = ReadFile(out);
  EXPECT_THAT(bytes, Not(HasSubstr(kMark)));
  EXPECT_THAT(bytes, Not(HasSubstr("secret")));
  EXPECT_LT(bytes.size(), 2500u);
  EXPECT_GT(report->bytes_before, 500000);
  EXPECT_EQ(report->kept(), 1);
  for (const StrippedTensor& tensor : report->tensors) {
    EXPECT_EQ(tensor.kept, tensor.name == "s") << tensor.name;
    EXPECT_EQ(tensor.reason, tensor.kept ? "a single number" : "");
  }
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(bytes));
  EXPECT_EQ(read.graph().initializer(0).name(), "w");
  EXPECT_EQ(read.graph().initializer(0).dims_size(), 2);
  EXPECT_EQ(read.graph().initializer(0).data_location(), TensorProto::EXTERNAL);
  const auto& younger = read.functions(0).unknown_fields();
  ASSERT_EQ(younger.field_count(), 2);
  onnx::AttributeProto kept;
  ASSERT_TRUE(kept.ParseFromString(younger.field(1).length_delimited()));
  EXPECT_EQ(kept.name(), "slope");
  EXPECT_EQ(kept.f(), 0.25F);
}

// --- what is kept

std::vector<std::string> KeptOf(const StripReport& report) {
  std::vector<std::string> kept;
  for (const StrippedTensor& tensor : report.tensors)
    if (tensor.kept) kept.push_back(tensor.name + ": " + tensor.reason);
  return kept;
}

TEST(KeptData, AreThoseThatShapesDependOn) {
  std::string out;
  const auto report = Strip(
      Parse("g (float[1,1,2,2] x) => (float[1,1,6,6] y, float[1,1,4,4] z) "
            "<float[4] scales = {1, 1, 3, 3}, float[4] w = {5, 6, 7, 8}, int64[2] axes = {2, 3}> "
            "{ same = Identity(scales) y = Resize(x, , same) "
            "twice = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () z = Resize(x, , twice) }"),
      out);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(KeptOf(*report),
              testing::UnorderedElementsAre("scales: scales of 'y' (Resize)",
                                            "twice: scales of 'z' (Resize)", "axes: integers"));
}

// Through a body's view of the outer graph, and through a function's argument.
TEST(KeptData, AreFoundAcrossBodiesAndFunctions) {
  onnx::ModelProto model = Parse(
      "g (float[1,1,2,2] x) => (float[1,1,6,6] y) "
      "<float[4] outer = {1, 1, 3, 3}, float[4] passed = {1, 1, 2, 2}, float[4] w = {1, 2, 3, 4}> "
      "{ y = com.example.Body(x) z = com.example.Scale(x, w, passed) }");
  auto& body = *model.mutable_graph()->mutable_node(0)->add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  const auto add_resize = [](onnx::NodeProto& node, const std::string& scales) {
    node.set_op_type("Resize");
    for (const std::string& input : {std::string("x"), std::string(), scales})
      node.add_input(input);
    node.add_output("r");
  };
  add_resize(*body.mutable_g()->add_node(), "outer");
  auto& function = *model.add_functions();
  function.set_name("Scale");
  function.set_domain("com.example");
  for (const char* name : {"x", "w", "by"}) function.add_input(name);
  add_resize(*function.add_node(), "by");
  std::string out;
  const auto report = Strip(model, out);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(KeptOf(*report), testing::UnorderedElementsAre("outer: scales of 'r' (Resize)",
                                                             "passed: scales of 'r' (Resize)"));
}

TEST(KeptData, AreTakenFromExternalFiles) {
  onnx::ModelProto model =
      Parse("g (float[4] x, int64[2] to) => (float[2,2] y) { y = Reshape(x, to) }");
  auto& to = *model.mutable_graph()->add_initializer();
  to.set_name("to");
  to.set_data_type(TensorProto::INT64);
  to.add_dims(2);
  to.set_data_location(TensorProto::EXTERNAL);
  const std::int64_t shape[] = {2, 2};
  const std::string data = WriteFile(
      "shape.bin", "pad" + std::string(reinterpret_cast<const char*>(shape), sizeof shape));
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>("location", fs::path(data).filename()),
        {"offset", "3"},
        {"length", "16"}}) {
    auto& entry = *to.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  std::string out;
  const auto report = Strip(model, out);
  ASSERT_TRUE(report) << report.error().message;
  fs::remove(data);
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(ReadFile(out)));
  EXPECT_EQ(read.graph().initializer(0).raw_data().size(), 16u);
  const auto imported = ImportOnnx(out, {});
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->views.at("y"), "x");
}

// --- what can go wrong

TEST(StrippedModels, SayWhatTheyLack) {
  onnx::ModelProto model = Parse(
      "g (float[1,1,2,2] x, float[4] scales) => (float[1,1,6,6] y) { y = Resize(x, , scales) }");
  auto& scales = *model.mutable_graph()->add_initializer();
  scales.set_name("scales");
  scales.set_data_type(TensorProto::FLOAT);
  scales.add_dims(4);
  scales.set_data_location(TensorProto::EXTERNAL);
  auto& location = *scales.add_external_data();
  location.set_key("location");
  location.set_value("#stripped");
  const auto imported = ImportOnnx(WriteFile("lacks.onnx", model.SerializeAsString()), {});
  ASSERT_FALSE(imported);
  EXPECT_EQ(ExitCode(imported.error()), 2);
  EXPECT_THAT(imported.error().message, AllOf(HasSubstr("'scales'"), HasSubstr("stripped")));
}

TEST(StripOnnx, DamageNeverCrashes) {
  Random random(5);
  const fs::path tiny = fs::path(KINDRED_TEST_MODELS) / "tiny";
  const std::string out = FreshPath();
  for (const char* name : {"external_data", "qdq_conv", "local_functions", "qlinear_conv"}) {
    const std::string bytes = ReadFile(tiny / (std::string(name) + ".onnx"));
    ASSERT_FALSE(bytes.empty());
    const std::string path = WriteFile("damaged.onnx", bytes);
    for (int i = 0; i < 40; ++i) {
      std::string damaged = bytes;
      for (int k = 0; k <= i % 4; ++k)
        damaged[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
      std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
      const auto report = StripOnnx(path, out);
      EXPECT_TRUE(report || !report.error().message.empty());
    }
  }
}

TEST(StripOnnx, NeverWritesOverTheModel) {
  const std::string path =
      WriteFile("own.onnx", ModelBytes("g (float[2] x) => (float[2] y) { y = Relu(x) }"));
  const std::string bytes = ReadFile(path), link = path + ".link";
  fs::remove(link);
  fs::create_symlink(path, link);
  for (const std::string& out : {path, link}) {
    const auto report = StripOnnx(path, out);
    ASSERT_FALSE(report) << out;
    EXPECT_EQ(ExitCode(report.error()), 2);
    EXPECT_THAT(report.error().message, AllOf(HasSubstr(out), HasSubstr("is the model itself")));
  }
  EXPECT_EQ(ReadFile(path), bytes);
}

TEST(StripOnnx, WritesAllOrNothing) {
  const fs::path folder = fs::path(testing::TempDir()) / "kindred_strip";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string model =
      WriteFile("whole.onnx", ModelBytes("g (float[2] x) => (float[2] y) { y = Relu(x) }"));
  const std::string out = folder / "out.onnx";
  ASSERT_TRUE(StripOnnx(model, out));
  ASSERT_TRUE(StripOnnx(model, out));  // in place of the older one
  const auto nowhere = StripOnnx(model, folder / "missing" / "out.onnx");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(ExitCode(nowhere.error()), 1);
  EXPECT_THAT(nowhere.error().message, HasSubstr("missing/out.onnx"));
  fs::create_directories(folder / "taken" / "inside");
  EXPECT_FALSE(StripOnnx(model, folder / "taken"));
  EXPECT_FALSE(StripOnnx(WriteFile("bad.onnx", "no model"), folder / "bad.onnx"));
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().filename());
  EXPECT_THAT(files, testing::UnorderedElementsAre("out.onnx", "taken"));
}

}  // namespace
}  // namespace kindred
