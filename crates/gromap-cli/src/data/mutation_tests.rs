//! Damaged files, by the hundred thousand: whatever a reader is given, it answers with data or with an error, soon, and
//! without taking more memory than it may.
//!
//! Every format starts from small whole files; each case changes one of them in a few places, the way disks, editors and
//! transfers do (bits, cuts, repetitions) and the way an attacker would (sizes in headers). An allocator that counts watches
//! what a reader asks for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Cursor, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::source::{Room, Source};
use super::{Loaded, Role, Wanted, folder, idx, load, npy};
use crate::args::options::Format;
use crate::failure::Outcome;

/// Cases of each format. Twelve kinds of files make more than 100,000.
const CASES: u32 = 10_000;

/// What readers may hold, and what they may ask for in one piece: some ask for scratch beside what they hold.
const ROOM: u64 = 16 << 20;
const LARGEST: usize = 64 << 20;

/// No small file takes this long.
const LONGEST: Duration = Duration::from_secs(5);

/// Counts the largest piece of memory that the current thread asked for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// The system's allocator does the work; requests are only looked at on their way to it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(size: usize) {
    let _ = ASKED.try_with(|asked| asked.set(asked.get().max(size)));
}

/// A change to a file; places are shares of its length.
#[derive(Debug, Clone)]
enum Change {
    Byte(u16, u8),
    Bit(u16, u8),
    Number(u16, u64, u8),
    Cut(u16),
    Remove(u16, u8),
    Repeat(u16, u8),
    Insert(u16, Vec<u8>),
}

impl Change {
    fn strategy() -> impl Strategy<Value = Self> {
        let extremes = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX, u64::MAX >> 1, 1 << 40];
        let words: Vec<Vec<u8>> =
            ["999999999999", "-1", "1e308", "nan", "\"", "\n", ",,,", "(", "'descr'", "%%MatrixMarket"]
                .iter()
                .map(|word| word.as_bytes().to_vec())
                .collect();
        prop_oneof![
            (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Self::Byte(at, byte)),
            (any::<u16>(), 0..8u8).prop_map(|(at, bit)| Self::Bit(at, bit)),
            (any::<u16>(), proptest::sample::select(extremes.to_vec()), 1..=8u8)
                .prop_map(|(at, n, size)| Self::Number(at, n, size)),
            any::<u16>().prop_map(Self::Cut),
            (any::<u16>(), any::<u8>()).prop_map(|(at, length)| Self::Remove(at, length)),
            (any::<u16>(), any::<u8>()).prop_map(|(at, length)| Self::Repeat(at, length)),
            (any::<u16>(), proptest::sample::select(words)).prop_map(|(at, word)| Self::Insert(at, word)),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: u16, bytes: &[u8]| (usize::from(at) * bytes.len()) >> 16;
        match self {
            Self::Byte(at, byte) => {
                let at = place(*at, bytes);
                bytes.iter_mut().skip(at).take(1).for_each(|old| *old = *byte);
            }
            Self::Bit(at, bit) => {
                let at = place(*at, bytes);
                bytes.iter_mut().skip(at).take(1).for_each(|old| *old ^= 1 << bit);
            }
            Self::Number(at, number, size) => {
                let (at, number) = (place(*at, bytes), number.to_le_bytes());
                bytes.iter_mut().skip(at).zip(&number[..usize::from(*size)]).for_each(|(old, new)| *old = *new);
            }
            Self::Cut(at) => bytes.truncate(place(*at, bytes)),
            Self::Remove(at, length) => {
                let at = place(*at, bytes);
                bytes.drain(at..(at + usize::from(*length)).min(bytes.len()));
            }
            Self::Repeat(at, length) => {
                let at = place(*at, bytes);
                let again = bytes[at..(at + usize::from(*length)).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            Self::Insert(at, word) => {
                let at = place(*at, bytes);
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
}

/// Reads changed copies of whole files, of which each must be readable as it is.
fn survive(whole: &[Vec<u8>], read: impl Fn(&Source) -> bool) {
    for bytes in whole {
        assert!(read(&Source::memory("whole", bytes.clone())), "a whole file is refused");
    }
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let cases = (0..whole.len(), proptest::collection::vec(Change::strategy(), 1..4));
    let ran = Cell::new(0);
    let outcome = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
    .run(&cases, |(which, changes)| {
        let mut bytes = whole[which].clone();
        changes.iter().for_each(|change| change.apply(&mut bytes));
        let source = Source::memory("changed", bytes);
        let start = Instant::now();
        ASKED.set(0);
        ran.set(ran.get() + 1);
        read(&source);
        prop_assert!(ASKED.get() <= LARGEST, "{} bytes were asked for", ASKED.get());
        prop_assert!(start.elapsed() < LONGEST, "it took {:?}", start.elapsed());
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(ran.get(), CASES);
}

fn reads(format: Format) -> impl Fn(&Source) -> bool {
    reads_features(format, None)
}

/// The same, with the features of a model.
fn reads_features(format: Format, features: Option<Vec<String>>) -> impl Fn(&Source) -> bool {
    let (labels, weights) = (Some("label".into()), Some("weight".into()));
    let wanted = Wanted { labels, weights, features, others: Role::Unused };
    move |source| {
        let loaded: Outcome<Loaded> = load(source, format, &wanted, Room(ROOM));
        loaded.is_ok()
    }
}

fn array(descr: &str, order: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(values);
    bytes
}

fn floats() -> Vec<u8> {
    (0..24).flat_map(|i| (i as f32 * 0.5).to_le_bytes()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn npy() {
    let whole = [
        array("<f4", "False", "(6, 4)", &floats()),
        array("<f8", "True", "(3, 2, 2)", &floats()),
        array(">i2", "False", "(12, 4)", &floats()),
        gzip(&array("<f4", "False", "(6, 4)", &floats())),
    ];
    survive(&whole, reads(Format::Npy));
}

#[test]
fn npy_labels() {
    let read = |source: &Source| {
        let mut stream = source.stream().unwrap();
        npy::Header::read(&mut stream).and_then(|header| header.labels(&mut stream, Room(ROOM))).is_ok()
    };
    survive(
        &[array("<U3", "False", "(2,)", &[b'a', 0, 0, 0].repeat(6)), array("|S4", "False", "(6,)", &floats()[..24])],
        read,
    );
}

fn archive(arrays: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in arrays {
        writer.start_file(format!("{name}.npy"), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn npz() {
    let integers = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let samples = [
        ("X", array("<f4", "False", "(6, 4)", &floats())),
        ("y", array("<i4", "False", "(6,)", &integers(&[0, 1, 2, 0, 1, 2]))),
    ];
    let csr = [
        ("format", array("|S3", "False", "()", b"csr")),
        ("shape", array("<i4", "False", "(2,)", &integers(&[3, 4]))),
        ("indptr", array("<i4", "False", "(4,)", &integers(&[0, 2, 3, 4]))),
        ("indices", array("<i4", "False", "(4,)", &integers(&[0, 2, 1, 3]))),
        ("data", array("<f4", "False", "(4,)", &floats()[..16])),
    ];
    let (stored, packed) = (zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated);
    survive(&[archive(&samples, stored), archive(&samples, packed), archive(&csr, stored)], reads(Format::Npz));
}

#[test]
fn csv() {
    let text = "id,a,b,label,weight,note\nx,1,2.5,cat,1,hi\ny,-3e2,4,dog,0.5,\"a, b\"\nz,0,0,cat,2,\n";
    survive(&[text.into(), b"1,2\n3,4\n5,6\n".to_vec(), gzip(text.as_bytes())], reads(Format::Csv));
    survive(&[text.into()], reads_features(Format::Csv, Some(vec!["b".into(), "a".into()])));
}

#[test]
fn idx() {
    let mut pixels = vec![0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2];
    pixels.extend(0..24);
    survive(&[gzip(&pixels), pixels], reads(Format::Idx));
}

#[test]
fn idx_labels() {
    let read = |source: &Source| idx::labels(source, Room(ROOM)).is_ok();
    survive(&[vec![0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]], read);
}

#[test]
fn mtx() {
    let sparse = "%%MatrixMarket matrix coordinate real symmetric\n% a note\n3 3 4\n1 1 2\n2 1 0.5\n3 2 -1e1\n3 3 1\n";
    let dense = "%%MatrixMarket matrix array integer general\n2 3\n1\n2\n3\n4\n5\n6\n";
    survive(&[sparse.into(), dense.into()], reads(Format::Mtx));
}

#[test]
fn edges() {
    survive(&[b"# friends\n1 2 0.5\n2 3\n3 10 7\n".to_vec(), b"al,bo\nbo,cy,2\n".to_vec()], reads(Format::Edges));
}

#[test]
fn pictures() {
    let encode = |format: image::ImageFormat, colour: bool| {
        let mut bytes = Cursor::new(Vec::new());
        let pixel = |x: u32, y: u32| image::Rgb([(x * 40) as u8, (y * 40) as u8, 7]);
        let picture = image::DynamicImage::from(image::RgbImage::from_fn(5, 4, pixel));
        let picture = if colour { picture } else { picture.grayscale() };
        picture.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    };
    let (png, jpeg) = (image::ImageFormat::Png, image::ImageFormat::Jpeg);
    let read = |source: &Source| folder::decode(source, Room(ROOM)).is_ok();
    survive(&[encode(png, true), encode(png, false), encode(jpeg, true), encode(jpeg, false)], read);
}

#[test]
fn models() {
    let samples = gromap::Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64);
    let model = gromap::GromovDr::builder().method(gromap::Method::Pca).prototypes(4).fit(&samples).unwrap();
    let read = |source: &Source| gromap::Model::from_bytes(&source.whole(Room(ROOM)).unwrap()).is_ok();
    survive(&[model.to_bytes()], read);
}

#[cfg(feature = "columnar")]
mod columnar {
    use super::*;
    use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray};
    use parquet::basic::Compression;
    use parquet::file::properties::WriterProperties;

    fn batch() -> RecordBatch {
        let columns: [(&str, ArrayRef); 5] = [
            ("a", Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]))),
            ("b", Arc::new(Float64Array::from(vec![0.5, -1.0, 1e9]))),
            ("c", Arc::new(Int32Array::from(vec![3, 2, 1]))),
            ("label", Arc::new(StringArray::from(vec!["cat", "dog", "cat"]))),
            ("note", Arc::new(StringArray::from(vec![Some("hi"), None, Some("there")]))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn parquet(compression: Compression) -> Vec<u8> {
        let (batch, properties) = (batch(), WriterProperties::builder().set_compression(compression).build());
        let mut bytes = Vec::new();
        let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn parquet_files() {
        let whole = [
            parquet(Compression::UNCOMPRESSED),
            parquet(Compression::SNAPPY),
            parquet(Compression::ZSTD(Default::default())),
        ];
        survive(&whole, reads(Format::Parquet));
    }

    /// A file and a stream, whose buffers are compressed or not.
    fn arrow(compression: Option<arrow_ipc::CompressionType>) -> [Vec<u8>; 2] {
        let batch = batch();
        let options = || arrow_ipc::writer::IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let (mut file, mut stream) = (Vec::new(), Vec::new());
        let mut writer =
            arrow_ipc::writer::FileWriter::try_new_with_options(&mut file, &batch.schema(), options()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        let mut writer =
            arrow_ipc::writer::StreamWriter::try_new_with_options(&mut stream, &batch.schema(), options()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        [file, stream]
    }

    #[test]
    fn arrow_files_and_streams() {
        let packed = arrow(Some(arrow_ipc::CompressionType::LZ4_FRAME));
        survive(&[arrow(None), packed].concat(), reads(Format::Arrow));
    }
}
