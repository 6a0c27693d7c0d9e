//! A model file taken apart and put together again, so that damage is behind its checksum: text, names, types, shapes and
//! values change, and the file still adds up.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus as Random;
use serde_json::{Map, Value, json};

use super::damage::{FLOATS, once_in, one};

/// Words that a model file may hold, where they do not belong.
const WORDS: [&str; 26] = [
    "",
    "plan",
    "random",
    "spectral",
    "pca",
    "kernel-pca",
    "mds",
    "isomap",
    "tsne",
    "sne",
    "umap",
    "tsnekhorn",
    "heavy-tsne",
    "fuzzy-tsne",
    "vertex",
    "mirror",
    "cg",
    "square",
    "kl",
    "bce",
    "samples",
    "similarity",
    "own-plan",
    "own-places",
    "prototypes",
    "NaN",
];

/// The text and the tensors of a file.
#[derive(Clone)]
struct Archive {
    text: String,
    tensors: Vec<Tensor>,
}

#[derive(Clone)]
struct Tensor {
    name: String,
    dtype: String,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl Tensor {
    /// Bytes of one value.
    fn width(&self) -> usize {
        match self.dtype.as_str() {
            "F64" | "U64" | "I64" => 8,
            "F32" | "U32" | "I32" => 4,
            _ => 1,
        }
    }

    /// Gives the bytes that the shape asks for.
    fn refill(&mut self) {
        let count = self.shape.iter().fold(1_u64, |product, &axis| product.saturating_mul(axis)).min(1 << 17);
        self.bytes.resize(count as usize * self.width(), 0);
    }
}

impl Archive {
    /// Takes a whole file apart.
    fn open(bytes: &[u8]) -> Option<Self> {
        let (header, data) = split(bytes)?;
        let header: Map<String, Value> = serde_json::from_slice(header).ok()?;
        let text = header.get("__metadata__")?.get("gromap-model")?.as_str()?.to_owned();
        let tensor = |(name, about): (&String, &Value)| {
            let offset = |at: usize| Some(about["data_offsets"][at].as_u64()? as usize);
            Some(Tensor {
                name: name.clone(),
                dtype: about["dtype"].as_str()?.to_owned(),
                shape: about["shape"].as_array()?.iter().filter_map(Value::as_u64).collect(),
                bytes: data.get(offset(0)?..offset(1)?)?.to_vec(),
            })
        };
        let own = header.iter().filter(|(name, _)| !["__metadata__", "checksum"].contains(&name.as_str()));
        Some(Self { text, tensors: own.filter_map(tensor).collect() })
    }

    /// The file, with a checksum that is right.
    fn bytes(&self) -> Vec<u8> {
        let (mut header, mut data) = (Map::new(), Vec::new());
        header.insert("__metadata__".into(), json!({"gromap-model": self.text}));
        let checksum = Tensor { name: "checksum".into(), dtype: "U8".into(), shape: vec![8], bytes: vec![0; 8] };
        for tensor in self.tensors.iter().chain([&checksum]) {
            let start = data.len();
            data.extend_from_slice(&tensor.bytes);
            let offsets = [start, data.len()];
            let about = json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": offsets});
            header.insert(tensor.name.clone(), about);
        }
        sealed(joined(Value::Object(header).to_string().as_bytes(), &data))
    }
}

/// The header and what follows it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

fn joined(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}

/// The same bytes with the checksum that belongs to them: CRC-64/XZ of all that stands before it.
pub(super) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let (mut rest, mut bit) = (at as u64, 0);
            while bit < 8 {
                rest = (rest >> 1) ^ ((rest & 1) * 0xC96C_5795_D787_0F42);
                bit += 1;
            }
            table[at] = rest;
            at += 1;
        }
        table
    };
    if let Some(end) = bytes.len().checked_sub(8) {
        let next = |crc: u64, &byte: &u8| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
        let checksum = !bytes[..end].iter().fold(!0, next);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    }
    bytes
}

/// A file whose JSON was changed: what describes the tensors, or the text about the model.
pub(super) fn with_another_header(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let Some((header, data)) = split(whole) else { return Vec::new() };
    let Ok(mut header) = serde_json::from_slice::<Value>(header) else { return Vec::new() };
    for _ in 0..random.random_range(1..4) {
        match once_in(random, 3) {
            true => alter(&mut header, random),
            false => {
                let text = header["__metadata__"]["gromap-model"].as_str().unwrap_or_default().to_owned();
                if let Some(text) = altered_text(&text, random) {
                    header["__metadata__"]["gromap-model"] = text.into();
                }
            }
        }
        if !header.is_object() || !header["__metadata__"].is_object() {
            break;
        }
    }
    sealed(joined(header.to_string().as_bytes(), data))
}

fn altered_text(text: &str, random: &mut Random) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    alter(&mut value, random);
    let text = value.to_string();
    // A key that is there twice.
    if once_in(random, 8) && text.len() > 2 {
        let word = one(random, &["version", "parameters", "features", "loss"]);
        return Some(format!("{{\"{word}\":{},{}", one(random, &["0", "1", "2", "null", "[]"]), &text[1..]));
    }
    Some(text)
}

/// Changes one value somewhere in a JSON value.
fn alter(value: &mut Value, random: &mut Random) {
    let goes_down = |random: &mut Random| !once_in(random, 5);
    match value {
        Value::Object(map) if !map.is_empty() && goes_down(random) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = one(random, &keys);
            match random.random_range(0..10) {
                0 => drop(map.remove(key)),
                1 => {
                    let other = map.remove(one(random, &keys)).unwrap_or_default();
                    map.insert(key.clone(), other);
                }
                2 => {
                    let old = map.remove(key).unwrap_or_default();
                    map.insert(one(random, &WORDS).to_string(), old);
                }
                _ => map.get_mut(key).into_iter().for_each(|value| alter(value, random)),
            }
        }
        Value::Array(items) if !items.is_empty() && goes_down(random) => {
            let at = random.random_range(0..items.len());
            match random.random_range(0..6) {
                0 => drop(items.remove(at)),
                1 => {
                    let (item, times) = (items[at].clone(), *one(random, &[1, 1, 1, 1000]));
                    items.extend(std::iter::repeat_n(item, times));
                }
                _ => alter(&mut items[at], random),
            }
        }
        other => *other = another(random),
    }
}

/// A value that is hardly the right one.
fn another(random: &mut Random) -> Value {
    match random.random_range(0..8) {
        0 => Value::Null,
        1 => random.random::<bool>().into(),
        2 => (*one(random, &WORDS)).into(),
        3 => one(random, &["inf", "-inf", "nan", "1e400", "\u{202e}\0", "__metadata__"]).to_string().into(),
        4 => json!((0..200).fold(json!([]), |inner, _| json!([inner]))),
        5 => json!(*one(random, &FLOATS)),
        6 => json!("a".repeat(*one(random, &[10, 5_000]))),
        _ => json!(*one(random, &[0, 1, 2, 3, 4, 5, 19, 20, 21, 1 << 20, u64::from(u32::MAX), 1 << 40, u64::MAX])),
    }
}

/// A file whose tensors were changed, lost, exchanged or mixed with those of another.
pub(super) fn with_other_tensors(wholes: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let (whole, other) = (Archive::open(one::<Vec<u8>>(random, wholes)), Archive::open(one::<Vec<u8>>(random, wholes)));
    let (Some(mut archive), Some(mut other)) = (whole, other) else { return Vec::new() };
    for _ in 0..random.random_range(1..4) {
        change(&mut archive, &mut other, random);
    }
    archive.bytes()
}

fn change(archive: &mut Archive, other: &mut Archive, random: &mut Random) {
    if archive.tensors.is_empty() || other.tensors.is_empty() {
        return;
    }
    let at = random.random_range(0..archive.tensors.len());
    let tensor = &mut archive.tensors[at];
    match random.random_range(0..16) {
        0..6 => values(tensor, random),
        6 => {
            let axes = tensor.shape.len();
            if axes > 0 {
                let axis = &mut tensor.shape[random.random_range(0..axes)];
                *axis = match random.random_range(0..5) {
                    0 => 0,
                    1 => axis.saturating_sub(1),
                    2 => 2 * *axis,
                    3 => 1 << random.random_range(0..14),
                    _ => *axis + 1,
                };
                tensor.refill();
            }
        }
        7 => tensor.shape.reverse(),
        8 => {
            let count = tensor.shape.iter().product();
            tensor.shape = one(random, &[vec![], vec![count], vec![1, count], vec![count, 1], vec![0, 3]]).clone();
            tensor.refill();
        }
        9 => {
            tensor.dtype = one(random, &["F64", "F32", "U64", "U32", "U8", "I64", "BF16", "BOOL"]).to_string();
            tensor.refill();
        }
        10 => drop(archive.tensors.remove(at)),
        11 => tensor.name = one(random, &other.tensors).name.clone(),
        12 => archive.tensors.push(one(random, &other.tensors).clone()),
        13 => {
            let same = other.tensors.iter().find(|one| one.name == tensor.name);
            same.into_iter().for_each(|same| *tensor = same.clone());
        }
        14 => std::mem::swap(&mut archive.text, &mut other.text),
        _ => archive.text = altered_text(&archive.text, random).unwrap_or_default(),
    }
}

/// Other numbers in one place of a tensor, or in all.
fn values(tensor: &mut Tensor, random: &mut Random) {
    let width = tensor.width();
    let count = tensor.bytes.len() / width;
    if count == 0 {
        return;
    }
    let whole = *one(random, &[0, 1, 2, 3, 4, 19, 20, 21, 1 << 16, u64::from(u32::MAX), 1 << 40, 1 << 63, u64::MAX]);
    let value = match (tensor.dtype.as_str(), *one(random, &FLOATS)) {
        ("F64", float) => float.to_le_bytes(),
        ("F32", float) => u64::from((float as f32).to_bits()).to_le_bytes(),
        _ => whole.to_le_bytes(),
    };
    let places =
        if once_in(random, 6) { 0..count } else { Some(random.random_range(0..count)).map_or(0..0, |at| at..at + 1) };
    places.for_each(|at| tensor.bytes[at * width..(at + 1) * width].copy_from_slice(&value[..width]));
}
