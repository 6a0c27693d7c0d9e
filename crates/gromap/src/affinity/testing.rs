//! Small datasets for the tests of affinities.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Affinity;
use crate::numeric::Matrix;
use crate::plan::Plan;
use crate::similarity::{Contents, Side, Similarity, Sparse};
use crate::weights::SampleWeights;

/// 0, 1, 2, … on a line.
pub(crate) fn line(samples: usize) -> Matrix<'static, f32> {
    Matrix::from_fn(samples, 1, |i, _| i as f32)
}

/// One cloud, roughly Gaussian.
pub(crate) fn cloud(samples: usize, features: usize, seed: u64) -> Matrix<'static, f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Matrix::from_fn(samples, features, |_, _| (0..4).map(|_| rng.random::<f32>() - 0.5).sum())
}

/// Three clouds of different density.
pub(crate) fn scattered(samples: usize, features: usize, seed: u64) -> Matrix<'static, f32> {
    let noise = cloud(samples, features, seed);
    Matrix::from_fn(samples, features, |i, j| {
        let centre = if j == i % 3 { 4.0 } else { 0.0 };
        centre + noise[(i, j)] * [0.3, 1.0, 2.0][i % 3]
    })
}

/// Every entry, by products with a plan of one sample each.
pub(crate) fn entries(similarity: &dyn Similarity) -> Matrix<'static> {
    let n = similarity.len();
    let weights = SampleWeights::uniform(n).expect("weights");
    let plan = Plan::from_labels((0..n as u32).collect(), n, weights).expect("a plan");
    let sketch = similarity.sketch(&plan, Side::Direct);
    let mut out = Matrix::zeros(n, n);
    sketch.product_rows(0..n, out.values_mut());
    out.values_mut().iter_mut().for_each(|v| *v *= n as f64);
    out
}

/// The rows of a sparse affinity.
pub(crate) fn sparse_of(affinity: &Affinity) -> Sparse<'static, f32> {
    let Contents::Sparse(sparse) = affinity.similarity.contents() else { panic!("not sparse") };
    let (offsets, columns, values) = sparse.compressed_rows();
    Sparse::new(offsets.to_vec(), columns.to_vec(), values.to_vec()).expect("compressed rows")
}
