//! The data of a page: a JSON header and typed arrays in one run of bytes, gzip, base64.
//!
//! ```text
//! u32 length of the header │ header, padded with spaces to 8 bytes │ arrays, each from a multiple of 8 bytes on
//! ```
//!
//! Little-endian throughout. In the header an array is `{"type", "at", "length"}`, `at` counted from the first array.
//! `viewer/src/data.ts` reads it.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use gromap::Model;
use serde_json::{Value, json};

use crate::base64;
use crate::level::{Level, Profiles};
use crate::palette;
use crate::pictures::{Images, MEAN_BYTES, SAMPLE_BYTES};
use crate::report::{Column, Report};
use crate::telling::Telling;

/// Arrays one after the other.
#[derive(Default)]
struct Arrays(Vec<u8>);

/// A number that arrays can hold.
trait Element: Copy {
    const NAME: &'static str;
    fn write(self, bytes: &mut Vec<u8>);
}

macro_rules! element {
    ($type:ty, $name:literal) => {
        impl Element for $type {
            const NAME: &'static str = $name;
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

element!(u8, "u8");
element!(u16, "u16");
element!(u32, "u32");
element!(f32, "f32");
element!(f64, "f64");

impl Arrays {
    /// Adds an array and says where it is.
    fn add<T: Element>(&mut self, values: impl IntoIterator<Item = T>) -> Value {
        let at = self.0.len();
        let mut length = 0;
        for value in values {
            value.write(&mut self.0);
            length += 1;
        }
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        json!({ "type": T::NAME, "at": at, "length": length })
    }
}

/// The text that the page holds.
pub(crate) fn encode(report: &Report<'_>, levels: &[Level<'_>]) -> String {
    let mut arrays = Arrays::default();
    let mut header = header(report, levels, &mut arrays).to_string().into_bytes();
    header.resize((header.len() + 4).next_multiple_of(8) - 4, b' ');
    let mut bytes = (header.len() as u32).to_le_bytes().to_vec();
    bytes.append(&mut header);
    bytes.append(&mut arrays.0);
    base64::encode(&compressed(&bytes))
}

/// Without a time or a name, so that the bytes are the same whenever and wherever they are written.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn header(report: &Report<'_>, levels: &[Level<'_>], arrays: &mut Arrays) -> Value {
    let classes = report
        .classes
        .as_ref()
        .map(|classes| json!({ "names": classes.names, "of": arrays.add(classes.of_samples.iter().copied()) }));
    let columns: Vec<Value> = report.columns.iter().map(|(name, column)| column_of(name, column, arrays)).collect();
    let links: Vec<Value> = report
        .lineage()
        .iter()
        .map(|links| {
            json!({
                "from": arrays.add(links.iter().map(|link| link.0)),
                "to": arrays.add(links.iter().map(|link| link.1)),
                "mass": arrays.add(links.iter().map(|link| link.2 as f32)),
            })
        })
        .collect();
    let telling = report.telling();
    let silhouette = if report.classes.is_some() { "classes" } else { "members" };
    json!({
        "format": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "title": report.title,
        "samples": report.len(),
        "classes": classes,
        "columns": columns,
        "ids": report.ids,
        "weights": sample_weights(levels, arrays),
        "features": report.feature_names,
        "palette": palette::CLASSES,
        "plain": palette::PLAIN,
        "pictures": report.images.as_ref().map(|images| pictures(images, levels, arrays)),
        "silhouetteOf": silhouette,
        "telling": telling.as_ref().map(|telling| telling_of(telling, arrays)),
        "levels": levels_of(report, levels, telling.as_ref(), arrays),
        "lineage": links,
        "parameters": report.parameters,
        "facts": report.all_facts(),
        "graph": report.is_graph(),
        "hash": report.data_hash,
    })
}

fn column_of(name: &str, column: &Column, arrays: &mut Arrays) -> Value {
    match column {
        Column::Numbers(values) => json!({ "name": name, "numbers": arrays.add(values.iter().copied()) }),
        Column::Text(values) => json!({ "name": name, "text": values }),
    }
}

/// The weights of the samples, unless they are all the same.
fn sample_weights(levels: &[Level<'_>], arrays: &mut Arrays) -> Option<Value> {
    let weights = levels.last()?.model.plan.sample_weights();
    let even = weights.iter().all(|weight| *weight == weights[0]);
    (!even).then(|| arrays.add(weights.iter().copied()))
}

/// Small pictures of the samples, in the order of the samples; where there is no room for all, `of` names whose they are.
fn pictures(images: &Images, levels: &[Level<'_>], arrays: &mut Arrays) -> Value {
    let samples = images.pixels.len() / images.stride();
    let factor = images.factor(samples, SAMPLE_BYTES);
    let (width, height) = images.reduced_size(factor);
    let room = (SAMPLE_BYTES / (width * height * images.channels)).max(levels.iter().map(Level::len).sum());
    let kept = if samples <= room { None } else { Some(nearest_members(levels, samples, room)) };
    let count = kept.as_ref().map_or(samples, Vec::len);
    let sample = |at: usize| kept.as_ref().map_or(at, |kept| kept[at] as usize);
    let small = |at: usize| images.reduced(images.picture(sample(at)), factor).into_iter().map(coarser);
    let pixels = arrays.add((0..count).flat_map(small));
    let of = kept.map(|kept| arrays.add(kept));
    let (mean_width, mean_height) = images.reduced_size(mean_factor(images, levels));
    json!({
        "width": width,
        "height": height,
        "channels": images.channels,
        "pixels": pixels,
        "of": of,
        "meanWidth": mean_width,
        "meanHeight": mean_height,
    })
}

/// In steps of four shades, which no eye tells apart at this size, and which make the file a quarter smaller.
fn coarser(shade: u8) -> u8 {
    shade.saturating_add(2) & !3 | shade >> 6
}

/// As many samples as there is room for: the first members of every prototype, then the second ones, and so on.
fn nearest_members(levels: &[Level<'_>], samples: usize, room: usize) -> Vec<u32> {
    let mut kept = vec![false; samples];
    let (mut left, mut rank) = (room, 0);
    while left > 0 && rank < samples {
        for level in levels {
            for k in 0..level.len() {
                let member = level.members_of(k).get(rank).filter(|&&member| !kept[member as usize]);
                if let Some(&member) = member.filter(|_| left > 0) {
                    kept[member as usize] = true;
                    left -= 1;
                }
            }
        }
        rank += 1;
    }
    (0..samples as u32).filter(|&sample| kept[sample as usize]).collect()
}

/// How much smaller mean pictures are, the same on all levels.
fn mean_factor(images: &Images, levels: &[Level<'_>]) -> usize {
    images.factor(levels.iter().map(Level::len).sum(), MEAN_BYTES)
}

fn levels_of(report: &Report<'_>, levels: &[Level<'_>], telling: Option<&Telling>, arrays: &mut Arrays) -> Vec<Value> {
    let reduced = report.images.as_ref().map(|images| (images, mean_factor(images, levels)));
    let one = |(at, level): (usize, &Level<'_>)| {
        let mut value = level_of(level, reduced, arrays);
        value["features"] = json!(telling.map(|telling| arrays.add(telling.means(level.model))));
        value["names"] = json!(report.prototype_names.as_ref().map(|names| &names[at]));
        let numbers = report.prototype_numbers.iter();
        value["numbers"] = numbers
            .map(|(name, numbers)| json!({ "name": name, "values": arrays.add(numbers[at].iter().copied()) }))
            .collect();
        value
    };
    levels.iter().enumerate().map(one).collect()
}

fn telling_of(telling: &Telling, arrays: &mut Arrays) -> Value {
    json!({
        "columns": arrays.add(telling.columns.iter().copied()),
        "explained": telling.explained.as_ref().map(|explained| arrays.add(explained.iter().copied())),
    })
}

/// The places of the samples in 65,536 steps of the range of each axis, finer than any screen. `None` where samples have no
/// places but those of their prototypes.
fn places_of(model: &Model, arrays: &mut Arrays) -> Option<Value> {
    let places = model.sample_places();
    // A plan that was changed after the fit may be of other samples than the places.
    if model.weights.len() == model.plan.len() || places.rows() != model.plan.len() {
        return None;
    }
    let range = |axis: usize| {
        let values = (0..places.rows()).map(|i| places[(i, axis)]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let ranges: Vec<(f64, f64)> = (0..places.columns()).map(range).collect();
    let step = |(low, high): &(f64, f64)| if high > low { (high - low) / f64::from(u16::MAX) } else { 1.0 };
    let steps: Vec<f64> = ranges.iter().map(step).collect();
    let quantised = |(at, x): (usize, &f64)| {
        let axis = at % places.columns();
        ((x - ranges[axis].0) / steps[axis]).round() as u16
    };
    Some(json!({
        "low": ranges.iter().map(|range| range.0).collect::<Vec<f64>>(),
        "step": steps,
        "at": arrays.add(places.values().iter().enumerate().map(quantised)),
    }))
}

fn level_of(level: &Level<'_>, reduced: Option<(&Images, usize)>, arrays: &mut Arrays) -> Value {
    let model = level.model;
    let means = reduced
        .zip(level.means.as_ref())
        .map(|((images, factor), means)| arrays.add(means.iter().flat_map(|mean| images.reduced(mean, factor))));
    let classes = level.classes.as_ref().map(|classes| {
        let ends = classes.iter().scan(0_u32, |end, shares| {
            *end += shares.len() as u32;
            Some(*end)
        });
        json!({
            "offsets": arrays.add(std::iter::once(0).chain(ends)),
            "of": arrays.add(classes.iter().flatten().map(|share| share.0)),
            "share": arrays.add(classes.iter().flatten().map(|share| share.1 as f32)),
        })
    });
    json!({
        "prototypes": level.len(),
        "dims": model.prototypes.columns(),
        "places": arrays.add(model.prototypes.values().iter().copied()),
        "weights": arrays.add(model.weights.iter().copied()),
        "offsets": arrays.add(level.offsets.iter().copied()),
        "members": arrays.add(level.members.iter().copied()),
        "shares": level.shares.as_ref().map(|shares| arrays.add(shares.iter().copied())),
        "samplePlaces": places_of(model, arrays),
        "ordered": level.ordered,
        "hardness": arrays.add(level.hardness.iter().copied()),
        "classes": classes,
        "means": means,
        "profiles": level.profiles.as_ref().map(|profiles| profiles_of(profiles, arrays)),
        "history": arrays.add(model.outcome.history.iter().copied()),
        "loss": model.outcome.loss,
        "stop": model.outcome.stop.to_string(),
        "silhouette": level.silhouette,
        "homogeneity": level.homogeneity,
        "warnings": model.outcome.warnings,
        "links": links_of(level, arrays),
    })
}

/// The strongest links, or nothing.
fn links_of(level: &Level<'_>, arrays: &mut Arrays) -> Option<Value> {
    let links = level.links();
    (!links.is_empty()).then(|| {
        json!({
            "from": arrays.add(links.iter().map(|link| link.0)),
            "to": arrays.add(links.iter().map(|link| link.1)),
            "share": arrays.add(links.iter().map(|link| link.2 as f32)),
        })
    })
}

fn profiles_of(profiles: &Profiles, arrays: &mut Arrays) -> Value {
    json!({
        "bins": profiles.bins,
        "bars": arrays.add(profiles.bars.iter().copied()),
        "perPrototype": profiles.per_prototype,
        "feature": arrays.add(profiles.outstanding.iter().map(|found| found.0)),
        "value": arrays.add(profiles.outstanding.iter().map(|found| found.1)),
        "score": arrays.add(profiles.outstanding.iter().map(|found| found.2)),
    })
}
