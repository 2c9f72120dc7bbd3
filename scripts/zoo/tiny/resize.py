"""Resize and Upsample in every mode and operator set."""

import numpy as np

from zoo.tiny.writer import TinyGraph

COORDINATES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


def add(g, x, scales=None, sizes=None, **attributes):
    """One Resize with `roi` left away; enlarges or shrinks the last two dimensions."""
    inputs = [x, "", g.floats(1, 1, *scales)] if scales else [x, "", "", g.ints(1, 2, *sizes)]
    return g.op("Resize", inputs, **attributes)


def up_and_down(coordinates):
    """Scales of a 4x5 input. With align_corners they give whole sizes: runtimes disagree about others."""
    return ([2, 3], [0.75, 0.6]) if coordinates == "align_corners" else ([2, 1.5], [0.7, 0.5])


def resize_nearest():
    """Twice the size as decoders write it, then every rule of coordinates and rounding, up and down."""
    g = TinyGraph("resize_nearest", 13)
    x = g.input("x", "f32", [1, 2, 4, 5])
    g.outputs_of([add(g, x, [2, 2], coordinate_transformation_mode="asymmetric", nearest_mode="floor", mode="nearest")])
    for coordinates in COORDINATES:
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            scales = up_and_down(coordinates)[rounding in ("round_prefer_ceil", "floor")]
            g.outputs_of([add(g, x, scales, coordinate_transformation_mode=coordinates, nearest_mode=rounding)])
        g.outputs_of([add(g, x, sizes=[7, 3], coordinate_transformation_mode=coordinates)])
    return g


def resize_linear():
    g = TinyGraph("resize_linear", 13)
    x = g.input("x", "f32", [1, 2, 4, 5])
    for coordinates in COORDINATES:
        up, down = up_and_down(coordinates)
        g.outputs_of([add(g, x, up, coordinate_transformation_mode=coordinates, mode="linear"),
                      add(g, x, down, coordinate_transformation_mode=coordinates, mode="linear"),
                      add(g, x, sizes=[5, 3], coordinate_transformation_mode=coordinates, mode="linear"),
                      add(g, x, sizes=[1, 7], coordinate_transformation_mode=coordinates, mode="linear")])
    return g


def resize_linear_ranks():
    """Linear over one and three spatial dimensions, and over channels that stand last."""
    g = TinyGraph("resize_linear_ranks", 13)
    x = g.input("x", "f32", [2, 3, 4])
    y = g.input("y", "f32", [1, 2, 2, 3, 2])
    z = g.input("z", "f32", [1, 3, 4, 2])
    g.outputs_of([g.op("Resize", [x, "", g.floats(1, 1, 2)], mode="linear"),
                  g.op("Resize", [y, "", "", g.ints(1, 2, 3, 5, 4)], mode="linear"),
                  g.op("Resize", [z, "", g.floats(1, 2, 1.5, 1)], mode="linear")])
    return g


def resize_cubic():
    g = TinyGraph("resize_cubic", 13)
    x = g.input("x", "f32", [1, 2, 5, 4])
    for coordinates in COORDINATES:
        g.outputs_of([add(g, x, [2, 1.5], coordinate_transformation_mode=coordinates, mode="cubic"),
                      add(g, x, sizes=[3, 6], coordinate_transformation_mode=coordinates, mode="cubic")])
    g.outputs_of([add(g, x, [1.5, 2], mode="cubic", cubic_coeff_a=-0.5),
                  add(g, x, [0.8, 0.75], mode="cubic", exclude_outside=1)])
    return g


def resize_crop():
    """tf_crop_and_resize: the region in `roi` is resized, what lies outside of the input is extrapolation_value."""
    g = TinyGraph("resize_crop", 13)
    x = g.input("x", "f32", [1, 2, 5, 6])
    inside = g.floats(0, 0, 0.25, 0.1, 1, 1, 0.9, 0.8)
    beyond = g.floats(0, 0, -0.2, 0.3, 1, 1, 1.1, 1.4)
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    g.outputs_of([g.op("Resize", [x, inside, "", g.ints(1, 2, 3, 4)], mode="linear", **attributes),
                  g.op("Resize", [x, beyond, "", g.ints(1, 2, 6, 5)], mode="linear", extrapolation_value=0.5,
                       **attributes),
                  g.op("Resize", [x, inside, "", g.ints(1, 2, 4, 4)], mode="nearest", **attributes)])
    return g


def resize_opset11():
    """`roi` and `scales` may not be left away: they are empty where they say nothing."""
    g = TinyGraph("resize_opset11", 11)
    x = g.input("x", "f32", [1, 2, 3, 4])
    none = g.initializer("none", np.zeros([0], np.float32))
    attributes = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}
    g.outputs_of([g.op("Resize", [x, none, g.floats(1, 1, 2, 2)], mode="linear"),
                  g.op("Resize", [x, none, none, g.ints(1, 2, 5, 6)], mode="nearest"),
                  g.op("Resize", [x, none, g.floats(1, 1, 2, 1.5)], mode="nearest", **attributes)])
    return g


def resize_old():
    """Resize of opset 10: nearest rounds down, linear is asymmetric."""
    g = TinyGraph("resize_old", 10)
    x = g.input("x", "f32", [1, 2, 3, 4])
    g.outputs_of([g.op("Resize", [x, g.floats(1, 1, 2, 2)], mode="nearest"),
                  g.op("Resize", [x, g.floats(1, 1, 2.5, 0.5)], mode="linear"),
                  g.op("Resize", [x, g.floats(1, 1, 0.5, 1.5)], mode="nearest")])
    return g


def upsample():
    """Upsample of opset 9, whose scales are an input."""
    g = TinyGraph("upsample", 9)
    x = g.input("x", "f32", [1, 2, 3, 4])
    g.outputs_of([g.op("Upsample", [x, g.floats(1, 1, 2, 2)], mode="nearest"),
                  g.op("Upsample", [x, g.floats(1, 1, 1.5, 2)], mode="linear")])
    return g


def upsample_opset7():
    """Upsample with scales as an attribute."""
    g = TinyGraph("upsample_opset7", 7)
    x = g.input("x", "f32", [1, 2, 3, 4])
    g.outputs_of([g.op("Upsample", [x], mode="nearest", scales=[1.0, 1.0, 2.0, 3.0]),
                  g.op("Upsample", [x], mode="linear", scales=[1.0, 1.0, 2.0, 2.0])])
    return g


def resize_opset18():
    """`axes`, and keep_aspect_ratio_policy."""
    g = TinyGraph("resize_opset18", 18)
    x = g.input("x", "f32", [1, 2, 4, 6])
    g.outputs_of([g.op("Resize", [x, "", g.floats(1.5, 2)], axes=[3, 2], mode="linear"),
                  g.op("Resize", [x, "", g.floats(2)], axes=[-1], mode="nearest"),
                  g.op("Resize", [x, "", "", g.ints(6, 6)], axes=[2, 3], mode="linear",
                       keep_aspect_ratio_policy="not_larger"),
                  g.op("Resize", [x, "", "", g.ints(6, 6)], axes=[2, 3], mode="nearest",
                       keep_aspect_ratio_policy="not_smaller")])
    return g


def resize_antialias():
    g = TinyGraph("resize_antialias", 18)
    x = g.input("x", "f32", [1, 2, 8, 6])
    g.outputs_of([add(g, x, [0.5, 0.5], mode="linear", antialias=1), add(g, x, [0.6, 1.5], mode="linear", antialias=1),
                  add(g, x, sizes=[3, 4], mode="cubic", antialias=1),
                  add(g, x, sizes=[3, 4], mode="cubic", antialias=1, exclude_outside=1)])
    return g


def resize_opset19():
    """half_pixel_symmetric, whose coordinates stay centred where the output's size was rounded."""
    g = TinyGraph("resize_opset19", 19)
    x = g.input("x", "f32", [1, 2, 5, 7])
    attributes = {"coordinate_transformation_mode": "half_pixel_symmetric"}
    g.outputs_of([add(g, x, [0.5, 0.5], mode="linear", **attributes),
                  add(g, x, [1.3, 1.7], mode="nearest", **attributes), add(g, x, [1.3, 0.7], mode="cubic", **attributes)])
    return g


MODELS = [resize_nearest, resize_linear, resize_linear_ranks, resize_cubic, resize_crop, resize_opset11, resize_old,
          upsample, upsample_opset7, resize_opset18, resize_antialias, resize_opset19]
