//! The model: data in, a map of weighted prototypes or clusters out.
//!
//! | file | idea |
//! |---|---|
//! | `options.rs` | what can be asked for: [`GromovDr`] for maps, [`GromovClustering`] for clusters |
//! | `preparation.rs` | scaling and projection of the samples |
//! | `prepared.rs` | data of any form on their way into a fit: a similarity, weights, and samples if there are any |
//! | `views.rs` | several views of the same samples, and their weights |
//! | `fitting.rs` | a map: `coarse.rs` starts it, `joint.rs` finds plan and prototypes together, `many.rs`, begun by `levels.rs`, if they are many; with one prototype for every sample it is classical dimension reduction, `classical.rs` |
//! | `clusters.rs` | clusters: the plan and a target without places |
//! | `path.rs` | several numbers of prototypes on one similarity |
//! | `placement.rs` | new samples |
//! | `novelty.rs` | samples unlike any seen |
//! | `own_places.rs` | a place of its own for every sample |
//! | `links.rs` | the strongest links between prototypes |
//! | `suggest.rs` | how many groups there are, by their `boundaries.rs` against those of a `reference.rs` without groups |
//! | `stability.rs` | how much of the groups is found again in half of the samples |
//! | `memory.rs` | what a fit will hold |
//! | `file/` | a model as bytes, and back |

mod boundaries;
mod classical;
mod clusters;
mod coarse;
mod file;
mod fitting;
mod joint;
mod levels;
mod links;
mod many;
mod memory;
mod novelty;
mod options;
mod own_places;
mod path;
mod placement;
mod preparation;
mod prepared;
mod reference;
mod stability;
mod suggest;
mod views;

use std::collections::HashMap;

pub use self::novelty::{Comparison, Novelty, Shift};
pub use self::options::{AlphaScale, Common, GromovClustering, GromovDr, Parameters, Target};
pub use self::path::{Level, Path};
use self::placement::Placement;
pub use self::placement::{Placed, Places};
pub use self::preparation::{Projection, Scaling};
pub use self::stability::Stability;
pub use self::suggest::{Candidate, Suggestion};
use self::views::FittedView;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::table::Encoding;

/// A map of weighted prototypes, or clusters, and how they were reached.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// What was asked for.
    pub parameters: Parameters,
    /// What it was fitted to.
    pub fitted_to: FittedTo,
    /// Places of the prototypes that are used, n×d. Clusters have no places: d is 0.
    pub prototypes: Matrix<'static>,
    /// How clusters relate, n×n; a map says that by places.
    pub target: Option<Matrix<'static>>,
    /// Weights of the prototypes, sum 1. Those of a map are all positive; a cluster that is not used has none.
    pub weights: Vec<f64>,
    /// Their mean samples, n×p, if there were samples.
    pub features: Option<Matrix<'static>>,
    /// Names of the features, if they have any.
    pub feature_names: Option<Vec<String>>,
    /// How a table became the features, if they were one: new tables are encoded alike.
    pub table: Option<Encoding>,
    /// Names of the samples, if they have any.
    pub ids: Option<Vec<String>>,
    /// Names of classes, and the class of each sample; they are known, not used.
    pub classes: Option<(Vec<String>, Vec<u32>)>,
    /// Names of the prototypes, if they were given any.
    pub prototype_names: Option<Vec<String>>,
    /// Which samples they stand for.
    pub plan: Plan,
    /// Which of the prototypes asked for they are: those of a map that lost all their samples were dropped.
    pub kept: Vec<u32>,
    /// How all this was reached.
    pub outcome: Outcome,
    /// The strongest links between prototypes: (prototype, prototype, share of all similarity between samples that runs between the
    /// two), of a graph the share of its edges; in the order of both, the lower number first, a few of each prototype and some
    /// thousands at most. Clusters have none, nor have maps of similarities that relate every pair of samples.
    pub links: Vec<(u32, u32, f64)>,
    /// Places of the training samples, N×d; `None` where every sample is a prototype, and for clusters.
    pub(crate) sample_places: Option<Matrix<'static>>,
    /// How far the training samples are from their prototypes; `None` if that is not known.
    pub(crate) reach: Option<novelty::Reach>,
    pub(crate) views: Vec<FittedView>,
    pub(crate) placement: Placement,
}

/// What a model was fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FittedTo {
    /// Samples.
    Samples,
    /// Distances of all pairs.
    Distances,
    /// A given similarity.
    Similarity,
    /// A graph.
    Graph,
}

impl Model {
    /// Whether prototypes have places.
    pub fn is_map(&self) -> bool {
        self.parameters.is_map()
    }

    /// How much each view counts, sum 1; a single one counts 1.
    pub fn view_weights(&self) -> Vec<f64> {
        self.views.iter().map(|view| view.share).collect()
    }

    /// The place of every training sample, N×d: that of its prototype, or the mean of those that share it.
    pub fn embedding(&self) -> Matrix<'static> {
        let mut places = Matrix::zeros(self.plan.len(), self.prototypes.columns());
        for i in 0..self.plan.len() {
            let row = self.plan.row(i);
            let whole: f64 = row.mass.iter().sum();
            for (k, mass) in row.iter() {
                // A sample without weight still stands somewhere.
                let share = if whole > 0.0 { mass / whole } else { 1.0 };
                let place = self.prototypes.row(k);
                places.row_mut(i).iter_mut().zip(place).for_each(|(out, z)| *out += share * z);
            }
        }
        places
    }

    /// A place of its own for every training sample, N×d: among the prototypes of the map, nearest to its own one for kernels of
    /// the distance. Where every sample is a prototype these are the prototypes.
    ///
    /// ```
    /// # let samples = gromap::Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
    /// let model = gromap::GromovDr::builder().prototypes(6).perplexity(5.0).fit(&samples)?;
    /// assert_eq!((model.sample_places().rows(), model.sample_places().columns()), (60, 2));
    /// assert_ne!(model.sample_places(), model.embedding());
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn sample_places(&self) -> Matrix<'_> {
        self.sample_places.as_ref().map_or_else(|| self.embedding(), Matrix::view)
    }

    /// For every feature of the model, the column of new samples that has its name. Columns may come in any order, and
    /// others may stand between them; a missing one is an error that names it. A model without names takes the first
    /// columns as they come.
    ///
    /// ```
    /// # let samples = gromap::Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64);
    /// use gromap::{GromovDr, Method, Run};
    /// let names = ["height".to_string(), "width".to_string()];
    /// let run = Run { feature_names: Some(&names), ..Run::default() };
    /// let model = GromovDr::builder().method(Method::Pca).prototypes(3).fit_with(&(&samples).into(), run)?;
    /// assert_eq!(model.columns_of(&["width", "age", "height"])?, [2, 0]);
    /// assert!(model.columns_of(&["width", "age"]).unwrap_err().to_string().contains("height"));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn columns_of<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<usize>> {
        self.columns_of_view(0, names)
    }

    /// The same for one of several views, by its index: features of the model are those of its views, one after the other.
    pub fn columns_of_view<N: AsRef<str>>(&self, view: usize, names: &[N]) -> Result<Vec<usize>> {
        let Some(wanted) = self.names_of_view(view) else { return Ok((0..names.len()).collect()) };
        // Of columns with the same name the first counts.
        let columns: HashMap<&str, usize> =
            names.iter().enumerate().rev().map(|(column, name)| (name.as_ref(), column)).collect();
        let found: Vec<Option<usize>> = wanted.iter().map(|name| columns.get(name.as_str()).copied()).collect();
        let missing: Vec<String> =
            wanted.iter().zip(&found).filter(|(_, column)| column.is_none()).map(|(name, _)| name.clone()).collect();
        match missing.is_empty() {
            true => Ok(found.into_iter().flatten().collect()),
            false => Err(Error::MissingColumns { missing }),
        }
    }

    /// Names of the features of a view, if they have any.
    pub fn names_of_view(&self, view: usize) -> Option<&[String]> {
        if self.views.len() == 1 {
            return self.feature_names.as_deref();
        }
        let features = |view: &FittedView| view.preparation.features.unwrap_or(0);
        let start: usize = self.views.iter().take(view).map(features).sum();
        self.feature_names.as_ref()?.get(start..start + self.views.get(view).map_or(0, features))
    }
}
