//! Changes to bytes: those of disks, editors and transfers (bits, cuts, repetitions) and those of an attacker (numbers at
//! their limits, words of the format where they do not belong, parts of another file).

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus as Random;

/// Whole numbers at the limits of their types.
const LIMITS: [u64; 20] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    1 << 16,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    1 << 53,
    u64::MAX >> 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Numbers that arithmetic does not like.
pub(super) const FLOATS: [f64; 12] = [
    0.0,
    -0.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    1e38,
    1e-40,
];

/// Numbers as text, some of them hardly.
const NUMERALS: [&str; 22] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e309",
    "-1e-320",
    "nan",
    "inf",
    "-Infinity",
    "0x1p3",
];

/// Text that is not, or that means more than it shows.
const LETTERS: [&[u8]; 10] = [
    b"\x80",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0",
    b"\r",
    "\u{202e}".as_bytes(),
    "\u{0663}".as_bytes(),
    b"\x1b[2J",
];

/// One of some things.
pub(super) fn one<'t, T>(random: &mut Random, things: &'t [T]) -> &'t T {
    &things[random.random_range(0..things.len())]
}

/// True once in so many times.
pub(super) fn once_in(random: &mut Random, times: u32) -> bool {
    random.random_range(0..times) == 0
}

/// A place in bytes, or right behind them.
fn place(random: &mut Random, bytes: &[u8]) -> usize {
    random.random_range(0..=bytes.len())
}

/// A range of bytes, mostly short.
pub(super) fn range(random: &mut Random, bytes: &[u8]) -> std::ops::Range<usize> {
    let start = place(random, bytes);
    let most = if once_in(random, 4) { bytes.len() } else { 16 };
    start..bytes.len().min(start + random.random_range(0..=most))
}

/// The start of a number of so many bytes, if there is room for one.
fn number(random: &mut Random, bytes: &[u8], size: usize) -> Option<usize> {
    Some(random.random_range(0..=bytes.len().checked_sub(size)?))
}

/// Changes bytes in one place or a few, with the words of a format and parts of other files at hand.
pub(super) fn damage(bytes: &mut Vec<u8>, random: &mut Random, words: &[&[u8]], others: &[Vec<u8>]) {
    let changes = if once_in(random, 16) { random.random_range(4..32) } else { random.random_range(1..4) };
    (0..changes).for_each(|_| change(bytes, random, words, others));
}

fn change(bytes: &mut Vec<u8>, random: &mut Random, words: &[&[u8]], others: &[Vec<u8>]) {
    let at = place(random, bytes);
    match random.random_range(0..22) {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.random()),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.random_range(0..8)),
        2 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = *one(random, &[0, 1, 0x7f, 0x80, 0xff])),
        3 | 4 => limit(bytes, random),
        5 => nudge(bytes, random),
        6 => {
            let value = *one(random, &FLOATS);
            let value =
                if random.random() { value.to_le_bytes().to_vec() } else { (value as f32).to_le_bytes().into() };
            overwrite(bytes, random, &value);
        }
        7 => bytes.truncate(at),
        8 => drop(bytes.drain(range(random, bytes))),
        9 => {
            let again = bytes[range(random, bytes)].to_vec();
            let times = if once_in(random, 16) { random.random_range(2..64) } else { 1 };
            insert(bytes, at, &again.repeat(times.min(1 + (1 << 16) / again.len().max(1))));
        }
        10..=12 if !words.is_empty() => {
            let word = one(random, words);
            insert(bytes, at, word);
        }
        13 | 14 => numeral(bytes, random),
        15 => {
            let other = one(random, others);
            let part = range(random, other);
            let replaced = range(random, bytes);
            drop(bytes.splice(replaced, other[part].iter().copied()));
        }
        16 => {
            // The beginning of one, the end of another.
            let other = one(random, others);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[place(random, other)..]);
        }
        17 => {
            let letters = one(random, &LETTERS);
            insert(bytes, at, letters);
        }
        18 => lines(bytes, random),
        19 => {
            let value = *one(random, &[0, 0xff, b' ', b'0']);
            let part = range(random, bytes);
            bytes[part].fill(value);
        }
        20 => {
            let part = range(random, bytes);
            bytes[part].reverse();
        }
        _ => {
            let length = match random.random_range(0..200) {
                0 => random.random_range(1 << 20..3 << 20),
                1..8 => random.random_range(1 << 10..1 << 16),
                _ => random.random_range(1..300),
            };
            let unit = *one(random, &[&b"0"[..], b"9", b" ", b"\n", b"\"", b",", b"(", b"[", b"a", b"\0", b"1 "]);
            insert(bytes, at, &unit.repeat(length / unit.len()));
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    drop(bytes.splice(at..at, new.iter().copied()));
}

fn overwrite(bytes: &mut [u8], random: &mut Random, value: &[u8]) {
    if let Some(at) = number(random, bytes, value.len()) {
        bytes[at..at + value.len()].copy_from_slice(value);
    }
}

/// Writes a number at a limit, or near the length of the bytes, in either order.
fn limit(bytes: &mut [u8], random: &mut Random) {
    let size = *one(random, &[1, 2, 4, 4, 8, 8]);
    let value = match random.random_range(0..8) {
        0 => bytes.len() as u64,
        1 => (bytes.len() as u64).wrapping_add_signed(random.random_range(-16..16)),
        _ => *one(random, &LIMITS),
    };
    let mut value = value.to_le_bytes();
    if random.random() {
        value[..size].reverse();
    }
    overwrite(bytes, random, &value[..size]);
}

/// Makes a number a little larger or smaller.
fn nudge(bytes: &mut [u8], random: &mut Random) {
    let (size, by, is_big) = (*one(random, &[1, 2, 4, 8]), random.random_range(-3..=3_i64), random.random());
    let Some(at) = number(random, bytes, size) else { return };
    let part = &mut bytes[at..at + size];
    let mut word = [0; 8];
    word[..size].copy_from_slice(part);
    if is_big {
        word[..size].reverse();
    }
    let mut word = u64::from_le_bytes(word).wrapping_add_signed(by).to_le_bytes();
    if is_big {
        word[..size].reverse();
    }
    part.copy_from_slice(&word[..size]);
}

/// Writes another number where there is one in digits.
fn numeral(bytes: &mut Vec<u8>, random: &mut Random) {
    let begin = place(random, bytes);
    let Some(start) = bytes[begin..].iter().position(u8::is_ascii_digit).map(|at| begin + at) else { return };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    drop(bytes.splice(start..start + length, one(random, &NUMERALS).bytes()));
}

/// Removes, repeats or moves a line.
fn lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (at, to) = (random.random_range(0..lines.len()), random.random_range(0..lines.len()));
    match random.random_range(0..3) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, lines[at].clone()),
        _ => lines.swap(at, to),
    }
    *bytes = lines.concat();
}
