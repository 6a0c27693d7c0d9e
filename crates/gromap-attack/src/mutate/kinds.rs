//! The kinds of input: whole files, what damages them, and what reads them. A case is a pure function of its kind and number.

use std::io::Write;
use std::sync::LazyLock;

use gromap_cli::probe::Reading;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::damage::{damage, once_in, one, range};
use super::{archive, wholes};

/// Bytes, and how they are read.
#[derive(Clone)]
pub(super) struct Input {
    /// The name that tells the format.
    pub(super) file: String,
    pub(super) bytes: Vec<u8>,
    pub(super) door: Door,
}

/// What reads them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Door {
    Reader(Reading<'static>),
    Model,
}

/// A kind of input.
pub(super) struct Kind {
    file: &'static str,
    /// Whole files, of which every door takes each that it can.
    wholes: Vec<Vec<u8>>,
    doors: &'static [Door],
    words: &'static [&'static [u8]],
    make: fn(&Kind, &mut Random) -> Vec<u8>,
}

const SAMPLES: Door = Door::Reader(Reading::Samples);
const FEATURES: Door = Door::Reader(Reading::Features(&["b", "a"]));
const PAIRS: Door = Door::Reader(Reading::Pairs);
const VALUES: Door = Door::Reader(Reading::Values);

/// All kinds by name.
pub(super) const NAMES: [&str; 19] = [
    "csv",
    "tsv",
    "npy",
    "npz",
    "idx",
    "mtx",
    "edges",
    "parquet",
    "arrow",
    "picture",
    "values",
    "values-npy",
    "values-idx",
    "config",
    "model",
    "model-sealed",
    "model-header",
    "model-tensors",
    "gzip",
];

/// The kinds whose files may be packed.
const PACKED: [usize; 9] = [0, 1, 2, 4, 5, 6, 10, 11, 12];

/// All kinds but the last, whose inputs are those of others, packed.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let models = wholes::models();
    let model = |make| Kind { file: "x.gromap", wholes: models.clone(), doors: &[Door::Model], words: MODEL, make };
    let kind = |file, wholes, doors, words| Kind { file, wholes, doors, words, make: plain };
    vec![
        kind("x.csv", wholes::csv(), &[SAMPLES, FEATURES], TABLE),
        kind("x.tsv", wholes::tsv(), &[SAMPLES, FEATURES], TABLE),
        kind("x.npy", wholes::npy(), &[SAMPLES], ARRAY),
        Kind { make: members, ..kind("x.npz", wholes::npz(), &[SAMPLES, PAIRS], ARRAY) },
        kind("x-images-idx3-ubyte", wholes::idx(), &[SAMPLES], &[]),
        kind("x.mtx", wholes::mtx(), &[PAIRS, SAMPLES], MATRIX),
        kind("x.edges", wholes::edges(), &[PAIRS], MATRIX),
        Kind { make: footer, ..kind("x.parquet", wholes::parquet(), &[SAMPLES, FEATURES], COLUMNS) },
        Kind { make: footer, ..kind("x.arrow", wholes::arrow(), &[SAMPLES, FEATURES], COLUMNS) },
        Kind { make: chunks, ..kind("x.png", wholes::pictures(), &[Door::Reader(Reading::Picture)], CHUNKS) },
        kind("x.txt", wholes::values(), &[VALUES], TABLE),
        kind("x.npy", wholes::npy_values(), &[VALUES], ARRAY),
        kind("x.idx", wholes::idx_values(), &[VALUES], &[]),
        kind("x.toml", wholes::options(), &[Door::Reader(Reading::Options)], OPTIONS),
        model(plain),
        model(|kind, random| archive::sealed(plain(kind, random))),
        model(|kind, random| archive::with_another_header(one::<Vec<u8>>(random, &kind.wholes), random)),
        model(|kind, random| archive::with_other_tensors(&kind.wholes, random)),
    ]
});

const TABLE: &[&[u8]] = &[
    b"\"",
    b"\"\"",
    b"\n",
    b"\r\n",
    b",",
    b",,,,",
    b"\t",
    b"label",
    b"weight",
    b"id",
    b"NA",
    b"nan",
    b"1e999",
    b"-",
    b";",
    b"a[0]",
    b"'",
    b"true",
    b"class,y",
    b"\n\n\n",
    b"\"\n",
    b"source;target",
    b"2024-03-05",
    b"1,234",
    b"05/03/2024 10:00 PM",
    b"T99:99+99",
];
const ARRAY: &[&[u8]] = &[
    b"\x93NUMPY",
    b"'descr'",
    b"'shape'",
    b"'fortran_order'",
    b"True",
    b"(",
    b")",
    b"()",
    b"(0, 0)",
    b"(1,)",
    b"<f8",
    b"|O",
    b"<c16",
    b"<U65536",
    b"<U0",
    b"|S1",
    b">u8",
    b"{",
    b"}",
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"X.npy",
    b"y.npy",
    b"[('a', '<f4')]",
    b"\x01\x00\x08\x00\xff\xff\xff\xff\xff\xff\xff\xff",
    b"csr",
    b"csc",
    b"coo",
    b"dia",
];
const MATRIX: &[&[u8]] = &[
    b"%%MatrixMarket",
    b"matrix",
    b"coordinate",
    b"array",
    b"pattern",
    b"complex",
    b"hermitian",
    b"skew-symmetric",
    b"symmetric",
    b"general",
    b"integer",
    b"\n%\n",
    b"#",
    b"0 0 0\n",
    b"1 1 1\n",
    b"4294967295 4294967295 1\n",
    b"-1",
    b"1 1\n",
    b"nan",
    b"\n",
];
const COLUMNS: &[&[u8]] = &[
    b"PAR1",
    b"ARROW1",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"label",
    b"a",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
    b"\x19\xfc\xff\xff\xff\x0f",
    b"\x15\x00",
    b"\x80\x80\x80\x80\x08",
];
const CHUNKS: &[&[u8]] = &[
    b"IHDR",
    b"IDAT",
    b"IEND",
    b"PLTE",
    b"tRNS",
    b"iCCP",
    b"acTL",
    b"fcTL",
    b"fdAT",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8",
    b"\xff\xd9",
    b"\xff\xc0",
    b"\xff\xc2",
    b"\xff\xc4",
    b"\xff\xda",
    b"\xff\xdb",
    b"\xff\xdd\x00\x04\x00\x00",
    b"\xff\xff",
    b"GIF89a",
];
const OPTIONS: &[&[u8]] = &[
    b"[a]\n",
    b"[[a]]\n",
    b"a.b.c",
    b"= ",
    b"\"",
    b"'''",
    b"\"\"\"",
    b"\\u0000",
    b"\\U0010FFFF",
    b"true",
    b"[",
    b"]",
    b"{",
    b"}",
    b"1979-05-27T07:32:00Z",
    b"config = \"x\"\n",
    b"perplexity = 1e400\n",
    b"prototypes = -1\n",
    b"dims = 99999999999999999999\n",
    b"neighbors = 0\n",
    b"max-memory = \"99999999999999999999GiB\"\n",
    b"images = \"4294967296x4294967296x3\"\n",
    b"threads = 0\n",
    b"labels = \"\\n\"\n",
    b"help = true\n",
    b"degree = 4294967296\n",
    b"init = \"/\"\n",
    b"0x7fff",
    b"inf",
    b"#",
];
const MODEL: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\\"",
    b",",
    b":",
    b"null",
    b"\"F64\"",
    b"\"U8\"",
    b"__metadata__",
    b"gromap-model",
    b"-1",
    b"18446744073709551615",
    b"1e308",
    b"NaN",
    b"inf",
    b"checksum",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
];

/// The case of this number: its bytes and their reader.
pub(super) fn input(kind: usize, number: u64) -> Input {
    let name = NAMES[kind].bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(257).wrapping_add(byte.into()));
    let random = &mut Random::seed_from_u64(name << 40 ^ number);
    if let Some(kind) = KINDS.get(kind) {
        let (bytes, door) = ((kind.make)(kind, random), *one(random, kind.doors));
        return Input { file: kind.file.into(), bytes, door };
    }
    let inner = &KINDS[*one(random, &PACKED)];
    let (bytes, door) = (packed(inner, random), *one(random, inner.doors));
    // What is packed is told by its first bytes, not by its name.
    let ending = if random.random() { ".gz" } else { "" };
    Input { file: format!("{}{ending}", inner.file), bytes, door }
}

/// The whole files of a kind as they are.
#[cfg(test)]
pub(super) fn whole_inputs(kind: usize) -> Vec<Input> {
    let inputs = |kind: &Kind| {
        let of = |bytes: &Vec<u8>| Input { file: kind.file.into(), bytes: bytes.clone(), door: kind.doors[0] };
        kind.wholes.iter().map(of).collect::<Vec<_>>()
    };
    match KINDS.get(kind) {
        Some(kind) => inputs(kind),
        None => {
            let packed = |input: Input| Input { bytes: gzip(&input.bytes), ..input };
            PACKED.iter().flat_map(|&inner| inputs(&KINDS[inner])).map(packed).collect()
        }
    }
}

/// A whole file with changes anywhere.
fn plain(kind: &Kind, random: &mut Random) -> Vec<u8> {
    let mut bytes = one(random, &kind.wholes).clone();
    damage(&mut bytes, random, kind.words, &kind.wholes);
    bytes
}

/// An archive with changes anywhere, or with changed arrays in an archive that is right.
fn members(kind: &Kind, random: &mut Random) -> Vec<u8> {
    if random.random() {
        return plain(kind, random);
    }
    static ARCHIVES: LazyLock<Vec<wholes::Arrays>> = LazyLock::new(wholes::archives);
    let mut arrays = one(random, &ARCHIVES).clone();
    let others: Vec<Vec<u8>> = arrays.iter().map(|(_, bytes)| bytes.clone()).collect();
    for _ in 0..random.random_range(1..3) {
        let at = random.random_range(0..arrays.len());
        match random.random_range(0..8) {
            0 => arrays[at].1 = one(random, &others).clone(),
            1 => arrays[at].0 = *one(random, &["X", "y", "format", "shape", "data", "label", "weight", ""]),
            2 if once_in(random, 20) => arrays[at].1 = swollen(random),
            _ => damage(&mut arrays[at].1, random, kind.words, &others),
        }
    }
    wholes::zip(&arrays, random.random())
}

/// An array that is small when packed.
fn swollen(random: &mut Random) -> Vec<u8> {
    let rows = random.random_range(1..100_usize) << 16;
    wholes::array("|u1", "False", &format!("({rows}, 1)"), &vec![0; rows])
}

/// A file of columns with changes anywhere, or only in its footer, whose length is then made to fit.
fn footer(kind: &Kind, random: &mut Random) -> Vec<u8> {
    let whole = one(random, &kind.wholes);
    let mark: &[u8] = if whole.starts_with(b"PAR1") { b"PAR1" } else { b"ARROW1" };
    let parts = whole.strip_suffix(mark).and_then(|rest| rest.split_last_chunk::<4>());
    let parts = parts
        .and_then(|(rest, length)| Some(rest.split_at(rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?)));
    let Some((body, footer)) = parts.filter(|_| random.random()) else { return plain(kind, random) };
    let mut footer = footer.to_vec();
    damage(&mut footer, random, kind.words, &kind.wholes);
    [body, &footer, &(footer.len() as u32).to_le_bytes(), mark].concat()
}

/// A picture with changes anywhere; those of PNG mostly get checksums that are right.
fn chunks(kind: &Kind, random: &mut Random) -> Vec<u8> {
    let mut bytes = plain(kind, random);
    if !once_in(random, 4) {
        let mut at = 8;
        while let Some(length) = bytes.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok()) {
            let end = at + 8 + u32::from_be_bytes(length) as usize;
            let Some(part) = bytes.get(at + 4..end) else { break };
            let mut checksum = flate2::Crc::new();
            checksum.update(part);
            let Some(place) = bytes.get_mut(end..end + 4) else { break };
            place.copy_from_slice(&checksum.sum().to_be_bytes());
            at = end + 4;
        }
    }
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Small when packed, large when not: zeros, lines, cells, a text that never ends.
static BOMBS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    const SIZE: usize = 48 << 20;
    [&b"\0"[..], b"\n", b"1", b"1,2\n", b"1\t2\n", b"1 2\n", b"\"a,", b" "]
        .iter()
        .map(|unit| gzip(&unit.repeat(SIZE / unit.len())))
        .collect()
});

/// A packed file: damaged inside, outside, twice packed, of several parts, or one that swells.
fn packed(kind: &Kind, random: &mut Random) -> Vec<u8> {
    let inner = if once_in(random, 3) { one(random, &kind.wholes).clone() } else { plain(kind, random) };
    let mut bytes = gzip(&inner);
    match random.random_range(0..2000) {
        0 => bytes.extend_from_slice(one::<Vec<u8>>(random, &BOMBS)),
        1 => {
            // The bomb goes off in the middle of the file.
            let half = inner.len() / 2;
            bytes = [gzip(&inner[..half]), one::<Vec<u8>>(random, &BOMBS).clone(), gzip(&inner[half..])].concat();
        }
        2..300 => {
            let cut = range(random, &inner);
            bytes = [gzip(&inner[..cut.start]), gzip(&inner[cut])].concat();
        }
        300..450 => bytes = gzip(&bytes),
        450..1000 => damage(&mut bytes, random, &[b"\x1f\x8b", b"\x1f\x8b\x08\x00"], &[gzip(&kind.wholes[0])]),
        _ => {}
    }
    bytes
}
