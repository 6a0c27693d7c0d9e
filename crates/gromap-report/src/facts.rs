//! What a model says of itself under "details": names and values.

use gromap::Model;
use gromap::options::FittedTo;

/// Of what it was made and how that went, as far as the map does not show it.
pub(crate) fn of(model: &Model) -> Vec<(String, String)> {
    let made_of = match model.fitted_to {
        FittedTo::Samples => "samples",
        FittedTo::Distances => "distances",
        FittedTo::Similarity => "a similarity",
        FittedTo::Graph => "a graph",
    };
    let mut facts = vec![("made of", made_of.to_owned())];
    if model.outcome.hardness < 1.0 {
        facts.push(("samples of one prototype alone", percent(model.outcome.hardness)));
    }
    let asked = model.parameters.prototypes().unwrap_or(model.plan.len());
    if asked > model.weights.len() {
        facts.push(("prototypes without samples", format!("{}, left out", asked - model.weights.len())));
    }
    if let Some(share) = strongest_link(model) {
        let what = if model.fitted_to == FittedTo::Graph { "edges" } else { "similarity" };
        facts.push(("strongest link", format!("{} of all {what}", percent(share))));
    }
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The share of the strongest link.
fn strongest_link(model: &Model) -> Option<f64> {
    model.links.iter().map(|link| link.2).max_by(f64::total_cmp)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use gromap::{GromovDr, Matrix, Method};

    use super::*;

    #[test]
    fn a_model_says_what_it_was_made_of_and_what_was_left_out() {
        let samples = Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64);
        let mut model = GromovDr::builder().method(Method::Pca).prototypes(4).fit(&samples).unwrap();
        assert_eq!(of(&model), [("made of".to_owned(), "samples".to_owned())]);
        model.outcome.hardness = 0.5;
        model.weights.pop();
        model.links = vec![(0, 1, 0.02), (0, 2, 0.125)];
        let values: Vec<String> = of(&model).into_iter().map(|fact| fact.1).collect();
        assert_eq!(values, ["samples", "50.0 %", "1, left out", "12.5 % of all similarity"]);
    }
}
