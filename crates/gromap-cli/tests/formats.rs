//! Every input format, with the real program. The same numbers give the same map, whatever they are stored in: the loss of
//! each format is compared with that of the others to the last bit.

mod common;

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use common::*;
use serde_json::Value;

/// What a fit to the small data must find.
fn check(found: &Value) {
    assert_eq!((&found["n_samples"], &found["n_features"]), (&SAMPLES.into(), &FEATURES.into()), "{found}");
    assert_eq!(found["metrics"]["homogeneity"], 1.0, "{found}");
}

/// The loss of a file with labels.
fn loss(name: &str, bytes: &[u8], more: &[&str]) -> f64 {
    let bench = Bench::new();
    bench.write(name, bytes);
    bench.write("labels.csv", (0..SAMPLES).map(|i| format!("{}\n", label(i))).collect::<String>());
    let found = bench.json(&[&["fit", name], &QUICK[..], more].concat());
    check(&found);
    found["loss"].as_f64().expect("a loss")
}

const LABELS: [&str; 2] = ["--labels", "labels.csv"];

/// What numpy's file gives, in either precision.
fn expected(single: bool) -> f64 {
    let bytes = if single { npy_f32() } else { npy_f64() };
    loss("x.npy", &bytes, &LABELS)
}

#[test]
fn arrays_of_numpy() {
    assert_eq!(loss("x.npy", &npy_f64(), &[&LABELS[..], &["--precision", "f32"]].concat()), expected(true));
    assert_eq!(loss("x.npy", &npy_f32(), &[&LABELS[..], &["--precision", "f64"]].concat()), expected(false));
    let bytes = npy("<f2", &format!("({SAMPLES}, {FEATURES})"), values().flat_map(|value| half(value).to_le_bytes()));
    assert_eq!(loss("x.npy", &bytes, &LABELS), expected(false));
}

/// A value of the small data in half precision: at most 4 bits before the point and 6 after it.
fn half(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    if bits == 0 { 0 } else { ((bits >> 13) as u16 & 0x3ff) | (((bits >> 23) as u16 + 15 - 127) << 10) }
}

#[test]
fn archives_of_arrays() {
    let bench = Bench::new();
    bench.write("x.npz", archive(&[("X", npy_f64()), ("y", text_array())]));
    let found = bench.json(&[&["fit", "x.npz"], &QUICK[..]].concat());
    check(&found);
    assert_eq!(found["loss"].as_f64(), Some(expected(false)));
}

/// The labels as numpy stores text.
fn text_array() -> Vec<u8> {
    let letters = (0..SAMPLES).flat_map(|i| label(i).chars()).flat_map(|letter| u32::from(letter).to_le_bytes());
    npy("<U3", &format!("({SAMPLES},)"), letters)
}

fn archive(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in arrays {
        writer.start_file(format!("{name}.npy"), options).expect("memory");
        writer.write_all(bytes).expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}

/// scipy's layout of the small data, all values stored.
fn sparse_archive() -> Vec<u8> {
    let integers = |values: Vec<i32>| {
        let shape = format!("({},)", values.len());
        npy("<i4", &shape, values.into_iter().flat_map(i32::to_le_bytes))
    };
    let (rows, columns) = (SAMPLES as i32, FEATURES as i32);
    archive(&[
        ("format", npy("|S3", "()", *b"csr")),
        ("shape", integers(vec![rows, columns])),
        ("indptr", integers((0..=rows).map(|i| i * columns).collect())),
        ("indices", integers((0..rows).flat_map(|_| 0..columns).collect())),
        ("data", npy("<f8", &format!("({},)", SAMPLES * FEATURES), values().flat_map(f64::to_le_bytes))),
    ])
}

#[test]
fn sparse_npz_as_samples() {
    assert_eq!(loss("x.npz", &sparse_archive(), &LABELS), expected(false));
}

#[test]
fn csv_tsv_and_gzip() {
    let columns = ["--labels", "kind", "--weights", "weight"];
    assert_eq!(loss("x.csv", csv(",").as_bytes(), &columns), expected(false));
    assert_eq!(loss("x.tsv", csv("\t").as_bytes(), &columns), expected(false));
    assert_eq!(loss("x.csv.gz", &gzip(csv(",").as_bytes()), &columns), expected(false));
    assert_eq!(loss("x.data", csv(",").as_bytes(), &[&columns[..], &["--format", "csv"]].concat()), expected(false));
}

/// What a run finds that is given bytes by a pipe.
fn piped(bench: &Bench, arguments: &[&str], bytes: &[u8]) -> Value {
    let mut command = bench.command(&with(arguments, &["--json"]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn standard_input() {
    let bench = Bench::new();
    let arguments = [&["fit", "-", "--format", "csv", "--labels", "kind", "--weights", "weight"], &QUICK[..]].concat();
    let found = piped(&bench, &arguments, csv(",").as_bytes());
    check(&found);
    assert_eq!(found["loss"].as_f64(), Some(expected(false)));
    assert_eq!(bench.error(&["fit", "-"], 2)["hint"], "give --format, such as --format csv");
}

/// A pipe can be read only once: nobody may look at its beginning first.
#[test]
#[cfg(target_os = "linux")]
fn pipes() {
    let bench = Bench::new();
    let labels: String = (0..SAMPLES).map(|i| format!("{}\n", label(i))).collect();
    bench.write("labels.csv", &labels);
    let fit = [&["fit", "/dev/stdin", "--format", "npy", "--labels", "labels.csv"], &QUICK[..]].concat();
    check(&piped(&bench, &fit, &npy_f64()));
    let scored = piped(&bench, &["score", "/dev/stdin", "--labels", "labels.csv"], labels.as_bytes());
    assert_eq!(scored["metrics"]["ari"], 1.0, "{scored}");
}

#[cfg(feature = "columnar")]
mod columnar {
    use super::*;
    use arrow_array::types::Float64Type;
    use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, RecordBatch, StringArray};
    use parquet::basic::Compression;
    use parquet::file::properties::WriterProperties;

    fn batch(single: bool) -> RecordBatch {
        let column = |j: usize| -> ArrayRef {
            let values = (0..SAMPLES).map(move |i| value(i, j));
            if single {
                Arc::new(values.map(|v| v as f32).collect::<Float32Array>())
            } else {
                Arc::new(values.collect::<Float64Array>())
            }
        };
        let kinds: ArrayRef = Arc::new((0..SAMPLES).map(|i| Some(label(i))).collect::<StringArray>());
        let columns = ["a", "b", "c", "d"].into_iter().zip((0..FEATURES).map(column)).chain([("kind", kinds)]);
        RecordBatch::try_from_iter(columns).expect("a table")
    }

    fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut bytes = Vec::new();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a writer");
        writer.write(batch).expect("memory");
        writer.close().expect("memory");
        bytes
    }

    #[test]
    fn parquet_in_every_codec() {
        let codecs = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::ZSTD(Default::default()),
            Compression::LZ4_RAW,
        ];
        for codec in codecs {
            assert_eq!(
                loss("x.parquet", &parquet(&batch(false), codec), &["--labels", "kind"]),
                expected(false),
                "{codec}"
            );
        }
        assert_eq!(
            loss("x.parquet", &parquet(&batch(true), Compression::SNAPPY), &["--labels", "kind"]),
            expected(true)
        );
    }

    #[test]
    fn lists_of_numbers_are_features() {
        let rows = (0..SAMPLES).map(|i| Some((0..FEATURES).map(|j| Some(value(i, j))).collect::<Vec<_>>()));
        let lists = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(rows, FEATURES as i32);
        let batch = RecordBatch::try_from_iter([("embedding", Arc::new(lists) as ArrayRef)]).expect("a table");
        assert_eq!(loss("x.parquet", &parquet(&batch, Compression::SNAPPY), &LABELS), expected(false));
    }

    #[test]
    fn columns_are_found_by_name() {
        use arrow_array::Date32Array;
        let bench = Bench::new();
        let whole = batch(false);
        bench.write("x.parquet", parquet(&whole, Compression::SNAPPY));
        bench.json(&[&["fit", "x.parquet", "--labels", "kind", "-o", "m.gromap"], &QUICK[..]].concat());
        let dates: ArrayRef = Arc::new((0..SAMPLES as i32).map(Some).collect::<Date32Array>());
        let named = |at: usize| (whole.schema().field(at).name().clone(), Arc::clone(whole.column(at)));
        let columns = [3, 1, 0, 2].map(named).into_iter().chain([("day".to_owned(), dates)]);
        let turned = RecordBatch::try_from_iter(columns).expect("a table");
        bench.write("new.parquet", parquet(&turned, Compression::SNAPPY));
        let labels = |name: &str| bench.json(&["transform", "m.gromap", name])["labels"].take();
        assert_eq!(labels("new.parquet"), labels("x.parquet"));
        bench.write("few.parquet", parquet(&whole.project(&[0, 1, 3]).expect("columns"), Compression::SNAPPY));
        let refused = bench.error(&["transform", "m.gromap", "few.parquet"], 3);
        assert!(refused["message"].as_str().is_some_and(|text| text.contains("the column \"c\"")), "{refused}");
    }

    #[test]
    fn arrow_files_and_streams() {
        let batch = batch(false);
        let (mut file, mut stream) = (Vec::new(), Vec::new());
        let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut file, &batch.schema()).expect("a writer");
        writer.write(&batch).and_then(|()| writer.finish()).expect("memory");
        drop(writer);
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut stream, &batch.schema()).expect("a writer");
        writer.write(&batch).and_then(|()| writer.finish()).expect("memory");
        drop(writer);
        assert_eq!(loss("x.arrow", &file, &["--labels", "kind"]), expected(false));
        assert_eq!(loss("x.feather", &stream, &["--labels", "kind"]), expected(false));
    }
}

/// Pictures of 2×2 pixels: the small data as bytes.
fn pixels() -> Vec<u8> {
    values().map(|value| (value * 28.0) as u8).collect()
}

#[test]
fn idx_with_labels_beside_it() {
    let mut images = vec![0, 0, 8, 3, 0, 0, 0, SAMPLES as u8, 0, 0, 0, 2, 0, 0, 0, 2];
    images.extend(pixels());
    let mut labels = vec![0, 0, 8, 1, 0, 0, 0, SAMPLES as u8];
    labels.extend((0..SAMPLES).map(|i| (i % GROUPS) as u8));
    let bench = Bench::new();
    bench.write("a-images-idx3-ubyte", &images);
    bench.write("a-labels-idx1-ubyte", &labels);
    let plain = bench.json(&[&["fit", "a-images-idx3-ubyte"], &QUICK[..]].concat());
    check(&plain);
    let packed = Bench::new();
    packed.write("a-images-idx3-ubyte.gz", gzip(&images));
    packed.write("a-labels-idx1-ubyte.gz", gzip(&labels));
    let found = packed.json(&[&["fit", "a-images-idx3-ubyte.gz", "--report", "map.html"], &QUICK[..]].concat());
    check(&found);
    assert_eq!(found["loss"], plain["loss"]);
    assert!(packed.text("map.html").starts_with("<!doctype html>"));
}

#[test]
fn folders_of_pictures() {
    let encode = |i: usize, format: image::ImageFormat| {
        let own = pixels()[i * FEATURES..(i + 1) * FEATURES].to_vec();
        let picture = image::GrayImage::from_raw(2, 2, own).expect("pixels");
        let mut bytes = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).expect("memory");
        bytes.into_inner()
    };
    let (prefixed, nested) = (Bench::new(), Bench::new());
    for i in 0..SAMPLES {
        prefixed.write(&format!("p/obj{}__{i:03}.png", i % GROUPS), encode(i, image::ImageFormat::Png));
        nested.write(&format!("p/{}/{i:03}.png", label(i)), encode(i, image::ImageFormat::Png));
    }
    let of_names = prefixed.json(&[&["fit", "p", "--report", "map.html"], &QUICK[..]].concat());
    check(&of_names);
    let of_folders = nested.json(&[&["fit", "p"], &QUICK[..]].concat());
    check(&of_folders);
    // Both are sorted by class, then by number.
    assert_eq!(of_names["loss"], of_folders["loss"]);
    nested.write("p/ant/wide.jpg", {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(3, 2).write_to(&mut bytes, image::ImageFormat::Jpeg).expect("memory");
        bytes.into_inner()
    });
    let refused = nested.error(&["fit", "p"], 3);
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("wide.jpg has 3×2 pixels")), "{refused}");
}

/// A graph of the groups, with a link from each to the next.
fn edges() -> Vec<(usize, usize)> {
    let within = (0..SAMPLES).flat_map(|i| (1..6).map(move |step| (i, (i + step * GROUPS) % SAMPLES)));
    within.chain((0..GROUPS).map(|k| (k, (k + 1) % GROUPS))).collect()
}

fn graph_labels(found: &Value) -> Vec<u64> {
    found["labels"].as_array().expect("labels").iter().filter_map(Value::as_u64).collect()
}

#[test]
fn graphs_as_edges_matrix_market_and_npz() {
    let bench = Bench::new();
    bench.write("g.edges", edges().iter().map(|(i, j)| format!("{i} {j}\n")).collect::<String>());
    let mut unique: Vec<(usize, usize)> = edges().iter().map(|&(i, j)| (i.max(j), i.min(j))).collect();
    unique.sort_unstable();
    unique.dedup();
    let lines: String = unique.iter().map(|(i, j)| format!("{} {}\n", i + 1, j + 1)).collect();
    let head = "%%MatrixMarket matrix coordinate pattern symmetric";
    bench.write("g.mtx", format!("{head}\n{SAMPLES} {SAMPLES} {}\n{lines}", unique.len()));
    let cluster = |name: &str| {
        bench.json(&["cluster", name, "--precomputed", "similarity", "--clusters", "3", "--target", "identity"])
    };
    let (of_edges, of_matrix) = (cluster("g.edges"), cluster("g.mtx"));
    assert_eq!(of_edges["loss"], of_matrix["loss"]);
    let labels = graph_labels(&of_edges);
    assert!((0..SAMPLES).all(|i| labels[i] == labels[i % GROUPS]), "{labels:?}");
}

#[test]
fn a_list_of_edges_is_a_graph_unless_told_otherwise() {
    let bench = Bench::new();
    let mut lines: String = edges().iter().map(|(i, j)| format!("node{i} node{j}\n")).collect();
    lines.push_str("alone alone\n");
    bench.write("g.edges", lines);
    let found = bench.json(&["cluster", "g.edges", "--clusters", "3", "-o", "labels.csv"]);
    let told = bench.json(&["cluster", "g.edges", "--clusters", "3", "--precomputed", "graph"]);
    assert_eq!(found["loss"], told["loss"]);
    assert_eq!(found["warnings"][0], "1 node without edges: put into the heaviest prototype");
    let table = bench.text("labels.csv");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let label = |name: &str| rows.iter().find(|row| row[0] == name).map(|row| row[1]);
    assert!(label("node0").is_some() && label("alone").is_some(), "{table}");
    assert!((0..SAMPLES).all(|i| label(&format!("node{i}")) == label(&format!("node{}", i % GROUPS))), "{table}");
    let plan = bench.json(&["fit", "g.edges", "--dry-run", "--prototypes", "5"]);
    assert!(plan.to_string().contains("random walks"), "{plan}");
    bench.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 -1\n");
    let refused = bench.error(&["cluster", "n.mtx", "--clusters", "2", "--precomputed", "graph"], 3);
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("[1, 0]")), "{refused}");
}

#[test]
fn distances_and_similarities_as_matrices() {
    let bench = Bench::new();
    let distance = |i: usize, j: usize| (0..FEATURES).map(|c| (value(i, c) - value(j, c)).powi(2)).sum::<f64>().sqrt();
    let pairs = (0..SAMPLES).flat_map(|i| (0..SAMPLES).map(move |j| (i, j)));
    let shape = format!("({SAMPLES}, {SAMPLES})");
    bench.write("d.npy", npy("<f8", &shape, pairs.clone().flat_map(|(i, j)| distance(i, j).to_le_bytes())));
    bench.write("s.npy", npy("<f8", &shape, pairs.flat_map(|(i, j)| (-distance(i, j)).exp().to_le_bytes())));
    bench.write("x.npy", npy_f64());
    let mds = |name: &str, more: &[&str]| bench.json(&[&["embed", name, "--method", "mds"], more].concat());
    let (of_samples, of_distances) = (mds("x.npy", &[]), mds("d.npy", &["--precomputed", "distance"]));
    let (a, b) = (of_samples["loss"].as_f64().expect("a loss"), of_distances["loss"].as_f64().expect("a loss"));
    assert!((a - b).abs() < 1e-6 * a.abs(), "{a} {b}");
    let found = bench.json(&["cluster", "s.npy", "--precomputed", "similarity", "--clusters", "3"]);
    let labels = graph_labels(&found);
    assert!((0..SAMPLES).all(|i| labels[i] == labels[i % GROUPS]), "{labels:?}");
    assert_eq!(bench.error(&["embed", "d.npy", "--precomputed", "distance", "--method", "isomap"], 2)["kind"], "usage");
    let path = bench.json(&["path", "s.npy", "--precomputed", "similarity", "--prototypes", "3,6"]);
    assert_eq!(path["levels"].as_array().map(Vec::len), Some(2));
}

/// MNIST, on machines that have it: `GROMAP_DATA` names the folder with mnist/ and coil-20/ in it.
#[test]
fn mnist_if_it_is_there() {
    let Some(folder) = datasets() else { return };
    let bench = Bench::new();
    let images = folder.join("mnist/t10k-images-idx3-ubyte.gz");
    let images = images.to_str().expect("a path");
    let found = bench.json(&["fit", images, "--prototypes", "100", "--perplexity", "50", "--report", "map.html"]);
    assert_eq!((&found["n_samples"], &found["n_features"]), (&10_000.into(), &784.into()));
    assert!(found["metrics"]["homogeneity"].as_f64() > Some(0.8), "{}", found["metrics"]);
    let coil = folder.join("coil-20");
    let found = bench.json(&["fit", coil.to_str().expect("a path"), "--prototypes", "20"]);
    assert_eq!((&found["n_samples"], &found["metrics"]["completeness"].is_f64()), (&1440.into(), &true));
}
