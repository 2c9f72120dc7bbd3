"""Models of scikit-learn out of skl2onnx. Scalers and linear models are partly operators of ai.onnx.ml; a tree ensemble is one."""

import warnings

import numpy as np
from skl2onnx import to_onnx
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from zoo.exported import record


def main():
    _, folder = record.target()
    warnings.simplefilter("ignore")  # that a fit did not converge
    random = np.random.default_rng(6)
    x = record.numbers(random, 60, 5)
    target = (x[:, :1] * x[:, 1:2] + np.sin(x[:, 2:3])).ravel()
    classes = (target > 0.1).astype(np.int64) + (target > 0.6)
    feeds = {"X": x[:4]}
    regressor = MLPRegressor(hidden_layer_sizes=(8, 6), max_iter=200, random_state=0)
    classifier = MLPClassifier(hidden_layer_sizes=(8,), activation="tanh", max_iter=200, random_state=0)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    for name, pipeline, labels in (
            ("skl_linear", make_pipeline(StandardScaler(), LinearRegression()), target),
            ("skl_pca", make_pipeline(MinMaxScaler(), PCA(3, random_state=0), LinearRegression()), target),
            ("skl_mlp_regressor", make_pipeline(StandardScaler(), regressor), target),
            ("skl_mlp_classifier", classifier, classes),
            ("skl_forest", make_pipeline(StandardScaler(), forest), classes)):
        pipeline.fit(x, labels)
        if labels is classes:
            options, original = {"zipmap": False}, [pipeline.predict(x[:4]), pipeline.predict_proba(x[:4])]
        else:
            options, original = None, [pipeline.predict(x[:4])[:, None]]
        model = to_onnx(pipeline, x[:1], target_opset={"": 18, "ai.onnx.ml": 3}, options=options)
        record.save(folder, name, model, feeds, {"X:0": 4}, original)


if __name__ == "__main__":
    main()
