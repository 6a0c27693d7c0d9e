//! What can be wrong with what a report is given.

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something that comes once for each sample (or feature) does not.
    #[error("{what}: expected {expected}, found {found}")]
    Length {
        /// What was counted.
        what: String,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },

    /// A sample's class has no name.
    #[error("the class of sample {sample} is {class}, but there are {classes} names of classes")]
    Class {
        /// Which sample.
        sample: usize,
        /// Its class.
        class: u32,
        /// How many names there are.
        classes: usize,
    },

    /// Pictures that have no pixels, or neither 1, 3 nor 4 values each.
    #[error(
        "pictures of {width}×{height} pixels with {channels} channels; sides must be at least 1, channels 1, 3 or 4"
    )]
    Picture {
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
        /// Values of a pixel.
        channels: usize,
    },

    /// A path without levels.
    #[error("the path has no levels; a map needs at least one")]
    NoLevels,

    /// Clusters have no places that a page could show.
    #[error("this model holds clusters, which have no places to show; a map has (gromap fit, or GromovDR)")]
    NoPlaces,

    /// Two columns of one name cannot be told apart.
    #[error("two columns are named {0:?}")]
    SameName(String),

    /// What the core refused.
    #[error(transparent)]
    Core(#[from] gromap::Error),
}

impl Error {
    /// A count that does not fit, unless it does.
    pub(crate) fn check_length(what: impl Into<String>, expected: usize, found: usize) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self::Length { what: what.into(), expected, found }) }
    }
}
