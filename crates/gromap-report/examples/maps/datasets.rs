//! Maps of the pictures of the paper.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Instant;

use flate2::read::GzDecoder;
use gromap::options::Level;
use gromap::{GromovDr, Matrix, Method};
use gromap_report::{Classes, Images, Report};

use crate::Folder;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const CLOTHES: [&str; 10] =
    ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

/// Pictures with the class of each.
struct Labelled {
    images: Images,
    classes: Vec<u32>,
    names: Vec<String>,
    ids: Option<Vec<String>>,
}

/// Writes what the folder has data for.
pub(crate) fn write(out: &Folder, data: &Path) -> Result<()> {
    let digits = (0..10).map(|digit| digit.to_string()).collect();
    let clothes = CLOTHES.map(String::from).to_vec();
    for (folder, title, names) in [("mnist", "MNIST", digits), ("fashion-mnist", "Fashion-MNIST", clothes)] {
        let folder = data.join(folder);
        if folder.exists() {
            let read = idx(&folder, names)?;
            map(out, &title.to_lowercase(), title, &read, 200)?;
            path(out, &title.to_lowercase(), title, &read, &[10, 20, 35, 60, 100, 160, 250, 400])?;
        }
    }
    if data.join("coil-20").exists() {
        map(out, "coil", "COIL-20", &coil(&data.join("coil-20"))?, 200)?;
    }
    Ok(())
}

fn map(out: &Folder, file: &str, title: &str, data: &Labelled, prototypes: usize) -> Result<()> {
    let start = Instant::now();
    let model =
        GromovDr::builder().method(Method::TSnekhorn).prototypes(prototypes).seed(0).fit(&samples(&data.images)?)?;
    let report = described(Report::new(&model), title, data);
    out.write(&format!("{file}.html"), &report.html()?, start)?;
    out.write(&format!("{file}.svg"), &report.svg()?, start)
}

fn path(out: &Folder, file: &str, title: &str, data: &Labelled, sizes: &[usize]) -> Result<()> {
    let start = Instant::now();
    let path =
        GromovDr::builder().method(Method::TSnekhorn).seed(0).path(&samples(&data.images)?, sizes, Level::Warm)?;
    let report = described(Report::of_path(&path), &format!("{title}, from few to many"), data);
    out.write(&format!("{file}-path.html"), &report.html()?, start)
}

/// Pixels from 0 to 1.
fn samples(images: &Images) -> Result<Matrix<'static, f32>> {
    let features = images.width * images.height * images.channels;
    let values: Vec<f32> = images.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    Ok(Matrix::new(values, images.pixels.len() / features, features)?)
}

fn described<'a>(report: Report<'a>, title: &str, data: &Labelled) -> Report<'a> {
    let parameters = [("method", "tsnekhorn"), ("perplexity", "30"), ("seed", "0")];
    let hash = data
        .images
        .pixels
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let report = report
        .title(title)
        .classes(Classes { names: data.names.clone(), of_samples: data.classes.clone() })
        .images(data.images.clone())
        .parameters(parameters.map(|(name, value)| (name.into(), value.into())).to_vec())
        .data_hash(format!("fnv1a {hash:016x}"));
    match &data.ids {
        Some(ids) => report.ids(ids.clone()),
        None => report,
    }
}

/// The test set of a folder of IDX files: 10,000 pictures of 28×28.
fn idx(folder: &Path, names: Vec<String>) -> Result<Labelled> {
    let read = |name: &str, header: usize| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        GzDecoder::new(File::open(folder.join(name))?).read_to_end(&mut bytes)?;
        Ok(bytes.split_off(header.min(bytes.len())))
    };
    let pixels = read("t10k-images-idx3-ubyte.gz", 16)?;
    let classes = read("t10k-labels-idx1-ubyte.gz", 8)?.into_iter().map(u32::from).collect();
    Ok(Labelled { images: Images { width: 28, height: 28, channels: 1, pixels }, classes, names, ids: None })
}

/// 72 turns of each of 20 objects, `obj3__15.png`.
fn coil(folder: &Path) -> Result<Labelled> {
    let (mut pixels, mut classes, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let (mut width, mut height) = (0, 0);
    for object in 1..=20_u32 {
        for turn in 0..72 {
            let name = format!("obj{object}__{turn}");
            let file = BufReader::new(File::open(folder.join(&name).with_extension("png"))?);
            let mut reader = png::Decoder::new(file).read_info()?;
            let mut buffer = vec![0; reader.output_buffer_size().ok_or("a picture too large")?];
            let frame = reader.next_frame(&mut buffer)?;
            (width, height) = (frame.width as usize, frame.height as usize);
            pixels.extend_from_slice(&buffer[..width * height]);
            classes.push(object - 1);
            ids.push(name);
        }
    }
    let names = (1..=20).map(|object| format!("object {object}")).collect();
    Ok(Labelled { images: Images { width, height, channels: 1, pixels }, classes, names, ids: Some(ids) })
}
