//! The embedding side: prototypes Z for a given plan. Everything here sees n and d, and of the data only the summary
//! (M, q) of the plan, never N.
//!
//! | file | part | calls |
//! |---|---|---|
//! | `adam` | an optimiser: from a start to a minimum of the objective, for prototypes of many samples | `objective` |
//! | `descent` | another, with momentum, for very many prototypes | `objective`, `scaling` |
//! | `objective` | E(Z) for given M and q: its value and gradient, put together from sums over pairs | `dense`, `attraction`, `repulsion`, `scaling`, `kernel` |
//! | `dense` | attraction and repulsion in one pass, for a dense M | `attraction`, `repulsion`, `pairs` |
//! | `attraction` | the sum ⟨M, a(W)⟩; by itself for a sparse M, with a prototype for every sample or for few | `pairs`, `profile` |
//! | `scaling` | factors of the prototypes that give a doubly stochastic kernel its margins | |
//! | `repulsion` | the sums qᵀ r(W) q and Σ r(W): which way they are computed, and over all pairs | `grid`, `tree`, `pairs` |
//! | `grid` | the same on a regular grid, by splines and Fourier transforms, for many prototypes | `pairs`, `profile` |
//! | `tree` | the same by a tree, for many prototypes on a wide map or in three dimensions | `pairs`, `profile` |
//! | `pairs` | rows of pairs: distances, kernel, sums and gradients, on all threads | `profile` |
//! | `profile` | the raw kernel w(d²): Gaussian, Student, heavy-tailed, UMAP | `umap_curve` |
//! | `umap_curve` | a and b of UMAP's curve | |
//! | `kernel` | [`PrototypeKernel`]: C_Z as an n×n matrix, and ∂E/∂Z from ∂E/∂C_Z | |
//! | `radial` | the kernels of the distance, normalised | `profile`, `scaling` |
//! | `gram` | the kernels of inner products | |
//! | `map_kernel` | [`MapKernel`]: the kernel that a method chose | `gram`, `radial` |
//! | `frozen_map` | the place of one sample among prototypes that do not move | `profile` |
//! | `closed_form` | the best prototypes for the kernels of inner products, without iteration | |
//!
//! A file calls only those in its last column. From outside, a model minimises an `objective` with `adam` or `descent`, or takes the
//! `closed_form`; a plan step asks a [`PrototypeKernel`] for C_Z.

pub(crate) mod adam;
mod attraction;
pub(crate) mod closed_form;
mod dense;
pub(crate) mod descent;
pub(crate) mod frozen_map;
mod gram;
mod grid;
mod kernel;
mod map_kernel;
pub(crate) mod objective;
mod pairs;
mod profile;
mod radial;
mod repulsion;
pub(crate) mod scaling;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod umap_curve;

pub use self::gram::{Gram, OrthonormalGram};
pub use self::kernel::PrototypeKernel;
pub use self::map_kernel::MapKernel;
pub use self::profile::Profile;
pub use self::radial::{Normalization, Radial};
pub(crate) use self::repulsion::most_bytes as most_bytes_of_repulsion;
