"""Metacells: counts of genes, as single-cell data come, sparse and of very different totals.

Six simulated types, 3,000 cells of two donors, 1,000 genes, a few marker genes for each type. `gromap.sc` works on an AnnData
and in the habits of scanpy: `tl.metacells` groups like cells and places them on a map, `get.metacells` sums the counts of each
group, and a page names every metacell by the genes that set it apart. Needs `pip install 'gromap[sc]'`.

Usage: python single_cell.py [map.html]
"""

import sys

import anndata
import gromap.sc
import numpy as np
import pandas as pd
import scipy.sparse as sp
from gromap import metrics
from sklearn.decomposition import PCA

rng = np.random.default_rng(0)
types, genes, cells, markers = 6, 1000, 3000, 25
names = np.array(["T cell", "B cell", "monocyte", "NK cell", "dendritic", "platelet"])
profiles = np.tile(rng.gamma(0.3, 1.0, genes), (types, 1))
for kind in range(types):
    profiles[kind, kind * markers : (kind + 1) * markers] += rng.gamma(1.0, 1.0, markers)
profiles /= profiles.sum(axis=1, keepdims=True)
truth = rng.choice(types, cells, p=[0.35, 0.25, 0.15, 0.12, 0.1, 0.03])
depth = rng.lognormal(6.0, 0.5, cells)
gene_names = [f"{names[j // markers][:2].upper()}{j % markers}" if j < types * markers else f"G{j}" for j in range(genes)]
adata = anndata.AnnData(
    sp.csr_matrix(rng.poisson(profiles[truth] * depth[:, None]).astype(np.float32)),
    obs=pd.DataFrame(
        {"type": names[truth], "donor": rng.choice(["d1", "d2"], cells)}, index=[f"cell {i}" for i in range(cells)]
    ),
    var=pd.DataFrame(index=gene_names),
)
print(f"{cells} cells, {genes} genes, {adata.X.nnz / np.prod(adata.shape):.0%} of the counts are not zero")

# As scanpy.pp.normalize_total, log1p and pca do it: counts per 10,000, their logarithm, principal components.
adata.layers["counts"] = adata.X.copy()
adata.X = (sp.diags_array(1e4 / adata.X.sum(axis=1).A1) @ adata.X).tocsr().log1p()
adata.obsm["X_pca"] = PCA(30, svd_solver="arpack", random_state=0).fit_transform(adata.X)

gromap.sc.tl.metacells(adata, cells_per_metacell=60)
groups = gromap.sc.get.metacells(adata)
sizes = groups.obs["n_cells"]
print(f"{groups.n_obs} metacells of {sizes.min()} to {sizes.max()} cells; purity {groups.obs['type_purity'].mean():.3f}")
print(groups.obs.groupby("type", observed=True)["n_cells"].agg(["size", "sum"]).to_string())

# How good they are, without knowing the types: how tight and how far apart, where random walks between cells spread.
components = metrics.diffusion_components(adata.obsm["X_pca"])
compact = np.nanmedian(metrics.compactness(components, adata.obs["metacell"].cat.codes))
chance = np.nanmedian(metrics.compactness(components, rng.permutation(adata.obs["metacell"].cat.codes)))
print(f"compactness {compact:.1e}, of random groups of the same sizes {chance:.1e}")

if len(sys.argv) > 1:
    gromap.sc.report(adata, sys.argv[1], color="type", title="Metacells")
    print(f"The map is in {sys.argv[1]}.")

assert groups.X.sum() == adata.layers["counts"].sum(), "no count is lost"
assert groups.obs["type_purity"].mean() > 0.95 and compact < chance / 5
