"""A language model of two LSTM layers (Zaremba et al. 2014: the medium model, 650 units, 35 steps, 10,000 words), as
PyTorch's word_language_model is exported: the layers' states sliced from one input, LogSoftmax at the end.
"""

import numpy as np


def lstm_lm(graph, vocabulary=10000, width=650, layers=2, steps=35, batch=1):
    ids = graph.input("input", "i64", [steps, batch])
    states = [graph.input(name, "f32", [layers, batch, width]) for name in ("h0", "c0")]
    graph.scope = "/encoder"
    x = graph.op("Gather", [graph.weight("encoder.weight", [vocabulary, width], 0.02), ids])
    made = []
    for layer in range(layers):
        graph.scope = "/rnn"
        weights = [graph.weight(f"rnn.weight_ih_l{layer}", [1, 4 * width, width], 1.0 / width),
                   graph.weight(f"rnn.weight_hh_l{layer}", [1, 4 * width, width], 1.0 / width),
                   graph.weight(f"rnn.bias_l{layer}", [1, 8 * width], 0.01)]
        first, end = graph.constant([layer], np.int64), graph.constant([layer + 1], np.int64)
        own = [graph.op("Slice", [state, first, end, graph.constant([0], np.int64)]) for state in states]
        outputs = graph.op("LSTM", [x, *weights, "", *own], outputs=3, hidden_size=width)
        x = graph.op("Squeeze", [outputs[0], graph.constant([1], np.int64)])
        made.append(outputs[1:])
    graph.scope = "/decoder"
    x = graph.op("MatMul", [x, graph.weight("decoder.weight", [width, vocabulary], 1.0 / width)])
    x = graph.op("Add", [graph.weight("decoder.bias", [vocabulary], 0.01), x])
    x = graph.op("Reshape", [x, graph.constant([-1, vocabulary], np.int64)])
    x = graph.op("LogSoftmax", [x], axis=1)
    graph.scope = "/rnn"
    last = [graph.op("Concat", [layer[part] for layer in made], axis=0) for part in (0, 1)]
    graph.output(x, "output", "f32", [steps * batch, vocabulary])
    for value, name in zip(last, ("hn", "cn")):
        graph.output(value, name, "f32", [layers, batch, width])
