//! Maps of weighted prototypes, by semi-relaxed Gromov-Wasserstein dimension reduction.
//!
//! N samples become n prototypes; one number, n, slides from clustering to dimensionality
//! reduction. This crate holds the method and nothing else: no files, no printing, no Python.
//!
//! ```text
//! samples X (N×p)
//!    │ InputAffinity::build, on nearest neighbours                affinity/, neighbors/
//!    ▼
//! Similarity C_X: dense | low-rank | sparse | sum                similarity/
//!    │ products with a plan, at the cost of its few entries
//!    ▼
//! PlanStep: vertex descent | conditional gradient | mirror ◄── C_Z (n×n)  transport/
//!    │                                                            ▲
//!    ▼                                                            │ PrototypeKernel
//! Plan T ──► PlanSummary { M = TᵀC_X T (n×n), q = Tᵀ1 (n) } ──► prototypes Z: closed form | Adam   embedding/
//!    │
//!    ▼
//! Model { prototypes, weights, features, plan, history }         model/, start/, method
//! ```
//!
//! With a target instead of prototypes the same steps give [`Srgw`] (given) and [`Barycenter`] (learnt).
//!
//! Results are the same bytes for the same input, seed and version, whatever the number of threads.

#![warn(missing_docs)]

pub mod affinity;
mod clustering;
pub mod embedding;
mod error;
mod features;
mod interrupt;
mod loss;
mod memory;
mod method;
pub mod metrics;
mod model;
mod neighbors;
mod numeric;
mod observe;
mod plan;
mod preprocessing;
mod similarity;
pub mod solve;
mod start;
mod transport;
mod weights;

pub use clustering::{Clustering, GromovClustering, Target};
pub use error::{Error, Result};
pub use features::Samples;
pub use interrupt::Interrupt;
pub use loss::Loss;
pub use memory::{MemoryPlan, Neighborhood, Part};
pub use method::{Kernel, Method};
pub use model::{AlphaScale, GromovDr, Level, Model, Path, Projection, Scaling};
pub use neighbors::{Descent, Exact, Metric, NeighborSearch, Neighbors, nearest_neighbors};
pub use numeric::{Matrix, Scalar};
pub use observe::{Event, Flow, Observer, Stage, StopReason, Stopping};
pub use plan::{Columns, Plan, PlanRow};
pub use preprocessing::{Pca, Scaler};
pub use similarity::{
    BLOCK, Bounds, Definiteness, Dense, Extreme, LowRank, Side, Similarity, Sketch, Sparse, WeightedSum,
};
pub use solve::{Barycenter, FittedBarycenter, Input, Scale, Settings, Solver, Srgw, Transport};
pub use start::Start;
pub use transport::{
    ConditionalGradient, MirrorDescent, PlanStep, PlanSummary, TransportProblem, TransportState, VertexDescent,
};
pub use weights::SampleWeights;
