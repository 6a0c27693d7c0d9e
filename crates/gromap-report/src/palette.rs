//! The colours of classes, for the page and the SVG alike.
//!
//! Ten hues that stay apart for colour-blind eyes, of similar strength on white and on black; from the eleventh class on
//! the same hues come again, lighter, and marks get a broken outline.

/// Colours of the first ten classes.
pub(crate) const CLASSES: [&str; 10] =
    ["#4269d0", "#e8a317", "#c8415b", "#1f9e89", "#8e5bc7", "#6b4f3a", "#d97bb6", "#5fb3e4", "#8a9a1c", "#6f7785"];

/// Without classes.
pub(crate) const PLAIN: &str = "#3f6fb5";

/// The colour of a class.
pub(crate) fn class(index: u32) -> &'static str {
    CLASSES[index as usize % CLASSES.len()]
}
