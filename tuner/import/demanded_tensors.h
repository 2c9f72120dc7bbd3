// Which floats of a model the import reads because shapes depend on them.
#pragma once

#include <map>
#include <string>

namespace google::protobuf {
class Message;
}
namespace onnx {
class ModelProto;
}

namespace kindred {

// Initializers, and the attributes of Constant nodes (their tensors, or where they are lists
// themselves), in the model's graph, bodies and functions, that are an operator's shape argument,
// directly or through views. With the reason, for people.
std::map<const google::protobuf::Message*, std::string> DemandedTensors(
    const onnx::ModelProto& model);

}  // namespace kindred
