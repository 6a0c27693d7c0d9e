//! What is done to samples before the similarity: scaling of the features, projection to fewer.

use crate::data::{Samples, either};
use crate::error::Result;
use crate::numeric::Matrix;
use crate::preprocessing::{Frame, Pca, Scaler};
use crate::table::Encoding;

/// Scaling of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scaling {
    /// As they are, but those of a table with words or dates as with [`Standard`](Self::Standard).
    #[default]
    Auto,
    /// As they are.
    None,
    /// Mean 0, standard deviation 1. The features that a column of words became have it together.
    Standard,
    /// From 0 to 1.
    MinMax,
}

impl Scaling {
    /// What it comes to for samples that were a table, or were not.
    pub fn resolved(self, table: Option<&Encoding>) -> Self {
        match (self, table.is_some_and(Encoding::is_mixed)) {
            (Self::Auto, true) => Self::Standard,
            (Self::Auto, false) => Self::None,
            (given, _) => given,
        }
    }
}

/// Projection onto principal components before neighbours are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Projection {
    /// To 50 components where a method of neighbours meets more features than that.
    #[default]
    Auto,
    /// None.
    None,
    /// To this many.
    To(usize),
}

const AUTO_COMPONENTS: usize = 50;

impl Projection {
    /// The components that so many samples of so many features are projected to, if they are.
    pub(crate) fn components(self, seeks_neighbors: bool, samples: usize, features: usize) -> Option<usize> {
        let many = seeks_neighbors && features > AUTO_COMPONENTS && samples > AUTO_COMPONENTS;
        match self {
            Self::None => None,
            Self::To(components) => Some(components),
            Self::Auto => many.then_some(AUTO_COMPONENTS),
        }
    }
}

/// A fitted preparation.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Preparation {
    pub(crate) features: Option<usize>,
    pub(crate) scaler: Option<Scaler>,
    pub(crate) pca: Option<Pca>,
    /// How scaled and projected samples enter single precision, unless they do as they are.
    pub(crate) frame: Option<Frame>,
}

impl Preparation {
    /// Fits to samples, which may have been a table; `components` says how many are kept, if samples are projected.
    pub(crate) fn fit(
        samples: &Samples<'_>,
        table: Option<&Encoding>,
        scale: Scaling,
        components: Option<usize>,
    ) -> Result<Self> {
        let scaler = match (scale.resolved(table), table) {
            (Scaling::Auto | Scaling::None, _) => None,
            (Scaling::Standard, Some(table)) => {
                Some(either!(samples, |samples| Scaler::standard_together(samples, &table.ranges()))?)
            }
            (Scaling::Standard, None) => Some(either!(samples, |samples| Scaler::standard(samples))?),
            (Scaling::MinMax, _) => Some(either!(samples, |samples| Scaler::min_max(samples))?),
        };
        let mut preparation = Self { features: Some(samples.columns()), scaler, pca: None, frame: None };
        if let Some(components) = components {
            let scaled = preparation.scaled(samples)?;
            preparation.pca = Some(either!(&scaled, |scaled| Pca::fit(scaled, components, 0))?);
        }
        Ok(preparation)
    }

    /// Samples with features to scale.
    pub(crate) fn scaled<'m>(&self, samples: &'m Samples<'_>) -> Result<Samples<'m>> {
        match &self.scaler {
            None => Ok(samples.view()),
            Some(scaler) => either!(samples, |samples| scaler.transform(samples).map(Into::into)),
        }
    }

    /// Scaled and projected samples.
    pub(crate) fn apply<'m>(&self, samples: &'m Samples<'_>) -> Result<Samples<'m>> {
        let scaled = self.scaled(samples)?;
        match &self.pca {
            None => Ok(scaled),
            Some(pca) => either!(&scaled, |scaled| pca.transform(scaled).map(Into::into)),
        }
    }

    /// Finds out how scaled and projected samples enter single precision.
    pub(crate) fn framed(mut self, prepared: &Samples<'_>) -> Self {
        self.frame = Some(Frame::of(prepared)).filter(|frame| !frame.is_plain());
        self
    }

    /// Scaled and projected samples in single precision.
    pub(crate) fn single<'m>(&self, prepared: &'m Samples<'_>) -> Matrix<'m, f32> {
        match &self.frame {
            None => prepared.single(),
            Some(frame) => frame.single(prepared),
        }
    }
}
