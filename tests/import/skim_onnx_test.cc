// Reading model files without their weights: what is kept, and what malformed files give.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "schedules/base/seed.h"
#include "tests/import/text_model.h"
#include "tuner/import/constant.h"
#include "tuner/import/onnx_model.h"
#include "tuner/import/skim_onnx.h"

namespace kindred {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;

void Fill(TensorProto& tensor, const std::string& name, std::int64_t count) {
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(count);
  tensor.mutable_raw_data()->assign(static_cast<std::size_t>(count) * 4, 'w');
}

std::string Skimmed(const std::string& bytes) {
  const SkimmedFile file = SkimOnnx(WriteFile("skim.onnx", bytes));
  EXPECT_EQ(file.problem, 0);
  EXPECT_EQ(file.size, bytes.size());
  EXPECT_TRUE(file.bytes);
  return file.bytes.value_or("");
}

// In every place where a tensor can stand, the large one loses its data and the small one stays.
TEST(SkimOnnx, DropsLargeTensorsAtAnyDepth) {
  const auto make = [](bool with_data) {
    onnx::ModelProto model;
    const auto add = [&](TensorProto& large, TensorProto& small) {
      Fill(large, "large", kLargestConstant + 1);
      Fill(small, "small", 7);
      if (!with_data) large.clear_raw_data();
    };
    auto& graph = *model.mutable_graph();
    model.set_producer_name("someone");
    add(*graph.add_initializer(), *graph.add_initializer());
    auto& sparse = *graph.add_sparse_initializer();
    add(*sparse.mutable_values(), *sparse.mutable_indices());
    auto& node = *graph.add_node();
    node.set_op_type("If");
    node.add_input("large");
    auto& lists = *node.add_attribute();
    add(*lists.add_tensors(), *lists.add_tensors());
    add(*lists.mutable_t(), *lists.add_sparse_tensors()->mutable_values());
    auto& body = *node.add_attribute()->mutable_g();
    auto& inner = *body.add_node()->add_attribute()->add_graphs();
    add(*inner.add_initializer(), *inner.add_initializer());
    inner.set_name("inner");
    auto& function = *model.add_functions();
    auto& constant = *function.add_node()->add_attribute();
    add(*constant.mutable_t(), *constant.add_tensors());
    auto& start = *model.add_training_info()->mutable_initialization();
    add(*start.add_initializer(), *start.add_initializer());
    return model.SerializeAsString();
  };
  EXPECT_EQ(Skimmed(make(true)), make(false));
}

TEST(SkimOnnx, DropsEveryKindOfData) {
  for (int kind = 0; kind < 7; ++kind) {
    onnx::ModelProto model;
    auto& tensor = *model.mutable_graph()->add_initializer();
    tensor.add_dims(kLargestConstant / 256);
    tensor.add_dims(257);
    tensor.set_name("behind");
    onnx::ModelProto empty = model;
    switch (kind) {
      case 0: tensor.add_float_data(1); break;
      case 1: tensor.add_int32_data(-1); break;
      case 2: tensor.add_string_data("text"); break;
      case 3: tensor.add_int64_data(-1); break;
      case 4: tensor.set_raw_data("data"); break;
      case 5: tensor.add_double_data(1); break;
      default: tensor.add_uint64_data(1); break;
    }
    EXPECT_EQ(Skimmed(model.SerializeAsString()), empty.SerializeAsString()) << kind;
  }
}

// Field by field: a tag and its value.
std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string Bytes(int field, const std::string& value) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 2) + Varint(value.size()) + value;
}

TEST(SkimOnnx, ReadsAnyOrderOfFields) {
  const std::string dims = Bytes(1, Varint(1 << 9) + Varint(1 << 9));  // packed
  const std::string data = Bytes(9, std::string(100, 'w')), name = Bytes(8, "n");
  const auto model = [](const std::string& tensor) { return Bytes(7, Bytes(5, tensor)); };
  EXPECT_EQ(Skimmed(model(data + name + dims)), model(name + dims));
  // Element by element, as old writers do.
  std::string elements;
  for (int i = 0; i < 50; ++i) elements += Varint(4 << 3 | 5) + "wwww";
  EXPECT_EQ(Skimmed(model(elements + dims + elements)), model(dims));
  // Unknown fields stay, groups too; a group's number tells its end.
  const std::string group = Varint(50 << 3 | 3) + Bytes(1, "x") + Varint(50 << 3 | 4);
  EXPECT_EQ(Skimmed(group + model(dims + group) + Varint(60 << 3) + Varint(5)),
            group + model(dims + group) + Varint(60 << 3) + Varint(5));
  // Impossible dimensions are for the reader to report.
  const std::string impossible = Bytes(1, Varint(~std::uint64_t{0}));
  EXPECT_EQ(Skimmed(model(data + impossible)), model(data + impossible));
}

TEST(SkimOnnx, RefusesWhatIsMalformed) {
  std::string deep;
  for (int i = 0; i < 300; ++i) deep = Bytes(1, Bytes(5, Bytes(6, deep)));
  for (const std::string& bytes :
       {Bytes(7, Bytes(5, "x")), std::string("\x3a\x7f"), std::string("\x3a"), Varint(7 << 3 | 6),
        Varint(50 << 3 | 3), Varint(50 << 3 | 3) + Varint(51 << 3 | 4), std::string(1, '\0'),
        std::string(20, '\xff'), Bytes(7, deep), Varint(60 << 3 | 1) + "1234567"}) {
    EXPECT_FALSE(SkimOnnx(WriteFile("skim.onnx", bytes)).bytes) << testing::PrintToString(bytes);
    onnx::ModelProto model;
    EXPECT_FALSE(model.ParseFromString(bytes)) << testing::PrintToString(bytes);
  }
  EXPECT_NE(SkimOnnx(testing::TempDir()).problem, 0);
  EXPECT_NE(SkimOnnx(testing::TempDir() + "no_such_file").problem, 0);
}

// Whatever bytes protobuf takes, skimming takes, and the other way round.
TEST(SkimOnnx, AgreesWithProtobuf) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(
      ModelBytes("g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}> "
                 "{ c = Constant <value = int64[2] {1, 2}> () y = MatMul(x, w) }")));
  Fill(*model.mutable_graph()->add_initializer(), "large", kLargestConstant + 1);
  const std::string bytes = model.SerializeAsString();
  Random random(11);
  int both = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    // Not within the large tensor's data, where nothing depends on it.
    const auto place = [&] {
      const std::uint64_t at = random.Below(300);
      return at < 200 ? at : bytes.size() - (at - 199);
    };
    for (int k = 0; k <= i % 3; ++k) damaged[place()] = static_cast<char>(random.Below(256));
    onnx::ModelProto whole, skimmed;
    const SkimmedFile file = SkimOnnx(WriteFile("skim.onnx", damaged));
    const bool parsed = whole.ParseFromString(damaged);
    ASSERT_EQ(file.bytes && skimmed.ParseFromString(*file.bytes), parsed)
        << testing::PrintToString(damaged.substr(0, 300));
    both += parsed;
  }
  EXPECT_GT(both, 30);
}

// 64 MiB of weights.
TEST(LargeModels, AreReadWithoutTheirWeights) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(
      ModelBytes("g (float[4,4096] x, float[4096,4096] w) => (float[4,4096] y) "
                 "{ y = MatMul(x, w) }")));
  auto& w = *model.mutable_graph()->add_initializer();
  Fill(w, "w", 4096);
  w.add_dims(4096);
  w.mutable_raw_data()->assign(std::size_t{1} << 26, 'w');
  const std::string path = WriteFile("large.onnx", model.SerializeAsString());
  const SkimmedFile file = SkimOnnx(path);
  ASSERT_TRUE(file.bytes);
  EXPECT_GT(file.size, std::uint64_t{1} << 26);
  EXPECT_LT(file.bytes->size(), 500u);
  const auto imported = ImportOnnx(path, {});
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->tasks.size(), 1u);
  // Cut off in the middle of the weights.
  std::filesystem::resize_file(path, file.size / 2);
  const auto cut = ImportOnnx(path, {});
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("truncated"));
  std::filesystem::remove(path);
}

// Beyond 2 GiB, without a byte on disk.
TEST(LargeModels, HaveALimit) {
  const std::string path = WriteFile("huge.onnx", "");
  std::filesystem::resize_file(path, (std::uint64_t{1} << 31) + 1);
  const auto imported = ImportOnnx(path, {});
  ASSERT_FALSE(imported);
  EXPECT_THAT(imported.error().message, HasSubstr("2 GiB"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kindred
