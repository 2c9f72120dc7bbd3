// Import: a model file becomes tunable subgraphs.
//
// A model is read without its weights' data (only constants that shapes depend on are read), its
// shapes are inferred, shape arithmetic is folded, views and no-ops are removed, and what is left -
// the compute nodes - is partitioned into convex fused subgraphs, each a Workload. Subgraphs with
// one key are one ImportedTask.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedules/canonical.h"
#include "schedules/workload.h"

namespace kindred {

// Weights computed once, ahead of time, from the model's own weights, e.g. batch normalisation
// folded into a convolution: a small workload in text form whose inputs are the model's weights.
struct WeightPreparation {
  std::string produces;                       // tensor name in the subgraph's workload
  std::string text;                           // text form of the preparation
  std::map<std::string, std::string> inputs;  // tensor name in `text` -> value name in the model
};

// One place in the model where a task's workload stands.
struct SubgraphUse {
  std::vector<std::string> nodes;  // names (or outputs) of the model's nodes it covers
  std::map<std::string, std::string>
      tensors;  // tensor name in the workload -> value name in the model
  std::vector<WeightPreparation> preparations;
  // Runs of this place in one run of the model: 1, or in the body of a loop its stated trip count.
  double times = 1;
  int scope = 0;  // the body of a ControlFlow that it stands in; 0: the model itself
};

// An If, Loop or Scan. It computes nothing itself: whoever runs the model runs, for each turn, the
// subgraphs of a body and hands the body's outputs on, as ONNX defines the operator.
struct ControlFlow {
  struct Body {
    int scope = 0;
    std::vector<std::string> inputs, outputs;  // value names, in the order of the body's graph
  };
  // A tensor that a Scan reads or writes a slice of in each turn.
  struct Scanned {
    std::vector<std::int64_t> shape;  // of the whole tensor
    std::int64_t axis = 0;
    bool reverse = false;
  };
  std::string node, op;
  int scope = 0;                                   // where it stands itself
  std::vector<std::string> inputs, outputs;        // value names, "" where none is given
  std::vector<Body> bodies;                        // of an If: then, else
  std::vector<Scanned> scan_inputs, scan_outputs;  // of a Scan: the last ones of each list
};

struct ImportedTask {
  std::string name;   // for people: "conv2d 3x3 64->64 56x56 + relu"
  Workload workload;  // names of the first use
  CanonicalWorkload canonical;
  std::vector<SubgraphUse> uses;
  // Places in the model.
  int count() const { return static_cast<int>(uses.size()); }
  // Runs in one run of the model.
  double runs() const;
};

struct LeftOutNode {
  std::string node, op, reason;
};

// A value whose data the import computed (folded constants): what its users would read from the
// model otherwise.
struct FoldedValue {
  DataType type = DataType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<double> data;  // integers up to 2^53 exact; one element where all are equal
};

struct ImportedModel {
  std::string name;                          // file name without directories and ending
  std::map<std::string, std::int64_t> dims;  // its symbolic dimensions, as bound
  int nodes = 0;                             // compute nodes after folding and view removal
  int tunable = 0;                           // of these, how many stand in a task
  std::vector<LeftOutNode> left_out;
  std::vector<std::string>
      unused;  // nodes that no output of the model depends on; not among `nodes`
  std::vector<ImportedTask> tasks;
  std::vector<ControlFlow> controls;
  std::map<std::string, std::string>
      views;  // value name -> the value whose contiguous memory it is
  std::map<std::string, FoldedValue>
      folded;  // read by some task as a weight, but no tensor of the model
  std::vector<std::string> inputs, outputs;  // names of the model's, in order
};

struct ImportOptions {
  // Binds symbolic dimensions by name, e.g. {"batch", 1}. One that stays unbound is an error;
  // names that the model does not have are left to the caller (ImportedModel::dims says which
  // were used).
  std::map<std::string, std::int64_t> dims;
  // Runs of a loop's body for one run of the loop, where the model does not fix their number.
  double trips = 1;
  // Instances of the model, each with weights and inputs of its own, that run as one: every
  // subgraph becomes a batched or grouped one (NetFuse, EuroMLSys 2021).
  int instances = 1;
};

// Errors: unreadable, truncated or inconsistent model, with the node's name; unbound dimensions.
Result<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options);

// A .kd file as a model of one task.
Result<ImportedModel> ImportWorkloadFile(const std::string& path);

}  // namespace kindred
