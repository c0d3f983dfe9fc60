"""Pictures of a game made smaller and grey, in each known way; pixels from 0 to 255."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: red, green and blue in a grey, ITU-R BT.601.
BT601 = (0.299, 0.587, 0.114)
#: the same of BT.709 as scikit-image and Gymnasium 1.x have them.
BT709 = (0.2125, 0.7154, 0.0721)

#: (old size, new size) -> weights [new, old], each row of sum 1.
Weights = Callable[[int, int], np.ndarray]


def make_area_weights(old: int, new: int) -> np.ndarray:
    """Return the shares of old pixels in the area of each new one, [new, old]."""
    edges = np.arange(new + 1) * (old / new)
    lower = np.maximum(edges[:-1, None], np.arange(old))
    upper = np.minimum(edges[1:, None], np.arange(old) + 1)
    return np.maximum(upper - lower, 0.0) / (old / new)


def _compute_centres_of_pixels(old: int, new: int) -> np.ndarray:
    """Return the centres of new pixels among the old ones, whose centres are 0, 1, ..."""
    return (np.arange(new) + 0.5) * (old / new) - 0.5


def _make_triangle_weights(old: int, new: int, width: float) -> np.ndarray:
    distance = np.abs(_compute_centres_of_pixels(old, new)[:, None] - np.arange(old))
    weights = np.maximum(1.0 - distance / width, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def make_bilinear_weights(old: int, new: int) -> np.ndarray:
    """Return weights that interpolate between the two nearest old pixels, [new, old]."""
    return _make_triangle_weights(old, new, 1.0)


def make_antialiased_weights(old: int, new: int) -> np.ndarray:
    """Return linear interpolation weights, widened to the new pixels in shrinking, [new, old]."""
    return _make_triangle_weights(old, new, max(old / new, 1.0))


def make_nearest_weights(old: int, new: int) -> np.ndarray:
    """Return [new, old] resize weights: each new pixel copies the old one that holds its start."""
    weights = np.zeros((new, old))
    weights[np.arange(new), np.floor(np.arange(new) * (old / new)).astype(int)] = 1.0
    return weights


def skip_rounding(values: np.ndarray) -> np.ndarray:
    """Return pixels unchanged: pictures in floating point are not rounded."""
    return values


def resize_picture(picture: np.ndarray, weights: Weights, size: int) -> np.ndarray:
    """Return ``picture`` [height, width, ...] as [size, size, ...]."""
    rows, columns = (weights(old, size) for old in picture.shape[:2])
    return np.einsum("ih,jw,hw...->ij...", rows, columns, picture, optimize=True)


def warp_frame_to_grey(
    picture: np.ndarray,
    weights: Weights,
    size: int = 84,
    grey: tuple[float, ...] = BT601,
    grey_first: bool = True,
    rounding: Callable[[np.ndarray], np.ndarray] = np.rint,
    grey_rounding: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Return a colour picture as a small grey one, [size, size].

    Args:
        picture: [height, width, 3].
        weights: how pixels are combined.
        size: of the result.
        grey: weights of the colours.
        grey_first: grey before smaller; otherwise each colour is made smaller and rounded.
        rounding: after each of the two steps.
        grey_rounding: after making grey, where that differs.
    """
    greyed = rounding if grey_rounding is None else grey_rounding
    if grey_first:
        return rounding(resize_picture(greyed(picture @ np.array(grey)), weights, size))
    return greyed(rounding(resize_picture(picture, weights, size)) @ np.array(grey))
