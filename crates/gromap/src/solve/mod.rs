//! The transport problems by themselves: a plan to a given target ([`Srgw`]), or a target learnt together with the plans
//! ([`Barycenter`]). A [`GromovDr`](crate::GromovDr) or a [`GromovClustering`](crate::GromovClustering) builds on the same
//! steps and asks for less.

mod balanced;
mod barycenter;
mod coot;
mod settings;
mod srgw;

pub use self::balanced::{BalancedPlan, BalancedTransport};
pub use self::barycenter::{Barycenter, FittedBarycenter, Input};
pub use self::coot::{Coot, FittedCoot};
pub use self::settings::{Settings, Solver};
pub(crate) use self::settings::{check_alpha, check_start};
pub use self::srgw::{Scale, Srgw, Transport};
