//! A folder of pictures: PNG and JPEG, all of one size.
//!
//! The class of a picture is the sub-folder it is in, or what its name has before two underscores (`obj3__12.png`). Pictures
//! are taken in the order of their names; they are grey if all of them are, otherwise RGB.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat, ImageReader, Limits};

use super::source::{Room, Source};
use super::{Content, Loaded, Values};
use crate::args::values::Picture;
use crate::failure::{Failure, Kind, Outcome, shown};

/// Reads all pictures of a folder and its sub-folders.
pub(super) fn read(path: &Path, room: Room) -> Outcome<Loaded> {
    let files = pictures(path)?;
    if files.is_empty() {
        return Err(Failure::data(format!("{}: there is no PNG or JPEG picture", shown(path))));
    }
    let mut pictures = Vec::new();
    let mut held = 0;
    let mut size = None;
    for (file, _) in &files {
        let source = Source::file(file, room)?;
        let picture = decode(&source, room)?;
        let (first, found) = (*size.get_or_insert((picture.width, picture.height)), (picture.width, picture.height));
        if first != found {
            let (one, other) = (shown(&files[0].0), &source.name);
            let message = format!("{other} has {}×{} pixels, but {one} has {}×{}", found.0, found.1, first.0, first.1);
            return Err(Failure::data(message).hint("all pictures of a folder must be of one size"));
        }
        held += picture.pixels.len() as u64;
        room.check(&shown(path), held)?;
        pictures.push(picture);
    }
    let names = files.iter().map(|(file, _)| name_below(file, path)).collect();
    let labels: Option<Vec<String>> = files.iter().map(|(_, label)| label.clone()).collect();
    let mut loaded = samples(&pictures, room)?;
    (loaded.ids, loaded.labels) = (Some(names), labels);
    Ok(loaded)
}

/// The pictures below a folder by name, each with its class.
pub(super) fn pictures(path: &Path) -> Outcome<Vec<(PathBuf, Option<String>)>> {
    let mut found = Vec::new();
    for entry in entries(path)? {
        if entry.is_dir() {
            let class = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.extend(
                entries(&entry)?
                    .into_iter()
                    .filter(|file| format(file).is_some())
                    .map(|file| (file, Some(class.clone()))),
            );
        } else if format(&entry).is_some() {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let class = name.split_once("__").map(|(class, _)| class.to_owned());
            found.push((entry, class));
        }
    }
    Ok(found)
}

fn entries(path: &Path) -> Outcome<Vec<PathBuf>> {
    let trouble = |error: std::io::Error| Failure::reading(&shown(path), &error);
    let entries = std::fs::read_dir(path).map_err(trouble)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(trouble)?;
    paths.sort();
    Ok(paths)
}

fn format(path: &Path) -> Option<ImageFormat> {
    let extension = path.extension()?.to_str()?.to_lowercase();
    match extension.as_str() {
        "png" => Some(ImageFormat::Png),
        "jpg" | "jpeg" => Some(ImageFormat::Jpeg),
        _ => None,
    }
}

/// The name of a file as seen from its folder.
fn name_below(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

/// One picture.
#[derive(Debug, PartialEq)]
pub(super) struct Pixels {
    width: usize,
    height: usize,
    channels: usize,
    pixels: Vec<u8>,
}

/// Decodes a picture; its name may lie about its format.
pub(super) fn decode(source: &Source, room: Room) -> Outcome<Pixels> {
    let bytes = source.whole(room)?;
    let bad = |error: image::ImageError| match error {
        image::ImageError::Limits(_) => {
            Failure::new(Kind::Memory, format!("{}: the picture is larger than --max-memory allows", source.name))
        }
        other => Failure::data(format!("{}: {other}", source.name)),
    };
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let mut reader = reader.map_err(|error| Failure::reading(&source.name, &error))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(room.0.min(1 << 30));
    (limits.max_image_width, limits.max_image_height) = (Some(1 << 15), Some(1 << 15));
    reader.limits(limits);
    let picture = reader.decode().map_err(bad)?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (channels, pixels) = match picture.color().has_color() {
        false => (1, DynamicImage::into_luma8(picture).into_raw()),
        true => (3, DynamicImage::into_rgb8(picture).into_raw()),
    };
    Ok(Pixels { width, height, channels, pixels })
}

/// Pictures of one size as samples, from 0 to 1.
pub(super) fn samples(pictures: &[Pixels], room: Room) -> Outcome<Loaded> {
    let Pixels { width, height, .. } = pictures[0];
    let channels = pictures.iter().map(|picture| picture.channels).max().unwrap_or(1);
    let columns = width * height * channels;
    room.check_values("the pictures", pictures.len(), columns, 4)?;
    let mut values = Vec::with_capacity(pictures.len() * columns);
    for picture in pictures {
        let copies = channels / picture.channels;
        let shares = picture.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0);
        values.extend(shares.flat_map(|share| std::iter::repeat_n(share, copies)));
    }
    let samples = Values::F32(values).into_samples(pictures.len(), columns)?;
    let picture = Some(Picture { width, height, channels });
    Ok(Loaded { picture, ..Loaded::new(Content::Dense(samples)) })
}
