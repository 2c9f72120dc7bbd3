"""LSTM, GRU and RNN: directions, initial states, every choice of outputs, and the forms around them that exporters write."""

import numpy as np

from zoo.tiny.writer import TinyGraph

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def parameters(g, kind, width, hidden, directions=1, prefix="", bias=True):
    gates = GATES[kind]
    made = [g.weight(f"{prefix}W", [directions, gates * hidden, width]),
            g.weight(f"{prefix}R", [directions, gates * hidden, hidden])]
    return made + [g.weight(f"{prefix}B", [directions, 2 * gates * hidden], (-0.5, 0.5)) if bias else ""]


def lstm():
    """Forward: all outputs; without a bias; the last state alone."""
    g = TinyGraph("lstm", 14)
    x = g.input("x", "f32", [5, 2, 3])
    g.outputs_of(g.op("LSTM", [x, *parameters(g, "LSTM", 3, 4)], outputs=3, hidden_size=4))
    last = g.op("LSTM", [x, *parameters(g, "LSTM", 3, 4, prefix="n", bias=False)], outputs=[0, 1, 0], hidden_size=4)
    g.outputs_of([last[1]])
    return g


def lstm_states():
    """Initial hidden and cell state as inputs of the model; direction reverse."""
    g = TinyGraph("lstm_states", 14)
    x = g.input("x", "f32", [4, 2, 3])
    state = [g.input("h", "f32", [1, 2, 5]), g.input("c", "f32", [1, 2, 5])]
    g.outputs_of(g.op("LSTM", [x, *parameters(g, "LSTM", 3, 5), "", *state], outputs=3, hidden_size=5))
    g.outputs_of(g.op("LSTM", [x, *parameters(g, "LSTM", 3, 5, prefix="r"), "", *state], outputs=3, hidden_size=5,
                      direction="reverse"))
    return g


def lstm_bidirectional():
    g = TinyGraph("lstm_bidirectional", 14)
    x = g.input("x", "f32", [4, 2, 3])
    state = [g.weight("h", [2, 2, 4]), g.weight("c", [2, 2, 4])]
    g.outputs_of(g.op("LSTM", [x, *parameters(g, "LSTM", 3, 4, 2), "", *state], outputs=3, hidden_size=4,
                      direction="bidirectional"))
    return g


def lstm_peepholes():
    """Peepholes, a clip of the gates' sums, and other activations."""
    g = TinyGraph("lstm_peepholes", 14)
    x = g.input("x", "f32", [3, 2, 3])
    weights = parameters(g, "LSTM", 3, 4)
    peepholes = g.weight("P", [1, 12], (-1, 1))
    g.outputs_of(g.op("LSTM", [x, *weights, "", "", "", peepholes], outputs=3, hidden_size=4))
    g.outputs_of(g.op("LSTM", [x, *weights], outputs=[1, 0, 0], hidden_size=4, clip=0.5)[:1])
    g.outputs_of(g.op("LSTM", [x, *weights], outputs=[1, 0, 0], hidden_size=4,
                      activations=["HardSigmoid", "Tanh", "Softsign"], activation_alpha=[0.3],
                      activation_beta=[0.4])[:1])
    return g


def lstm_stacked():
    """Two layers as PyTorch exports them: batch first, states from ConstantOfShape, the direction axis squeezed away."""
    g = TinyGraph("lstm_stacked", 14)
    x = g.op("Transpose", [g.input("x", "f32", [2, 5, 3])], perm=[1, 0, 2])
    sizes = [g.op("Unsqueeze", [g.op("Gather", [g.op("Shape", [x]), g.constant(1, np.int64)], axis=0), g.ints(0)])]
    state = g.op("ConstantOfShape", [g.op("Concat", [g.constant([2], np.int64), *sizes, g.constant([4], np.int64)],
                                          axis=0)])
    lasts = []
    for layer, width in ((0, 3), (1, 4)):
        first, end = g.ints(layer), g.ints(layer + 1)
        own = g.op("Slice", [state, first, end, g.ints(0)])
        made = g.op("LSTM", [x, *parameters(g, "LSTM", width, 4, prefix=f"l{layer}"), "", own, own], outputs=3,
                    hidden_size=4)
        x = g.op("Squeeze", [made[0], g.ints(1)])
        lasts.append(made[1])
    g.outputs_of([g.op("Transpose", [x], perm=[1, 0, 2]), g.op("Concat", lasts, axis=0)])
    return g


def lstm_bidirectional_stacked():
    """Directions joined as PyTorch does: [T,2,N,H] to [T,N,2H], which the second layer reads."""
    g = TinyGraph("lstm_bidirectional_stacked", 14)
    x = g.input("x", "f32", [4, 2, 3])
    for layer, width in ((0, 3), (1, 6)):
        made = g.op("LSTM", [x, *parameters(g, "LSTM", width, 3, 2, prefix=f"l{layer}")], outputs=[1, 0, 0],
                    hidden_size=3, direction="bidirectional")
        x = g.op("Reshape", [g.op("Transpose", [made[0]], perm=[0, 2, 1, 3]), g.ints(0, 0, -1)])
    g.outputs_of([x])
    return g


def lstm_lengths():
    """Sequences of different lengths: an initializer, so known when the model is read."""
    g = TinyGraph("lstm_lengths", 14)
    x = g.input("x", "f32", [4, 3, 2])
    lengths = g.initializer("lengths", np.array([4, 2, 3], np.int32))
    g.outputs_of(g.op("LSTM", [x, *parameters(g, "LSTM", 2, 3), lengths], outputs=3, hidden_size=3))
    return g


def gru_lengths():
    """Lengths that are an input, in both directions, over more steps than are written out."""
    g = TinyGraph("gru_lengths", 14)
    x, lengths = g.input("x", "f32", [11, 3, 2]), g.input("lengths", "i32", [3])
    g.ranges["lengths"] = (1, 12)
    inputs = [x, *parameters(g, "GRU", 2, 3, 2), lengths]
    g.outputs_of(g.op("GRU", inputs, outputs=2, hidden_size=3, direction="bidirectional"))
    return g


def lstm_layout():
    """Batch first inside the operator, which onnxruntime has no kernel for."""
    g = TinyGraph("lstm_layout", 14)
    g.by = "onnx.reference"
    x = g.input("x", "f32", [2, 4, 3])
    g.outputs_of(g.op("LSTM", [x, *parameters(g, "LSTM", 3, 4)], outputs=3, hidden_size=4, layout=1))
    return g


def lstm_opset7():
    g = TinyGraph("lstm_opset7", 7)
    x = g.input("x", "f32", [3, 1, 4])
    made = g.op("LSTM", [x, *parameters(g, "LSTM", 4, 3)], outputs=3, hidden_size=3)
    g.outputs_of([g.op("Squeeze", [made[0]], axes=[1]), made[2]])
    return g


def gru():
    """Both forms of the hidden gate (linear_before_reset 0 is the default, PyTorch writes 1), with and without states."""
    g = TinyGraph("gru", 14)
    x = g.input("x", "f32", [4, 2, 3])
    state = g.input("h", "f32", [1, 2, 4])
    for linear in (0, 1):
        weights = parameters(g, "GRU", 3, 4, prefix=f"l{linear}")
        g.outputs_of(g.op("GRU", [x, *weights, "", state], outputs=2, hidden_size=4, linear_before_reset=linear))
        g.outputs_of(g.op("GRU", [x, *weights[:2]], outputs=[1, 0], hidden_size=4, linear_before_reset=linear,
                          direction="reverse")[:1])
    return g


def gru_bidirectional():
    g = TinyGraph("gru_bidirectional", 14)
    x = g.input("x", "f32", [4, 2, 3])
    made = g.op("GRU", [x, *parameters(g, "GRU", 3, 4, 2)], outputs=2, hidden_size=4, direction="bidirectional",
                linear_before_reset=1)
    joined = g.op("Reshape", [g.op("Transpose", [made[0]], perm=[0, 2, 1, 3]), g.ints(0, 0, -1)])
    g.outputs_of([joined, made[1]])
    return g


def rnn():
    """Tanh, Relu, reverse, both directions."""
    g = TinyGraph("rnn", 14)
    x = g.input("x", "f32", [4, 2, 3])
    g.outputs_of(g.op("RNN", [x, *parameters(g, "RNN", 3, 4), "", g.weight("h", [1, 2, 4])], outputs=2, hidden_size=4))
    g.outputs_of(g.op("RNN", [x, *parameters(g, "RNN", 3, 4, prefix="r")], outputs=2, hidden_size=4,
                      activations=["Relu"], direction="reverse"))
    g.outputs_of(g.op("RNN", [x, *parameters(g, "RNN", 3, 4, 2, "b")], outputs=2, hidden_size=4,
                      activations=["Tanh", "Relu"], direction="bidirectional"))
    return g


MODELS = [lstm, lstm_states, lstm_bidirectional, lstm_peepholes, lstm_stacked, lstm_bidirectional_stacked,
          lstm_lengths, gru_lengths, lstm_layout, lstm_opset7, gru, gru_bidirectional, rnn]
