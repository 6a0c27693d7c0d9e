//! What a model says of itself under "details": names and values.

use gromap::Model;
use gromap::options::FittedTo;

/// Of what it was made, if not of samples, and how that went, as far as the map does not show it.
pub(crate) fn of(model: &Model) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    match model.fitted_to {
        FittedTo::Samples => {}
        FittedTo::Distances => facts.push(("made of", "distances".to_owned())),
        FittedTo::Similarity => facts.push(("made of", "a similarity".to_owned())),
        FittedTo::Graph => facts.push(("made of", "a graph".to_owned())),
    }
    let views = model.view_weights();
    if views.len() > 1 {
        facts.push(("weights of views", views.into_iter().map(percent).collect::<Vec<_>>().join(", ")));
    }
    if model.outcome.hardness < 1.0 {
        facts.push(("samples of one prototype alone", percent(model.outcome.hardness)));
    }
    let asked = model.parameters.prototypes().unwrap_or(model.plan.len());
    if asked > model.weights.len() {
        facts.push(("prototypes without samples", format!("{}, left out", asked - model.weights.len())));
    }
    if let Some(share) = strongest_link(model).filter(|_| model.fitted_to == FittedTo::Graph) {
        facts.push(("strongest link", format!("{} of all edges", percent(share))));
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
    use gromap::{Data, GromovDr, Matrix, Method, ViewWeights};

    use super::*;

    fn samples() -> Matrix<'static> {
        Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64)
    }

    fn values(model: &Model) -> Vec<String> {
        of(model).into_iter().map(|fact| fact.1).collect()
    }

    #[test]
    fn a_model_says_what_it_was_made_of_and_what_was_left_out() {
        let mut model = GromovDr::builder().method(Method::Pca).prototypes(4).fit(samples()).unwrap();
        assert_eq!(of(&model), []);
        model.outcome.hardness = 0.5;
        model.weights.pop();
        model.links = vec![(0, 1, 0.02), (0, 2, 0.125)];
        assert_eq!(values(&model), ["50.0 %", "1, left out"]);
        model.fitted_to = FittedTo::Graph;
        assert_eq!(values(&model), ["a graph", "50.0 %", "1, left out", "12.5 % of all edges"]);
    }

    #[test]
    fn a_model_of_several_views_says_what_they_weigh() {
        let views = [samples(), samples()];
        let recipe = GromovDr::builder().method(Method::Pca).prototypes(4);
        let model = recipe.view_weights(ViewWeights::Given(vec![1.0, 3.0])).fit(Data::views(&views)).unwrap();
        assert_eq!(of(&model), [("weights of views".to_owned(), "25.0 %, 75.0 %".to_owned())]);
    }
}
