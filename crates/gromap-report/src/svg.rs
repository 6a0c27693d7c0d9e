//! The map as a static picture in vectors, for papers and notebooks: marks, their names and classes, and what an area means.

use std::fmt::Write;

use crate::base64;
use crate::layout::{self, Mark};
use crate::level::{Level, Profiles};
use crate::names;
use crate::page::escaped;
use crate::palette;
use crate::pictures::MEAN_BYTES;
use crate::png;
use crate::report::Report;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
/// Space above the map for its title, and for a name above its highest mark.
const HEAD: f64 = 80.0;
/// Space below it for what bars and an area mean.
const FOOT: f64 = 118.0;
/// A page is at least as wide as a title.
const LEAST_WIDTH: f64 = 420.0;
/// Space to the right for the classes.
const LEGEND: f64 = 170.0;
/// Side of the largest square that tells what an area means.
const LARGEST_KEY: f64 = 64.0;
/// Classes that are named; the others are counted.
const NAMED: usize = 24;
/// Characters of a name that are shown.
const NAME_LENGTH: usize = 22;

/// Bars of a profile that are named, and characters of their names.
const MOST_BARS: usize = 12;
const BAR_LENGTH: usize = 16;

/// Colour of links, and the width of the strongest.
const LINK: &str = "#8d94a1";
const THICKEST: f64 = 7.0;

/// Draws the first two axes of a level, which is the one at an index of a path.
pub(crate) fn draw(report: &Report<'_>, (index, level): (usize, &Level<'_>)) -> String {
    let at = |k: usize, axis: usize| level.model.prototypes.row(k).get(axis).copied().unwrap_or(0.0);
    let mut places: Vec<[f64; 2]> = (0..level.len()).map(|k| [at(k, 0), at(k, 1)]).collect();
    if level.model.prototypes.columns() == 2 {
        places = layout::turned(&places, &level.model.weights);
    }
    let page_height = layout::height(&places, WIDTH);
    let mut marks = layout::marks(&places, &level.model.weights, WIDTH, page_height);
    // Pushed apart, marks may have left the page they were laid out on.
    let (width, height) = layout::to_corner(&mut marks);
    let legend = if report.classes.is_some() { LEGEND } else { 0.0 };
    let page = (width.max(LEAST_WIDTH) + 2.0 * MARGIN + legend, height + HEAD + FOOT);
    let title = shortened(&report.title, 80);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0} {1:.0}\" width=\"{0:.0}\" height=\"{1:.0}\" \
         role=\"img\" font-family=\"Inter, system-ui, sans-serif\" font-size=\"13\" fill=\"#23262d\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"30\" font-size=\"19\" font-weight=\"600\">{title}</text>\n\
         <text x=\"{MARGIN}\" y=\"50\" fill=\"#6b7280\">{2} of {3}</text>\n",
        page.0,
        page.1,
        count(level.len(), "prototype"),
        count(report.len(), "sample"),
    );
    // A thin white line parts marks, unless they have a line of their own.
    let _ = writeln!(svg, "<g transform=\"translate({MARGIN} {HEAD})\" stroke=\"#ffffff\" stroke-width=\"0.75\">");
    if report.is_graph() {
        draw_links(&mut svg, level.links(), &marks);
    }
    // The heaviest first, so that small marks are not covered.
    let mut order: Vec<usize> = (0..level.len()).collect();
    order.sort_by(|&a, &b| level.model.weights[b].total_cmp(&level.model.weights[a]).then(a.cmp(&b)));
    let pictures = Pictures::new(report, level);
    for &k in &order {
        let class = level.classes.as_ref().and_then(|classes| classes[k].first());
        let paint = class.map_or_else(|| format!("fill=\"{}\"", palette::PLAIN), |share| palette::paint(share.0));
        draw_mark(&mut svg, marks[k], &paint, &pictures, level, k);
    }
    for name in names::placed(report, (index, level), &marks, &order, width.max(LEAST_WIDTH)) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"600\" font-size=\"12\" stroke-width=\"3.5\" \
             stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            name.x,
            name.y + 4.5,
            escaped(&name.text),
        );
    }
    svg.push_str("</g>\n");
    draw_sizes(&mut svg, level, &marks, page.1 - MARGIN);
    if let Some(strongest) = strongest(level.links()).filter(|_| report.is_graph()) {
        draw_link_key(&mut svg, strongest, page.1 - MARGIN);
    }
    if let Some(bars) = pictures.bar_names(level) {
        draw_bar_key(&mut svg, &bars, page.1 - MARGIN);
    }
    draw_classes(&mut svg, report, level, page.0 - LEGEND);
    svg.push_str("</svg>\n");
    svg
}

/// Mean pictures, small enough for a file.
struct Pictures<'r> {
    report: &'r Report<'r>,
    factor: usize,
}

impl<'r> Pictures<'r> {
    fn new(report: &'r Report<'r>, level: &Level<'_>) -> Self {
        let factor = report.images.as_ref().map_or(1, |images| images.factor(level.len(), MEAN_BYTES));
        Self { report, factor }
    }

    /// Features as bars, where they have names: without, bars say nothing.
    fn profiles<'l>(&self, level: &'l Level<'_>) -> Option<&'l Profiles> {
        let named = self.report.feature_names.is_some();
        level.profiles.as_ref().filter(|profiles| named && profiles.bins > 1)
    }

    /// What the bars of profiles are, from left to right, where each is one feature and they are few.
    fn bar_names(&self, level: &Level<'_>) -> Option<String> {
        let profiles = self.profiles(level).filter(|_| self.report.images.is_none())?;
        let names = self.report.feature_names.as_ref()?;
        let told = names.len() == profiles.bins && names.len() <= MOST_BARS;
        told.then(|| names.iter().map(|name| shortened(name, BAR_LENGTH)).collect::<Vec<_>>().join(" · "))
    }

    /// The mean picture of a prototype as a link, and its ratio of width to height.
    fn of(&self, level: &Level<'_>, k: usize) -> Option<(String, f64)> {
        let (images, means) = (self.report.images.as_ref()?, level.means.as_ref()?);
        let (width, height) = images.reduced_size(self.factor);
        let file = png::encode(width, height, images.channels, &images.reduced(&means[k], self.factor));
        Some((format!("data:image/png;base64,{}", base64::encode(&file)), width as f64 / height as f64))
    }
}

fn draw_mark(svg: &mut String, mark: Mark, paint: &str, pictures: &Pictures<'_>, level: &Level<'_>, k: usize) {
    let Mark { x, y, side } = mark;
    if let Some((link, ratio)) = pictures.of(level, k) {
        let (width, height) = (side * ratio.sqrt(), side / ratio.sqrt());
        let border = (0.05 * side).clamp(0.4, 3.0);
        let (left, top) = (x - width / 2.0, y - height / 2.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" rx=\"{border:.2}\" \
             {paint}/><image x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" \
             preserveAspectRatio=\"none\" href=\"{link}\"/>",
            left + border,
            top + border,
            width - 2.0 * border,
            height - 2.0 * border,
        );
    } else if let Some(profiles) = pictures.profiles(level) {
        draw_profile(svg, mark, paint, profiles, k);
    } else {
        // A disc of the same area as the square.
        let radius = side / std::f64::consts::PI.sqrt();
        let _ = writeln!(svg, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\" fill-opacity=\"0.85\" {paint}/>");
    }
}

/// The features of a prototype as bars: up from the middle above the mean of the map, down below it.
fn draw_profile(svg: &mut String, Mark { x, y, side }: Mark, paint: &str, profiles: &Profiles, k: usize) {
    let (left, top, inner) = (x - side / 2.0, y - side / 2.0, 0.84 * side);
    let step = inner / profiles.bins as f64;
    let mut path = String::new();
    for (bin, &score) in profiles.bars[k * profiles.bins..(k + 1) * profiles.bins].iter().enumerate() {
        let score = f64::from(score).clamp(-2.0, 2.0) / 2.0;
        let height = (score.abs() * inner / 2.0).max(0.4);
        let (bar_x, bar_y) = (left + 0.08 * side + bin as f64 * step, y - if score > 0.0 { height } else { 0.0 });
        let width = (0.8 * step).max(0.4);
        let _ = write!(path, "M{bar_x:.2} {bar_y:.2}h{width:.2}v{height:.2}h-{width:.2}z");
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{side:.2}\" height=\"{side:.2}\" rx=\"{:.2}\" fill-opacity=\"0.16\" \
         {paint}/><path d=\"{path}\" stroke=\"none\" {}/>",
        0.08 * side,
        paint.split(" stroke").next().unwrap_or(paint),
    );
}

/// What an area means: a mark of a round weight.
fn draw_sizes(svg: &mut String, level: &Level<'_>, marks: &[Mark], bottom: f64) {
    let heaviest = (0..level.len()).max_by(|&a, &b| level.model.weights[a].total_cmp(&level.model.weights[b]));
    let Some(heaviest) = heaviest else { return };
    let weight = round_below(level.model.weights[heaviest]);
    let unit = marks[heaviest].side / level.model.weights[heaviest].sqrt();
    // The largest round weight whose square fits below the map.
    let rounds = std::iter::successors(Some(weight), |weight| Some(round_below(0.99 * weight)));
    let Some(weight) = rounds.take(60).find(|weight| unit * weight.sqrt() < LARGEST_KEY) else { return };
    let side = unit * weight.sqrt();
    let _ = writeln!(
        svg,
        "<rect x=\"{MARGIN}\" y=\"{:.2}\" width=\"{side:.2}\" height=\"{side:.2}\" fill=\"none\" stroke=\"#6b7280\"/>\
         <text x=\"{:.2}\" y=\"{:.2}\" fill=\"#6b7280\">{} of all weight</text>",
        bottom - side,
        MARGIN + side + 8.0,
        bottom - side / 2.0 + 4.5,
        Percent(weight),
    );
}

/// What the bars of profiles are, from left to right.
fn draw_bar_key(svg: &mut String, bars: &str, bottom: f64) {
    let (left, top) = (MARGIN, bottom - LARGEST_KEY - 10.0);
    let _ = writeln!(svg, "<text x=\"{left}\" y=\"{top:.1}\" fill=\"#6b7280\">bars: {bars}</text>");
}

/// The share of the strongest link.
fn strongest(links: &[(u32, u32, f64)]) -> Option<f64> {
    links.iter().map(|link| link.2).max_by(f64::total_cmp)
}

/// Links under the marks, the strongest last, as thick as on the page.
fn draw_links(svg: &mut String, links: &[(u32, u32, f64)], marks: &[Mark]) {
    let Some(most) = strongest(links) else { return };
    let mut order: Vec<&(u32, u32, f64)> = links.iter().collect();
    order.sort_by(|a, b| a.2.total_cmp(&b.2));
    let _ = writeln!(svg, "<g stroke=\"{LINK}\" stroke-opacity=\"0.5\" stroke-linecap=\"round\">");
    for &&(k, l, share) in &order {
        let (from, to) = (marks[k as usize], marks[l as usize]);
        let width = (THICKEST * (share / most).sqrt()).max(0.75);
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke-width=\"{width:.2}\"/>",
            from.x, from.y, to.x, to.y,
        );
    }
    svg.push_str("</g>\n");
}

/// What the thickest line stands for.
fn draw_link_key(svg: &mut String, strongest: f64, bottom: f64) {
    let (left, middle) = (MARGIN + 260.0, bottom - 12.0);
    let _ = writeln!(
        svg,
        "<line x1=\"{left}\" y1=\"{middle}\" x2=\"{}\" y2=\"{middle}\" stroke=\"{LINK}\" stroke-width=\"{THICKEST}\"/>\
         <text x=\"{}\" y=\"{:.1}\" fill=\"#6b7280\">{:.1} % of all edges</text>",
        left + 24.0,
        left + 32.0,
        middle + 4.5,
        100.0 * strongest,
    );
}

/// The largest of 1, 2, 5 times a power of ten that is not above a positive value.
fn round_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|digit| digit * power).find(|&round| round <= value).unwrap_or(value)
}

/// A round share of one.
struct Percent(f64);

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A single digit counts, so that is as many as are written.
        let digits = (-(100.0 * self.0).log10()).ceil().clamp(0.0, 12.0) as usize;
        write!(f, "{:.digits$} %", 100.0 * self.0)
    }
}

/// The classes that the marks are coloured by, those with the most weight first where not all can be named.
fn draw_classes(svg: &mut String, report: &Report<'_>, level: &Level<'_>, left: f64) {
    let Some((classes, shares)) = report.classes.as_ref().zip(level.classes.as_ref()) else { return };
    let mut mass = vec![0.0; classes.names.len()];
    for (shares, weight) in shares.iter().zip(&level.model.weights) {
        shares.iter().for_each(|&(class, share)| mass[class as usize] += share * weight);
    }
    let mut named: Vec<usize> = (0..mass.len()).filter(|&class| mass[class] > 0.0).collect();
    named.sort_by(|&a, &b| mass[b].total_cmp(&mass[a]).then(a.cmp(&b)));
    let others = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    named.sort_unstable();
    let mut top = HEAD + 10.0;
    for class in named {
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"12\" height=\"12\" rx=\"3\" {}/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            palette::paint(class as u32),
            left + 20.0,
            top + 10.5,
            shortened(&classes.names[class], NAME_LENGTH),
        );
        top += 21.0;
    }
    if others > 0 {
        let _ =
            writeln!(svg, "<text x=\"{left:.1}\" y=\"{:.1}\" fill=\"#6b7280\">and {others} more</text>", top + 10.5);
    }
}

/// A count with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Text of at most so many characters, escaped.
pub(crate) fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return escaped(text);
    }
    let start: String = text.chars().take(length.saturating_sub(1)).collect();
    escaped(&start) + "…"
}
