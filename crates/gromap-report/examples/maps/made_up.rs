//! Maps of made-up data, one for each thing that the page must cope with.

use std::error::Error;
use std::time::Instant;

use gromap::options::Level;
use gromap::{Data, GromovDr, Matrix, Method, Model, Plan, SampleWeights, ViewWeights};
use gromap_report::{Classes, Column, Images, Report};

use crate::Folder;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SHAPES: [&str; 5] = ["disc", "square", "bar", "cross", "ring"];

/// Text that must stay text wherever it is shown.
const HOSTILE: &str = "</script><img src=x onerror=\"window.hacked=1\"><b onclick='x'>&amp;";

/// Names of other scripts, from right to left, and one that is too long for any place.
const FOREIGN: [&str; 6] = [
    "冬天的城市",
    "مدينة بعيدة في الشتاء",
    "Ἀθῆναι",
    "भारत की राजधानी",
    "🦊 a fox",
    "a class with a name so long that no legend, no label and no card has a line that holds all of it",
];

const NUMERALS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// What texts are about, and the words they are made of.
const TOPICS: [[&str; 8]; 5] = [
    ["harbour", "ship", "tide", "anchor", "gull", "sail", "rope", "wave"],
    ["oven", "flour", "butter", "sugar", "crust", "dough", "honey", "bread"],
    ["violin", "choir", "chord", "tempo", "melody", "drum", "stage", "song"],
    ["glacier", "summit", "ridge", "snow", "valley", "trail", "cairn", "peak"],
    ["engine", "wheel", "brake", "piston", "gear", "axle", "fuel", "road"],
];

/// Writes every map.
pub(crate) fn write(out: &Folder) -> Result<()> {
    let start = Instant::now();
    let shapes = Shapes::new(1200, 20, 20, 1);
    let samples = shapes.samples()?;
    let recipe = GromovDr::builder().method(Method::TSnekhorn).perplexity(20.0).seed(0);
    let model = recipe.clone().prototypes(40).fit(&samples)?;
    out.write("shapes.html", &described(Report::new(&model), &shapes).html()?, start)?;
    out.write("shapes.svg", &described(Report::new(&model), &shapes).svg()?, start)?;
    out.write("unlabelled.html", &Report::new(&model).images(shapes.images()).html()?, start)?;
    out.write("bare.html", &Report::new(&model).html()?, start)?;
    out.write("hostile.html", &hostile(&model).html()?, start)?;
    out.write("soft.html", &described(Report::new(&soft(&model)?), &shapes).html()?, start)?;

    out.write("outliers.html", &described(Report::new(&outlying(&model)), &shapes).html()?, start)?;
    let names: Vec<String> = (0..model.weights.len()).map(|k| format!("group {}", NUMERALS[k % 12])).collect();
    let steady = (0..names.len()).map(|k| if k == 3 { f64::NAN } else { noise(k, 40) }).collect();
    let named = described(Report::new(&model), &shapes).prototype_names(vec![names]);
    out.write("named.html", &named.prototype_numbers("stability", vec![steady]).html()?, start)?;

    let path = recipe.clone().path(&samples, &[3, 5, 8, 13, 21, 34, 55, 89], Level::Warm)?;
    out.write("path.html", &described(Report::of_path(&path), &shapes).html()?, start)?;

    let one = recipe.clone().prototypes(1).fit(&samples)?;
    out.write("one.html", &described(Report::new(&one), &shapes).html()?, start)?;
    let two = recipe.clone().prototypes(2).fit(&samples)?;
    out.write("two.html", &described(Report::new(&two), &shapes).html()?, start)?;
    let three = recipe.clone().prototypes(40).dims(3).fit(&samples)?;
    out.write("three.html", &described(Report::new(&three), &shapes).html()?, start)?;

    let few = Shapes::new(300, 20, 20, 1);
    let classical = GromovDr::builder().method(Method::Pca).every_sample().fit(&few.samples()?)?;
    out.write("classical.html", &described(Report::new(&classical), &few).html()?, start)?;

    let colored = Shapes::new(600, 30, 18, 3);
    let model = recipe.clone().prototypes(25).fit(&colored.samples()?)?;
    out.write("colour.html", &described(Report::new(&model), &colored).html()?, start)?;

    let half = few.samples()?;
    let [left, right] = [0, 200].map(|from| Matrix::from_fn(300, 200, |i, j| half[(i, from + j)]));
    let weights = ViewWeights::Given(vec![1.0, 3.0]);
    let seen = recipe.clone().prototypes(12).view_weights(weights).fit(Data::views([&left, &right]))?;
    out.write("views.html", &described(Report::new(&seen), &few).html()?, start)?;

    tabular(out, &recipe, start)?;
    written(out, &recipe, start)?;
    connected(out, start)?;
    let many = Shapes::new(10_000, 20, 20, 1);
    let model = placed(&model, 5000, 10_000)?;
    out.write("many.html", &described(Report::new(&model), &many).html()?, start)?;
    let mixed = placed(&model, 72, 2000)?;
    let colours = mixed.plan.labels().iter().map(|label| label % 12).collect();
    let classes = Classes { names: NUMERALS.map(String::from).to_vec(), of_samples: colours };
    out.write("mixed.html", &Report::new(&mixed).classes(classes).title("Twelve classes").html()?, start)?;
    let foreign = placed(&model, 30, 900)?;
    let of_samples = foreign.plan.labels().iter().map(|label| label % FOREIGN.len() as u32).collect();
    let classes = Classes { names: FOREIGN.map(String::from).to_vec(), of_samples };
    out.write("foreign.html", &Report::new(&foreign).classes(classes).title(FOREIGN[1]).html()?, start)?;
    let motley = placed(&model, 400, 4000)?;
    let of_samples = motley.plan.labels().iter().map(|label| label % 300).collect();
    let classes = Classes { names: (0..300).map(|class| format!("species {class}")).collect(), of_samples };
    out.write("motley.html", &Report::new(&motley).classes(classes).title("Three hundred classes").html()?, start)?;
    let crowd = placed(&model, 60, 120_000)?;
    let classes = (0..120_000_u32).map(|i| i % 3).collect();
    let report =
        Report::new(&crowd).classes(Classes { names: ["a", "b", "c"].map(String::from).to_vec(), of_samples: classes });
    out.write("crowd.html", &report.title("A crowd").html()?, start)
}

/// Pictures of shapes of different sizes, places and strengths.
struct Shapes {
    width: usize,
    height: usize,
    channels: usize,
    pixels: Vec<u8>,
    classes: Vec<u32>,
}

/// Numbers from 0 to 1 that depend on what they are for and nothing else.
fn noise(sample: usize, purpose: usize) -> f64 {
    let mut state =
        (sample as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (purpose as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    for _ in 0..3 {
        state ^= state >> 32;
        state = state.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

impl Shapes {
    fn new(samples: usize, width: usize, height: usize, channels: usize) -> Self {
        let (mut pixels, mut classes) = (Vec::with_capacity(samples * width * height * channels), Vec::new());
        for i in 0..samples {
            let class = i % SHAPES.len();
            classes.push(class as u32);
            let size = 0.45 + 0.35 * noise(i, 0);
            let (cx, cy) = (0.3 * noise(i, 1) - 0.15, 0.3 * noise(i, 2) - 0.15);
            for y in 0..height {
                for x in 0..width {
                    let u = (x as f64 + 0.5) / width as f64 * 2.0 - 1.0 - cx;
                    let v = (y as f64 + 0.5) / height as f64 * 2.0 - 1.0 - cy;
                    let ink = inside(class, u / size, v / size) * (0.75 + 0.25 * noise(i, 3));
                    for channel in 0..channels {
                        let hue = if channels == 1 { 1.0 } else { 0.35 + 0.65 * noise(class, 10 + channel) };
                        pixels.push((255.0 * ink * hue) as u8);
                    }
                }
            }
        }
        Self { width, height, channels, pixels, classes }
    }

    fn images(&self) -> Images {
        let Self { width, height, channels, ref pixels, .. } = *self;
        Images { width, height, channels, pixels: pixels.clone() }
    }

    fn samples(&self) -> Result<Matrix<'static, f32>> {
        let values: Vec<f32> = self.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
        Ok(Matrix::new(values, self.classes.len(), self.width * self.height * self.channels)?)
    }
}

/// How much ink a shape of half-width 1 has at a point; edges are soft.
fn inside(shape: usize, u: f64, v: f64) -> f64 {
    let (square, radius) = (u.abs().max(v.abs()), u.hypot(v));
    let distance = match shape {
        0 => 1.0 - radius,
        1 => 0.9 - square,
        2 => (0.35 - u.abs()).min(1.0 - v.abs()),
        3 => (0.3 - u.abs().min(v.abs())).min(1.0 - square),
        _ => 0.25 - (radius - 0.75).abs(),
    };
    (0.5 + 5.0 * distance).clamp(0.0, 1.0)
}

/// Everything a report can hold.
fn described<'a>(report: Report<'a>, shapes: &Shapes) -> Report<'a> {
    let samples = shapes.classes.len();
    let sizes = (0..samples).map(|i| if i % 50 == 7 { f64::NAN } else { 0.45 + 0.35 * noise(i, 0) }).collect();
    let notes = (0..samples).map(|i| format!("{} number {i}", SHAPES[i % SHAPES.len()])).collect();
    report
        .title("Shapes")
        .classes(Classes { names: SHAPES.map(String::from).to_vec(), of_samples: shapes.classes.clone() })
        .images(shapes.images())
        .ids((0..samples).map(|i| format!("shape-{i:04}")).collect())
        .column("size", Column::Numbers(sizes))
        .column("note", Column::Text(notes))
        .parameters(
            [("method", "tsnekhorn"), ("perplexity", "20"), ("seed", "0")].map(|(a, b)| (a.into(), b.into())).to_vec(),
        )
        .data_hash("3f9a0c5e")
}

/// Hostile and endless text in every place that takes text.
fn hostile(model: &Model) -> Report<'_> {
    let samples = model.plan.len();
    let long = "x".repeat(10_000);
    let names = vec![HOSTILE.to_owned(), long.clone(), "{{constructor}} ${alert(1)}".into()];
    Report::new(model)
        .title(HOSTILE)
        .classes(Classes { names, of_samples: (0..samples as u32).map(|i| i % 3).collect() })
        .ids((0..samples).map(|i| if i % 2 == 0 { format!("{HOSTILE} {i}") } else { format!("{long}{i}") }).collect())
        .column(HOSTILE, Column::Text(vec![HOSTILE.into(); samples]))
        .column("=1+1", Column::Text(vec!["-2+3".into(); samples]))
        .column("__proto__", Column::Numbers((0..samples).map(|i| -1.0 - i as f64).collect()))
        .column(long.clone(), Column::Text(vec![long.clone(); samples]))
        .parameters(vec![(HOSTILE.into(), HOSTILE.into()), ("long".into(), long)])
        .data_hash(HOSTILE)
}

/// The same map with a third of some samples shared between their prototype and the next.
fn soft(model: &Model) -> Result<Model> {
    let (labels, n, samples) = (model.plan.labels(), model.weights.len(), model.plan.len());
    let shares = Matrix::from_fn(samples, n, |i, k| {
        let own = labels[i] as usize;
        let shared = i % 3 == 0;
        let share = match (k == own, k == (own + 1) % n) {
            (true, _) if shared => 0.65,
            (true, _) => 1.0,
            (_, true) if shared => 0.35,
            _ => 0.0,
        };
        share / samples as f64
    });
    let plan = Plan::from_dense(&shares, SampleWeights::uniform(samples)?)?;
    let mut shared = model.clone();
    (shared.weights, shared.outcome.hardness, shared.plan) = (plan.weights(), plan.hardness(), plan);
    Ok(shared)
}

/// A model of many prototypes in a spiral, without a fit: the page is tested, not the method.
fn placed(model: &Model, prototypes: usize, samples: usize) -> Result<Model> {
    // Every prototype has a member, and the first ones have more of the rest.
    let label = |i: usize| if i < prototypes { i } else { (prototypes as f64 * noise(i, 5).powi(2)) as usize };
    let labels = (0..samples).map(|i| label(i) as u32).collect();
    let plan = Plan::from_labels(labels, prototypes, SampleWeights::uniform(samples)?)?;
    let place = |k: usize, axis: usize| {
        let (radius, angle) = ((k as f64 + 0.5).sqrt(), 2.4 * k as f64);
        radius * if axis == 0 { angle.cos() } else { angle.sin() }
    };
    let mut placed = model.clone();
    placed.prototypes = Matrix::from_fn(prototypes, 2, place);
    placed.features = None;
    placed.links = Vec::new();
    (placed.weights, placed.plan) = (plan.weights(), plan);
    Ok(placed)
}

/// The same map with its two lightest prototypes far away.
fn outlying(model: &Model) -> Model {
    let mut moved = model.clone();
    let mut order: Vec<usize> = (0..model.weights.len()).collect();
    order.sort_by(|&a, &b| model.weights[a].total_cmp(&model.weights[b]).then(a.cmp(&b)));
    let widest = model.prototypes.values().iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let far = |k: usize, axis: usize| {
        let away =
            [(order[0], 0, 20.0), (order[1], 1, -15.0)].iter().find(|entry| (entry.0, entry.1) == (k, axis)).copied();
        away.map_or(model.prototypes[(k, axis)], |entry| entry.2 * widest)
    };
    moved.prototypes = Matrix::from_fn(model.weights.len(), 2, far);
    moved
}

/// Texts: a word's count is a feature, and nothing is known of classes.
fn written(out: &Folder, recipe: &GromovDr, start: Instant) -> Result<()> {
    let words: Vec<&str> = TOPICS.iter().flatten().copied().collect();
    // A text has nine words, one in four of them about anything.
    let word = |i: usize, at: usize| {
        let topic = if noise(i, 60 + at) < 0.75 { i % TOPICS.len() } else { (noise(i, 80 + at) * 5.0) as usize };
        topic * 8 + (noise(i, 100 + at).powf(1.5) * 8.0) as usize
    };
    let texts: Vec<Vec<usize>> = (0..800).map(|i| (0..9).map(|at| word(i, at)).collect()).collect();
    let counts = Matrix::from_fn(800, words.len(), |i, j| texts[i].iter().filter(|&&word| word == j).count() as f64);
    let model = recipe.clone().prototypes(30).fit(&counts)?;
    let sentence = |text: &Vec<usize>| {
        let said: Vec<&str> = text.iter().map(|&word| words[word]).collect();
        format!("The {} and the {} were told of again.", said[..4].join(", the "), said[4..].join(", the "))
    };
    let report = Report::new(&model)
        .title("What the letters are about")
        .samples(&counts)
        .feature_names(words.iter().map(|word| (*word).to_owned()).collect())
        .column("letter", Column::Text(texts.iter().map(sentence).collect()))
        .column("sent by", Column::Text((0..800).map(|i| NUMERALS[(noise(i, 50) * 4.0) as usize].into()).collect()))
        .column("year", Column::Numbers((0..800).map(|i| (1900 + i % 5 * 20 + i % 7) as f64).collect()))
        .parameters(vec![("method".into(), "tsnekhorn".into()), ("seed".into(), "0".into())]);
    out.write("text.html", &report.html()?, start)
}

/// Communities in a ring, each with a few edges to the next: a graph.
fn connected(out: &Folder, start: Instant) -> Result<()> {
    let (groups, size) = (12, 40);
    let joined = |i: usize, j: usize| {
        let (low, high) = (i.min(j), i.max(j));
        let chance = match (high / size + groups - low / size) % groups {
            0 => 0.2,
            1 | 11 => 0.008,
            _ => 0.0005,
        };
        low != high && noise(low * 977 + high, 200) < chance
    };
    let nodes = groups * size;
    let pairs = Matrix::from_fn(nodes, nodes, |i, j| if joined(i, j) { 1.0_f32 } else { 0.0 });
    let graph = gromap::similarity::graph_of_pairs(&pairs)?;
    let model = GromovDr::builder().prototypes(24).seed(0).fit(Data::Graph(&graph))?;
    let report = Report::new(&model)
        .title("Who writes to whom")
        .ids((0..nodes).map(|i| format!("person {i}")).collect())
        .column("team", Column::Text((0..nodes).map(|i| format!("team {}", NUMERALS[i / size])).collect()))
        .fact("coreset", "480 of 12,000 people")
        .parameters(vec![("method".into(), "tsnekhorn".into()), ("seed".into(), "0".into())]);
    out.write("graph.html", &report.html()?, start)?;
    out.write("graph.svg", &report.svg()?, start)
}

/// Numbers without pictures: profiles, features with names.
fn tabular(out: &Folder, recipe: &GromovDr, start: Instant) -> Result<()> {
    let samples = Matrix::from_fn(500, 6, |i, j| {
        [0.0, 4.0, 9.0][i % 3] * [1.0, -0.5, 0.2, 0.0, 1.5, -1.0][j] + 2.0 * noise(i, j)
    });
    let names = ["height", "width", "depth", "noise", "mass", "charge"].map(String::from);
    let model = recipe.clone().prototypes(20).fit(&samples)?;
    let report = Report::new(&model)
        .title("A table")
        .samples(&samples)
        .feature_names(names.to_vec())
        .classes(Classes {
            names: ["low", "middle", "high"].map(String::from).to_vec(),
            of_samples: (0..500).map(|i| i % 3).collect(),
        })
        .column("height", Column::Numbers((0..500).map(|i| samples[(i, 0)]).collect()));
    out.write("table.html", &report.html()?, start)?;
    out.write("table.svg", &report.svg()?, start)
}
