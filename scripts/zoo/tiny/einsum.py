"""Einsum with one to four operands."""

from zoo.tiny.writer import TinyGraph


def equations(g, pairs):
    g.outputs_of([g.op("Einsum", inputs, equation=equation) for equation, inputs in pairs])
    return g


def einsum_pairs():
    """Matrix products and their transposes, attention's two products, outer, inner and batched products."""
    g = TinyGraph("einsum_pairs")
    a, b, v = g.input("a", "f32", [3, 4]), g.input("b", "f32", [4, 5]), g.input("v", "f32", [4])
    p, q = g.input("p", "f32", [2, 3, 4]), g.input("q", "f32", [2, 4, 3])
    heads, keys = g.input("heads", "f32", [1, 2, 3, 4]), g.input("keys", "f32", [1, 2, 5, 4])
    return equations(g, [("ij,jk->ik", [a, b]), ("ij,jk", [a, b]), ("ij,jk->ki", [a, b]), ("ij,j->i", [a, v]),
                         ("i,j->ij", [v, v]), ("i,i->", [v, v]), ("bij,bjk->bik", [p, q]), ("bij,bki->bjk", [p, q]),
                         ("bij,jk->bik", [p, b]), ("bhqd,bhkd->bhqk", [heads, keys]), ("bij,bji->b", [p, q]),
                         ("ij,ij->ij", [a, a]), ("ab,cd->acbd", [a, b]), ("bqhd,bkhd->bhqk", [heads, heads])])


def einsum_one():
    """Transposes, sums, diagonals."""
    g = TinyGraph("einsum_one")
    x, s = g.input("x", "f32", [2, 3, 4]), g.input("s", "f32", [3, 3])
    return equations(g, [("ijk->kij", [x]), ("ijk->ik", [x]), ("ijk->", [x]), ("ijk", [x]), ("ba", [s])])


def einsum_diagonal():
    """A letter twice in one operand."""
    g = TinyGraph("einsum_diagonal")
    s, t = g.input("s", "f32", [3, 3]), g.input("t", "f32", [2, 3, 3])
    return equations(g, [("ii->i", [s]), ("ii", [s]), ("bii->b", [t]), ("bii->bi", [t]), ("ii,bij->bj", [s, t])])


def einsum_ellipsis():
    g = TinyGraph("einsum_ellipsis")
    a, b = g.input("a", "f32", [2, 1, 3, 4]), g.input("b", "f32", [1, 5, 4, 2])
    return equations(g, [("...ij,...jk->...ik", [a, b]), ("...ij->...ji", [a]), ("...ij,...jk", [a, b]),
                         ("i...->...", [b]), ("bh...d,d->bh...", [a, g.weight("w", [4])])])


def einsum_many():
    """Three and four operands."""
    g = TinyGraph("einsum_many")
    a, b, c = g.input("a", "f32", [2, 3]), g.input("b", "f32", [3, 4]), g.input("c", "f32", [4, 2])
    w = g.weight("w", [5, 3, 4])
    return equations(g, [("ij,jk,kl->il", [a, b, c]), ("bi,oij,bj->bo", [a, w, g.weight("d", [2, 4])]),
                         ("ij,jk,ki->", [a, b, c]), ("ij,jk,kl,lm->im", [a, b, c, a])])


MODELS = [einsum_pairs, einsum_one, einsum_diagonal, einsum_ellipsis, einsum_many]
