//! One word for one thing: the names of all choices, as the command, Python and the model file know them.
//!
//! Each table below feeds `Display`, `FromStr`, the model file, the values that the command offers and what the bindings
//! read. A new variant does not compile until it has its word here.

use crate::affinity::KernelFunction;
use crate::embedding::Normalization;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::method::Method;
use crate::model::{AlphaScale, FittedTo, Level, Places, Projection, Scaling, Target};
use crate::neighbors::Metric;
use crate::observe::{Stage, StopReason};
use crate::similarity::Definiteness;
use crate::solve::{Scale, Solver};
use crate::start::Start;
use crate::table::{Categorical, DateOrder, Missing};
use crate::weights::{PrototypeWeights, ViewWeights};

macro_rules! words {
    ($($kind:ident ($what:literal) { $($(#[$only:meta])? $variant:ident = $word:literal,)+ })+) => {$(
        impl $kind {
            /// All of them, in the order of their table.
            pub const ALL: &'static [Self] = &[$($(#[$only])? Self::$variant),+];

            /// The word for it in the command, in Python and in the model file.
            pub fn name(self) -> &'static str {
                match self {
                    $($(#[$only])? Self::$variant => $word,)+
                }
            }

            /// All words, in the order of their table.
            pub fn names() -> impl Iterator<Item = &'static str> {
                Self::ALL.iter().map(|choice| choice.name())
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $kind {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self> {
                let found = Self::ALL.iter().find(|choice| choice.name() == name);
                found.copied().ok_or_else(|| unknown($what, name, Self::names()))
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

words! {
    Method ("method") {
        Pca = "pca", KernelPca = "kernel-pca", Mds = "mds", Isomap = "isomap", LaplacianEigenmaps = "laplacian-eigenmaps",
        Sne = "sne", TSne = "tsne", Snekhorn = "snekhorn", TSnekhorn = "tsnekhorn", HeavyTSne = "heavy-tsne",
        FuzzyTSne = "fuzzy-tsne", Umap = "umap",
        #[cfg(test)] Chain = "chain",
    }
    Loss ("loss") { Square = "square", Kl = "kl", BinaryCrossEntropy = "bce", }
    Normalization ("normalization") {
        None = "none", Cells = "cells", Measure = "measure", Rows = "rows", DoublyStochastic = "doubly-stochastic",
        DoublyStochasticCells = "doubly-stochastic-cells",
    }
    AlphaScale ("alpha_scale") { AtStart = "start", Raw = "raw", }
    Scaling ("scale") { Auto = "auto", None = "none", Standard = "standard", MinMax = "minmax", }
    Missing ("missing") { Error = "error", Drop = "drop", Median = "median", Mean = "mean", }
    Categorical ("categorical") { OneHot = "onehot", Show = "show", }
    DateOrder ("order of dates") { YearFirst = "year-first", DayFirst = "day-first", MonthFirst = "month-first", }
    Solver ("solver") { Vertex = "vertex", ConditionalGradient = "cg", Mirror = "mirror", }
    KernelFunction ("kernel") {
        Rbf = "rbf", Polynomial = "poly", Sigmoid = "sigmoid", Laplacian = "laplacian", Cosine = "cosine",
    }
    Metric ("metric") {
        SquaredEuclidean = "sqeuclidean", Euclidean = "euclidean", Cosine = "cosine", Manhattan = "manhattan",
    }
    Target ("target") { Free = "free", Identity = "identity", }
    Scale ("target_scale") { UnitMaximum = "max", Raw = "raw", }
    FittedTo ("kind of data") {
        Samples = "samples", Distances = "distance", Similarity = "similarity", Graph = "graph",
    }
    Level ("level of a path") { Fresh = "fresh", Warm = "warm", }
    Places ("places") { Prototype = "prototype", Sample = "sample", }
    StopReason ("reason to stop") {
        Converged = "converged", Stationary = "stationary", MaxRounds = "max_rounds", Inexact = "inexact",
        Interrupted = "interrupted",
    }
    Stage ("stage") {
        Prepare = "prepare", Neighbors = "neighbors", Affinity = "affinity", Start = "start", Fit = "fit",
    }
    Definiteness ("certificate") {
        Psd = "psd", Nsd = "nsd", SquaredEuclidean = "squared_euclidean", Unknown = "unknown",
    }
}

/// A name that stands for nothing.
fn unknown<'n>(what: &'static str, name: &str, allowed: impl Iterator<Item = &'n str>) -> Error {
    Error::Name { what, name: name.into(), allowed: allowed.collect::<Vec<_>>().join(", ") }
}

/// Starts by name; a given plan has none of these.
const STARTS: [(&str, Start); 5] = [
    ("auto", Start::Auto),
    ("agglomerative", Start::Agglomerative),
    ("spectral", Start::Spectral),
    ("kmeans", Start::KMeans),
    ("random", Start::Random),
];

impl Start {
    /// The word for it; "plan" for a plan of the caller's.
    pub fn name(&self) -> &'static str {
        STARTS.iter().find(|(_, start)| start == self).map_or("plan", |(name, _)| name)
    }

    /// The words for all but a plan of the caller's.
    pub fn names() -> impl Iterator<Item = &'static str> {
        STARTS.iter().map(|(name, _)| *name)
    }
}

impl std::str::FromStr for Start {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = STARTS.iter().find(|(word, _)| *word == name);
        found.map(|(_, start)| start.clone()).ok_or_else(|| unknown("init", name, Self::names()))
    }
}

impl PrototypeWeights {
    /// The words for those that are not given one by one.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["learned", "uniform"].into_iter()
    }

    /// The word for it; "given" for shares of the caller's.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Learned => "learned",
            Self::Uniform => "uniform",
            Self::Given(_) => "given",
        }
    }
}

impl std::str::FromStr for PrototypeWeights {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "learned" => Ok(Self::Learned),
            "uniform" => Ok(Self::Uniform),
            _ => Err(unknown("prototype_weights", name, Self::names())),
        }
    }
}

impl ViewWeights {
    /// The words for those that are not given one by one.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["equal", "learned"].into_iter()
    }

    /// The word for it; "given" for proportions of the caller's.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Learned => "learned",
            Self::Given(_) => "given",
        }
    }
}

impl std::fmt::Display for ViewWeights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given(weights) => {
                let weights: Vec<String> = weights.iter().map(ToString::to_string).collect();
                f.write_str(&weights.join(","))
            }
            named => f.write_str(named.name()),
        }
    }
}

impl std::str::FromStr for ViewWeights {
    type Err = Error;

    /// A word, or numbers with commas between them.
    fn from_str(name: &str) -> Result<Self> {
        let numbers =
            || name.split(',').map(|number| number.trim().parse()).collect::<std::result::Result<Vec<f64>, _>>();
        match name {
            "equal" => Ok(Self::Equal),
            "learned" => Ok(Self::Learned),
            _ => match numbers() {
                Ok(given) => Ok(Self::Given(given)),
                Err(_) => Err(unknown("view_weights", name, Self::names().chain(["numbers such as 0.3,0.7"]))),
            },
        }
    }
}

impl std::fmt::Display for Projection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::To(components) => write!(f, "{components}"),
        }
    }
}

impl std::str::FromStr for Projection {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match (name, name.parse()) {
            ("auto", _) => Ok(Self::Auto),
            ("none", _) => Ok(Self::None),
            (_, Ok(components)) if components > 0 => Ok(Self::To(components)),
            _ => Err(unknown("pca", name, ["auto", "none", "a number of components from 1"].into_iter())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_others_are_told_what_there_is() {
        assert!(Method::ALL.iter().all(|method| method.name().parse() == Ok(*method)));
        assert!(Start::names().all(|name| name.parse::<Start>().unwrap().name() == name));
        let message = "minmaxx".parse::<Scaling>().unwrap_err().to_string();
        assert_eq!(message, "unknown scale \"minmaxx\"; it must be one of auto, none, standard, minmax");
        for projection in [Projection::Auto, Projection::None, Projection::To(7)] {
            assert_eq!(projection.to_string().parse(), Ok(projection));
        }
        assert!("0".parse::<Projection>().is_err());
    }
}
