// One convolution out of ten models, each of which writes it in its own way, is one task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "schedules/text_form.h"
#include "tests/import/text_model.h"

namespace kindred {
namespace {

struct Form {
  const char* what;
  const char* graph;
  int opset = 17;
};

// All inputs but the first are weights. 3x3, 16 to 32 channels, padded by 1, bias and ReLU, on a
// 20x20 image.
const Form kForms[] = {
    {"plain",
     "g (float[1,16,20,20] x, float[32,16,3,3] w, float[32] b) => (float[1,32,20,20] y) {"
     " c = Conv <pads = [1,1,1,1], kernel_shape = [3,3]> (x, w, b) y = Relu(c) }"},
    {"an old operator set, other names",
     "net (float[1,16,20,20] data, float[32,16,3,3] k0, float[32] k1) => (float[1,32,20,20] out) {"
     " conv0 = Conv <pads = [1,1,1,1]> (data, k0, k1) out = Relu(conv0) }",
     7},
    {"automatic padding",
     "g (float[1,16,20,20] x, float[32,16,3,3] w, float[32] b) => (float[1,32,20,20] y) {"
     " c = Conv <auto_pad = \"SAME_UPPER\"> (x, w, b) y = Relu(c) }"},
    {"the bias added behind",
     "g (float[1,16,20,20] x, float[32,16,3,3] w, float[32,1,1] b) => (float[1,32,20,20] y) {"
     " c = Conv <pads = [1,1,1,1]> (x, w) s = Add(b, c) y = Relu(s) }"},
    {"padding as an operator",
     "g (float[1,16,20,20] x, float[32,16,3,3] w, float[32] b) => (float[1,32,20,20] y) {"
     " p = Pad <pads = [0,0,1,1,0,0,1,1]> (x) c = Conv (p, w, b) y = Relu(c) }",
     7},
    {"a normalisation folded into the weights",
     "g (float[1,16,20,20] x, float[32,16,3,3] w, float[32] s, float[32] b, float[32] m, float[32] v)"
     " => (float[1,32,20,20] y) {"
     " c = Conv <pads = [1,1,1,1]> (x, w) n = BatchNormalization(c, s, b, m, v) y = Relu(n) }"},
    {"no-ops on the way",
     "g (float[1,16,20,20] x, float[32,16,3,3] w, float[32] b) => (float[1,32,20,20] y) {"
     " i = Identity(x) c = Conv <pads = [1,1,1,1], dilations = [1,1], strides = [1,1], group = 1>"
     " (i, w, b) d = Dropout(c) y = Relu(d) }"},
    {"ReLU as a maximum",
     "g (float[1,16,20,20] x, float[32,16,3,3] w, float[32] b) => (float[1,32,20,20] y) {"
     " zero = Constant <value = float {0}> () c = Conv <pads = [1,1,1,1]> (x, w, b)"
     " y = Max(c, zero) }"},
    {"a batch that is bound",
     "g (float[n,16,20,20] x, float[32,16,3,3] w, float[32] b) => (float[n,32,20,20] y) {"
     " c = Conv <pads = [1,1,1,1]> (x, w, b) y = Relu(c) }"},
    {"in a network",
     "g (float[1,16,40,40] image, float[32,16,3,3] w, float[32] b) => (float[1,32] y) {"
     " x = MaxPool <kernel_shape = [2,2], strides = [2,2]> (image)"
     " c = Conv <pads = [1,1,1,1]> (x, w, b) r = Relu(c) p = GlobalAveragePool(r)"
     " y = Flatten(p) }"},
};

// Makes initializers of all inputs but the first.
std::string WithWeights(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 1; i < graph.input_size(); ++i) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(graph.input(i).name());
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::size_t bytes_of = sizeof(float);
    for (const auto& dim : graph.input(i).type().tensor_type().shape().dim()) {
      tensor.add_dims(dim.dim_value());
      bytes_of *= static_cast<std::size_t>(dim.dim_value());
    }
    tensor.set_raw_data(std::string(bytes_of, '\0'));
  }
  graph.mutable_input()->DeleteSubrange(1, graph.input_size() - 1);
  return model.SerializeAsString();
}

TEST(OneKey, TheSameConvolutionFromTenModels) {
  Hash128 key;
  for (const Form& form : kForms) {
    const auto model = ImportOnnx(
        WriteFile("form.onnx", WithWeights(ModelBytes(form.graph, form.opset))), {{{"n", 1}}});
    ASSERT_TRUE(model) << form.what << ": " << model.error().message;
    EXPECT_THAT(model->left_out, testing::IsEmpty()) << form.what;
    int convolutions = 0;
    for (const ImportedTask& task : model->tasks) {
      if (task.name.find("conv2d") == std::string::npos) continue;
      ++convolutions;
      if (&form == kForms) key = task.canonical.key;
      EXPECT_EQ(task.canonical.key, key) << form.what << "\n" << PrintWorkload(task.workload);
    }
    EXPECT_EQ(convolutions, 1) << form.what;
  }
}

}  // namespace
}  // namespace kindred
