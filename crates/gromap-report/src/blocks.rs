//! A co-clustered matrix as a picture: rows and columns in the order of their clusters, and beside it the means of its blocks.
//!
//! Clusters with higher means come later, so that blocks alike lie near each other; the colours of both panels are of one scale. A matrix
//! with more rows or columns than pixels is shown by the means of those that share one.

use std::fmt::Write;

use gromap::Matrix;
use gromap::data::Samples;

use crate::base64;
use crate::error::Error;
use crate::page;
use crate::png;
use crate::svg::{count, shortened};

/// Sides of the matrix on the page.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 460.0;
/// Pixels of it, at most, for each unit of the page.
const DENSITY: usize = 2;
const MARGIN: f64 = 24.0;
/// Space above both panels for the title and what they are.
const HEAD: f64 = 92.0;
/// Space left of a panel and above it for the numbers of clusters.
const NUMBERS: f64 = 34.0;
/// Space below for the scale of colours.
const FOOT: f64 = 64.0;
/// A cell of the means, at most and at least.
const CELL: (f64, f64) = (58.0, 9.0);
/// Sides below which nothing is written into a cell, and nothing beside a band.
const READABLE: (f64, f64) = (34.0, 11.0);
/// Share of the values that may lie beyond each end of the scale of colours.
const BEYOND: f64 = 0.005;
/// Values that the scale is read from, at most.
const SAMPLED: usize = 200_000;
/// Members of a cluster that the page names.
const NAMED: usize = 12;

/// Clusters of samples and of features, and the means of their blocks.
///
/// ```
/// use gromap::Matrix;
/// use gromap::solve::Coot;
/// use gromap_report::Blocks;
/// let x = Matrix::from_fn(12, 9, |i, j| if (i / 6 + j / 3) % 2 == 0 { 1.0 } else { 0.0 });
/// let found = Coot::builder(2, 2).fit(&x)?;
/// let (rows, columns) = (found.plan.labels(), found.feature_plan.labels());
/// let blocks = Blocks::new(&rows, &columns, &found.summary)?.samples((&x).into())?;
/// assert!(blocks.svg().starts_with("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Blocks<'a> {
    rows: Side<'a>,
    columns: Side<'a>,
    summary: &'a Matrix<'a>,
    samples: Option<Samples<'a>>,
    title: String,
}

/// Samples or features.
struct Side<'a> {
    labels: &'a [u32],
    names: Option<&'a [String]>,
    /// Clusters as they are shown.
    order: Vec<usize>,
    /// Members as they are shown.
    members: Vec<u32>,
    /// How many members each cluster has.
    counts: Vec<usize>,
}

impl<'a> Side<'a> {
    /// Clusters of lower means first.
    fn new(what: &str, labels: &'a [u32], clusters: usize, mean: impl Fn(usize) -> f64) -> Result<Self, Error> {
        let mut counts = vec![0; clusters];
        for &label in labels {
            let Some(count) = counts.get_mut(label as usize) else {
                let what = format!("clusters of {what}, of which one is number {label}");
                return Err(Error::Length { what, expected: label as usize + 1, found: clusters });
            };
            *count += 1;
        }
        let mut order: Vec<usize> = (0..clusters).collect();
        order.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)).then(a.cmp(&b)));
        let mut rank = vec![0; clusters];
        order.iter().enumerate().for_each(|(place, &cluster)| rank[cluster] = place);
        let mut members: Vec<u32> = (0..labels.len() as u32).collect();
        members.sort_by_key(|&member| rank[labels[member as usize] as usize]);
        Ok(Self { labels, names: None, order, members, counts })
    }

    fn name(&self, member: u32) -> String {
        self.names.map_or_else(|| member.to_string(), |names| names[member as usize].clone())
    }
}

impl<'a> Blocks<'a> {
    /// The cluster of every sample and of every feature, and the mean of every block: a row for each cluster of samples.
    pub fn new(labels: &'a [u32], feature_labels: &'a [u32], summary: &'a Matrix<'a>) -> Result<Self, Error> {
        let (n, m) = (summary.rows(), summary.columns());
        let weight = |labels: &[u32], cluster: usize| labels.iter().filter(|&&label| label as usize == cluster).count();
        let of_columns: Vec<f64> = (0..m).map(|l| weight(feature_labels, l) as f64).collect();
        let of_rows: Vec<f64> = (0..n).map(|k| weight(labels, k) as f64).collect();
        let rows = Side::new("samples", labels, n, |k| (0..m).map(|l| of_columns[l] * summary[(k, l)]).sum())?;
        let columns = Side::new("features", feature_labels, m, |l| (0..n).map(|k| of_rows[k] * summary[(k, l)]).sum())?;
        Ok(Self { rows, columns, summary, samples: None, title: "Co-clusters".into() })
    }

    /// The matrix itself; without it every value is shown as the mean of its block.
    pub fn samples(mut self, samples: Samples<'a>) -> Result<Self, Error> {
        Error::check_length("samples", self.rows.labels.len(), samples.len())?;
        Error::check_length("features", self.columns.labels.len(), samples.columns())?;
        samples.check_finite("samples")?;
        self.samples = Some(samples);
        Ok(self)
    }

    /// What it is a picture of.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// A name for every sample.
    pub fn ids(mut self, ids: &'a [String]) -> Result<Self, Error> {
        Error::check_length("ids", self.rows.labels.len(), ids.len())?;
        self.rows.names = Some(ids);
        Ok(self)
    }

    /// A name for every feature.
    pub fn feature_names(mut self, names: &'a [String]) -> Result<Self, Error> {
        Error::check_length("feature names", self.columns.labels.len(), names.len())?;
        self.columns.names = Some(names);
        Ok(self)
    }

    /// A page with the picture and the members of every cluster: one file that needs no network and no script.
    pub fn html(&self) -> String {
        let tables = self.table("samples", &self.rows) + &self.table("features", &self.columns);
        page::static_html(&self.title, &format!("{}\n{tables}", self.svg()))
    }

    /// The picture alone.
    pub fn svg(&self) -> String {
        let scale = Scale::new(&self.shown_values());
        let (n, m) = (self.summary.rows(), self.summary.columns());
        let side = |count: usize, most: f64| (most / count as f64).clamp(CELL.1, CELL.0);
        let cell = side(n, HEIGHT).min(side(m, WIDTH));
        let (top, left) = (HEAD + NUMBERS, MARGIN + NUMBERS);
        let right = left + WIDTH + MARGIN + NUMBERS;
        let page = (right + (m as f64 * cell).max(150.0) + MARGIN, top + (n as f64 * cell).max(HEIGHT) + FOOT);
        let title = shortened(&self.title, 80);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0} {1:.0}\" width=\"{0:.0}\" height=\"{1:.0}\" \
             role=\"img\" font-family=\"Inter, system-ui, sans-serif\" font-size=\"12\" fill=\"#23262d\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{MARGIN}\" y=\"34\" font-size=\"19\" font-weight=\"600\">{title}</text>\n\
             <text x=\"{MARGIN}\" y=\"56\" fill=\"#6b7280\" font-size=\"13\">{2} in {3}, {4} in {5}</text>\n",
            page.0,
            page.1,
            count(self.rows.labels.len(), "sample"),
            count(n, "cluster"),
            count(self.columns.labels.len(), "feature"),
            count(m, "cluster"),
        );
        let what = if self.samples.is_some() { "the data" } else { "the blocks, as large as they are" };
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{:.0}\" font-weight=\"600\">{what}</text>", HEAD - 6.0);
        let _ = writeln!(svg, "<text x=\"{right}\" y=\"{:.0}\" font-weight=\"600\">means of blocks</text>", HEAD - 6.0);
        self.draw_matrix(&mut svg, (left, top), &scale);
        self.draw_means(&mut svg, (right, top), cell, &scale);
        scale.draw(&mut svg, (left, page.1 - FOOT / 2.0 - 6.0));
        svg.push_str("</svg>\n");
        svg
    }

    /// Values that the scale of colours is read from: evenly many of them, in their order.
    fn shown_values(&self) -> Vec<f64> {
        let Some(samples) = &self.samples else { return self.summary.values().to_vec() };
        let (rows, columns) = (samples.len(), samples.columns());
        let every = (rows * columns).div_ceil(SAMPLED).max(1);
        // A step that shares no divisor with the number of columns meets them all.
        let every = (every..).find(|&step| common_divisor(step, columns) == 1).unwrap_or(1);
        (0..rows * columns).step_by(every).map(|at| value(samples, at / columns, at % columns)).collect()
    }

    fn draw_matrix(&self, svg: &mut String, (left, top): (f64, f64), scale: &Scale) {
        let (rows, columns) = (self.rows.labels.len(), self.columns.labels.len());
        let (width, height) = (columns.min(WIDTH as usize * DENSITY), rows.min(HEIGHT as usize * DENSITY));
        let means = self.reduced(width, height);
        let pixels: Vec<u8> = means.iter().flat_map(|&mean| scale.color(mean)).collect();
        let file = base64::encode(&png::encode(width, height, 3, &pixels));
        let _ = writeln!(
            svg,
            "<image x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering: pixelated\" href=\"data:image/png;base64,{file}\"/>"
        );
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#9aa1ad\"/>"
        );
        let mut lines = String::new();
        bands(&self.rows, HEIGHT, |cluster, from, to| {
            if from > 0.0 {
                let _ = write!(lines, "M{left} {:.1}h{WIDTH}", top + from);
            }
            if to - from >= READABLE.1 {
                number(svg, (left - 7.0, top + (from + to) / 2.0 + 4.0), "end", cluster);
            }
        });
        bands(&self.columns, WIDTH, |cluster, from, to| {
            if from > 0.0 {
                let _ = write!(lines, "M{:.1} {top}v{HEIGHT}", left + from);
            }
            above(svg, (left + (from + to) / 2.0, top - 7.0), to - from, cluster);
        });
        let _ = writeln!(svg, "<path d=\"{lines}\" stroke=\"#c43c51\" stroke-width=\"0.8\" fill=\"none\"/>");
    }

    /// The matrix in the order of its clusters, as means of what shares a pixel.
    fn reduced(&self, width: usize, height: usize) -> Vec<f64> {
        let (rows, columns) = (self.rows.members.len(), self.columns.members.len());
        let (mut sums, mut counts) = (vec![0.0; width * height], vec![0_u32; width * height]);
        for (place, &i) in self.rows.members.iter().enumerate() {
            let y = place * height / rows;
            for (at, &j) in self.columns.members.iter().enumerate() {
                let pixel = y * width + at * width / columns;
                sums[pixel] += match &self.samples {
                    Some(samples) => value(samples, i as usize, j as usize),
                    None => {
                        self.summary[(self.rows.labels[i as usize] as usize, self.columns.labels[j as usize] as usize)]
                    }
                };
                counts[pixel] += 1;
            }
        }
        sums.iter().zip(&counts).map(|(sum, &count)| sum / f64::from(count.max(1))).collect()
    }

    fn draw_means(&self, svg: &mut String, (left, top): (f64, f64), cell: f64, scale: &Scale) {
        for (y, &k) in self.rows.order.iter().enumerate() {
            let y = top + y as f64 * cell;
            if cell >= READABLE.1 {
                number(svg, (left - 7.0, y + cell / 2.0 + 4.0), "end", k);
            }
            for (x, &l) in self.columns.order.iter().enumerate() {
                let (x, mean) = (left + x as f64 * cell, self.summary[(k, l)]);
                let is_empty = self.rows.counts[k] == 0 || self.columns.counts[l] == 0;
                let [r, g, b] = if is_empty { [255; 3] } else { scale.color(mean) };
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\" fill=\"#{r:02x}{g:02x}{b:02x}\" \
                     stroke=\"#ffffff\" stroke-width=\"0.6\"><title>samples {k}, features {l}: {}</title></rect>",
                    Short(mean),
                );
                if cell >= READABLE.0 && !is_empty {
                    let ink = if scale.share(mean) > 0.5 { "#ffffff" } else { "#23262d" };
                    let _ = writeln!(
                        svg,
                        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\" fill=\"{ink}\">{}</text>",
                        x + cell / 2.0,
                        y + cell / 2.0 + 4.0,
                        Short(mean),
                    );
                }
            }
        }
        for (x, &l) in self.columns.order.iter().enumerate() {
            above(svg, (left + (x as f64 + 0.5) * cell, top - 7.0), cell, l);
        }
    }

    /// The members of every cluster of a side, with names.
    fn table(&self, what: &str, side: &Side<'_>) -> String {
        let mut text = format!(
            "<h2>Clusters of {what}</h2>\n<table><tr><th>cluster</th><th>{what}</th><th>among them</th></tr>\n"
        );
        for &cluster in &side.order {
            let members = side.members.iter().filter(|&&member| side.labels[member as usize] as usize == cluster);
            let named: Vec<String> = members.take(NAMED).map(|&member| shortened(&side.name(member), 40)).collect();
            let more = if side.counts[cluster] > NAMED { ", …" } else { "" };
            let (count, named) = (side.counts[cluster], named.join(", "));
            let _ = writeln!(text, "<tr><td>{cluster}</td><td>{count}</td><td>{named}{more}</td></tr>");
        }
        text + "</table>\n"
    }
}

fn value(samples: &Samples<'_>, i: usize, j: usize) -> f64 {
    match samples {
        Samples::F32(matrix) => f64::from(matrix[(i, j)]),
        Samples::F64(matrix) => matrix[(i, j)],
    }
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Every cluster with members, and where it begins and ends on a side of this length.
fn bands(side: &Side<'_>, length: f64, mut draw: impl FnMut(usize, f64, f64)) {
    let of_one = length / side.labels.len() as f64;
    let mut before = 0;
    for &cluster in side.order.iter().filter(|&&cluster| side.counts[cluster] > 0) {
        let after = before + side.counts[cluster];
        draw(cluster, before as f64 * of_one, after as f64 * of_one);
        before = after;
    }
}

fn number(svg: &mut String, (x, y): (f64, f64), anchor: &str, cluster: usize) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#6b7280\" font-size=\"11\">{cluster}</text>"
    );
}

/// The number of a column: upright where there is no room for it, and none where there is no room for that either.
fn above(svg: &mut String, (x, y): (f64, f64), room: f64, cluster: usize) {
    if room >= 7.0 * cluster.to_string().len() as f64 + 5.0 {
        number(svg, (x, y), "middle", cluster);
    } else if room >= READABLE.1 {
        let _ = write!(svg, "<g transform=\"translate({:.1} {y:.1}) rotate(-90)\">", x + 4.0);
        number(svg, (0.0, 0.0), "start", cluster);
        svg.push_str("</g>\n");
    }
}

/// From values to colours, light to dark.
struct Scale {
    low: f64,
    high: f64,
    /// Whether values lie beyond the ends.
    is_cut: bool,
}

/// Light to dark in even steps of lightness, told apart by all eyes and on paper.
const COLORS: [[f64; 3]; 5] =
    [[247.0, 248.0, 250.0], [190.0, 211.0, 234.0], [112.0, 160.0, 209.0], [47.0, 98.0, 160.0], [9.0, 37.0, 84.0]];

impl Scale {
    /// All but a few of the farthest values.
    fn new(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return Self { low: 0.0, high: 1.0, is_cut: false } };
        let beyond = (BEYOND * last as f64) as usize;
        let (low, high) = (sorted[beyond], sorted[last - beyond]);
        // Where nearly all values are one, the others are what there is to see.
        let (low, high) = if low < high { (low, high) } else { (sorted[0], sorted[last]) };
        Self { low, high, is_cut: low > sorted[0] || high < sorted[last] }
    }

    /// Where a value lies, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let width = self.high - self.low;
        if width > 0.0 { ((value - self.low) / width).clamp(0.0, 1.0) } else { 0.5 }
    }

    fn color(&self, value: f64) -> [u8; 3] {
        let at = self.share(value) * (COLORS.len() - 1) as f64;
        let step = (at as usize).min(COLORS.len() - 2);
        let (a, b, part) = (COLORS[step], COLORS[step + 1], at - step as f64);
        [0, 1, 2].map(|channel| (a[channel] + part * (b[channel] - a[channel])).round() as u8)
    }

    fn draw(&self, svg: &mut String, (x, y): (f64, f64)) {
        const STEPS: usize = 60;
        const STEP: f64 = 3.0;
        for step in 0..STEPS {
            let value = self.low + (self.high - self.low) * (step as f64 + 0.5) / STEPS as f64;
            let [r, g, b] = self.color(value);
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"12\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>",
                x + STEP * step as f64,
                STEP + 0.3,
            );
        }
        let (from, to) = if self.is_cut { ("≤ ", "≥ ") } else { ("", "") };
        let _ = writeln!(
            svg,
            "\n<text x=\"{x:.1}\" y=\"{0:.1}\" fill=\"#6b7280\">{from}{1}</text>\
             <text x=\"{2:.1}\" y=\"{0:.1}\" fill=\"#6b7280\" text-anchor=\"end\">{to}{3}</text>",
            y + 28.0,
            Short(self.low),
            x + STEP * STEPS as f64,
            Short(self.high),
        );
    }
}

/// A number with three digits that count.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.0.abs();
        if size == 0.0 {
            return f.write_str("0");
        }
        if !(1e-3..1e5).contains(&size) {
            return write!(f, "{:.1e}", self.0);
        }
        let digits = (2 - size.log10().floor() as i32).clamp(0, 5) as usize;
        let text = format!("{:.digits$}", self.0);
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> (Vec<u32>, Vec<u32>, Matrix<'static>) {
        (vec![1, 0, 1, 0], vec![0, 2, 2], Matrix::new(vec![5.0, 0.0, 6.0, 1.0, 0.0, 2.0], 2, 3).unwrap())
    }

    #[test]
    fn rows_and_columns_are_in_the_order_of_their_clusters_lower_means_first() {
        let (rows, columns, summary) = labels();
        let blocks = Blocks::new(&rows, &columns, &summary).unwrap();
        assert_eq!((&blocks.rows.order, &blocks.rows.members), (&vec![1, 0], &vec![0, 2, 1, 3]));
        assert_eq!((&blocks.columns.order, &blocks.columns.members), (&vec![1, 0, 2], &vec![0, 1, 2]));
        assert_eq!(blocks.reduced(3, 4), [1.0, 2.0, 2.0, 1.0, 2.0, 2.0, 5.0, 6.0, 6.0, 5.0, 6.0, 6.0]);
        let x = Matrix::from_fn(4, 3, |i, j| (10 * i + j) as f64);
        let of_data = blocks.samples(Samples::from(&x)).unwrap();
        assert_eq!(of_data.reduced(3, 4)[..6], [0.0, 1.0, 2.0, 20.0, 21.0, 22.0]);
        // Rows 0 and 2, columns 1 and 2, in one pixel.
        assert_eq!(of_data.reduced(2, 2)[0..2], [10.5, 12.0]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let (rows, columns, summary) = labels();
        let error = |blocks: Result<Blocks<'_>, Error>| blocks.err().unwrap().to_string();
        assert!(
            error(Blocks::new(&[0, 2], &columns, &summary)).contains("clusters of samples, of which one is number 2")
        );
        let few: Matrix<'_> = Matrix::zeros(3, 3);
        let refused = Blocks::new(&rows, &columns, &summary).unwrap().samples(Samples::from(&few));
        assert_eq!(error(refused), "samples: expected 4, found 3");
        let refused = Blocks::new(&rows, &columns, &summary).unwrap().ids(&[]);
        assert_eq!(error(refused), "ids: expected 4, found 0");
    }

    #[test]
    fn the_scale_leaves_out_a_few_far_values_and_says_so() {
        let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i % 10)).collect();
        assert!(!Scale::new(&values).is_cut);
        values[3] = 1e6;
        let scale = Scale::new(&values);
        assert!(scale.is_cut && scale.high == 9.0);
        assert_eq!((scale.color(1e6), scale.color(-5.0)), ([9, 37, 84], [247, 248, 250]));
        let rare = Scale::new(&[0.0, 0.0, 0.0, 1.0]);
        assert_eq!((rare.low, rare.high), (0.0, 1.0));
        assert_eq!(Scale::new(&[2.0; 5]).share(2.0), 0.5);
    }

    #[test]
    fn names_are_text_and_nothing_is_fetched() {
        let (rows, columns, summary) = labels();
        let names = ["<b>", "a", "b", "c"].map(String::from);
        let page = Blocks::new(&rows, &columns, &summary).unwrap().ids(&names).unwrap().title("<x>").html();
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>") && !page.contains("<x>"));
        assert!(!page.contains("<script") && page.contains("default-src 'none'"));
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("://"));
    }

    #[test]
    fn numbers_are_short() {
        let text = |x: f64| Short(x).to_string();
        assert_eq!([0.0, 1.0, -0.12345, 123.456, 1e9, 20.0].map(text), ["0", "1", "-0.123", "123", "1.0e9", "20"]);
    }
}
