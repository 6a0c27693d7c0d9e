//! Distances that are known already, instead of samples: the similarity that a method makes of them.
//!
//! What a method makes of the Euclidean distances of samples is what it makes of the samples, so that either can be
//! given: entropic affinities weigh squared distances, graphs and fuzzy sets distances, and classical scaling centres
//! their squares. Inner products and kernels of samples do not follow from distances, and the graph of Isomap, should it
//! be in pieces, is joined by looking at samples; these methods want samples.

use super::{GromovDr, Model};
use crate::affinity::{
    Affinity, Entropic, FuzzySet, NormalizedGraph, Operator, SquaredDistance, SymmetricEntropic, Symmetry,
};
use crate::error::{Error, Result};
use crate::method::Method;
use crate::neighbors::Neighbors;
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::observe::{Event, Observer, Stage};
use crate::similarity::Sparse;
use crate::weights::SampleWeights;

impl GromovDr {
    /// Fits to an N×N matrix of distances. New samples cannot be placed.
    ///
    /// ```
    /// use gromap::{GromovDr, Matrix};
    /// let distances = Matrix::from_fn(40, 40, |i, j| (i as f64 - j as f64).abs() + if i / 20 == j / 20 { 0.0 } else { 100.0 });
    /// let model = GromovDr::builder().prototypes(2).perplexity(5.0).fit_distances(&distances, None, &mut ())?;
    /// let labels = model.plan.labels();
    /// assert!((0..40).all(|i| (labels[i] == labels[0]) == (i < 20)));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn fit_distances<S: Scalar>(
        &self,
        distances: &Matrix<'_, S>,
        weights: Option<&SampleWeights>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let affinity = self.affinity_of_distances(distances, observer)?;
        let mut model = self.fit_similarity(affinity.similarity(), None, weights, observer)?;
        model.warnings = affinity.warnings.iter().map(ToString::to_string).collect();
        Ok(model)
    }

    /// The similarity that the method makes of distances.
    pub(crate) fn affinity_of_distances<S: Scalar>(
        &self,
        distances: &Matrix<'_, S>,
        observer: &mut dyn Observer,
    ) -> Result<Affinity<S>> {
        let n = distances.rows();
        Error::check_len("columns of the distances", n, distances.columns())?;
        if matches!(self.method, Method::Pca | Method::KernelPca | Method::Isomap) {
            let taking = Method::ALL
                .map(Method::name)
                .into_iter()
                .filter(|name| !["pca", "kernel-pca", "isomap"].contains(name));
            let allowed = taking.collect::<Vec<_>>().join(", ");
            return Err(Error::Name { what: "method for given distances", name: self.method.name().into(), allowed });
        }
        if self.method == Method::Mds {
            observer.on(&Event::Stage(Stage::Affinity));
            return Ok(SquaredDistance.from_distances(distances)?.into());
        }
        let Some(k) = self.method.neighbors_of(n, &self.options) else { unreachable!("a method of neighbours") };
        observer.on(&Event::Stage(Stage::Neighbors));
        let near = Neighbors::from_distances(distances, k)?;
        observer.on(&Event::Stage(Stage::Affinity));
        match self.method {
            Method::LaplacianEigenmaps => Ok(NormalizedGraph::default().from_neighbors(&near)?.into()),
            Method::Umap => Ok(FuzzySet::default().from_neighbors(&near)?.into()),
            _ => self.entropic_of_neighbors(near),
        }
    }

    /// One affinity for each perplexity, each on the neighbours it would look at by itself, and their mean.
    fn entropic_of_neighbors<S: Scalar>(&self, near: Neighbors) -> Result<Affinity<S>> {
        let squared = near.distances().iter().map(|distance| distance * distance).collect();
        let near = Neighbors::new(near.k(), near.indices().to_vec(), squared)?;
        let (mut parts, mut warnings) = (Vec::new(), Vec::new());
        for &perplexity in &self.options.perplexities {
            let alone = crate::method::AffinityOptions { perplexities: vec![perplexity], ..self.options.clone() };
            let k = self.method.neighbors_of(near.len(), &alone).unwrap_or(near.k());
            let near = near.nearest(k);
            parts.push(match self.method {
                Method::Sne | Method::TSne => {
                    let symmetry = if self.method == Method::Sne { Symmetry::Conditional } else { Symmetry::Joint };
                    Entropic { perplexity, symmetry, ..Entropic::default() }.from_neighbors(&near)?
                }
                _ => {
                    let recipe = SymmetricEntropic { perplexity, ..SymmetricEntropic::default() };
                    let found = recipe.affinity_of_neighbors(&near)?;
                    warnings.extend(found.1);
                    found.0
                }
            });
        }
        let share = 1.0 / parts.len() as f64;
        let mean = match parts.len() {
            1 => parts.remove(0),
            _ => Sparse::weighted_sum(&parts.iter().map(|part| (share, part)).collect::<Vec<_>>())?,
        };
        Ok(Affinity { operator: Operator::Sparse(mean), warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::testing::scattered;

    /// Samples on a grid of sixteenths, whose distances are exact enough to order neighbours as the samples do.
    fn both() -> (Matrix<'static, f32>, Matrix<'static, f64>) {
        let samples = scattered(60, 3, 7);
        let distance = |i: usize, j: usize| {
            let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
            samples.row(i).iter().zip(samples.row(j)).map(square).sum::<f64>().sqrt()
        };
        let distances = Matrix::from_fn(60, 60, distance);
        (samples, distances)
    }

    fn check(recipe: GromovDr) {
        let (samples, distances) = both();
        let from_samples = recipe.clone().fit(&samples).unwrap();
        let from_distances = recipe.fit_distances(&distances, None, &mut ()).unwrap();
        let (a, b) = (from_samples.loss, from_distances.loss);
        assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()), "{a} {b}");
    }

    macro_rules! distances_stand_for_samples {
        ($($name:ident $method:expr;)*) => {$(
            #[test]
            fn $name() {
                // Every sample a prototype: no start, which would look at samples.
                check(GromovDr::builder().method($method).every_sample().perplexity(8.0));
            }
        )*};
    }

    distances_stand_for_samples! {
        mds Method::Mds;
        laplacian_eigenmaps Method::LaplacianEigenmaps;
        sne Method::Sne;
        tsne Method::TSne;
        snekhorn Method::Snekhorn;
        tsnekhorn Method::TSnekhorn;
        umap Method::Umap;
    }

    #[test]
    fn two_perplexities_are_the_mean_of_both() {
        check(GromovDr::builder().every_sample().perplexities(&[4.0, 9.0]));
    }

    #[test]
    fn what_needs_samples_says_so() {
        let (_, distances) = both();
        for method in [Method::Pca, Method::KernelPca, Method::Isomap] {
            let found = GromovDr::builder().method(method).fit_distances(&distances, None, &mut ());
            let message = found.unwrap_err().to_string();
            assert!(message.contains(method.name()) && message.contains("mds, laplacian-eigenmaps, sne"), "{message}");
        }
        let wide = Matrix::<f64>::zeros(3, 4);
        assert!(matches!(GromovDr::builder().fit_distances(&wide, None, &mut ()), Err(Error::Shape { .. })));
    }
}
