"""Metacells on an AnnData: what is written, what is summed, what is refused; and scanpy on the result."""

import subprocess
import sys
import warnings

import anndata
import gromap
import gromap.sc
import matplotlib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from gromap.sc import _groups
from helpers import data_of
from sklearn.decomposition import PCA
from sklearn.manifold._utils import _binary_search_perplexity

matplotlib.use("Agg")


def made_up(cells=600, genes=60, kinds=4, seed=0):
    """Counts of a few kinds of cells with marker genes, in two batches."""
    rng = np.random.default_rng(seed)
    profiles = rng.gamma(0.5, 1.0, genes) * np.ones((kinds, 1))
    for kind in range(kinds):
        profiles[kind, 5 * kind : 5 * kind + 5] += 6.0
    kind = rng.integers(0, kinds, cells)
    counts = rng.poisson(profiles[kind] * rng.lognormal(0, 0.3, cells)[:, None])
    adata = anndata.AnnData(
        sp.csr_matrix(counts.astype(np.float32)),
        obs=pd.DataFrame(
            {
                "type": pd.Categorical.from_codes(kind, [f"type {k}" for k in range(kinds)]),
                "batch": np.where(rng.random(cells) < 0.7, "b1", "b2"),
                "depth": counts.sum(axis=1).astype(float),
            },
            index=[f"cell{i}" for i in range(cells)],
        ),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(genes)]),
    )
    adata.layers["counts"] = adata.X.copy()
    adata.X = adata.X.log1p()
    adata.obsm["X_pca"] = PCA(10, random_state=0).fit_transform(adata.X.toarray()).astype(np.float32)
    return adata


@pytest.fixture(scope="module")
def done():
    adata = made_up()
    gromap.sc.tl.metacells(adata, cells_per_metacell=20)
    return adata


def with_neighbors(adata, k=15):
    indices, distances = gromap.affinity.nearest_neighbors(adata.obsm["X_pca"], k, metric="euclidean")
    offsets = np.arange(0, indices.size + 1, k)
    adata.obsp["distances"] = sp.csr_matrix((distances.ravel().astype(float), indices.ravel(), offsets))
    adata.uns["neighbors"] = {"distances_key": "distances", "connectivities_key": "connectivities"}
    return adata


def test_what_is_written(done):
    metacell = done.obs["metacell"]
    assert isinstance(metacell.dtype, pd.CategoricalDtype) and metacell.cat.categories.tolist() == [
        str(k) for k in range(30)
    ]
    assert done.obsm["X_gromap"].shape == (600, 2) and np.isfinite(done.obsm["X_gromap"]).all()
    about = done.uns["gromap"]
    np.testing.assert_array_equal(about["sizes"], np.bincount(metacell.cat.codes))
    assert about["places"].shape == (30, 2) and about["params"]["n"] == 30 and about["key"] == "metacell"
    assert gromap.metrics.purity(done.obs["type"], metacell.cat.codes).mean() > 0.95


def test_groups_are_those_of_the_clustering_and_the_same_for_any_number_of_threads(done):
    X = done.obsm["X_pca"]
    expected = gromap.GromovClustering(30, random_state=0).fit(X).labels_
    assert gromap.metrics.adjusted_rand_score(expected, done.obs["metacell"].cat.codes) == 1.0
    again = gromap.sc.tl.metacells(made_up(), cells_per_metacell=20, n_jobs=1, copy=True)
    assert again.obs["metacell"].equals(done.obs["metacell"])
    np.testing.assert_array_equal(again.obsm["X_gromap"], done.obsm["X_gromap"])


def test_a_copy_leaves_the_original_alone():
    adata = made_up(120)
    copied = gromap.sc.tl.metacells(adata, 4, copy=True, key_added="group")
    assert "group" in copied.obs and "group" not in adata.obs and "gromap" not in adata.uns
    assert gromap.sc.get.metacells(copied).n_obs == 4


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_counts_are_summed(done, form):
    adata = done.copy()
    counts = adata.layers["counts"].toarray()
    if form == "dense":
        adata.layers["counts"] = counts
    adata.layers["spliced"] = adata.layers["counts"] * 2
    adata.layers["scaled"] = adata.X
    groups = gromap.sc.get.metacells(adata)
    codes = adata.obs["metacell"].cat.codes.to_numpy()
    expected = np.array([counts[codes == k].sum(axis=0) for k in range(30)])
    assert sp.issparse(groups.X) == sp.issparse(groups.layers["spliced"]) == (form == "sparse")
    np.testing.assert_array_equal(groups.X.toarray() if form == "sparse" else groups.X, expected)
    assert set(groups.layers) == {"counts", "spliced"}, "what is no count is not summed"
    assert groups.layers["spliced"].sum() == 2 * counts.sum()
    assert groups.var_names.equals(adata.var_names) and groups.obs_names.tolist() == [str(k) for k in range(30)]


def test_columns_of_kinds_become_majority_and_purity(done):
    groups = gromap.sc.get.metacells(done)
    assert groups.obs.columns.tolist() == ["n_cells", "type", "type_purity", "batch", "batch_purity"]
    for name in groups.obs_names:
        inside = done.obs["type"][done.obs["metacell"] == name]
        assert groups.obs.loc[name, "n_cells"] == len(inside)
        assert groups.obs.loc[name, "type_purity"] == pytest.approx(inside.value_counts(normalize=True).max())
        assert inside.value_counts()[groups.obs.loc[name, "type"]] == inside.value_counts().max()
    np.testing.assert_array_equal(groups.obsm["X_gromap"], done.uns["gromap"]["places"])
    codes = done.obs["metacell"].cat.codes.to_numpy()
    np.testing.assert_allclose(groups.obsm["X_pca"][3], done.obsm["X_pca"][codes == 3].mean(axis=0), rtol=1e-5)


def test_unknown_kinds_do_not_count():
    adata = made_up(60)
    adata.obs["metacell"] = np.repeat(["a", "b"], 30)
    adata.obs["type"] = pd.Categorical([None] * 30 + ["T"] * 10 + [None] * 15 + ["B"] * 5)
    groups = gromap.sc.get.metacells(adata)
    assert groups.obs["type"].isna().tolist() == [True, False] and groups.obs["type"].iloc[1] == "T"
    assert groups.obs["type_purity"].iloc[1] == pytest.approx(10 / 15)


def test_counts_are_found_in_raw_and_in_X():
    adata = made_up(80)
    adata.obs["metacell"] = np.repeat(["a", "b"], 40)
    counts = adata.layers["counts"].copy()
    raw = anndata.AnnData(counts, obs=adata.obs, var=adata.var)
    del adata.layers["counts"]
    with pytest.raises(ValueError, match=r"no counts to sum: .* adata.layers\['counts'\] = adata.X.copy\(\)"):
        gromap.sc.get.metacells(adata)
    adata.raw = raw
    adata = adata[:, :10].copy()
    groups = gromap.sc.get.metacells(adata)
    assert groups.n_vars == 60 and groups.X.sum() == counts.sum() and groups.uns["gromap"]["counts"] == "raw"
    assert gromap.sc.get.metacells(raw, key="metacell").X.sum() == counts.sum()
    assert gromap.sc.get.metacells(adata, counts="X").X.sum() == pytest.approx(adata.X.sum(), rel=1e-6)


def test_batches_apart():
    adata = made_up()
    gromap.sc.tl.metacells(adata, 30, batch_key="batch")
    table = pd.crosstab(adata.obs["metacell"], adata.obs["batch"])
    assert ((table > 0).sum(axis=1) == 1).all() and len(table) == 30
    assert [(table[b] > 0).sum() for b in ("b1", "b2")] == _groups.shares_of(adata.obs["batch"].value_counts(), 30).tolist()
    assert set(table.index.str.partition("-").get_level_values(0)) == {"b1", "b2"}
    groups = gromap.sc.get.metacells(adata)
    assert groups.obs["batch_purity"].eq(1).all() and groups.obs["type_purity"].mean() > 0.95
    # One map for both: cells of a type are neighbours whatever their batch.
    assert gromap.metrics.label_agreement(adata.obsm["X_gromap"], adata.obs["type"]) > 0.95


@pytest.mark.parametrize("sizes", [[700, 300], [1, 999], [5, 5, 5], [3, 1000, 2, 9]])
@pytest.mark.parametrize("n", [1, 4, 17])
def test_every_batch_has_its_share(sizes, n):
    shares = _groups.shares_of(sizes, n)
    exact = max(n, len(sizes)) * np.array(sizes) / sum(sizes)
    assert shares.sum() == max(n, len(sizes)) and shares.min() >= 1
    assert (shares <= np.ceil(np.maximum(exact, 1))).all()


@pytest.mark.parametrize("bounds", [(15, None), (None, 24), (12, 30), (18, 36)])
def test_sizes_are_kept_between_bounds(bounds):
    adata = made_up()
    free = gromap.sc.tl.metacells(adata, 30, copy=True).uns["gromap"]["sizes"]
    low, high = bounds
    assert free.min() < (low or 0) or free.max() > (high or 600), "the bounds have something to do"
    gromap.sc.tl.metacells(adata, 30, min_size=low, max_size=high)
    sizes = adata.obs["metacell"].value_counts()
    assert sizes.min() >= (low or 1) and sizes.max() <= (high or 600) and sizes.sum() == 600
    assert len(adata.uns["gromap"]["places"]) == len(sizes)
    assert gromap.metrics.purity(adata.obs["type"], adata.obs["metacell"].cat.codes).mean() > 0.9


@pytest.mark.parametrize("about", [{}, {"batch_key": "batch"}, {"max_size": 40}])
def test_many_metacells_are_found_and_placed_at_once(about, monkeypatch):
    monkeypatch.setattr("gromap.sc._groups.MANY", 10)
    adata = made_up()
    gromap.sc.tl.metacells(adata, 20, **about)
    if not about:
        m = gromap.GromovDR(20, random_state=0).fit(adata.obsm["X_pca"])
        np.testing.assert_array_equal(adata.obs["metacell"].cat.codes, m.labels_)
        np.testing.assert_array_equal(adata.uns["gromap"]["places"], m.prototypes_)
    assert gromap.metrics.purity(adata.obs["type"], adata.obs["metacell"].cat.codes).mean() > 0.95
    assert len(adata.uns["gromap"]["places"]) == adata.obs["metacell"].nunique()


def test_given_distances_are_neighbours():
    adata = with_neighbors(made_up(), k=45)
    del adata.obsm["X_pca"]
    gromap.sc.tl.metacells(adata, 20, neighbors_key="neighbors", perplexity=15)
    assert gromap.metrics.purity(adata.obs["type"], adata.obs["metacell"].cat.codes).mean() > 0.95
    by_key = gromap.sc.tl.metacells(adata, 20, neighbors_key="distances", perplexity=15, copy=True)
    assert by_key.obs["metacell"].equals(adata.obs["metacell"])


def test_the_similarity_of_given_distances_is_that_of_t_sne():
    adata = with_neighbors(made_up(200), k=30)
    distances = adata.obsp["distances"]
    squared = (distances.data.reshape(200, 30) ** 2).astype(np.float32)
    rows = np.zeros((200, 200))
    found = _binary_search_perplexity(squared, 8.0, 0)
    rows[np.repeat(np.arange(200), 30), distances.indices] = found.ravel()
    similarity = _groups.similarity_of_distances(distances, 8.0)
    np.testing.assert_allclose(similarity.toarray(), (rows + rows.T) / 400, atol=1e-7)
    # Rows may have any number of neighbours.
    ragged = sp.csr_array(np.where(np.arange(60)[None] < 4 + np.arange(60)[:, None] // 3, 1.0 + np.random.rand(60, 60), 0))
    assert _groups.similarity_of_distances(ragged, 30).sum() == pytest.approx(1.0)


def test_backed_data_are_read_in_blocks(tmp_path, monkeypatch):
    adata = made_up()
    adata.X = adata.layers["counts"].copy()
    del adata.layers["counts"]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    monkeypatch.setattr("gromap.sc._cells._BLOCK", 130)
    gromap.sc.tl.metacells(backed, 20)
    groups = gromap.sc.get.metacells(backed)
    assert backed.isbacked and sp.issparse(groups.X)
    codes = backed.obs["metacell"].cat.codes.to_numpy()
    np.testing.assert_array_equal(groups.X.toarray(), np.eye(20)[codes].T @ adata.X.toarray())


def test_the_result_survives_a_file_and_places_new_cells(done, tmp_path):
    done.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    model = gromap.sc.get.model(again)
    labels = model.predict(done.obsm["X_pca"])
    assert (labels == done.obs["metacell"].cat.codes).mean() > 0.9
    assert gromap.sc.get.metacells(again).n_obs == 30


def test_a_page_has_names_of_genes(done, tmp_path):
    gromap.sc.report(done, tmp_path / "map.html", color="type")
    header, _ = data_of(tmp_path / "map.html")
    text = str(header)
    marked = gromap.sc.get.metacells(done).obs["type"]
    markers = {f"type {k}": {f"gene{j}" for j in range(5 * k, 5 * k + 5)} for k in range(4)}
    assert all(any(gene in text for gene in markers[kind]) for kind in marked.unique())
    assert "type 2" in text and "cell17" in text
    gromap.sc.report(done, tmp_path / "asked.html", genes=["gene33"], title="Asked")
    header, _ = data_of(tmp_path / "asked.html")
    assert "gene33" in str(header) and "Asked" in str(header)


@pytest.mark.parametrize("color", [None, "type", "batch", "depth", "gene7"])
def test_a_plot_has_cells_and_metacells(done, color):
    import matplotlib.pyplot as plt

    ax = gromap.sc.pl.map(done, color)
    drawn = [len(collection.get_offsets()) for collection in ax.collections]
    assert drawn[:2] == [600, 30]
    areas = ax.collections[1].get_sizes()
    np.testing.assert_allclose(areas / areas.sum(), done.uns["gromap"]["sizes"] / 600)
    assert (ax.get_legend() is not None) == (color in ("type", "batch"))
    plt.close(ax.figure)


def refused(name):
    adata = made_up(90)
    tl, get = gromap.sc.tl.metacells, gromap.sc.get.metacells
    return {
        "an array": (lambda: tl(np.zeros((9, 2))), TypeError, "must be an AnnData, not ndarray"),
        "no X_pca": (
            lambda: tl(anndata.AnnData(np.ones((9, 2)))),
            KeyError,
            r"'X_pca', and adata.obsm has no such key; it has nothing; run scanpy.pp.pca",
        ),
        "use_rep": (lambda: tl(adata, use_rep="X_scvi"), KeyError, "'X_scvi', and adata.obsm .* it has 'X_pca'"),
        "batch": (lambda: tl(adata, batch_key="donor"), KeyError, "batch_key is 'donor', .* it has 'type', 'batch'"),
        "neighbours": (lambda: tl(adata, neighbors_key="neighbors"), KeyError, "no 'neighbors'.* scanpy.pp.neighbors"),
        "n": (lambda: tl(adata, 91), ValueError, "n is 91, and adata has 90 cells"),
        "no n": (lambda: tl(adata, 0), ValueError, "n is 0; it must be a whole number from 1"),
        "cells each": (lambda: tl(adata, cells_per_metacell=0), ValueError, "cells_per_metacell is 0; it must be"),
        "too many": (lambda: tl(adata, 10, min_size=10), ValueError, "need 100, .* lower min_size to 9 or n to 9"),
        "too few": (lambda: tl(adata, 4, max_size=20), ValueError, "hold 80, .* raise max_size to 23 or n to 5"),
        "narrow": (lambda: tl(adata, 6, min_size=12, max_size=20), ValueError, "raise max_size to 24, or lower min_size to 10"),
        "no size": (lambda: tl(adata, 6, min_size=0.5), ValueError, "min_size is 0.5; it must be a whole number"),
        "small batch": (
            lambda: tl(adata, 6, batch_key="batch", min_size=40),
            ValueError,
            "batch 'b[12]' has",
        ),
        "no metacells": (lambda: get(adata), KeyError, "no 'metacell'; run gromap.sc.tl.metacells"),
        "layer": (lambda: get(tl(adata, 3, copy=True), counts="umi"), KeyError, "counts is 'umi', .* it has 'counts'"),
        "layers": (lambda: get(tl(adata, 3, copy=True), layers=["umi"]), KeyError, "no 'umi'; it has 'counts'"),
        "column": (lambda: get(tl(adata, 3, copy=True), obs=["sex"]), KeyError, "obs is 'sex'"),
        "no model": (lambda: gromap.sc.get.model(adata), KeyError, "has no model; run gromap.sc.tl.metacells"),
        "no map": (lambda: gromap.sc.pl.map(adata), KeyError, "no 'X_gromap'; run gromap.sc.tl.metacells"),
        "colour": (lambda: gromap.sc.pl.map(tl(adata, 3, copy=True), "sex"), KeyError, "color is 'sex': neither"),
        "gene": (lambda: gromap.sc.report(tl(adata, 3, copy=True), "m.html", genes=["XIST"]), KeyError, "genes has 'XIST'"),
        "fit": (lambda: gromap.GromovDR().fit(adata), TypeError, r"X is an AnnData; for metacells use gromap.sc.tl"),
        "predict": (
            lambda: gromap.GromovDR(3).fit(adata.obsm["X_pca"]).predict(adata),
            TypeError,
            r"such as adata.obsm\['X_pca'\]",
        ),
    }[name]


CASES = (
    "an array,no X_pca,use_rep,batch,neighbours,n,no n,cells each,too many,too few,narrow,no size,small batch,no metacells,"
    "layer,layers,column,no model,no map,colour,gene,fit,predict"
).split(",")


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_named_with_the_way_out(name):
    call, kind, message = refused(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind, match=message):
            call()


def test_a_missing_number_is_named_by_its_cell():
    adata = made_up(60)
    adata.obsm["X_pca"][7, 2] = np.nan
    with pytest.raises(ValueError, match="nan at cell 'cell7', column 2"):
        gromap.sc.tl.metacells(adata, 3)
    adata.obs.loc["cell4", "batch"] = None
    with pytest.raises(ValueError, match="'batch' is missing for cell 'cell4'"):
        gromap.sc.tl.metacells(adata, 3, batch_key="batch")


def test_without_anndata_the_extra_is_named():
    code = "import sys; sys.modules['anndata'] = None; import gromap; gromap.sc"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "pip install 'gromap[sc]'" in done.stderr


def test_a_workflow_of_scanpy_runs_on_the_result(tmp_path):
    import scanpy as sc

    made = made_up(900)
    anndata.AnnData(made.layers["counts"], obs=made.obs, var=made.var).write_h5ad(tmp_path / "cells.h5ad")
    adata = sc.read_h5ad(tmp_path / "cells.h5ad")
    adata.layers["counts"] = adata.X.copy()
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    sc.pp.pca(adata, n_comps=20)
    sc.pp.neighbors(adata, n_neighbors=30)
    gromap.sc.tl.metacells(adata, cells_per_metacell=15)
    with_given = gromap.sc.tl.metacells(adata, cells_per_metacell=15, neighbors_key="neighbors", perplexity=10, copy=True)
    assert gromap.metrics.purity(adata.obs["type"], with_given.obs["metacell"].cat.codes).mean() > 0.9
    sc.pl.embedding(adata, basis="gromap", color="metacell", show=False, legend_loc=None)
    groups = gromap.sc.get.metacells(adata)
    assert groups.n_obs == 60 and groups.X.sum() == made.layers["counts"].sum()
    sc.pp.normalize_total(groups, target_sum=1e4)
    sc.pp.log1p(groups)
    sc.pp.pca(groups, n_comps=10)
    sc.pp.neighbors(groups, n_neighbors=10)
    sc.tl.umap(groups)
    sc.tl.rank_genes_groups(groups, "type", method="t-test")
    ranked = pd.DataFrame(groups.uns["rank_genes_groups"]["names"])
    for kind in range(4):
        assert set(ranked[f"type {kind}"][:5]) == {f"gene{j}" for j in range(5 * kind, 5 * kind + 5)}
    sc.pl.dotplot(groups, [f"gene{j}" for j in range(0, 20, 5)], groupby="type", show=False)
    sc.pl.embedding(groups, basis="gromap", color="type", show=False)
    sc.pl.umap(groups, color="type", show=False)
    groups.write_h5ad(tmp_path / "metacells.h5ad")
    matplotlib.pyplot.close("all")
