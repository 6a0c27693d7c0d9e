//! How numbers and choices stand in the JSON text; the words for choices are those of `vocabulary.rs`, everywhere.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number: the shortest digits that give the same bits back, or a word where JSON has no digits for it.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.is_finite() {
            true => serializer.serialize_f64(self.0),
            false => serializer.serialize_str(&self.0.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Finite(f64),
            Other(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Finite(value) => Ok(Self(value)),
            Form::Other(word) => word.parse().map(Self).map_err(D::Error::custom),
        }
    }
}

/// A choice by its word.
pub(super) mod word {
    use super::*;

    pub(in super::super) fn serialize<T: ToString, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.to_string())
    }

    pub(in super::super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: std::str::FromStr<Err = crate::error::Error>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
