//! The colours of classes, for the page and the SVG alike.
//!
//! Ten hues that stay apart for colour-blind eyes, of similar strength on white and on black; from the eleventh class on
//! the same hues come again, lighter, and marks get a broken outline.

/// Colours of the first ten classes.
pub(crate) const CLASSES: [&str; 10] =
    ["#4637c7", "#c67b00", "#c43c51", "#3f869b", "#b659f5", "#673322", "#f18eb5", "#7fc2fe", "#a6bb44", "#093d6a"];

/// Without classes.
pub(crate) const PLAIN: &str = "#3f6fb5";

/// How marks of a class are painted on white, in attributes of SVG: its colour, and a broken outline where an earlier class
/// has the same hue.
pub(crate) fn paint(class: u32) -> String {
    let color = CLASSES[class as usize % CLASSES.len()];
    if (class as usize) < CLASSES.len() {
        return format!("fill=\"{color}\"");
    }
    format!("fill=\"{}\" stroke=\"#22252b\" stroke-width=\"1\" stroke-dasharray=\"3 3\"", lighter(color))
}

/// Halfway to white, as far as the page goes too.
fn lighter(color: &str) -> String {
    let channel = |at: usize| u32::from_str_radix(&color[at..at + 2], 16).unwrap_or(0);
    let mixed = [1, 3, 5].map(|at| (channel(at) * 55 + 255 * 45 + 50) / 100);
    format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    type Color = [f64; 3];

    fn linear(color: &str) -> Color {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: [Color; 3], color: Color) -> Color {
        matrix.map(|row| row.iter().zip(color).map(|(a, b)| a * b).sum())
    }

    /// Oklab, where equal distances look equally different (Ottosson, 2020).
    fn perceived(color: Color) -> Color {
        let cones = times(
            [
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ],
            color.map(|value| value.clamp(0.0, 1.0)),
        );
        times(
            [
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ],
            cones.map(f64::cbrt),
        )
    }

    /// Eyes without one kind of cone (Machado, Oliveira and Fernandes, 2009), and eyes with all.
    const EYES: [[Color; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    #[test]
    fn repeated_hues_are_lighter_and_broken() {
        assert_eq!(paint(1), "fill=\"#c67b00\"");
        assert_eq!(paint(11), "fill=\"#e0b673\" stroke=\"#22252b\" stroke-width=\"1\" stroke-dasharray=\"3 3\"");
    }

    #[test]
    fn classes_stay_apart_for_all_eyes() {
        for eyes in EYES {
            let seen = CLASSES.map(|color| perceived(times(eyes, linear(color))));
            for (i, a) in seen.iter().enumerate() {
                for (j, b) in seen[..i].iter().enumerate() {
                    let distance = a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                    assert!(distance > 0.085, "{} and {} are {distance:.3} apart", CLASSES[i], CLASSES[j]);
                }
            }
        }
    }
}
