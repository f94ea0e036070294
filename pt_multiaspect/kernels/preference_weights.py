"""Weights of aspects that agree with preferences: logistic regression, and the test of single weightings."""

from __future__ import annotations

import numpy as np

from .._typing import Bools, Floats, Ints

#: The penalty on squared coefficients, which makes separable preferences, and equal aspects, have one solution.
_RIDGE = 1e-8
#: Margins of at most this, relative to the largest difference, are 0 (rounding errors).
_ZERO = 1e-14
_MOST_STEPS = 200


def logistic_weights(differences: Floats, sign: Ints) -> Floats:
    """Return the weights of aspects by logistic regression without intercept, with coefficients of at least 0.

    Newton steps minimise the quadratic approximation over coefficients of at least 0.

    Parameters
    ----------
    differences : ndarray of float, shape (n, n_aspects)
        The differences of both runs on the aspects.
    sign : ndarray of int, shape (n,)
        1 if the first run is preferred, −1 if the second is.

    Returns
    -------
    ndarray of float, shape (n_aspects,)
        Weights that sum to 1; all 0 if the preferences contradict every aspect.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls
    from scipy.special import expit

    margins = _margins(differences, sign)

    def loss(coefficients: Floats) -> float:
        x = margins @ coefficients
        losses = np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0)
        return float(losses.sum() + _RIDGE / 2 * (coefficients**2).sum())

    coefficients = np.zeros(margins.shape[1])
    for _ in range(_MOST_STEPS):
        wrong = expit(-margins @ coefficients)
        gradient = -margins.T @ wrong + _RIDGE * coefficients
        hessian = (margins * (wrong * (1 - wrong))[:, None]).T @ margins + _RIDGE * np.eye(len(coefficients))
        root = np.linalg.cholesky(hessian)
        target = solve_triangular(root, hessian @ coefficients - gradient, lower=True)
        step = nnls(root.T, target)[0] - coefficients
        if np.abs(step).max() <= 1e-10 * max(1.0, float(coefficients.max())):
            break
        length, now = 1.0, loss(coefficients)
        while length > 1e-6 and loss(coefficients + length * step) > now + 1e-4 * length * (gradient @ step):
            length /= 2
        coefficients = (coefficients + length * step).clip(min=0)
    total = coefficients.sum()
    return coefficients / total if total else coefficients


def is_separable(differences: Floats, sign: Ints) -> bool:
    """Return whether some weighting contradicts no preference and agrees with one; see `logistic_weights`."""
    from scipy.optimize import linprog

    margins = _margins(differences, sign)
    solution = linprog(-margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(margins)), bounds=(0, 1)).x
    if solution is None:
        return False
    agreed = margins @ solution
    return bool((agreed >= -1e-9).all() and agreed.sum() > 1e-6)


def weighting_levels(points: Floats, differences: Floats, sign: Ints, topics: Ints) -> Floats:
    """Return the levels at which preferences reject weightings, by a score test with topics as clusters.

    The scale b of the weighted differences x is that of maximum likelihood, at least 0. The score is tested in the
    directions that change weights, after what the scale explains is removed; where b = 0, in all directions.
    Weightings that contradict no preference, for which b is infinite, are not rejected.

    Parameters
    ----------
    points : ndarray of float, shape (n_points, n_aspects)
        The weightings.
    differences, sign
        As for `logistic_weights`.
    topics : ndarray of int, shape (n,)
        The topic of each preference.

    Returns
    -------
    ndarray of float, shape (n_points,)
        Levels in [0, 1].
    """
    from scipy.special import expit

    _, code = np.unique(topics, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    z = differences[order] / np.abs(differences).max(initial=1e-300)
    margins = points @ _margins(differences, sign)[order].T
    margins[np.abs(margins) <= _ZERO] = 0.0
    scale, is_infinite = _scales(margins)
    x = margins * sign[order]
    right = expit(-scale[:, None] * margins)  # one minus the probability of what was preferred
    residual, slope = sign[order] * right, right * (1 - right)
    sums = np.stack(
        [np.add.reduceat(residual * z[:, column], starts, axis=1) for column in range(z.shape[1])], axis=-1
    )
    directions, every = _bases(z)
    levels = np.ones(len(points))
    is_zero = (scale == 0) & ~is_infinite
    levels[is_zero] = _levels(sums[is_zero] @ every)
    rest = ~is_zero & ~is_infinite
    information = (x * slope)[rest] @ z
    explained = information / (x**2 * slope)[rest].sum(axis=1, keepdims=True)
    along = np.add.reduceat(residual[rest] * x[rest], starts, axis=1) if rest.any() else np.zeros((0, len(starts)))
    levels[rest] = _levels((sums[rest] - along[:, :, None] * explained[:, None]) @ directions)
    return levels


def _margins(differences: Floats, sign: Ints) -> Floats:
    """Return the differences in favour of the preferred run, divided by the largest."""
    return np.asarray(differences * sign[:, None] / np.abs(differences).max(initial=1e-300))


def _scales(margins: Floats) -> tuple[Floats, Bools]:
    """Return the scale b ≥ 0 that maximises Σ ln σ(b · margin) of each row, and whether it is infinite (then 0)."""
    total = margins.sum(axis=1)
    is_positive = total > _ZERO * margins.shape[1]
    is_infinite = is_positive & (margins.min(axis=1) >= 0)
    result = np.zeros(len(margins))
    result[is_positive & ~is_infinite] = _roots(margins[is_positive & ~is_infinite])
    return result, is_infinite


def _roots(margins: Floats) -> Floats:
    """Return the b > 0 of each row at which the slope of Σ ln σ(b · margin) is 0, by bracketed Newton steps."""
    from scipy.special import expit

    n = len(margins)
    low, b, high = np.zeros(n), np.ones(n), np.full(n, np.inf)
    active = np.arange(n)
    for _ in range(_MOST_STEPS):
        rows, now = margins[active], b[active]
        weighted = rows * expit(-now[:, None] * rows)
        rise = weighted.sum(axis=1)
        low[active], high[active] = np.where(rise > 0, now, low[active]), np.where(rise > 0, high[active], now)
        newton = now + rise / np.maximum((weighted * (rows - weighted)).sum(axis=1), 1e-300)
        middle = np.where(np.isinf(high[active]), 2 * now, (low[active] + high[active]) / 2)
        is_inside = (newton > low[active]) & (newton < np.minimum(high[active], 8 * now))
        b[active] = np.where(is_inside, newton, middle)
        active = active[np.abs(b[active] - now) > 1e-13 * now]
        if not len(active):
            break
    return b


def _bases(z: Floats) -> tuple[Floats, Floats]:
    """Return orthonormal bases of the changes of weights, and of all directions, in which differences vary."""
    changes = np.linalg.svd(np.ones((1, z.shape[1])))[2][1:].T
    bases = []
    for basis in (changes, np.eye(z.shape[1])):
        _, size, rows = np.linalg.svd(z @ basis, full_matrices=False)
        bases.append(basis @ rows[size > 1e-10 * max(float(size.max(initial=0.0)), 1e-10)].T)
    return bases[0], bases[1]


def _levels(scores: Floats) -> Floats:
    """Return the levels of the F test that sums of scores are 0, points × topics × directions."""
    from scipy.special import fdtrc

    n_points, n_topics, n = scores.shape
    if not n or not n_points:
        return np.ones(n_points)
    total = scores.sum(axis=1)
    scatter = scores.transpose(0, 2, 1) @ scores
    size = np.trace(scatter, axis1=1, axis2=2)[:, None, None]
    variance = scatter - total[:, :, None] * total[:, None] / n_topics + (1e-14 * size + 1e-300) * np.eye(n)
    solved = np.linalg.solve(variance, total[:, :, None])[:, :, 0]
    statistic = (total * solved).sum(axis=1) * (n_topics - n) / (n_topics * n)
    return np.asarray(fdtrc(n, n_topics - n, statistic.clip(min=0)))
