//! What each prototype is: its name, its weight, who belongs to it, and the features that set it apart.
//!
//! A feature is compared in units of its standard deviation σ over all samples: with m the mean of the members, m_rest that of all
//! others and m_near that of the nearest prototypes on the map,
//!
//! ```text
//! against the rest   (m − m_rest) / σ          against its neighbours   (m − m_near) / σ
//! ```
//!
//! The first says what the prototype is on the whole, the second what it is where it stands. Without the samples σ is the spread of
//! the prototypes' means.

use gromap::data::Samples;
use gromap::table::Kind;
use gromap::{Matrix, Model};

use crate::classes::Classes;
use crate::error::Error;
use crate::level::class_shares;
use crate::words::names_from_texts;

/// Features that are told of each prototype.
const FEATURES: usize = 3;
/// Members that are called typical.
const TYPICAL: usize = 3;
/// Prototypes on the map that are its neighbours.
const NEIGHBORS: usize = 3;
/// Standard deviations from which on a feature can name a prototype.
const NAMING: f64 = 0.5;
/// Features in such a name.
const NAMED: usize = 2;

/// What is known beside the model. What the model itself knows is used where nothing is given.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// The samples that were fitted to.
    pub samples: Option<Samples<'a>>,
    /// A text of each sample, whose words name the prototypes.
    pub texts: Option<&'a [String]>,
    /// The class of each sample.
    pub classes: Option<&'a Classes>,
    /// Names of the samples; row numbers from 0 where there are none.
    pub ids: Option<&'a [String]>,
    /// Names of the prototypes.
    pub names: Option<&'a [String]>,
}

/// A prototype in words and numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name: as given, by words, by its largest class, or by its features.
    pub name: String,
    /// Its share of the whole.
    pub weight: f64,
    /// Samples that belong to it more than to any other.
    pub members: usize,
    /// The members nearest to its mean, or to its place where there are no samples.
    pub typical: Vec<String>,
    /// What sets it apart, the most first.
    pub features: Vec<Contrast>,
}

/// A feature of a prototype against those of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// Its name, or its number from 0.
    pub feature: String,
    /// The mean of the members.
    pub mean: f64,
    /// Its distance to the mean of all others, in standard deviations.
    pub against_rest: f64,
    /// Its distance to the mean of the nearest prototypes on the map; nothing where there is no map.
    pub against_neighbors: Option<f64>,
}

/// Describes every prototype of a model.
///
/// ```
/// use gromap_report::{About, describe};
/// # let samples = gromap::Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
/// let model = gromap::GromovDr::builder().prototypes(3).perplexity(5.0).fit(&samples)?;
/// let groups = describe(&model, &About { samples: Some((&samples).into()), ..About::default() })?;
/// assert_eq!((groups.len(), groups.iter().map(|group| group.members).sum::<usize>()), (3, 60));
/// assert!(groups.iter().any(|group| group.features[0].against_rest > 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn describe(model: &Model, about: &About<'_>) -> Result<Vec<Group>, Error> {
    let (count, n) = (model.plan.len(), model.weights.len());
    let ids = about.ids.or(model.ids.as_deref());
    let checks = [
        ("number of texts", count, about.texts.map(<[_]>::len)),
        ("number of ids", count, ids.map(<[_]>::len)),
        ("number of classes of samples", count, about.classes.map(|classes| classes.of_samples.len())),
        ("names of prototypes", n, about.names.map(<[_]>::len)),
        ("rows of the samples", count, about.samples.as_ref().map(Samples::len)),
    ];
    for (what, expected, found) in checks {
        found.map_or(Ok(()), |found| Error::check_length(what, expected, found))?;
    }
    let features = model.features.as_ref();
    if let (Some(samples), Some(features)) = (&about.samples, features) {
        Error::check_length("features of the samples", features.columns(), samples.columns())?;
        samples.check_finite("samples")?;
    }
    let spread = features.map(|features| spread(features, &model.weights, about.samples.as_ref()));
    let members = members(model);
    let contrasts: Vec<Vec<Contrast>> = (0..n).map(|k| contrasts(model, spread.as_deref(), k)).collect();
    let names = names(model, about, &contrasts);
    let place = |sample: usize| ids.map_or_else(|| sample.to_string(), |ids| ids[sample].clone());
    let group = |((k, name), features): ((usize, String), Vec<Contrast>)| Group {
        name,
        weight: model.weights[k],
        members: members[k].len(),
        typical: typical(model, about, spread.as_deref(), k, &members[k]).into_iter().map(place).collect(),
        features: features.into_iter().take(FEATURES).collect(),
    };
    Ok(names.into_iter().enumerate().zip(contrasts).map(group).collect())
}

fn members(model: &Model) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); model.weights.len()];
    model.plan.labels().iter().zip(0..).for_each(|(&k, sample)| members[k as usize].push(sample));
    members
}

/// The standard deviation of every feature: over the samples, or over the prototypes.
fn spread(features: &Matrix<'_>, weights: &[f64], samples: Option<&Samples<'_>>) -> Vec<f64> {
    let p = features.columns();
    let mean = |j: usize| weights.iter().enumerate().map(|(k, weight)| weight * features[(k, j)]).sum::<f64>();
    let means: Vec<f64> = (0..p).map(mean).collect();
    let mut squares = vec![0.0; p];
    let mut add = |row: &mut dyn Iterator<Item = f64>, weight: f64| {
        squares.iter_mut().zip(row.zip(&means)).for_each(|(sum, (x, mean))| *sum += weight * (x - mean) * (x - mean));
    };
    match samples {
        None => (0..weights.len()).for_each(|k| add(&mut features.row(k).iter().copied(), weights[k])),
        Some(Samples::F32(m)) => {
            (0..m.rows()).for_each(|i| add(&mut m.row(i).iter().map(|&x| f64::from(x)), 1.0 / m.rows() as f64));
        }
        Some(Samples::F64(m)) => (0..m.rows()).for_each(|i| add(&mut m.row(i).iter().copied(), 1.0 / m.rows() as f64)),
    }
    // Rounding is no spread.
    let known = |(square, mean): (f64, &f64)| if square > 1e-20 * mean * mean { square.sqrt() } else { 0.0 };
    squares.into_iter().zip(&means).map(known).collect()
}

/// All features that vary, the one that sets the prototype apart most first.
fn contrasts(model: &Model, spread: Option<&[f64]>, k: usize) -> Vec<Contrast> {
    let (Some(features), Some(spread)) = (&model.features, spread) else { return Vec::new() };
    let weights = &model.weights;
    let mean_of = |others: &[usize], j: usize| {
        let whole: f64 = others.iter().map(|&l| weights[l]).sum();
        (whole > 0.0).then(|| others.iter().map(|&l| weights[l] * features[(l, j)]).sum::<f64>() / whole)
    };
    let rest: Vec<usize> = (0..weights.len()).filter(|&l| l != k).collect();
    let near = neighbors(model, k);
    let name = |j: usize| model.feature_names.as_ref().map_or_else(|| j.to_string(), |names| names[j].clone());
    let contrast = |j: usize| {
        let mean = features[(k, j)];
        let against = |other: Option<f64>| other.map(|other| (mean - other) / spread[j]);
        let against_rest = against(mean_of(&rest, j)).unwrap_or(0.0);
        Contrast { feature: name(j), mean, against_rest, against_neighbors: against(mean_of(&near, j)) }
    };
    let mut found: Vec<Contrast> = (0..features.columns()).filter(|&j| spread[j] > 0.0).map(contrast).collect();
    found.sort_by(|a, b| b.against_rest.abs().total_cmp(&a.against_rest.abs()));
    found
}

/// The nearest prototypes on the map.
fn neighbors(model: &Model, k: usize) -> Vec<usize> {
    if !model.is_map() {
        return Vec::new();
    }
    let places = &model.prototypes;
    let gap = |l: usize| places.row(k).iter().zip(places.row(l)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut others: Vec<(f64, usize)> = (0..places.rows()).filter(|&l| l != k).map(|l| (gap(l), l)).collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    others.into_iter().take(NEIGHBORS).map(|(_, l)| l).collect()
}

/// The members nearest to the mean, in standard deviations, or on the map.
fn typical(model: &Model, about: &About<'_>, spread: Option<&[f64]>, k: usize, members: &[u32]) -> Vec<usize> {
    let places = model.is_map().then(|| model.sample_places());
    let apart = |sample: usize| match (&about.samples, &model.features, spread, &places) {
        (Some(samples), Some(features), Some(spread), _) => {
            let gap =
                |(j, x): (usize, f64)| if spread[j] > 0.0 { ((x - features[(k, j)]) / spread[j]).powi(2) } else { 0.0 };
            match samples {
                Samples::F32(m) => m.row(sample).iter().map(|&x| f64::from(x)).enumerate().map(gap).sum(),
                Samples::F64(m) => m.row(sample).iter().copied().enumerate().map(gap).sum(),
            }
        }
        (_, _, _, Some(places)) => {
            places.row(sample).iter().zip(model.prototypes.row(k)).map(|(a, b)| (a - b) * (a - b)).sum()
        }
        _ => 0.0,
    };
    let mut order: Vec<(f64, usize)> =
        members.iter().map(|&sample| (apart(sample as usize), sample as usize)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.into_iter().take(TYPICAL).map(|(_, sample)| sample).collect()
}

/// A name of each prototype: as given, by words, as the model has it, by its largest class, or by its features.
fn names(model: &Model, about: &About<'_>, contrasts: &[Vec<Contrast>]) -> Vec<String> {
    let n = model.weights.len();
    let kept;
    let classes = match (about.classes, &model.classes) {
        (Some(classes), _) => Some(classes),
        (None, Some((names, of_samples))) => {
            kept = Classes { names: names.clone(), of_samples: of_samples.clone() };
            Some(&kept)
        }
        (None, None) => None,
    };
    let given = match (about.names, about.texts, &model.prototype_names, classes) {
        (Some(names), _, _, _) => names.to_vec(),
        (_, Some(texts), _, _) => names_from_texts(model, texts),
        (_, _, Some(names), _) => names.clone(),
        (_, _, _, Some(classes)) => {
            let shares = class_shares(&model.plan, &classes.of_samples);
            let largest =
                |shares: &Vec<(u32, f64)>| shares.first().map(|share| classes.names[share.0 as usize].clone());
            shares.iter().map(|shares| largest(shares).unwrap_or_default()).collect()
        }
        _ => vec![String::new(); n],
    };
    let or_features = |(name, contrasts): (String, &Vec<Contrast>)| {
        if name.trim().is_empty() { by_features(model, contrasts) } else { name }
    };
    given.into_iter().zip(contrasts).map(or_features).collect()
}

/// A name such as "high revenue, low visits"; values of text columns that are frequent go by themselves.
fn by_features(model: &Model, contrasts: &[Contrast]) -> String {
    let categories = model.table.iter().flat_map(|table| &table.fields);
    let values: Vec<String> = categories
        .filter_map(|field| match &field.kind {
            Kind::Category(values) => Some(values.iter().map(|value| format!("{}={value}", field.name))),
            _ => None,
        })
        .flatten()
        .collect();
    let word = |contrast: &Contrast| match (values.contains(&contrast.feature), contrast.against_rest > 0.0) {
        (true, true) => Some(contrast.feature.replacen('=', " ", 1)),
        (true, false) => None,
        (false, true) => Some(format!("high {}", contrast.feature)),
        (false, false) => Some(format!("low {}", contrast.feature)),
    };
    let told = contrasts.iter().filter(|contrast| contrast.against_rest.abs() >= NAMING);
    told.filter_map(word).take(NAMED).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups that differ in the first feature, and a bit in the second.
    fn model() -> (Matrix<'static>, Model) {
        let value = |i: usize, j: usize| {
            (if j == 0 { 10.0 } else { -1.0 }) * (i % 2) as f64 + ((i * 7 + j * 3) % 5) as f64 / 4.0
        };
        let samples = Matrix::from_fn(40, 2, value);
        let names = ["revenue".to_owned(), "visits".into()];
        let run = gromap::Run { feature_names: Some(&names), ..gromap::Run::default() };
        let recipe = gromap::GromovDr::builder().method(gromap::Method::Pca).prototypes(2);
        let model = recipe.fit_with(&(&samples).into(), run).unwrap();
        (samples, model)
    }

    #[test]
    fn contrasts_are_those_of_the_definition() {
        let (samples, model) = model();
        let about = About { samples: Some((&samples).into()), ..About::default() };
        let groups = describe(&model, &about).unwrap();
        let labels = model.plan.labels();
        for (k, group) in groups.iter().enumerate() {
            let side = |inside: bool| (0..40).filter(|&i| (labels[i] as usize == k) == inside).collect::<Vec<_>>();
            let mean =
                |rows: &[usize], j: usize| rows.iter().map(|&i| samples[(i, j)]).sum::<f64>() / rows.len() as f64;
            for contrast in &group.features {
                let j = usize::from(contrast.feature == "visits");
                let all: Vec<usize> = (0..40).collect();
                let centre = mean(&all, j);
                let variance = all.iter().map(|&i| (samples[(i, j)] - centre).powi(2)).sum::<f64>() / 40.0;
                let expected = (mean(&side(true), j) - mean(&side(false), j)) / variance.sqrt();
                assert!((contrast.against_rest - expected).abs() < 1e-9, "{contrast:?} {expected}");
                // The only other prototype is the neighbour.
                assert!((contrast.against_neighbors.unwrap() - expected).abs() < 1e-9);
            }
            assert_eq!((group.members, group.features[0].feature.as_str()), (20, "revenue"));
        }
        let mut names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["high revenue, low visits", "low revenue, high visits"]);
    }

    #[test]
    fn names_come_from_what_is_known_best() {
        let (_, mut model) = model();
        let labels = model.plan.labels();
        let texts: Vec<String> = labels.iter().map(|k| format!("a {}", ["pear", "plum"][*k as usize])).collect();
        let name = |model: &Model, about: &About<'_>| describe(model, about).unwrap()[0].name.clone();
        model.classes = Some((vec!["x".into(), "y".into()], labels.clone()));
        assert_eq!(name(&model, &About::default()), "x");
        model.prototype_names = Some(vec!["one".into(), "two".into()]);
        assert_eq!(name(&model, &About::default()), "one");
        assert_eq!(name(&model, &About { texts: Some(&texts), ..About::default() }), "pear");
        let given = ["mine".to_owned(), "yours".into()];
        assert_eq!(name(&model, &About { texts: Some(&texts), names: Some(&given), ..About::default() }), "mine");
        let short = describe(&model, &About { texts: Some(&texts[1..]), ..About::default() }).unwrap_err();
        assert!(short.to_string().contains("number of texts"), "{short}");
    }
}
