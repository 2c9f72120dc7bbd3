"""ai.onnx.ml: features, linear models, support vectors, trees."""

import numpy as np

from zoo.tiny.writer import TinyGraph

ML = "ai.onnx.ml:"
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


def numbers(g, count, scale=1.0):
    return [float(x) for x in np.round(g.random.standard_normal(count) * scale, 3).astype(np.float32)]


def classical_features():
    g = TinyGraph("classical_features", 17)
    x = g.input("x", "f32", [4, 3])
    places = g.ints(2, 0, 2, 1)
    g.outputs_of([g.op(ML + "Scaler", [x], offset=[0.5, -1.0, 0.25], scale=[2.0, 0.5, 1.5]),
                  g.op(ML + "Scaler", [x], offset=[0.5], scale=[3.0]),
                  g.op(ML + "Normalizer", [x], norm="MAX"),
                  g.op(ML + "Normalizer", [x], norm="L1"),
                  g.op(ML + "Normalizer", [g.op("Mul", [x, g.floats(0.0)])], norm="L2"),
                  g.op(ML + "Normalizer", [x], norm="L2"),
                  g.op(ML + "Binarizer", [x], threshold=0.25),
                  g.op(ML + "Imputer", [g.op("Round", [x])], imputed_value_floats=[7.0, 8.0, 9.0],
                       replaced_value_float=1.0),
                  g.op(ML + "Imputer", [g.op("Log", [x])], imputed_value_floats=[4.0], replaced_value_float=float("nan")),
                  g.op(ML + "ArrayFeatureExtractor", [x, places]),
                  g.op(ML + "FeatureVectorizer", [x, g.op("Slice", [x, g.ints(0), g.ints(2), g.ints(1)])],
                       inputdimensions=[3, 2])])
    g.constant_results = True  # the fifth is zero
    return g


def classical_labels():
    """Whole numbers to other numbers, and to ones in their place."""
    g = TinyGraph("classical_labels", 17)
    x = g.input("x", "i64", [3, 4])
    g.ranges["x"] = (0, 6)
    y = g.input("y", "f32", [6])
    g.outputs_of([g.op(ML + "LabelEncoder", [x], keys_int64s=[1, 4, 2], values_floats=[0.5, 2.5, -1.0], default_float=9.0),
                  g.op(ML + "LabelEncoder", [x], keys_int64s=[5, 0], values_int64s=[10, -3], default_int64=-7),
                  g.op(ML + "LabelEncoder", [g.op("Round", [y])], keys_floats=[0.0, 1.0], values_int64s=[3, 4]),
                  g.op(ML + "OneHotEncoder", [x], cats_int64s=[3, 0, 5]),
                  g.op(ML + "Binarizer", [g.op("Cast", [x], to=1)], threshold=2.5),
                  g.op(ML + "Imputer", [x], imputed_value_int64s=[11], replaced_value_int64=2),
                  g.op(ML + "Scaler", [x], offset=[1.0], scale=[0.5])])
    return g


def classical_linear():
    g = TinyGraph("classical_linear", 17)
    x = g.input("x", "f32", [5, 3])
    for transform in TRANSFORMS:
        several = {"coefficients": numbers(g, 9), "intercepts": numbers(g, 3), "post_transform": transform}
        single = {"coefficients": numbers(g, 3), "intercepts": numbers(g, 1), "post_transform": transform}
        g.outputs_of([g.op(ML + "LinearRegressor", [x], targets=3, **several),
                      *g.op(ML + "LinearClassifier", [x], outputs=2, classlabels_ints=[4, 7, -1], **several),
                      *g.op(ML + "LinearClassifier", [x], outputs=2, classlabels_ints=[4, 7], **single)])
    for position, kernel in enumerate(["LINEAR", "POLY", "RBF", "SIGMOID"]):
        g.outputs_of([g.op(ML + "SVMRegressor", [x], kernel_type=kernel, kernel_params=[0.5, 0.25, 2.0], n_supports=4,
                           support_vectors=numbers(g, 12), coefficients=numbers(g, 4), rho=[0.5 * position])])
    return g


def trees(g, count, depth, features, modes, prefix, results, scale=1.0):
    """Attributes of full trees whose nodes are numbered level by level; every second tree is one level lower."""
    names = ["treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
             "missing_value_tracks_true"]
    nodes = {f"nodes_{name}": [] for name in names}
    leaves = {f"{prefix}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        inner = 2 ** (depth - tree % 2) - 1
        for node in range(2 * inner + 1):
            is_leaf = node >= inner
            mode = "LEAF" if is_leaf else modes[int(g.random.integers(len(modes)))]
            row = [tree, node, int(g.random.integers(features)), 0.0 if is_leaf else numbers(g, 1)[0], mode,
                   0 if is_leaf else 2 * node + 1, 0 if is_leaf else 2 * node + 2, int(g.random.integers(2))]
            for name, value in zip(names, row):
                nodes[f"nodes_{name}"].append(value)
            for result in results if is_leaf else []:
                weight = [tree, node, result, numbers(g, 1, scale)[0]]
                for name, value in zip(("treeids", "nodeids", "ids", "weights"), weight):
                    leaves[f"{prefix}_{name}"].append(value)
    return nodes | leaves


def classical_trees():
    """Every mode, aggregate and transform."""
    g = TinyGraph("classical_trees", 17)
    x = g.input("x", "f32", [6, 4])
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ"]
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        g.outputs_of([g.op(ML + "TreeEnsembleRegressor", [x], n_targets=2, aggregate_function=aggregate,
                           base_values=[0.25, -0.5], **trees(g, 3, 3, 4, modes, "target", [0, 1]))])
    g.outputs_of([g.op(ML + "TreeEnsembleRegressor", [x], n_targets=1, **trees(g, 2, 4, 4, ["BRANCH_LEQ"], "target", [0]))])
    for transform in TRANSFORMS:
        g.outputs_of([*g.op(ML + "TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[3, 1, 8],
                            post_transform=transform, base_values=[0.1, 0.2, 0.3],
                            **trees(g, 3, 2, 4, modes[:4], "class", [0, 1, 2]))])
    return g


def classical_trees_binary():
    """Two classes: boosted trees that score one of them, with and without negative weights."""
    g = TinyGraph("classical_trees_binary", 17)
    x = g.input("x", "f32", [6, 4])
    for transform in TRANSFORMS[:2]:
        mixed = trees(g, 3, 2, 4, ["BRANCH_LT"], "class", [0])
        positive = trees(g, 2, 2, 4, ["BRANCH_LEQ"], "class", [0], 0.3)
        positive["class_weights"] = [abs(weight) for weight in positive["class_weights"]]
        for ensemble in (mixed, positive):
            g.outputs_of([*g.op(ML + "TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[2, 5],
                                post_transform=transform, **ensemble)])
    return g


def classical_trees_missing():
    """What is not a number goes where its test says."""
    g = TinyGraph("classical_trees_missing", 17)
    x = g.op("Log", [g.input("x", "f32", [6, 4])])
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ"]
    for mode in modes:
        g.outputs_of([g.op(ML + "TreeEnsembleRegressor", [x], n_targets=1, **trees(g, 3, 3, 4, [mode], "target", [0]))])
    g.constant_results = True  # no number equals its threshold
    return g


MODELS = [classical_features, classical_labels, classical_linear, classical_trees, classical_trees_binary,
          classical_trees_missing]
