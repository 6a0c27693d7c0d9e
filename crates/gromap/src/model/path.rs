//! A path over n: one similarity, several numbers of prototypes, and how one map becomes the next.
//!
//! Levels are fitted from few prototypes to many, each afresh or from the one before: a cluster is then
//! split where its samples want to, and what follows is the same descent. Every map is turned, shifted and
//! mirrored, never scaled, onto the one before (Procrustes), so that what slides along n stays in place; the lineage
//! says how much mass of each prototype feeds which of the next level.

use faer::Mat;

use super::options::{GromovDr, Parameters};
use super::own_places::OwnPlaces;
use super::{Model, prepared};
use crate::affinity::{Multiplier, Training};
use crate::data::{Data, Run};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::observe::StopReason;
use crate::plan::Plan;
use crate::start::Start;

/// How a level of a path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Level {
    /// As a fit of that many prototypes by itself.
    #[default]
    Fresh,
    /// From the level before, its heaviest prototypes split.
    Warm,
}

/// Models of growing n on one similarity.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// One model for each level, by ascending n.
    pub models: Vec<Model>,
    /// For each level but the first, (prototype before, prototype here, shared mass), by both.
    pub lineage: Vec<Vec<(u32, u32, f64)>>,
}

impl GromovDr {
    /// Fits several numbers of prototypes on one similarity.
    ///
    /// ```
    /// use gromap::options::Level;
    /// use gromap::{GromovDr, Matrix};
    /// let samples = Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
    /// let path = GromovDr::builder().perplexity(5.0).path(&samples, &[3, 6], Level::Fresh)?;
    /// assert_eq!(path.models[1].prototypes.rows(), 6);
    /// let mass: f64 = path.lineage[0].iter().map(|(_, _, mass)| mass).sum();
    /// assert!((mass - 1.0).abs() < 1e-12);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn path<'d>(&self, data: impl Into<Data<'d>>, sizes: &[usize], level: Level) -> Result<Path> {
        self.path_with(&data.into(), sizes, level, Run::default())
    }

    /// The same with weighted samples, or telling an observer of every stage and round; one that asks to stop gets the
    /// levels that were reached.
    pub fn path_with(&self, data: &Data<'_>, sizes: &[usize], level: Level, run: Run<'_>) -> Result<Path> {
        if sizes.is_empty() || sizes.windows(2).any(|pair| pair[0] >= pair[1]) {
            let first = sizes.first().copied().unwrap_or(0) as f64;
            return Err(Error::parameter("number of prototypes of a path", first, "ascending, at least one"));
        }
        self.check()?;
        self.check_dims(data.len())?;
        self.path_memory_plan(&data.shape(), sizes).check_room()?;
        let most = sizes.iter().copied().max();
        prepared::run(&self.common, data, self.purpose(most), run, |prepared, observer| {
            let mut path = Path { models: Vec::new(), lineage: Vec::new() };
            for &size in sizes {
                let start = match (level, path.models.last()) {
                    (Level::Warm, Some(before)) => {
                        let (labels, found) = (before.plan.labels(), before.weights.len());
                        let ground = prepared.ground(&self.common, self.common.loss());
                        Start::Plan(ground.split(&labels, found, size, self.common.settings.seed)?)
                    }
                    _ => self.common.init.clone(),
                };
                let found = self.solve(prepared, Some(size), &start, observer)?;
                let mut model = prepared.model(Parameters::Map(self.clone().prototypes(size)), found)?;
                if let Some(before) = path.models.last() {
                    align(&mut model, before);
                    path.lineage.push(lineage(&before.plan, &model.plan));
                }
                let interrupted = model.outcome.stop == StopReason::Interrupted;
                path.models.push(model);
                if interrupted {
                    break;
                }
            }
            Ok(path)
        })
    }
}

/// How much mass goes from each prototype of one plan to each of another.
fn lineage(before: &Plan, after: &Plan) -> Vec<(u32, u32, f64)> {
    let mut shared = std::collections::BTreeMap::new();
    for (i, &weight) in before.sample_weights().iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        for (k, mass) in before.row(i).iter() {
            for (l, other) in after.row(i).iter() {
                *shared.entry((k as u32, l as u32)).or_insert(0.0) += mass * other / weight;
            }
        }
    }
    shared.into_iter().map(|((k, l), mass)| (k, l, mass)).collect()
}

/// Turns and shifts the map of a model onto that of the one before: the places of the samples are matched.
fn align(model: &mut Model, before: &Model) {
    let links = lineage(&before.plan, &model.plan);
    let dims = model.prototypes.columns();
    let mean = |model: &Model, side: fn(&(u32, u32, f64)) -> u32| -> Vec<f64> {
        let at = |c: usize| links.iter().map(|link| link.2 * model.prototypes[(side(link) as usize, c)]).sum();
        (0..dims).map(at).collect()
    };
    let (there, here) = (mean(before, |link| link.0), mean(model, |link| link.1));
    let cross = Mat::from_fn(dims, dims, |a, b| {
        let product = |&(k, l, mass): &(u32, u32, f64)| {
            let z = model.prototypes[(l as usize, a)] - here[a];
            mass * z * (before.prototypes[(k as usize, b)] - there[b])
        };
        links.iter().map(product).sum::<f64>()
    });
    let Ok(svd) = cross.svd() else { return };
    let turn = svd.U() * svd.V().transpose();
    let turned = |matrix: &Matrix<'_>, from: &[f64], to: &[f64]| {
        Matrix::from_fn(matrix.rows(), dims, |k, b| {
            (0..dims).map(|a| (matrix[(k, a)] - from[a]) * turn[(a, b)]).sum::<f64>() + to[b]
        })
    };
    // Where every sample is a prototype, new samples are placed by the same coordinates. Those that are products with
    // a row of C_X can be turned but not shifted.
    let zero = vec![0.0; dims];
    let placement = &mut model.placement;
    let (from, to) = match (&placement.step, &model.views[0].training) {
        (None, Training::Product { .. } | Training::Kernel { .. }) => (&zero, &zero),
        _ => (&here, &there),
    };
    model.prototypes = turned(&model.prototypes, from, to);
    model.sample_places = model.sample_places.as_ref().map(|places| turned(places, from, to));
    if let Some(OwnPlaces::LeastSquares { columns, shift }) = &mut placement.own_places {
        *columns = turned(columns, &zero, &zero);
        *shift = turned(&Matrix::from_fn(1, dims, |_, c| shift[c]), from, to).row(0).to_vec();
    }
    if placement.step.is_none() {
        if let Multiplier::Places(places) = &placement.multiplier {
            placement.multiplier = Multiplier::Places(turned(places, from, to));
        }
        for view in &mut model.views {
            match &mut view.training {
                Training::Product { sketch, .. } => *sketch = turned(sketch, from, to),
                Training::Kernel { means: (columns, _), .. } => {
                    let row = Matrix::from_fn(1, dims, |_, c| columns[c]);
                    *columns = turned(&row, from, to).row(0).to_vec();
                }
                Training::Neighbors { .. } | Training::Unknown => {}
            }
        }
    }
}
