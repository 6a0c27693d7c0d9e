//! Named tensors and one JSON text in a safetensors layout, sealed by a checksum of everything before it.
//!
//! The layout sorts tensors by the size of their elements, so the eight bytes of the checksum, the only tensor of bytes,
//! are the last of the file. The map of texts has one key alone: its order is not fixed. The header is read through
//! the library's own [`Metadata`], which checks every offset; what it allows is then inside the bytes there are.

use std::borrow::Cow;
use std::collections::BTreeSet;

use safetensors::tensor::Metadata;
use safetensors::{Dtype, View, serialize};
use serde::Deserialize;

use super::checksum::crc64;
use crate::error::{Error, Result};
use crate::numeric::{Matrix, Scalar};

/// Name of the format, and the key of the JSON text.
pub(super) const FORMAT: &str = "gromap-model";
/// The format written; all up to it are read.
pub(super) const VERSION: u32 = 1;

const CHECKSUM: &str = "checksum";
/// Bytes of the checksum, and of the number before the header that says how long it is.
const WORD: usize = size_of::<u64>();

/// What every version of the format says first.
#[derive(Deserialize)]
struct Stamp {
    format: String,
    version: u32,
}

/// A number that tensors hold.
pub(super) trait Element: Copy {
    const DTYPE: Dtype;
    const SIZE: usize = size_of::<Self>();
    fn write(self, out: &mut Vec<u8>);
    /// Takes exactly `SIZE` bytes.
    fn read(bytes: &[u8]) -> Self;
    /// As a number that may be NaN or infinite.
    fn number(self) -> f64;
}

macro_rules! element {
    ($($number:ty => $dtype:ident),*) => {$(
        impl Element for $number {
            const DTYPE: Dtype = Dtype::$dtype;
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<Self>()];
                word.copy_from_slice(bytes);
                Self::from_le_bytes(word)
            }
            fn number(self) -> f64 {
                self as f64
            }
        }
    )*};
}

element!(f64 => F64, f32 => F32, u64 => U64, u32 => U32, u8 => U8);

/// A tensor that becomes bytes only when its turn has come.
struct Tensor<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    size: usize,
    bytes: Box<dyn Fn() -> Vec<u8> + 'a>,
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        (self.bytes)().into()
    }

    fn data_len(&self) -> usize {
        self.size
    }
}

/// Collects tensors to write.
#[derive(Default)]
pub(super) struct Writer<'a> {
    tensors: Vec<(String, Tensor<'a>)>,
}

impl<'a> Writer<'a> {
    fn add<T: Element + 'a>(&mut self, name: String, shape: Vec<usize>, values: Cow<'a, [T]>) {
        let size = values.len() * T::SIZE;
        let bytes = move || {
            let mut out = Vec::with_capacity(size);
            values.iter().for_each(|value| value.write(&mut out));
            out
        };
        self.tensors.push((name, Tensor { dtype: T::DTYPE, shape, size, bytes: Box::new(bytes) }));
    }

    pub(super) fn vector<T: Element + 'a>(&mut self, name: impl Into<String>, values: impl Into<Cow<'a, [T]>>) {
        let values = values.into();
        self.add(name.into(), vec![values.len()], values);
    }

    pub(super) fn scalar<T: Element + 'a>(&mut self, name: impl Into<String>, value: T) {
        self.add(name.into(), Vec::new(), vec![value].into());
    }

    pub(super) fn matrix<S: Scalar + Element>(&mut self, name: impl Into<String>, matrix: &'a Matrix<'_, S>) {
        self.add(name.into(), vec![matrix.rows(), matrix.columns()], matrix.values().into());
    }

    /// All tensors and the text, sealed.
    pub(super) fn finish(mut self, text: String) -> Vec<u8> {
        self.vector(CHECKSUM, vec![0u8; WORD]);
        let texts = [(FORMAT.to_owned(), text)].into_iter().collect();
        let Ok(mut bytes) = serialize(self.tensors, Some(texts)) else {
            unreachable!("names and numbers stay below the limit of 100 MB: those of features are limited")
        };
        let end = bytes.len() - WORD;
        let checksum = crc64(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// Refuses NaN and infinities: no fit gives them.
fn check_finite<T: Element>(name: &str, values: &[T]) -> Result<()> {
    match values.iter().position(|value| !value.number().is_finite()) {
        None => Ok(()),
        Some(at) => {
            let value = values[at].number();
            Err(damaged(format!("number {at} of its tensor \"{name}\" is {value}; every one must be finite")))
        }
    }
}

/// Hands out tensors, each checked for its type and rank.
pub(super) struct Reader<'a> {
    header: Metadata,
    data: &'a [u8],
    unread: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    /// Opens sealed bytes, and gives the text with them. A newer format is told from damage first.
    pub(super) fn open(bytes: &'a [u8]) -> Result<(Self, String)> {
        let (header, data) = split(bytes)?;
        let header: Metadata =
            serde_json::from_str(header).map_err(|error| damaged(format!("its header cannot be read: {error}")))?;
        let text = header.metadata().as_ref().and_then(|texts| texts.get(FORMAT)).cloned();
        let text = text.ok_or_else(|| damaged("it holds no gromap model"))?;
        let stamp: Stamp = serde_json::from_str(&text).map_err(damaged)?;
        if stamp.format != FORMAT || stamp.version == 0 {
            return Err(damaged(format!("it says \"{}\", format {}", stamp.format, stamp.version)));
        }
        if stamp.version > VERSION {
            return Err(Error::NewerModel { format: stamp.version, known: VERSION });
        }
        if header.data_len() != data.len() {
            return Err(damaged(format!("{} bytes of tensors expected, {} found", header.data_len(), data.len())));
        }
        let (sealed, checksum) = bytes.split_at(bytes.len() - WORD.min(data.len()));
        if checksum != crc64(sealed).to_le_bytes() {
            return Err(damaged("its checksum does not match"));
        }
        let mut reader = Self { unread: header.offset_keys().into_iter().collect(), header, data };
        reader.vector::<u8>(CHECKSUM)?;
        Ok((reader, text))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.header.info(name).is_some()
    }

    fn take<T: Element, const RANK: usize>(&mut self, name: &str) -> Result<([usize; RANK], Vec<T>)> {
        let info = self.header.info(name).ok_or_else(|| damaged(format!("it holds no tensor \"{name}\"")))?;
        let shape = <[usize; RANK]>::try_from(info.shape.as_slice());
        let (Ok(shape), true) = (shape, info.dtype == T::DTYPE) else {
            let found = format!("\"{name}\" is a tensor of {} with shape {:?}", info.dtype, info.shape);
            return Err(damaged(format!("{found}; {} with {RANK} axes expected", T::DTYPE)));
        };
        let bytes = self.data.get(info.data_offsets.0..info.data_offsets.1);
        let bytes = bytes.ok_or_else(|| damaged(format!("\"{name}\" lies outside of it")))?;
        self.unread.remove(name);
        Ok((shape, bytes.chunks_exact(T::SIZE).map(T::read).collect()))
    }

    pub(super) fn vector<T: Element>(&mut self, name: &str) -> Result<Vec<T>> {
        let (_, values) = self.take::<T, 1>(name)?;
        check_finite(name, &values)?;
        Ok(values)
    }

    /// A vector of costs: what is out of reach costs infinity.
    pub(super) fn costs(&mut self, name: &str) -> Result<Vec<f64>> {
        let (_, values) = self.take::<f64, 1>(name)?;
        let reached: Vec<f64> = values.iter().map(|&cost| if cost == f64::INFINITY { 0.0 } else { cost }).collect();
        check_finite(name, &reached)?;
        Ok(values)
    }

    pub(super) fn scalar<T: Element>(&mut self, name: &str) -> Result<T> {
        let (_, values) = self.take::<T, 0>(name)?;
        check_finite(name, &values)?;
        // A shape without axes holds one number.
        Ok(values[0])
    }

    pub(super) fn matrix<S: Scalar + Element>(&mut self, name: &str) -> Result<Matrix<'static, S>> {
        let ([rows, columns], values) = self.take::<S, 2>(name)?;
        check_finite(name, &values)?;
        Matrix::new(values, rows, columns)
    }

    /// Refuses tensors that nothing asked for.
    pub(super) fn finish(self) -> Result<()> {
        match self.unread.first() {
            None => Ok(()),
            Some(name) => Err(damaged(format!("it holds a tensor \"{name}\" that does not belong there"))),
        }
    }
}

/// The header and what follows it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let Some((length, rest)) = bytes.split_first_chunk::<WORD>() else {
        return Err(damaged(format!("{} bytes are too few", bytes.len())));
    };
    let length = u64::from_le_bytes(*length);
    let header = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let Some((header, data)) = header else {
        return Err(damaged(format!("a header of {length} bytes expected, {} found", rest.len())));
    };
    let header = std::str::from_utf8(header).map_err(|_| damaged("its header is not text"))?;
    Ok((header, data))
}

/// What is wrong with a file. Words of the file may be part of it, and those can be of any length.
pub(super) fn damaged(problem: impl ToString) -> Error {
    const LONGEST: usize = 500;
    let mut problem = problem.to_string();
    if let Some((end, _)) = problem.char_indices().nth(LONGEST) {
        problem.truncate(end);
        problem.push('…');
    }
    Error::DamagedModel(problem)
}
