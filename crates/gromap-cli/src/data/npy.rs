//! Arrays of numpy: `.npy`, and the members of an `.npz`.
//!
//! ```text
//! \x93NUMPY  major minor  length of the header  {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  values
//! ```
//!
//! A first axis counts samples, the others are their features; three or four axes are pictures. What is stored in `f4` stays
//! so, everything else becomes `f8`, as scikit-learn does.

use super::source::{Room, Source, Stream};
use super::{Content, Loaded, Values};
use crate::args::values::Picture;
use crate::failure::{Failure, Outcome, clipped};

/// Headers of numpy are some hundred bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// What stands before the values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) kind: char,
    pub(super) size: usize,
    is_big_endian: bool,
    is_fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// Samples from a file.
pub(super) fn read(source: &Source, room: Room) -> Outcome<Loaded> {
    let mut stream = source.stream()?;
    let header = Header::read(&mut stream)?;
    header.samples(&mut stream, room)
}

/// Number of samples and features, and whether they are of single precision, without their values.
pub(super) fn extent(source: &Source) -> Outcome<((usize, usize), bool)> {
    let mut stream = source.stream()?;
    let header = Header::read(&mut stream)?;
    header.check(&stream)?;
    Ok((header.rows_and_columns(&stream.name)?, header.is_single()))
}

impl Header {
    /// Reads a header, and nothing of the values.
    pub(super) fn read(stream: &mut Stream<'_>) -> Outcome<Self> {
        let mut start = [0; 8];
        stream.exactly(&mut start, "the header")?;
        let bad = |problem: &str| Failure::data(format!("{}: {problem}", stream.name));
        if !start.starts_with(b"\x93NUMPY") {
            return Err(bad("it is not an array of numpy: it does not begin with \\x93NUMPY"));
        }
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                stream.exactly(&mut length, "the header")?;
                usize::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                stream.exactly(&mut length, "the header")?;
                u32::from_le_bytes(length) as usize
            }
            version => return Err(bad(&format!("version {version} of numpy's format is not known"))),
        };
        if length > LONGEST_HEADER {
            return Err(Failure::data(format!("{}: the header claims {length} bytes", stream.name)));
        }
        let mut text = vec![0; length];
        stream.exactly(&mut text, "the header")?;
        let text = String::from_utf8_lossy(&text);
        Self::parse(&text).map_err(|problem| Failure::data(format!("{}: {problem}", stream.name)))
    }

    /// The dictionary, as numpy writes it.
    fn parse(text: &str) -> Result<Self, String> {
        let value = |key: &str| {
            let at = text.find(&format!("'{key}'")).ok_or_else(|| format!("the header has no {key}"))?;
            let rest = text[at + key.len() + 2..].trim_start();
            rest.strip_prefix(':').map(str::trim_start).ok_or_else(|| format!("the header has no value for {key}"))
        };
        let descr = value("descr")?;
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
        let descr = descr.ok_or("its values have fields; give an array of numbers")?;
        let mut letters = descr.chars();
        let order = letters.next().unwrap_or(' ');
        let kind = letters.next().unwrap_or(' ');
        let size: usize =
            letters.as_str().parse().map_err(|_| format!("its values are '{}', not numbers", clipped(descr)))?;
        let is_fortran = value("fortran_order")?.starts_with("True");
        let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split(')').next());
        let axes = shape.ok_or("the header has no shape")?.split(',').map(str::trim).filter(|axis| !axis.is_empty());
        let shape: Result<Vec<usize>, _> = axes.map(str::parse).collect();
        let shape = shape.map_err(|_| "its shape is not made of numbers")?;
        let known = match kind {
            'f' => matches!(size, 2 | 4 | 8),
            'i' | 'u' => matches!(size, 1 | 2 | 4 | 8),
            'b' => size == 1,
            'U' | 'S' => (1..=1 << 16).contains(&size),
            _ => false,
        };
        if !known || !matches!(order, '<' | '>' | '|' | '=') || shape.len() > 32 {
            return Err(format!(
                "its values are '{}', which is not supported; store numbers as float32 or float64",
                clipped(descr)
            ));
        }
        Ok(Self { kind, size, is_big_endian: order == '>', is_fortran, shape })
    }

    fn is_single(&self) -> bool {
        (self.kind, self.size) == ('f', 4)
    }

    /// Bytes of one value.
    fn width(&self) -> usize {
        if self.kind == 'U' { 4 * self.size } else { self.size }
    }

    /// Number of values, unless they are more than can be counted.
    fn count(&self, name: &str) -> Outcome<usize> {
        let count = self.shape.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis));
        count.ok_or_else(|| Failure::data(format!("{name}: its shape {:?} is beyond any file", self.shape)))
    }

    /// Refuses a shape that the rest of the file cannot hold.
    fn check(&self, stream: &Stream<'_>) -> Outcome<usize> {
        let count = self.count(&stream.name)?;
        stream.check_claim("values", (count as u64).saturating_mul(self.width() as u64))?;
        Ok(count)
    }

    fn rows_and_columns(&self, name: &str) -> Outcome<(usize, usize)> {
        match self.shape.as_slice() {
            [] | [_] => {
                let axes = self.shape.len();
                let message = format!("{name}: an array of {axes} axes; samples need two, rows and columns");
                Err(Failure::data(message))
            }
            [rows, rest @ ..] => {
                if self.shape.contains(&0) {
                    return Err(Failure::data(format!("{name}: its shape {:?} holds no values", self.shape)));
                }
                // Where no axis is empty, fewer of them cannot be more than can be counted.
                self.count(name)?;
                Ok((*rows, rest.iter().product()))
            }
        }
    }

    /// The values as numbers.
    pub(super) fn numbers(&self, stream: &mut Stream<'_>, room: Room) -> Outcome<Values> {
        let count = self.check(stream)?;
        if matches!(self.kind, 'U' | 'S') {
            return Err(Failure::data(format!("{}: its values are text, not numbers", stream.name)));
        }
        room.check_values(&stream.name, count, 1, if self.is_single() { 4 } else { 8 })?;
        if self.is_single() {
            let number = |bytes: &[u8]| f32::from_bits(self.integer(bytes) as u32);
            return stream.values(count, self.size, number).map(Values::F32);
        }
        stream.values(count, self.size, |bytes| self.number(bytes)).map(Values::F64)
    }

    /// The bits of a value, as a number that is not negative.
    fn integer(&self, bytes: &[u8]) -> u64 {
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.is_big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    fn number(&self, bytes: &[u8]) -> f64 {
        let bits = self.integer(bytes);
        match (self.kind, self.size) {
            ('f', 8) => f64::from_bits(bits),
            ('f', 4) => f64::from(f32::from_bits(bits as u32)),
            ('f', _) => half(bits as u16),
            ('i', size) => {
                let unused = 64 - 8 * size as u32;
                ((bits << unused) as i64 >> unused) as f64
            }
            _ => bits as f64,
        }
    }

    /// The values as text: labels.
    pub(super) fn labels(&self, stream: &mut Stream<'_>, room: Room) -> Outcome<Vec<String>> {
        let count = self.check(stream)?;
        if self.shape.len() > 2 || (self.shape.len() == 2 && self.shape[1] != 1) {
            let (name, shape) = (&stream.name, &self.shape);
            return Err(Failure::data(format!(
                "{name}: an array of shape {shape:?}; labels and weights need one axis"
            )));
        }
        room.check_values(&stream.name, count, 1, self.width() + size_of::<String>())?;
        match self.kind {
            'U' => stream.values(count, self.width(), |bytes| {
                let letters = bytes.chunks_exact(4).map(|letter| self.integer(letter) as u32);
                letters.take_while(|&letter| letter != 0).map(|c| char::from_u32(c).unwrap_or('\u{fffd}')).collect()
            }),
            'S' => stream.values(count, self.width(), |bytes| {
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                String::from_utf8_lossy(&bytes[..end]).into_owned()
            }),
            'f' => stream.values(count, self.size, |bytes| self.number(bytes).to_string()),
            'i' => stream.values(count, self.size, |bytes| (self.number(bytes) as i64).to_string()),
            _ => stream.values(count, self.size, |bytes| self.integer(bytes).to_string()),
        }
    }

    /// The values as samples.
    pub(super) fn samples(&self, stream: &mut Stream<'_>, room: Room) -> Outcome<Loaded> {
        let (rows, columns) = self.rows_and_columns(&stream.name)?;
        let values = self.numbers(stream, room)?;
        let values = if self.is_fortran {
            room.check(&stream.name, 2 * values.bytes())?;
            values.reordered(&self.shape)
        } else {
            values
        };
        let picture = match *self.shape.as_slice() {
            [_, height, width] => Some(Picture { width, height, channels: 1 }),
            [_, height, width, channels @ (1 | 3 | 4)] => Some(Picture { width, height, channels }),
            _ => None,
        };
        Ok(Loaded { picture, ..Loaded::new(Content::Dense(values.into_samples(rows, columns)?)) })
    }
}

impl Values {
    /// Values whose first axis runs fastest, in the order in which the last one does.
    fn reordered(&self, shape: &[usize]) -> Self {
        fn reorder<T: Copy>(values: &[T], shape: &[usize]) -> Vec<T> {
            let (rows, columns) = (shape[0], shape[1..].iter().product::<usize>());
            let strides = fortran_strides(&shape[1..]);
            // Where column j of the result stands among the columns of the file.
            let column = |j: usize| {
                let (mut rest, mut at) = (j, 0);
                for (&axis, stride) in shape[1..].iter().zip(&strides).rev() {
                    at += rest % axis * stride;
                    rest /= axis;
                }
                at
            };
            let columns: Vec<usize> = (0..columns).map(column).collect();
            (0..rows).flat_map(|i| columns.iter().map(move |&j| values[j * rows + i])).collect()
        }
        match self {
            Self::F32(values) => Self::F32(reorder(values, shape)),
            Self::F64(values) => Self::F64(reorder(values, shape)),
        }
    }
}

/// How far apart neighbours along each axis are, the first axis running fastest.
fn fortran_strides(shape: &[usize]) -> Vec<usize> {
    shape.iter().scan(1, |stride, &axis| Some(std::mem::replace(stride, *stride * axis))).collect()
}

/// A number of half precision.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use gromap::data::Samples;

    use super::*;

    /// An array as numpy writes it.
    fn array(descr: &str, order: &str, shape: &str, values: &[u8]) -> Source {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(values);
        Source::memory("a.npy", bytes)
    }

    fn load(source: &Source) -> (Vec<f64>, usize, usize) {
        let content = read(source, Room(1 << 20)).unwrap().content;
        let Content::Dense(samples) = &content else { panic!("not dense") };
        (super::super::doubles(&content), samples.len(), samples.columns())
    }

    #[test]
    fn single_precision_stays_and_the_rest_is_double() {
        let bytes: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let loaded = read(&array("<f4", "False", "(1, 2)", &bytes), Room(100)).unwrap();
        assert!(matches!(loaded.content, Content::Dense(Samples::F32(m)) if m.values() == [1.5, -2.0]));
        assert_eq!(load(&array(">i2", "False", "(2, 1)", &[0xff, 0xfe, 0, 3])), (vec![-2.0, 3.0], 2, 1));
        assert_eq!(load(&array("|b1", "False", "(1, 2)", &[0, 1])), (vec![0.0, 1.0], 1, 2));
        assert_eq!(
            load(&array("<f2", "False", "(1, 3)", &[0, 0x3c, 0, 0xc0, 1, 0])),
            (vec![1.0, -2.0, 2f64.powi(-24)], 1, 3)
        );
    }

    #[test]
    fn fortran_order_is_turned_round() {
        // numpy: np.arange(12).reshape(2, 3, 2), saved in Fortran's order.
        let bytes = [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11];
        let (values, rows, columns) = load(&array("|u1", "True", "(2, 3, 2)", &bytes));
        assert_eq!((values, rows, columns), ((0..12).map(f64::from).collect(), 2, 6));
        let (values, ..) = load(&array("|u1", "True", "(2, 3)", &[0, 3, 1, 4, 2, 5]));
        assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn three_axes_are_pictures() {
        let loaded = read(&array("|u1", "False", "(1, 2, 3)", &[0; 6]), Room(100)).unwrap();
        assert_eq!(loaded.picture, Some(Picture { width: 3, height: 2, channels: 1 }));
    }

    #[test]
    fn text_becomes_labels() {
        let mut stream = array("<U2", "False", "(2,)", b"a\0\0\0\0\0\0\0b\0\0\0c\0\0\0").stream().unwrap();
        let header = Header::read(&mut stream).unwrap();
        assert_eq!(header.labels(&mut stream, Room(1000)).unwrap(), ["a", "bc"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |source: &Source| read(source, Room(1 << 20)).map(|_| ()).unwrap_err().message;
        assert!(message(&array("<f8", "False", "(1000000, 1000000)", &[0; 16])).contains("claims 8000000000000 bytes"));
        assert!(message(&array("<f8", "False", "(18446744073709551615, 3)", &[])).contains("beyond any file"));
        assert!(message(&array("<f8", "False", "(2,)", &[0; 16])).contains("1 axes"));
        for shape in ["(0, 2)", "(0, 4294967296, 4294967296)", "(1000000000000, 0)"] {
            assert!(message(&array("<f4", "True", shape, &[])).contains("holds no values"), "{shape}");
        }
        assert!(message(&array("<c8", "False", "(1, 2)", &[0; 16])).contains("'<c8'"));
        assert!(message(&Source::memory("a.npy", &b"hello"[..])).contains("ends within the header"));
        assert!(message(&Source::memory("a.npy", &b"hello, world"[..])).contains("not an array of numpy"));
    }
}
