//! Values that an option may take, beyond plain numbers and names: read once, at the door, with the allowed ones in
//! the message when they are wrong.

use std::fmt;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gromap::Method;

use crate::machine;

/// A number of prototypes, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Auto,
    Exactly(usize),
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => positive(text).map(Self::Exactly).map_err(|error| format!("{error}, or auto")),
        }
    }
}

/// Width, height and channels of the picture in every row: `28x28`, `32x32x3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
}

impl Picture {
    /// Values of one picture; `None` beyond what a number can hold.
    pub(crate) fn len(self) -> Option<usize> {
        self.width.checked_mul(self.height)?.checked_mul(self.channels)
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.width, self.height, self.channels)
    }
}

impl FromStr for Picture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<usize>> = text.split('x').map(|part| part.parse().ok().filter(|&n| n > 0)).collect();
        let picture = match numbers.as_deref() {
            Some(&[width, height]) => Self { width, height, channels: 1 },
            Some(&[width, height, channels]) => Self { width, height, channels },
            _ => return Err("give WIDTHxHEIGHT or WIDTHxHEIGHTxCHANNELS, such as 28x28 or 32x32x3".into()),
        };
        match (picture.channels, picture.len()) {
            (1 | 3 | 4, Some(_)) => Ok(picture),
            (1 | 3 | 4, None) => Err("that is more pixels than can be counted".into()),
            _ => Err("channels must be 1 (grey), 3 (RGB) or 4 (RGBA)".into()),
        }
    }
}

/// An amount of memory: `8GiB`, `500MB`, or a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

const UNITS: [(&str, u64); 11] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
    ("", 1),
];

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (text[..split].parse::<f64>(), text[split..].trim_start());
        let unit = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor as f64);
        match (number, unit) {
            (Ok(number), Some(unit)) if number * unit >= 1.0 && number * unit < 1e18 => {
                Ok(Self((number * unit) as u64))
            }
            _ => Err("give a size such as 8GiB, 500MB or 1000000; the units are B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"
                .into()),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = match self.0 {
            bytes if bytes >= 1 << 30 => ("GiB", 1_u64 << 30),
            bytes if bytes >= 1 << 20 => ("MiB", 1 << 20),
            _ => ("KiB", 1 << 10),
        };
        write!(f, "{:.1} {name}", self.0 as f64 / unit as f64)
    }
}

/// Numbers with commas between them: `10,20,50`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T: FromStr> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<T>, String> = text
            .split(',')
            .map(|part| part.trim().parse().map_err(|_| format!("\"{part}\" is not a number")))
            .collect();
        numbers.map(Self)
    }
}

/// A choice of the core by its word; the help text lists the words.
pub(crate) fn word<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = gromap::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

/// All words of a choice.
macro_rules! words {
    ($kind:ident) => {
        $crate::args::values::word::<$kind>($kind::names())
    };
}
pub(crate) use words;

/// The word for co-clustering, which is no method of the core: `cluster` alone has it.
pub(crate) const COOT: &str = "coot";

/// A method by its word; co-clustering is refused with the way out.
pub(crate) fn method() -> impl TypedValueParser<Value = Method> {
    let words = Method::names().map(PossibleValue::new).chain([PossibleValue::new(COOT).hide(true)]);
    PossibleValuesParser::new(words).try_map(|name| match name.as_str() {
        COOT => Err("co-clusters have no places on a map; gromap cluster DATA --method coot --clusters NUMBER \
                     --feature-clusters NUMBER finds them"
            .to_owned()),
        name => name.parse::<Method>().map_err(|error| error.to_string()),
    })
}

/// The same with co-clustering, for whoever asks for the word itself before the method: that is then not used.
pub(crate) fn method_or_coot() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::names().chain([COOT])).map(|name| name.parse::<Method>().unwrap_or_default())
}

/// A number that is finite and not negative.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "it must be a number that is not negative".into())
}

/// A number from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "it must be a number from 0 to 1".into())
}

/// A whole number of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "it must be a whole number of at least 1".into())
}

/// A number of threads that a machine can start.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let most = machine::most_threads();
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("it must be a whole number from 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures() {
        assert_eq!("28x20".parse(), Ok(Picture { width: 28, height: 20, channels: 1 }));
        assert_eq!("32x32x3".parse(), Ok(Picture { width: 32, height: 32, channels: 3 }));
        for wrong in ["28", "0x3", "2x2x2", "axb", "1x1x1x1", "99999999999x99999999999"] {
            assert!(wrong.parse::<Picture>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        let size = |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0);
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("1.5 MB"), Ok(1_500_000));
        assert_eq!(size("4096"), Ok(4096));
        for wrong in ["", "GiB", "1 gibibyte", "-1", "0", "1e99", "99999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Bytes(3 << 29).to_string(), "1.5 GiB");
    }

    #[test]
    fn numbers_of_threads() {
        assert_eq!((threads("1"), threads("64")), (Ok(1), Ok(64)));
        for wrong in ["0", "-1", "many", "10000", "99999999999999999999"] {
            assert!(threads(wrong).unwrap_err().starts_with("it must be a whole number from 1 to "), "{wrong}");
        }
    }

    #[test]
    fn lists() {
        assert_eq!("10,20, 50".parse(), Ok(List(vec![10, 20, 50])));
        assert!("10,,20".parse::<List<usize>>().unwrap_err().contains("\"\""));
    }
}
