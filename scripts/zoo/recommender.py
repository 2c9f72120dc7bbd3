"""DLRM (Naumov et al. 2019) with the sizes of its Criteo run: 13 dense features, 26 tables of 64 columns, dot
products of all pairs. Tables keep at most 20,000 rows, which change a Gather's reach and not its shape. One index a
table, as in that data set.
"""

import numpy as np

ROWS = (1460, 583, 20000, 20000, 305, 24, 12517, 633, 3, 20000, 5683, 20000, 3194, 27, 14992, 20000, 10, 5652, 2173, 4,
        20000, 18, 15, 20000, 105, 20000)


def dlrm(graph, batch=128, dense=13, rows=ROWS, width=64, bottom=(512, 256, 64), top=(512, 256, 1)):
    x = graph.input("dense", "f32", [batch, dense])
    sparse = graph.input("sparse", "i64", [len(rows), batch])

    def layers(x, name, columns, sizes, last):
        for place, size in enumerate(sizes):
            graph.scope = f"/{name}/{name}.{2 * place}"
            x = graph.op("Gemm", [x, graph.weight(f"{name}.{2 * place}.weight", [size, columns]),
                                  graph.weight(f"{name}.{2 * place}.bias", [size], 0.01)], alpha=1.0, beta=1.0, transB=1)
            x = graph.op(last if place == len(sizes) - 1 else "Relu", [x])
            columns = size
        return x

    x = layers(x, "bot_l", dense, bottom, "Relu")
    embedded = [x]
    for table, count in enumerate(rows):
        graph.scope = f"/emb_l.{table}"
        places = graph.op("Gather", [sparse, graph.constant(table, np.int64)], axis=0)
        embedded.append(graph.op("Gather", [graph.weight(f"emb_l.{table}.weight", [count, width], 0.02), places], axis=0))
    graph.scope = "/interact_features"
    count = len(embedded)
    y = graph.op("Reshape", [graph.op("Concat", embedded, axis=1), graph.constant([batch, count, width], np.int64)])
    pairs = graph.op("MatMul", [y, graph.op("Transpose", [y], perm=[0, 2, 1])])
    below = [i * count + j for i in range(count) for j in range(i)]
    flat = graph.op("Reshape", [pairs, graph.constant([batch, count * count], np.int64)])
    flat = graph.op("Gather", [flat, graph.constant(below, np.int64)], axis=1)
    x = layers(graph.op("Concat", [x, flat], axis=1), "top_l", width + len(below), top, "Sigmoid")
    graph.output(x, "click", "f32", [batch, top[-1]])
