//! Kinds of data as people have them, small, and different for every seed.

use gromap::Matrix;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A kind of data.
pub(crate) struct Family {
    /// What it is called.
    pub(crate) name: &'static str,
    make: fn(&mut Draw) -> Rows,
}

/// Samples, and how many groups there are that no method may overlook.
pub(crate) struct Drawn {
    pub(crate) samples: Matrix<'static, f64>,
    /// Groups that are far apart beside their width and not smaller than a few samples; 1 where there are none.
    pub(crate) groups: usize,
}

/// Rows of samples, and their groups.
struct Rows {
    rows: Vec<Vec<f64>>,
    groups: usize,
}

impl Family {
    /// The data of a seed: always the same.
    pub(crate) fn draw(&self, seed: u64) -> Drawn {
        let name = self.name.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ name));
        let Rows { rows, groups } = (self.make)(&mut draw);
        let columns = rows[0].len();
        let samples = Matrix::from_fn(rows.len(), columns, |i, j| rows[i][j]);
        Drawn { samples, groups }
    }
}

/// All kinds.
pub(crate) const FAMILIES: [Family; 18] = [
    Family { name: "normal", make: |draw| plain(draw, |draw| draw.normal()) },
    Family { name: "cauchy", make: |draw| plain(draw, |draw| draw.normal() / draw.normal()) },
    Family { name: "log-normal", make: |draw| plain(draw, |draw| (2.0 * draw.normal()).exp()) },
    Family { name: "integer grid", make: |draw| plain(draw, |draw| draw.below(6) as f64) },
    Family { name: "counts", make: counts },
    Family { name: "one-hot", make: one_hot },
    Family { name: "identity", make: identity },
    Family { name: "latitudes and longitudes", make: cities },
    Family { name: "unit vectors", make: unit_vectors },
    Family { name: "sparse text", make: sparse_text },
    Family { name: "windows of a series", make: windows },
    Family { name: "scales 1e-6 to 1e6", make: scales },
    Family { name: "half of it 1e-8", make: half_cold },
    Family { name: "small clusters", make: small_clusters },
    Family { name: "barely enough samples", make: barely_enough },
    Family { name: "copies", make: copies },
    Family { name: "denormals", make: |draw| scaled(draw, 1e-310) },
    Family { name: "1e30", make: |draw| scaled(draw, 1e30) },
];

/// Random numbers of one dataset.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0.random()
    }

    fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        self.0.random_range(low..=high)
    }

    /// Box and Muller's.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn normals(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.normal()).collect()
    }

    /// Knuth's: events until a product of uniforms falls below exp(−mean).
    fn poisson(&mut self, mean: f64) -> f64 {
        let limit = (-mean).exp();
        let (mut product, mut events) = (self.unit(), 0.0);
        while product > limit {
            product *= self.unit();
            events += 1.0;
        }
        events
    }
}

/// Independent entries.
fn plain(draw: &mut Draw, entry: impl Fn(&mut Draw) -> f64) -> Rows {
    let (samples, features) = (draw.between(40, 80), [1, 2, 5, 20, 50][draw.below(5)]);
    Rows { rows: (0..samples).map(|_| (0..features).map(|_| entry(draw)).collect()).collect(), groups: 1 }
}

/// Events of features whose rates differ by orders of magnitude: gene expression, words.
fn counts(draw: &mut Draw) -> Rows {
    let (samples, features) = (draw.between(40, 80), draw.between(10, 60));
    let rates: Vec<f64> = (0..features).map(|_| (1.5 * draw.normal() - 1.0).exp()).collect();
    let row = |draw: &mut Draw| {
        let depth = (0.5 * draw.normal()).exp();
        rates.iter().map(|rate| draw.poisson((depth * rate).min(50.0))).collect()
    };
    Rows { rows: (0..samples).map(|_| row(draw)).collect(), groups: 1 }
}

fn one_hot(draw: &mut Draw) -> Rows {
    let categories = draw.between(4, 10);
    let samples = categories * draw.between(4, 8);
    let row = |i: usize| (0..categories).map(|j| f64::from(u8::from(i % categories == j))).collect();
    Rows { rows: (0..samples).map(row).collect(), groups: categories }
}

/// Every sample as far from every other.
fn identity(draw: &mut Draw) -> Rows {
    let samples = draw.between(40, 80);
    Rows {
        rows: (0..samples).map(|i| (0..samples).map(|j| f64::from(u8::from(i == j))).collect()).collect(),
        groups: 1,
    }
}

/// Places around a few towns, some of which have most of them, at distances of all orders.
fn cities(draw: &mut Draw) -> Rows {
    let towns: Vec<[f64; 2]> = (0..12).map(|_| [160.0 * draw.unit() - 70.0, 360.0 * draw.unit() - 180.0]).collect();
    let row = |draw: &mut Draw| {
        let town = towns[(12.0 * draw.unit().powi(3)) as usize];
        let reach = 10f64.powf(4.0 * draw.unit() - 3.0);
        town.iter().map(|place| place + reach * draw.normal()).collect()
    };
    let samples = draw.between(40, 90);
    Rows { rows: (0..samples).map(|_| row(draw)).collect(), groups: 1 }
}

/// Directions whose first components say most, as those of text embeddings do.
fn unit_vectors(draw: &mut Draw) -> Rows {
    let (samples, features) = (draw.between(40, 80), draw.between(20, 80));
    let row = |draw: &mut Draw| {
        let row: Vec<f64> = (0..features).map(|j| draw.normal() / (1.0 + j as f64).powf(0.7)).collect();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.into_iter().map(|x| x / norm).collect()
    };
    Rows { rows: (0..samples).map(|_| row(draw)).collect(), groups: 1 }
}

/// Few words each of many: empty rows and short ones are near to all others.
fn sparse_text(draw: &mut Draw) -> Rows {
    let (samples, words) = (draw.between(60, 100), draw.between(60, 200));
    let row = |draw: &mut Draw| (0..words).map(|_| if draw.unit() < 0.02 { draw.unit() } else { 0.0 }).collect();
    let mut rows: Vec<Vec<f64>> = (0..samples).map(|_| row(draw)).collect();
    rows[0][0] = 1.0;
    Rows { rows, groups: 1 }
}

fn windows(draw: &mut Draw) -> Rows {
    let (samples, width) = (draw.between(40, 80), draw.between(4, 32));
    let mut level = 0.0;
    let series: Vec<f64> = (0..samples + width)
        .map(|_| {
            level += draw.normal();
            level
        })
        .collect();
    Rows { rows: series.windows(width).take(samples).map(<[f64]>::to_vec).collect(), groups: 1 }
}

fn scales(draw: &mut Draw) -> Rows {
    let each = draw.between(3, 7);
    let row =
        |at: usize, draw: &mut Draw| draw.normals(5).iter().map(|x| 10f64.powi((at / each) as i32 - 6) * x).collect();
    Rows { rows: (0..13 * each).map(|at| row(at, draw)).collect(), groups: 1 }
}

fn half_cold(draw: &mut Draw) -> Rows {
    let each = draw.between(20, 46);
    let row =
        |at: usize, draw: &mut Draw| draw.normals(5).iter().map(|x| if at < each { 1e-8 * x } else { *x }).collect();
    Rows { rows: (0..2 * each).map(|at| row(at, draw)).collect(), groups: 1 }
}

/// Clusters of 1, 2, 3, … samples, of all widths.
fn small_clusters(draw: &mut Draw) -> Rows {
    let mut rows = Vec::new();
    for size in 1..=draw.between(8, 12) {
        let (centre, width) = (draw.normals(4), 10f64.powf(-4.0 * draw.unit()));
        rows.extend((0..size).map(|_| centre.iter().map(|c| 20.0 * c + width * draw.normal()).collect()));
    }
    Rows { rows, groups: 1 }
}

/// As few samples as the default perplexity of 30 can be had with.
fn barely_enough(draw: &mut Draw) -> Rows {
    let samples = draw.between(32, 36);
    Rows { rows: (0..samples).map(|_| draw.normals(3)).collect(), groups: 1 }
}

/// Samples that were entered many times.
fn copies(draw: &mut Draw) -> Rows {
    let mut rows = Vec::new();
    let distinct = draw.between(4, 10);
    for _ in 0..distinct {
        let row: Vec<f64> = draw.normals(3).iter().map(|x| 10.0 * x).collect();
        rows.extend(std::iter::repeat_n(row, [2, 3, 5, 10, 30][draw.below(5)]));
    }
    // Now and then, something that was entered all the time.
    if draw.below(8) == 0 {
        rows.extend(std::iter::repeat_n(rows[0].clone(), 1000));
    }
    while rows.len() < 40 {
        rows.push(rows[rows.len() % distinct].clone());
    }
    Rows { rows, groups: distinct }
}

/// Three groups, in a unit that floating point hardly has.
fn scaled(draw: &mut Draw, unit: f64) -> Rows {
    let each = draw.between(14, 24);
    let row =
        |at: usize, draw: &mut Draw| draw.normals(4).iter().map(|x| unit * (x + 30.0 * (at % 3) as f64)).collect();
    Rows { rows: (0..3 * each).map(|at| row(at, draw)).collect(), groups: 3 }
}
