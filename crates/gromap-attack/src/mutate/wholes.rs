//! Whole files, small ones, of everything that is read: what damage starts from.

use std::io::{Cursor, Write};
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray,
};
use gromap::options::{AlphaScale, Projection, Scaling, Start};
use gromap::similarity;
use gromap::solve::Solver;
use gromap::table::{Cells, Column, Gaps, Missing, Rules, Shell};
use gromap::{Data, GromovClustering, GromovDr, Matrix, Method, Model, Run};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// An array as numpy writes it.
pub(super) fn array(descr: &str, order: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), values].concat()
}

/// The same with the longer length of later versions.
fn later_array(version: u8, values: &[u8]) -> Vec<u8> {
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }\n";
    let start = [b"\x93NUMPY".as_slice(), &[version, 0], &(text.len() as u32).to_le_bytes()].concat();
    [&start, text.as_bytes(), values].concat()
}

fn floats(count: u8) -> Vec<u8> {
    (0..count).flat_map(|i| (f32::from(i) * 0.5).to_le_bytes()).collect()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn integers(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(super) fn npy() -> Vec<Vec<u8>> {
    vec![
        array("<f4", "False", "(6, 4)", &floats(24)),
        array("<f8", "True", "(3, 2, 2)", &floats(24)),
        array(">i2", "False", "(12, 4)", &floats(24)),
        array("|u1", "True", "(2, 3, 2, 3)", &floats(9)),
        array("<f2", "False", "(12, 4)", &[0x3c; 96]),
        array("|b1", "False", "(24, 4)", &[1; 96]),
        later_array(2, &doubles(&[0.5; 12])),
        later_array(3, &doubles(&[1e300; 12])),
    ]
}

pub(super) fn npy_values() -> Vec<Vec<u8>> {
    vec![
        array("<U3", "False", "(2,)", &[b'a', 0, 0, 0].repeat(6)),
        array("|S4", "False", "(6,)", &floats(6)),
        array("<i8", "False", "(3, 1)", &floats(6)),
        array("<f8", "False", "(4,)", &doubles(&[1.0, 0.5, 0.0, 3.0])),
        array("|b1", "False", "(5,)", &[1, 0, 1, 0, 1]),
    ]
}

/// The arrays of an archive by name.
pub(super) type Arrays = Vec<(&'static str, Vec<u8>)>;

/// The arrays of archives: samples, and the layouts of sparse matrices.
pub(super) fn archives() -> Vec<Arrays> {
    let sparse = |format: &str, parts: [(&'static str, Vec<u8>); 2]| {
        let [first, second] = parts;
        vec![
            ("format", array("|S3", "False", "()", format.as_bytes())),
            ("shape", array("<i4", "False", "(2,)", &integers(&[4, 4]))),
            first,
            second,
            ("data", array("<f4", "False", "(5,)", &floats(5))),
        ]
    };
    let offsets = || ("indptr", array("<i4", "False", "(5,)", &integers(&[0, 2, 3, 4, 5])));
    let places = |name| (name, array("<i4", "False", "(5,)", &integers(&[0, 2, 1, 3, 3])));
    vec![
        vec![
            ("X", array("<f4", "False", "(6, 4)", &floats(24))),
            ("y", array("<i4", "False", "(6,)", &integers(&[0, 1, 2, 0, 1, 2]))),
            ("weight", array("<f8", "False", "(6,)", &doubles(&[1.0; 6]))),
        ],
        vec![("pixels", array("|u1", "False", "(3, 2, 2)", &floats(3)))],
        sparse("csr", [places("indices"), offsets()]),
        sparse("csc", [places("indices"), offsets()]),
        sparse("coo", [places("row"), places("col")]),
    ]
}

/// An archive of arrays, packed or not.
pub(super) fn zip(arrays: &[(&str, Vec<u8>)], is_packed: bool) -> Vec<u8> {
    let method = if is_packed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        // A second array of the same name is refused here already.
        if writer.start_file(format!("{name}.npy"), options).is_ok() {
            writer.write_all(bytes).unwrap_or_default();
        }
    }
    writer.finish().map(Cursor::into_inner).unwrap_or_default()
}

pub(super) fn npz() -> Vec<Vec<u8>> {
    archives().iter().flat_map(|arrays| [zip(arrays, false), zip(arrays, true)]).collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn plain_tables() -> Vec<Vec<u8>> {
    texts(&[
        "id,a,b,label,weight,note\nx,1,2.5,cat,1,hi\ny,-3e2,4,dog,0.5,\"a, \"\"b\"\"\nc\"\nz,0,0,cat,2,\n",
        "a,b\n1,2\n3,4\n5,6\n",
        "\u{feff}b,a,b\r\n1,2,3\r\n4,5,6\r\n",
    ])
}

pub(super) fn csv() -> Vec<Vec<u8>> {
    let mixed = "a;b;city;day;price\n1;2;x;05.03.2024;1,5\nNA;4;y;13.03.2024;1.234,5\n5;;x;;2\n6;1;y;1.1.2024;0,5\n";
    [plain_tables(), texts(&[mixed])].concat()
}

pub(super) fn tsv() -> Vec<Vec<u8>> {
    plain_tables()
        .iter()
        .map(|text| text.iter().map(|&byte| if byte == b',' { b'\t' } else { byte }).collect())
        .collect()
}

pub(super) fn idx() -> Vec<Vec<u8>> {
    let pixels = [0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2].into_iter().chain(0..24).collect();
    let numbers = |kind: u8, size: usize| {
        let values = (0..6).flat_map(|value: u8| [value, 0, 0, 0, 0, 0, 0, 0].into_iter().take(size));
        [0, 0, kind, 2, 0, 0, 0, 3, 0, 0, 0, 2].into_iter().chain(values).collect()
    };
    vec![pixels, numbers(9, 1), numbers(0x0b, 2), numbers(0x0c, 4), numbers(0x0d, 4), numbers(0x0e, 8)]
}

pub(super) fn idx_values() -> Vec<Vec<u8>> {
    vec![vec![0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9], vec![0, 0, 0x0b, 1, 0, 0, 0, 2, 1, 0, 2, 0]]
}

pub(super) fn mtx() -> Vec<Vec<u8>> {
    texts(&[
        "%%MatrixMarket matrix coordinate real symmetric\n% a note\n3 3 4\n1 1 2\n2 1 0.5\n3 2 1e1\n3 3 1\n",
        "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 1\n",
        "%%MatrixMarket matrix array integer general\n3 3\n1\n2\n3\n2\n5\n6\n3\n6\n7\n",
        "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
    ])
}

pub(super) fn edges() -> Vec<Vec<u8>> {
    texts(&["# friends\n1 2 0.5\n2 3\n3 10 7\n", "al,bo\nbo,cy,2\n% end\ncy;al;0\n"])
}

pub(super) fn values() -> Vec<Vec<u8>> {
    texts(&["cat\ndog\ncat\n", "sample,label\n0,x\n1,\"y, z\"\n", "1\n0.5\n2e-3\n", "weight\n1\n2\n"])
}

pub(super) fn options() -> Vec<Vec<u8>> {
    texts(&[
        "method = \"umap\"\nprototypes = 20\nn-init = 3\nperplexity = [15, 1.5]\nstrict = true\njson = false\n",
        "# a fit\nalpha = 0.5\nscale = \"standard\"\npca = \"none\"\nseed = 7\nmax-memory = \"2GiB\"\nloss = 'kl'\n",
        "labels = \"\"\"label\"\"\"\nimages = \"28x28\"\ntolerance = 1e-6\nkernel = \"rbf\"\ngamma = 0.1\ndims = 3\n",
    ])
}

pub(super) fn pictures() -> Vec<Vec<u8>> {
    let encoded = |format: image::ImageFormat, picture: &image::DynamicImage| {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).map(|()| bytes.into_inner()).unwrap_or_default()
    };
    let pixel = |x: u32, y: u32| image::Rgba([(x * 40) as u8, (y * 40) as u8, 7, 200]);
    let colour = image::DynamicImage::from(image::RgbaImage::from_fn(9, 10, pixel));
    let (png, jpeg) = (image::ImageFormat::Png, image::ImageFormat::Jpeg);
    let rgb = image::DynamicImage::from(colour.to_rgb8());
    let deep = image::DynamicImage::from(colour.to_luma16());
    vec![
        encoded(png, &colour),
        encoded(png, &rgb),
        encoded(png, &deep),
        encoded(png, &colour.grayscale()),
        encoded(jpeg, &rgb),
        encoded(jpeg, &rgb.grayscale()),
    ]
}

/// Columns of every type that is read.
fn batch() -> Option<RecordBatch> {
    let mut lists = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    for row in 0..3 {
        lists.values().append_slice(&[row as f32, 0.5]);
        lists.append(true);
    }
    let kinds: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let columns: [(&str, ArrayRef); 8] = [
        ("a", Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]))),
        ("b", Arc::new(Float64Array::from(vec![0.5, -1.0, 1e9]))),
        ("c", Arc::new(Int32Array::from(vec![3, 2, 1]))),
        ("d", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("e", Arc::new(lists.finish())),
        ("kind", Arc::new(kinds)),
        ("label", Arc::new(StringArray::from(vec!["cat", "dog", "cat"]))),
        ("note", Arc::new(StringArray::from(vec![Some("hi"), None, Some("there")]))),
    ];
    RecordBatch::try_from_iter(columns).ok()
}

pub(super) fn parquet() -> Vec<Vec<u8>> {
    let written = |compression: Compression| {
        let (batch, mut bytes) = (batch()?, Vec::new());
        let properties = WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(2));
        let writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build()));
        let mut writer = writer.ok()?;
        writer.write(&batch).ok()?;
        writer.close().ok()?;
        Some(bytes)
    };
    let packed = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ];
    packed.into_iter().filter_map(written).collect()
}

/// Files and streams, whose buffers are compressed or not.
pub(super) fn arrow() -> Vec<Vec<u8>> {
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    let written = |compression: Option<CompressionType>| {
        let batch = batch()?;
        let options = || IpcWriteOptions::default().try_with_compression(compression).ok();
        let (mut file, mut stream) = (Vec::new(), Vec::new());
        let mut writer = FileWriter::try_new_with_options(&mut file, &batch.schema(), options()?).ok()?;
        writer.write(&batch).ok()?;
        writer.finish().ok()?;
        let mut writer = StreamWriter::try_new_with_options(&mut stream, &batch.schema(), options()?).ok()?;
        writer.write(&batch).ok()?;
        writer.finish().ok()?;
        Some([file, stream])
    };
    let packed = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    packed.into_iter().filter_map(written).flatten().collect()
}

/// A ring in three features.
fn ring(samples: usize) -> Matrix<'static> {
    let angle = |i: usize| i as f64 * std::f64::consts::TAU / samples as f64;
    Matrix::from_fn(samples, 3, |i, j| match j {
        0 => 10.0 * angle(i).cos(),
        1 => 7.0 * angle(i).sin(),
        _ => ((i * i) % 7) as f64 / 3.0,
    })
}

/// Models of every form: hard and soft plans, with and without scaling, projection, features, names, new samples.
pub(super) fn models() -> Vec<Vec<u8>> {
    let samples = ring(20);
    let builder = |method: Method| GromovDr::builder().method(method).prototypes(4).perplexity(4.0).seed(3);
    let mut soft = builder(Method::TSne).solver(Solver::Mirror).init(Start::Random);
    soft.common.settings.entropy = 0.05;
    let names = ["x", "y", "z"].map(str::to_owned);
    let pairs = Matrix::from_fn(20, 20, |i, j| 1.0 / (1 + i.abs_diff(j)) as f64);
    let of_pairs =
        similarity::dense(pairs.view()).and_then(|similarity| builder(Method::Pca).fit(Data::similarity(&*similarity)));
    let named = Run { feature_names: Some(&names), ..Run::default() };
    let fits: Vec<gromap::Result<Model>> = vec![
        builder(Method::Pca).dims(1).fit(&samples),
        builder(Method::TSnekhorn).scale(Scaling::Standard).alpha(0.5, AlphaScale::Raw).fit(&samples),
        soft.fit(&samples),
        builder(Method::Umap).fit_with(&(&samples).into(), named),
        builder(Method::TSne).pca(Projection::To(2)).scale(Scaling::MinMax).fit(samples.single()),
        builder(Method::KernelPca).every_sample().fit(&samples),
        builder(Method::KernelPca).fit(&samples),
        builder(Method::Isomap).neighbors(Some(6)).every_sample().fit(&samples),
        GromovClustering::builder(3).fit(&samples),
        of_pairs,
    ];
    let words = ["p", "q"].map(str::to_owned);
    let cells = (0..20).map(|i| words[i % 2].clone()).collect();
    let column = Column { name: "city".into(), cells: Cells::Text(cells) };
    let rules = Rules { missing: Missing::Median, ..Rules::default() };
    let tabulated = rules.learn(std::slice::from_ref(&column)).and_then(|learnt| {
        let encoded = learnt.encoding.apply(&[column], Gaps::MayDrop, Shell::Command)?;
        let run = Run { table: Some(&learnt.encoding), ..Run::default() };
        let mut model = builder(Method::Pca).prototypes(2).fit_with(&(&encoded.values).into(), run)?;
        model.ids = Some((0..20).map(|i| format!("sample {i}")).collect());
        model.classes = Some((words.to_vec(), (0..20).map(|i| i % 2).collect()));
        model.prototype_names = Some(vec!["één".into(); model.weights.len()]);
        Ok(model)
    });
    let fits = fits.into_iter().chain([tabulated]);
    fits.filter_map(|model| Some(model.ok()?.to_bytes())).collect()
}
