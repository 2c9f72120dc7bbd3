// Data beside the model: which are read, and hostile descriptions of where they lie.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>

#include "tests/import/text_model.h"
#include "tuner/import/external_data.h"

namespace kindred {
namespace {

using onnx::TensorProto;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

using Entries = std::vector<std::pair<std::string, std::string>>;

// y = x in the shape of an external tensor of two integers.
Result<ImportedModel> ImportReshape(const Entries& entries) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(
      ModelBytes("g (float[4] x, int64[2] to) => (float[n,m] y) { y = Reshape(x, to) }")));
  auto& to = *model.mutable_graph()->add_initializer();
  to.set_name("to");
  to.set_data_type(TensorProto::INT64);
  to.add_dims(2);
  to.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *to.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return ImportOnnx(WriteFile("external.onnx", model.SerializeAsString()), {});
}

// 8 bytes of something else, then [2, 2].
std::string DataFile() {
  const std::int64_t numbers[] = {77, 2, 2};
  return fs::path(WriteFile("data.bin",
                            std::string(reinterpret_cast<const char*>(numbers), sizeof numbers)))
      .filename();
}

std::string MessageOf(const Entries& entries) {
  const auto model = ImportReshape(entries);
  EXPECT_FALSE(model);
  if (model) return "";
  EXPECT_EQ(ExitCode(model.error()), 2);
  EXPECT_THAT(model.error().message, HasSubstr("'to'"));
  return model.error().message;
}

TEST(ExternalIntegers, AreRead) {
  const std::string file = DataFile();
  for (const Entries& more : {Entries{{"length", "16"}}, Entries{}, Entries{{"checksum", "?"}}}) {
    Entries entries = {{"location", file}, {"offset", "8"}};
    entries.insert(entries.end(), more.begin(), more.end());
    const auto model = ImportReshape(entries);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->views.at("y"), "x");
  }
}

TEST(ExternalPlaces, ThatCannotBeAreErrors) {
  const std::string file = DataFile();
  for (const char* number :
       {"-8", "+8", "abc", "", "8x", " 8", "0x8", "99999999999999999999", "-9223372036854775808"}) {
    EXPECT_THAT(MessageOf({{"location", file}, {"offset", number}}),
                AllOf(HasSubstr("offset"), HasSubstr("no number of bytes")));
    EXPECT_THAT(MessageOf({{"location", file}, {"offset", "8"}, {"length", number}}),
                AllOf(HasSubstr("length"), HasSubstr("no number of bytes")));
  }
  for (const char* offset : {"9", "24", "25", "9223372036854775807"})
    EXPECT_THAT(MessageOf({{"location", file}, {"offset", offset}}), HasSubstr("too short"));
  EXPECT_THAT(MessageOf({{"location", file}, {"length", "15"}}), HasSubstr("too short"));
  EXPECT_THAT(MessageOf({{"offset", "8"}}), HasSubstr("without a location"));
  EXPECT_THAT(MessageOf({{"location", "no_such_file"}}), HasSubstr("cannot be read"));
  EXPECT_THAT(MessageOf({{"location", "../" + file}}), HasSubstr("outside the model's folder"));
  EXPECT_THAT(MessageOf({{"location", "/etc/hostname"}}), HasSubstr("outside the model's folder"));
}

// Not waited for.
TEST(ExternalPlaces, AreFiles) {
  const std::string pipe = testing::TempDir() + "kindred_pipe";
  fs::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(MessageOf({{"location", "kindred_pipe"}}), HasSubstr("cannot be read"));
  EXPECT_THAT(MessageOf({{"location", "."}}), HasSubstr("cannot be read"));
  const auto model = ImportOnnx(pipe, {});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("cannot be read"));
  fs::remove(pipe);
}

TEST(ExternalData, AreReadFromSeveralFiles) {
  const fs::path folder(testing::TempDir());
  ExternalData data((folder / "model.onnx").string());
  std::vector<OnnxTensor> tensors;
  for (const char* name : {"kindred_a.bin", "kindred_b.bin"}) {
    std::ofstream file(folder / name, std::ios::binary);
    for (int i = 0; i < 10; ++i) {
      const std::int32_t number = static_cast<std::int32_t>(tensors.size());
      file.write(reinterpret_cast<const char*>(&number), sizeof number);
      OnnxTensor tensor;
      tensor.name = "t";
      tensor.element_type = TensorProto::INT32;
      tensor.external_file = name;
      tensor.external_offset = 4 * i;
      tensor.external_length = 4;
      tensors.push_back(std::move(tensor));
    }
  }
  // Forwards, backwards, and from one file to the other; errors leave it usable.
  OnnxTensor beyond = tensors[0];
  beyond.external_offset = 40;
  for (const std::size_t i : {0, 1, 9, 3, 10, 19, 2, 12}) {
    EXPECT_FALSE(data.Read(beyond));
    const auto read = data.Read(tensors[i]);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ((*read)->integers, std::vector<std::int64_t>{static_cast<std::int64_t>(i)});
  }
}

}  // namespace
}  // namespace kindred
