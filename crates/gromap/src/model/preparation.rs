//! What is done to samples before the similarity: scaling of the features, projection to fewer.

use crate::error::Result;
use crate::method::Method;
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::preprocessing::{Pca, Scaler};

/// Scaling of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scaling {
    /// As they are.
    #[default]
    None,
    /// Mean 0, standard deviation 1.
    Standard,
    /// From 0 to 1.
    MinMax,
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
    /// The components that [`Auto`](Self::Auto) keeps of so many features, if it projects at all.
    pub(crate) fn automatic(method: Method, samples: usize, features: usize) -> Option<usize> {
        let many = method.uses_neighbors() && features > AUTO_COMPONENTS;
        (many && samples > AUTO_COMPONENTS).then_some(AUTO_COMPONENTS)
    }
}

/// A fitted preparation.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Preparation {
    pub(crate) features: Option<usize>,
    pub(crate) scaler: Option<Scaler>,
    pub(crate) pca: Option<Pca>,
}

impl Preparation {
    /// Fits to samples.
    pub(crate) fn fit<S: Scalar>(
        samples: &Matrix<'_, S>,
        method: Method,
        scaling: Scaling,
        projection: Projection,
    ) -> Result<Self> {
        let scaler = match scaling {
            Scaling::None => None,
            Scaling::Standard => Some(Scaler::standard(samples)?),
            Scaling::MinMax => Some(Scaler::min_max(samples)?),
        };
        let mut preparation = Self { features: Some(samples.columns()), scaler, pca: None };
        let components = match projection {
            Projection::None => None,
            Projection::To(components) => Some(components),
            Projection::Auto => Projection::automatic(method, samples.rows(), samples.columns()),
        };
        if let Some(components) = components {
            preparation.pca = Some(Pca::fit(&preparation.scaled(samples)?, components, 0)?);
        }
        Ok(preparation)
    }

    /// Samples with features to scale.
    pub(crate) fn scaled<'m, S: Scalar>(&self, samples: &'m Matrix<'_, S>) -> Result<Matrix<'m, S>> {
        match &self.scaler {
            None => Ok(samples.view()),
            Some(scaler) => scaler.transform(samples),
        }
    }

    /// Scaled and projected samples.
    pub(crate) fn apply<'m, S: Scalar>(&self, samples: &'m Matrix<'_, S>) -> Result<Matrix<'m, S>> {
        let scaled = self.scaled(samples)?;
        match &self.pca {
            None => Ok(scaled),
            Some(pca) => pca.transform(&scaled),
        }
    }
}
