// Ensembles of decision trees as tensors, and the reading of the attributes of ai.onnx.ml's tree
// operators.
//
// Every tree has a line of tests (its inner nodes) and a line of leaves; `path[test, leaf]` is 1
// where the leaf lies behind the test's outcome "true", -1 behind "false", 0 where the test is not
// on its way. With outcomes of 0 and 1 the leaf reached is the one whose sum of outcome * path
// equals `trues`, the number of its tests that must be true (S. Nakandala et al., A Tensor Compiler
// for Unified Machine Learning Prediction Serving, OSDI 2020). Shorter trees are filled up with
// tests on nobody's way and leaves that nothing reaches.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/import/op_context.h"

namespace kindred {

struct TreeEnsemble {
  std::int64_t trees = 0, tests = 0, leaves = 0, results = 0;
  std::vector<std::int64_t> feature;  // [trees, tests]
  std::vector<double> threshold;      // [trees, tests]; a test is x <= threshold,
  std::vector<std::int64_t>
      equal;  // [trees, tests]; or x == threshold where this is 1; empty: nowhere
  // [trees, tests]: what is not a number passes; empty: nowhere
  std::vector<std::int64_t> missing_passes;
  std::vector<double> path;   // [trees, tests, leaves]
  std::vector<double> trues;  // [trees, leaves]
  std::vector<double> value;  // [trees, leaves, results]
  // Every leaf that can be reached has a value for every result.
  bool complete = true;
  bool any_negative = false;          // of the leaves' weights
  std::vector<std::int64_t> weighed;  // results that some leaf has a weight for, ascending
};

// Of a TreeEnsembleClassifier (`prefix` "class") or TreeEnsembleRegressor ("target"), whose
// thresholds are compared as `type`. Errors (kUnsupported): attributes that contradict each other,
// trees too large to be tensors.
Result<TreeEnsemble> ReadTreeEnsemble(OpContext& op, const std::string& prefix,
                                      std::int64_t results, std::int64_t features, DataType type);

}  // namespace kindred
