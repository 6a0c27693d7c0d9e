"""Coarse graphs, what they keep of the spectrum, and heat kernels."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from gromap import GromovClustering, affinity, metrics
from scipy.sparse.linalg import expm_multiply


def graph(nodes=90, groups=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(nodes) % groups
    edges = rng.random((nodes, nodes)) < np.where(y[:, None] == y, 0.3, 0.02)
    A = np.triu(edges, 1) * rng.uniform(0.5, 2, (nodes, nodes))
    return sp.csr_array(A + A.T), y


def laplacian(A):
    A = np.asarray(A.toarray())
    degrees = A.sum(axis=1)
    roots = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    return np.diag((degrees > 0).astype(float)) - roots[:, None] * A * roots


@pytest.mark.parametrize("t", [0.1, 3.0, 40.0])
def test_all_entries_of_a_heat_kernel_are_those_of_scipy(t):
    A, _ = graph()
    kernel = affinity.HeatKernel(t=t, entries=90).fit(A)
    assert np.abs(kernel.toarray() - scipy.linalg.expm(-t * laplacian(A))).max() < 1e-8
    x = np.random.default_rng(1).normal(size=(90, 2))
    assert np.allclose(kernel @ x, expm_multiply(-t * sp.csr_array(laplacian(A)), x), atol=1e-6)


def test_the_largest_entries_are_kept_on_both_sides():
    A, y = graph()
    A = sp.block_diag([A, sp.csr_array((1, 1))], format="csr")  # a node without edges
    whole = scipy.linalg.expm(-2.0 * laplacian(A))
    kernel = affinity.HeatKernel(t=2.0, entries=12).fit(A)
    assert abs(kernel - kernel.T).max() == 0 and kernel.nnz < 2 * 12 * 91
    rows, columns = kernel.nonzero()
    assert np.abs(kernel[rows, columns] - whole[rows, columns]).max() < 1e-8
    for i, row in enumerate(whole):
        largest = np.argsort(-row)[:5]
        assert (kernel[[i] * 5, largest] > 0).sum() == (row[largest] > 1e-8).sum()
    assert kernel[90, 90] == pytest.approx(1)
    clusters = GromovClustering(3, precomputed="similarity", random_state=0).fit(affinity.HeatKernel(t=2.0).fit(graph()[0]))
    assert metrics.adjusted_rand_score(y, clusters.labels_) == 1


@pytest.mark.parametrize(
    ("parameters", "A", "message"),
    [
        ({"t": 0}, np.ones((3, 3)), "t is 0"),
        ({"t": np.nan}, np.ones((3, 3)), "t is nan"),
        ({"entries": 0}, np.ones((3, 3)), "entries is 0"),
        ({}, np.ones((3, 4)), "must be square"),
        ({}, -np.ones((3, 3)), "not negative"),
    ],
)
def test_wrong_heat_is_named(parameters, A, message):
    with pytest.raises(ValueError, match=message):
        affinity.HeatKernel(**parameters).fit(A)


def test_the_spectrum_error_is_that_of_its_definition():
    A, y = graph()
    T = np.eye(3)[y]
    eigenvalues = lambda A: np.sort(np.linalg.eigvalsh(np.eye(len(A)) - laplacian(sp.csr_array(A))))[::-1][:3]  # noqa: E731
    expected = np.abs(eigenvalues(A.toarray()) - eigenvalues(T.T @ A.toarray() @ T)).mean()
    assert metrics.spectrum_error(A, y) == pytest.approx(expected, rel=1e-9)
    assert metrics.spectrum_error(A, np.arange(90)) == pytest.approx(0, abs=1e-12)
    shuffled = np.random.default_rng(0).permutation(y)
    assert metrics.spectrum_error(A, shuffled) > 2 * expected
    with pytest.raises(ValueError, match="89 entries, but the graph has 90 nodes"):
        metrics.spectrum_error(A, y[1:])


def test_the_square_loss_of_a_free_target_is_what_the_spectrum_loses():
    """C = D^(-1/2) (I + W) D^(-1/2) with weights of degrees: squared eigenvalues before, minus those after."""
    A, _ = graph()
    degrees = A.sum(axis=1)
    h = degrees / degrees.sum()
    walk = 2 * np.eye(90) - laplacian(A)
    C = walk / np.sqrt(np.outer(h, h))
    m = GromovClustering(4, precomputed="similarity", loss="square", random_state=0).fit(C, sample_weight=h)
    root = np.sqrt(np.outer(m.weights_, m.weights_))
    before, after = np.linalg.eigvalsh(walk), np.linalg.eigvalsh(m.target_ * root)
    assert m.loss_ == pytest.approx((before**2).sum() - (after**2).sum(), rel=1e-6)
    # Interlacing: no eigenvalue of the coarse graph is above its own of the graph.
    assert (np.sort(after)[::-1] <= np.sort(before)[::-1][:4] + 1e-9).all()
