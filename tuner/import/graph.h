// The import's own graph: values, and units of computation over them.
//
// A value is a tensor. Values that only reinterpret another's contiguous memory (Reshape, Squeeze,
// ...) name it as their `storage`. A unit is what one model node computes, as stages of the
// workload language in which Stage::tensor and the index of a kLoad are *value ids* of this graph;
// a node whose outputs can be computed apart (Split) is several units. Units stand in topological
// order.
//
// A fused operator is expanded into nodes of simpler ones, which have it as their origin. The nodes
// of a loop's or a branch's body stand in a scope of their own: no unit of one scope is fused with
// one of another.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schedules/workload.h"
#include "tuner/import/constant.h"
#include "tuner/import/onnx_model.h"

namespace kindred {

enum class ValueKind {
  kInput,     // the model's input
  kWeight,    // known ahead of time, data not looked at
  kKnown,     // known, small, data at hand: `constant`
  kPrepared,  // computed ahead of time, by a unit, from weights
  kComputed,  // made by a unit while the model runs
};

struct GraphValue {
  std::string name;
  int element_type = 0;  // onnx::TensorProto::DataType, 0 if unknown
  DataType type = DataType::kF32;
  bool has_type = false;   // `type` is valid: the workload language has it
  bool has_shape = false;  // `shape` is valid
  Shape shape;
  ValueKind kind = ValueKind::kComputed;
  ConstantPtr constant;  // kKnown; for a kWeight made by ConstantOfShape, its fill
  int initializer = -1;  // its index in OnnxModel::initializers
  int storage = -1;      // whose memory this is; its own id if not a view
  int unit = -1;  // that computes it, for kPrepared and kComputed; -1: nothing does (see `missing`)
  std::string missing;        // why it has no type or shape, for people
  bool invented = false;      // the model has no such value; `name` is ours
  bool stripped = false;      // a weight whose data were left out of the file (strip.h)
  bool model_output = false;  // the memory is read after the model's run
};

// Known before the model runs.
inline bool KnownAhead(ValueKind kind) {
  return kind == ValueKind::kKnown || kind == ValueKind::kWeight || kind == ValueKind::kPrepared;
}

enum class UnitKind {
  kContraction,  // sums of products
  kWindow,       // reductions over sliding windows: pooling, LRN
  kRow,          // reductions, softmax, normalisations
  kPointwise,    // every element from elements of the same place, up to broadcasting
  kMovement,     // elements only change place: transpose, slice, concat, pad, gather
  kControl,      // If, Loop, Scan: runs bodies, whose units stand in scopes of their own
  kLeftOut,      // see `reason`
};

// An input tensor whose elements are used as an index, in [low, high).
struct IndexUse {
  int value = -1;
  std::int64_t low = 0, high = 0;
};

// What a floating value stands for: scale * (value - zero_point), of 8-bit integers.
struct Dequantized {
  int value = -1;
  int scale = -1;       // f32, f16 or bf16; -1: 1
  int zero_point = -1;  // of the integers' type; -1: 0
  int axis = -1;        // the dimension that both lie along; -1: single numbers
};

struct GraphNode {
  OnnxNode node;
  int origin = -1;   // the node of the model (or body) that it is or was expanded from
  int scope = 0;     // 0: the model's own graph
  double times = 1;  // runs in one run of the model
};

struct Unit {
  int node = -1;  // index into Graph::nodes
  int scope = 0;  // of its node
  UnitKind kind = UnitKind::kLeftOut;
  bool prepared = false;      // all it reads is known ahead of time
  std::vector<Stage> stages;  // empty for kControl, kLeftOut
  std::vector<int> values;    // made: the stages' tensors (without stages: the node's outputs)
  std::vector<int> reads;     // storage ids of values read from elsewhere, distinct
  std::vector<IndexUse> index_uses;
  std::string reason;
  std::vector<int> also;  // further nodes folded into this unit (BatchNormalization)
};

// A tensor that a Scan reads or writes a slice of in each turn.
struct ScannedAxis {
  std::int64_t axis = 0;
  bool reverse = false;
};

// An If, Loop or Scan, and the bodies that it runs. Lists hold value ids, -1 where none is given.
struct ControlNode {
  struct Body {
    int scope = 0;
    std::vector<int> inputs, outputs;  // in the order of the body's graph
  };
  int node = -1;  // index into Graph::nodes
  int scope = 0;  // where it stands
  std::vector<int> inputs, outputs;
  std::vector<Body> bodies;                            // of an If: then, else
  std::vector<ScannedAxis> scan_inputs, scan_outputs;  // of a Scan: the last ones of each list
};

struct Graph {
  std::deque<GraphNode> nodes;  // references stay valid while nodes are added
  std::vector<GraphValue> values;
  std::vector<Unit> units;
  std::vector<ControlNode> controls;
  std::vector<std::string> unused;         // nodes whose results nothing reads
  std::map<int, Dequantized> dequantized;  // by value

  const GraphValue& StorageOf(int value) const {
    return values[static_cast<std::size_t>(values[static_cast<std::size_t>(value)].storage)];
  }
};

// Calls `visit(load)` for every kLoad in the stages' bodies.
void VisitLoads(const Stage& stage, const std::function<void(const Expr&)>& visit);

}  // namespace kindred
