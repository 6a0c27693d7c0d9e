//! The one door for data: what a fit is given, in whatever form and precision it comes.
//!
//! ```text
//! Data::Samples     N×p features            ──► scaled, projected, compared by the method's own similarity
//! Data::Distances   N×N distances           ──► the similarity that the method makes of distances
//! Data::Similarity  N×N, as an operator     ──► taken as it is
//! Data::Graph       edges between N nodes   ──► how random walks meet them, whatever the method
//! Data::Views       several of these        ──► the weighted sum of their similarities: one plan, one map
//! ```
//!
//! Precision is decided behind this door: [`Samples`] hold `f32` or `f64`, and only the core compiles numerical code for
//! both. What is known of data before they are read, their [`Shape`], is enough to plan memory.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::numeric::{Matrix, Scalar};
use crate::observe::Observer;
use crate::plan::Plan;
use crate::similarity::{Contents, Similarity, Sparse};
use crate::table::Encoding;
use crate::weights::SampleWeights;

/// Samples N×p, one in each row, or another matrix of as many rows, in either precision.
#[derive(Debug, Clone, PartialEq)]
pub enum Samples<'a> {
    /// Single precision.
    F32(Matrix<'a, f32>),
    /// Double precision.
    F64(Matrix<'a, f64>),
}

/// Runs the same code on a matrix of either precision.
macro_rules! either {
    ($samples:expr, |$matrix:ident| $body:expr) => {
        match $samples {
            $crate::data::Samples::F32($matrix) => $body,
            $crate::data::Samples::F64($matrix) => $body,
        }
    };
}
pub(crate) use either;

impl<'a> From<Matrix<'a, f32>> for Samples<'a> {
    fn from(matrix: Matrix<'a, f32>) -> Self {
        Self::F32(matrix)
    }
}

impl<'a> From<Matrix<'a, f64>> for Samples<'a> {
    fn from(matrix: Matrix<'a, f64>) -> Self {
        Self::F64(matrix)
    }
}

impl<'a, S: Scalar> From<&'a Matrix<'_, S>> for Samples<'a> {
    fn from(matrix: &'a Matrix<'_, S>) -> Self {
        S::samples(matrix.view())
    }
}

impl Samples<'_> {
    /// Number of samples N.
    #[allow(clippy::len_without_is_empty)] // only ever compared with another length
    pub fn len(&self) -> usize {
        either!(self, |m| m.rows())
    }

    /// Number of features p.
    pub fn columns(&self) -> usize {
        either!(self, |m| m.columns())
    }

    /// Whether they are kept in single precision.
    pub fn is_single(&self) -> bool {
        matches!(self, Self::F32(_))
    }

    /// The same samples, borrowed.
    pub fn view(&self) -> Samples<'_> {
        either!(self, |m| m.view().into())
    }

    /// The same samples in single precision, copied only if they are not.
    pub fn single(&self) -> Matrix<'_, f32> {
        either!(self, |m| m.single())
    }

    /// The same samples with some of their columns, in this order.
    pub fn select(&self, columns: &[usize]) -> Samples<'static> {
        either!(self, |m| Matrix::from_fn(m.rows(), columns.len(), |i, j| m[(i, columns[j])]).into())
    }

    /// Samples of as many rows, one beside the other; in double precision unless all are in single.
    pub fn side_by_side(views: Vec<Self>) -> Samples<'static> {
        let entry = |view: &Samples<'_>, i: usize, j: usize| either!(view, |m| m[(i, j)].to_f64());
        let columns: Vec<(usize, usize)> =
            views.iter().enumerate().flat_map(|(v, view)| (0..view.columns()).map(move |j| (v, j))).collect();
        let rows = views.first().map_or(0, Samples::len);
        let at = |i: usize, c: usize| entry(&views[columns[c].0], i, columns[c].1);
        match views.iter().all(Samples::is_single) {
            true => Matrix::from_fn(rows, columns.len(), |i, c| at(i, c) as f32).into(),
            false => Matrix::from_fn(rows, columns.len(), at).into(),
        }
    }

    /// Refuses NaN and infinities, naming the first such entry.
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        either!(self, |m| m.check_finite(what))
    }

    /// Refuses the wrong number of rows, NaN and infinities in the features of other data.
    pub(crate) fn check(&self, samples: usize) -> Result<()> {
        Error::check_len("rows of the features", samples, self.len())?;
        self.check_finite("features")
    }

    /// Copies rows, widened.
    pub(crate) fn copy_rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let range = rows.start * self.columns()..rows.end * self.columns();
        either!(self, |m| out.iter_mut().zip(&m.values()[range]).for_each(|(o, v)| *o = v.to_f64()));
    }

    /// TᵀX, n×p: the features of each prototype times its weight.
    pub(crate) fn gather(&self, plan: &Plan) -> Matrix<'static> {
        let mut sums = Matrix::zeros(plan.prototypes(), self.columns());
        let mut sample = vec![0.0; self.columns()];
        for i in 0..plan.len() {
            self.copy_rows(i..i + 1, &mut sample);
            for (k, mass) in plan.row(i).iter() {
                sums.row_mut(k).iter_mut().zip(&sample).for_each(|(sum, x)| *sum += mass * x);
            }
        }
        sums
    }

    /// F = TᵀX / q, n×p: the mean features of each prototype; zero where one is not used.
    pub(crate) fn means(&self, plan: &Plan) -> Matrix<'static> {
        let mut means = self.gather(plan);
        for (k, &weight) in plan.weights().iter().enumerate() {
            let scale = if weight > 0.0 { 1.0 / weight } else { 0.0 };
            means.row_mut(k).iter_mut().for_each(|value| *value *= scale);
        }
        means
    }

    /// Σ h_i·‖x_i‖².
    pub(crate) fn weighted_square(&self, weights: &[f64]) -> f64 {
        let mut sample = vec![0.0; self.columns()];
        let of_sample = |(i, h): (usize, &f64)| {
            self.copy_rows(i..i + 1, &mut sample);
            h * sample.iter().map(|x| x * x).sum::<f64>()
        };
        weights.iter().enumerate().map(of_sample).sum()
    }
}

/// What a fit is given.
#[derive(Clone)]
pub enum Data<'a> {
    /// Samples, one in each row.
    Samples(Samples<'a>),
    /// An N×N matrix of distances, of which the method makes what it would make of samples. New samples cannot be placed.
    Distances(Samples<'a>),
    /// A similarity that is known already; the method says how prototypes relate and how similarities are compared. New
    /// samples cannot be placed.
    Similarity {
        /// C_X.
        similarity: &'a dyn Similarity,
        /// Features of the samples, for the profiles of the prototypes and for the fused objective.
        features: Option<Samples<'a>>,
    },
    /// A graph, by the weights of its edges: nodes are as alike as short random walks meet them, and weigh what their
    /// degrees say ([`RandomWalk`](crate::affinity::RandomWalk)). New nodes cannot be placed.
    Graph(&'a Sparse<'a, f32>),
    /// Several views of the same samples, all of one kind: samples, distances or similarities. Each is scaled, projected and
    /// compared by itself, and C_X is the weighted sum of what comes out ([`ViewWeights`](crate::ViewWeights)).
    Views(Vec<Data<'a>>),
}

impl<'a, T: Into<Samples<'a>>> From<T> for Data<'a> {
    fn from(samples: T) -> Self {
        Self::Samples(samples.into())
    }
}

impl<'a> Data<'a> {
    /// Distances, N×N.
    pub fn distances(distances: impl Into<Samples<'a>>) -> Self {
        Self::Distances(distances.into())
    }

    /// A similarity without features.
    pub fn similarity(similarity: &'a dyn Similarity) -> Self {
        Self::Similarity { similarity, features: None }
    }

    /// Several views of the same samples.
    ///
    /// ```
    /// use gromap::{Data, GromovDr, Matrix, ViewWeights};
    /// let group = |i: usize| 50.0 * (i / 20) as f64;
    /// let lengths = Matrix::from_fn(60, 1, |i, _| group(i) + (i * 7 % 20) as f64);
    /// let colours = Matrix::from_fn(60, 2, |i, j| group(i) + (i * (j + 3) % 20) as f64);
    /// let recipe = GromovDr::builder().prototypes(3).perplexity(5.0).view_weights(ViewWeights::Learned);
    /// let model = recipe.fit(Data::views([&lengths, &colours]))?;
    /// let labels = model.plan.labels();
    /// assert!((0..60).all(|i| labels[i] == labels[i / 20 * 20]));
    /// assert!((model.view_weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// assert_eq!(model.predict(Data::views([&lengths, &colours]))?, labels);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn views<T: Into<Data<'a>>>(views: impl IntoIterator<Item = T>) -> Self {
        Self::Views(views.into_iter().map(Into::into).collect())
    }

    /// Number of samples N.
    #[allow(clippy::len_without_is_empty)] // only ever compared with another length
    pub fn len(&self) -> usize {
        match self {
            Self::Samples(samples) | Self::Distances(samples) => samples.len(),
            Self::Similarity { similarity, .. } => similarity.len(),
            Self::Graph(graph) => graph.len(),
            Self::Views(views) => views.first().map_or(0, Data::len),
        }
    }

    /// What a plan of memory needs to know of them.
    pub fn shape(&self) -> Shape {
        let samples = self.len();
        let all = (samples as u64).saturating_mul(samples as u64);
        let (form, is_single) = match self {
            Self::Samples(given) => (Form::Samples { features: given.columns() }, given.is_single()),
            Self::Distances(given) => (Form::Pairs { stored: all }, given.is_single()),
            Self::Similarity { similarity, .. } => match similarity.contents() {
                Contents::Dense(given) => (Form::Pairs { stored: all }, given.is_single()),
                Contents::Sparse(given) => (Form::Pairs { stored: given.stored() as u64 }, true),
                // Factors, and sums of operators, hold far less than all pairs.
                Contents::LowRank(..) | Contents::Other => (Form::Pairs { stored: 0 }, false),
            },
            Self::Graph(graph) => (Form::Graph { stored: graph.stored() as u64 }, true),
            Self::Views(views) => return Shape::of_views(&views.iter().map(Self::shape).collect::<Vec<_>>()),
        };
        Shape { samples, form, is_single }
    }
}

/// What is known of data before they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of samples N.
    pub samples: usize,
    /// What there is of them.
    pub form: Form,
    /// Whether numbers are kept in single precision.
    pub is_single: bool,
}

impl Shape {
    /// The shape of several views: all their features, or all their entries and those of their sum.
    pub fn of_views(views: &[Shape]) -> Self {
        let form =
            views.iter().fold(Form::Views { views: views.len(), features: 0 }, |sum, view| match (sum, view.form) {
                (Form::Views { views, features: sum }, Form::Samples { features } | Form::Views { features, .. }) => {
                    Form::Views { views, features: sum.saturating_add(features) }
                }
                (sum, Form::Pairs { stored } | Form::Graph { stored }) => {
                    let before = if let Form::Pairs { stored } = sum { stored } else { 0 };
                    Form::Pairs { stored: before.saturating_add(stored.saturating_mul(2)) }
                }
                (sum, _) => sum,
            });
        let samples = views.first().map_or(0, |view| view.samples);
        Self { samples, form, is_single: views.iter().all(|view| view.is_single) }
    }
}

/// The form of data: the variants of [`Data`], without the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Samples of so many features.
    Samples {
        /// Number of features p.
        features: usize,
    },
    /// Several views that are samples.
    Views {
        /// How many.
        views: usize,
        /// Their features, counted together.
        features: usize,
    },
    /// A matrix of pairs, distances or similarities, with so many stored entries; N² of them are a dense one.
    Pairs {
        /// Number of stored entries.
        stored: u64,
    },
    /// A graph of so many edges, those of both directions counted.
    Graph {
        /// Number of stored entries.
        stored: u64,
    },
}

/// How a fit is run: what it is told beside the data, and whom it tells.
#[derive(Default)]
pub struct Run<'r> {
    /// Weights of the samples; equal unless given.
    pub weights: Option<&'r SampleWeights>,
    /// Names of the features, which the model keeps: columns of new samples are then matched by name.
    pub feature_names: Option<&'r [String]>,
    /// How a table became the samples, which the model keeps: new tables are then encoded alike.
    pub table: Option<&'r Encoding>,
    /// Told of every stage and round; may end the fit.
    pub observer: Option<&'r mut dyn Observer>,
}
