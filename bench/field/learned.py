# SPDX-License-Identifier: Apache-2.0
"""Models of scikit-learn and gradient boosting over made-up tables, by their ONNX converters."""

import numpy as np

FEATURES = 30


def table(rows):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(np.int64) + (x[:, 3] > 1)
    return x, y


def scikit(make, batch):
    def write(to):
        from skl2onnx import to_onnx

        x, y = table(2000)
        model = make().fit(x, y)
        options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
        to.write_bytes(to_onnx(model, x[:1], options=options, target_opset=17).SerializeToString())
        return {"X": table(batch)[0]}
    return write


def forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, max_depth=12, random_state=1)


def boosted_histograms():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=1)


def vectors():
    from sklearn.svm import SVC

    return SVC(probability=True, random_state=1)


def logistic():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))


def xgboost(batch):
    def write(to):
        from onnxmltools import convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType
        from xgboost import XGBRegressor

        x, y = table(2000)
        model = XGBRegressor(n_estimators=200, max_depth=6).fit(x, y)
        graph = convert_xgboost(model, initial_types=[("X", FloatTensorType([None, FEATURES]))],
                                target_opset=15)
        to.write_bytes(graph.SerializeToString())
        return {"X": table(batch)[0]}
    return write


def lightgbm(batch):
    def write(to):
        from lightgbm import LGBMClassifier
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        x, y = table(2000)
        model = LGBMClassifier(n_estimators=100, verbose=-1).fit(x, y)
        graph = convert_lightgbm(model, initial_types=[("X", FloatTensorType([None, FEATURES]))],
                                 target_opset=15, zipmap=False)
        to.write_bytes(graph.SerializeToString())
        return {"X": table(batch)[0]}
    return write


MODELS = {
    "forest": scikit(forest, 1), "forest_b1000": scikit(forest, 1000),
    "boosted_histograms_b1000": scikit(boosted_histograms, 1000),
    "svm_b100": scikit(vectors, 100),
    "logistic_b1000": scikit(logistic, 1000),
    "xgboost_b1000": xgboost(1000),
    "lightgbm": lightgbm(1), "lightgbm_b1000": lightgbm(1000),
}
