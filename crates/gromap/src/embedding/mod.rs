//! The side of the prototypes: everything here sees n, never N.

pub(crate) mod adam;
pub(crate) mod closed_form;
mod gram;
mod kernel;
pub(crate) mod landscape;
mod radial;
mod sinkhorn;
#[cfg(test)]
mod tests;
mod umap_curve;

pub use self::gram::{Gram, OrthonormalGram};
pub use self::kernel::PrototypeKernel;
pub use self::radial::{Normalization, Profile, Radial};
