//! Maps of weighted prototypes, by semi-relaxed Gromov-Wasserstein dimension reduction.
//!
//! N samples become n prototypes, each with a place, a weight, a mean sample and the samples it stands for. One number,
//! n, slides from clustering to dimensionality reduction.
//!
//! ```
//! use gromap::{GromovDr, Matrix};
//! // Three groups of twenty samples.
//! let samples = Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
//! let model = GromovDr::builder().prototypes(6).perplexity(5.0).seed(0).fit(&samples)?;
//! assert_eq!((model.prototypes.rows(), model.weights.len()), (6, 6));
//! let placed = model.place(&samples)?;
//! assert_eq!(placed.labels, Some(model.plan.labels()));
//! # Ok::<(), gromap::Error>(())
//! ```
//!
//! This crate holds the method and nothing else: no files, no printing, no Python.
//!
//! ```text
//! Data: samples X (N×p), distances, or a similarity                data
//!    │ InputAffinity, on nearest neighbours                        affinity, neighbors
//!    ▼
//! Similarity C_X: dense | low-rank | sparse | sum                  similarity
//!    │ products with a plan, at the cost of its few entries
//!    ▼
//! PlanStep: vertex descent | conditional gradient | mirror ◄── C_Z (n×n)   transport/
//!    │                                                            ▲
//!    ▼                                                            │ PrototypeKernel
//! Plan T ──► PlanSummary { M = TᵀC_X T (n×n), q = Tᵀ1 (n) } ──► prototypes Z: closed form | Adam   embedding
//!    │
//!    ▼
//! Model { prototypes, weights, features, plan, outcome }           model/, start/, method
//! ```
//!
//! With a target instead of prototypes the same steps give [`solve::Srgw`] (given) and [`solve::Barycenter`] (learnt).
//!
//! Results are the same bytes for the same input, seed and version, whatever the number of threads.

#![warn(missing_docs)]

pub mod affinity;
pub mod data;
pub mod embedding;
mod error;
mod interrupt;
mod loss;
pub mod memory;
mod method;
pub mod metrics;
mod model;
pub mod neighbors;
mod numeric;
pub mod observe;
mod outcome;
mod plan;
pub mod preprocessing;
mod setters;
pub mod similarity;
pub mod solve;
mod start;
pub mod table;
mod transport;
mod vocabulary;
mod weights;

pub use data::{Data, Run};
pub use error::{Error, Result};
pub use interrupt::Interrupt;
pub use loss::Loss;
pub use method::Method;
pub use model::{GromovClustering, GromovDr, Model, Path};
pub use numeric::Matrix;
pub use outcome::Outcome;
pub use plan::Plan;
use setters::setters;
pub use weights::{PrototypeWeights, SampleWeights, ViewWeights};

/// The choices that a fit offers, and what a model says of them afterwards.
pub mod options {
    pub use crate::method::Uses;
    pub use crate::model::{
        AlphaScale, Candidate, Common, Comparison, FittedTo, Level, Novelty, Parameters, Placed, Places, Projection,
        Scaling, Shift, Stability, Suggestion, Target,
    };
    pub use crate::start::Start;
    pub use crate::weights::WeightRule;
}

/// Pieces of matrices and plans that other crates may have to name.
pub mod types {
    pub use crate::numeric::Scalar;
    pub use crate::plan::{Columns, PlanRow};
}
