//! A model as something to look at: one HTML file that needs no network, or a static SVG.
//!
//! ```text
//! Model or Path, and what is known of the samples: classes, columns, names, pictures
//!    │ level.rs      members of each prototype, nearest to its mean first; shares of classes; scores
//!    │ pictures.rs   mean pictures, and small ones of the samples
//!    ▼
//! payload.rs: a JSON header and typed arrays, gzip, base64 ──► page.rs: with the viewer, one HTML file
//!    └─────────────────────────────────────────────────────► svg.rs: the same map for papers and notebooks
//! ```
//!
//! blocks.rs is a co-clustered matrix: a static page, or a picture.
//!
//! All are the same bytes for the same input. The viewer is built from `viewer/` and embedded from `assets/`.
//!
//! ```
//! use gromap::{GromovDr, Matrix};
//! use gromap_report::{Classes, Report};
//! let samples = Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
//! let model = GromovDr::builder().prototypes(6).perplexity(5.0).fit(&samples)?;
//! let labels: Vec<&str> = (0..60).map(|i| ["a", "b", "c"][i % 3]).collect();
//! let report = Report::new(&model).title("Three groups").classes(Classes::new(&labels));
//! assert!(report.html()?.starts_with("<!doctype html>"));
//! assert!(report.svg()?.starts_with("<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod base64;
mod blocks;
mod classes;
mod describe;
mod error;
mod facts;
mod layout;
mod level;
mod names;
mod page;
mod palette;
mod payload;
mod pictures;
mod png;
mod report;
mod scores;
mod svg;
mod telling;
mod words;

pub use blocks::Blocks;
pub use classes::Classes;
pub use describe::{About, Contrast, Group, describe};
pub use error::Error;
pub use pictures::Images;
pub use report::{Column, Report};
pub use scores::{silhouette, silhouette_of_placed};
pub use words::names_from_texts;

/// The guide for Rust, whose code runs as the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;
