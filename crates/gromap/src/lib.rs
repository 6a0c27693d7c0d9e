//! Maps of weighted prototypes, by semi-relaxed Gromov-Wasserstein dimension reduction.
//!
//! N samples become n prototypes; one number, n, slides from clustering to dimensionality
//! reduction. This crate holds the method and nothing else: no files, no printing, no Python.
//!
//! ```text
//! Similarity C_X (N×N operator) ──► products with a Plan T (N×n) ──► PlanSummary { M = TᵀC_X T, q = Tᵀ1 }
//! ```

#![warn(missing_docs)]

pub mod affinity;
pub mod embedding;
mod error;
mod exponential;
mod logarithm;
mod loss;
mod matrix;
pub mod neighbors;
mod plan;
mod scalar;
mod similarity;

pub use error::{Error, Result};
pub use loss::Loss;
pub use matrix::Matrix;
pub use plan::{Columns, Plan, PlanRow, SampleWeights};
pub use scalar::Scalar;
pub use similarity::{
    BLOCK, Bounds, Definiteness, Dense, Extreme, LowRank, Side, Similarity, Sketch, Sparse, WeightedSum,
};
