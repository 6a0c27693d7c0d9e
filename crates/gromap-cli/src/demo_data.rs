//! The dataset inside the program: 200 images of each class of Fashion-MNIST's test set.
//!
//! Made by `scripts/make_demo_data.py`: gzip over the images, one byte a pixel, then the labels.
//! Fashion-MNIST is © Zalando SE, MIT; see `data/LICENSE-FASHION-MNIST`.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::failure::{Failure, Outcome};

/// How many images there are.
pub(crate) const IMAGES: usize = 2000;

/// Width and height of an image.
pub(crate) const SIDE: usize = 28;

/// Pixels of one image.
pub(crate) const PIXELS: usize = SIDE * SIDE;

/// What the labels stand for.
pub(crate) const CLASSES: [&str; 10] =
    ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

const COMPRESSED: &[u8] = include_bytes!("../data/fashion-mnist-2000.gz");

/// The images, row after row, and the class of each.
pub(crate) struct DemoData {
    pub(crate) pixels: Vec<u8>,
    pub(crate) labels: Vec<u8>,
}

impl DemoData {
    /// Unpacks the dataset.
    pub(crate) fn load() -> Outcome<Self> {
        let size = IMAGES * (PIXELS + 1);
        let mut pixels = Vec::with_capacity(size);
        let unpacked = GzDecoder::new(COMPRESSED).read_to_end(&mut pixels);
        if unpacked.is_err() || pixels.len() != size {
            return Err(Failure::data("the embedded dataset is damaged"));
        }
        let labels = pixels.split_off(IMAGES * PIXELS);
        Ok(Self { pixels, labels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> DemoData {
        DemoData::load().expect("the dataset unpacks")
    }

    #[test]
    fn every_class_has_two_hundred_images() {
        let mut counts = [0; CLASSES.len()];
        load().labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
        assert_eq!(counts, [200; 10]);
    }

    #[test]
    fn the_content_is_what_the_script_wrote() {
        let DemoData { pixels, labels } = load();
        assert_eq!((pixels.len(), labels.len()), (IMAGES * PIXELS, IMAGES));
        let mut crc = flate2::Crc::new();
        crc.update(&pixels);
        crc.update(&labels);
        assert_eq!(crc.sum(), 0x3da8_883a);
    }

    #[test]
    fn images_and_labels_are_in_the_right_order() {
        // Trousers leave the corners of the picture black and fill its middle; were the labels
        // taken from the wrong end, or the images shifted, this would not hold.
        let DemoData { pixels, labels } = load();
        let trousers: Vec<&[u8]> = pixels
            .chunks_exact(PIXELS)
            .zip(&labels)
            .filter(|(_, label)| **label == 1)
            .map(|(image, _)| image)
            .collect();
        let mean = |at: usize| trousers.iter().map(|image| f64::from(image[at])).sum::<f64>() / trousers.len() as f64;
        assert!(mean(0) < 1.0 && mean(PIXELS - 1) < 1.0);
        assert!(mean(5 * 28 + 14) > 100.0);
    }

    #[test]
    fn it_is_small() {
        assert!(COMPRESSED.len() < 1_500_000);
    }
}
