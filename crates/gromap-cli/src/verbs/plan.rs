//! The plan of memory: checked before a fit, told by `--dry-run`, and, when it is too large, with a way out that was tried.

use gromap::{MemoryPlan, Method};
use serde_json::{Value, json};

use super::print;
use crate::args::options::{FitOptions, Precision, Solver};
use crate::args::values::{Bytes, List};
use crate::data::{Content, Dataset, Shape, Values};
use crate::failure::{Failure, Outcome};
use crate::recipe::Recipe;

/// What decides how much memory a fit takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    samples: usize,
    features: usize,
    /// Entries of a given matrix of pairs.
    stored: Option<u64>,
    is_single: bool,
}

impl Size {
    pub(super) fn of_shape(shape: Shape, options: &FitOptions) -> Self {
        let stored = options.precomputed.map(|_| (shape.rows as u64).saturating_mul(shape.columns as u64));
        Self { samples: shape.rows, features: shape.columns, stored, is_single: shape.is_single }
    }

    pub(super) fn of_data(dataset: &Dataset, options: &FitOptions) -> Self {
        match &dataset.content {
            Content::Dense(samples) => {
                let is_single = matches!(samples.values, Values::F32(_));
                Self::of_shape(Shape { rows: samples.rows, columns: samples.columns, is_single }, options)
            }
            Content::Sparse(rows) => Self {
                samples: rows.len(),
                features: rows.width(),
                stored: Some(rows.stored() as u64),
                is_single: rows.is_single(),
            },
        }
    }

    fn plan(&self, recipe: &Recipe) -> MemoryPlan {
        match (self.stored, self.is_single) {
            (None, true) => recipe.plan::<f32>(self.samples, self.features),
            (None, false) => recipe.plan::<f64>(self.samples, self.features),
            (Some(stored), true) => recipe.plan_of_similarity::<f32>(self.samples, stored),
            (Some(stored), false) => recipe.plan_of_similarity::<f64>(self.samples, stored),
        }
    }
}

/// Refuses a fit that would hold too much, and names the option that avoids it.
pub(super) fn check(
    options: &FitOptions,
    size: &Size,
    make: &dyn Fn(&FitOptions) -> Recipe,
    limit: u64,
) -> Outcome<()> {
    let plan = size.plan(&make(options));
    let Err(error) = plan.check(limit) else { return Ok(()) };
    let raise = format!("raise --max-memory to {}", option_value(plan.peak()));
    let hint = match way_out(options, size, make, limit) {
        Some((option, peak)) => format!("{option} needs {}; or {raise}", Bytes(peak)),
        None => format!("{raise}, or keep fewer samples"),
    };
    Err(Failure::from(error).hint(hint))
}

/// A size that can be given as an option, rounded up.
fn option_value(bytes: u64) -> String {
    let tenths = bytes.div_ceil((1 << 30) / 10);
    format!("{}.{}GiB", tenths / 10, tenths % 10)
}

/// The first change of one option with which the fit would do.
fn way_out(
    options: &FitOptions,
    size: &Size,
    make: &dyn Fn(&FitOptions) -> Recipe,
    limit: u64,
) -> Option<(String, u64)> {
    let fits = |option: &str, size: Size, edit: &dyn Fn(&mut FitOptions)| {
        let mut changed = options.clone();
        edit(&mut changed);
        let peak = size.plan(&make(&changed)).peak();
        (peak <= limit).then(|| (option.to_owned(), peak))
    };
    let single = Size { is_single: true, ..*size };
    let precision = |options: &mut FitOptions| options.data.precision = Some(Precision::F32);
    let found = fits("--precision f32", single, &precision).filter(|_| !size.is_single);
    let solver = || fits("--solver vertex", *size, &|options| options.solver = Solver::Vertex);
    let found = found.or_else(|| (options.solver != Solver::Vertex).then(solver).flatten());
    if size.stored.is_some() {
        return found;
    }
    let neighbors = || {
        let fewer = [90, 45, 30, 15].into_iter().filter(|&k| options.neighbors.is_some_and(|given| given > k));
        fewer.into_iter().find_map(|k| fits(&format!("--neighbors {k}"), *size, &|options| options.neighbors = Some(k)))
    };
    let perplexity = || {
        let narrow = |wanted: &f64| options.perplexity.0.iter().any(|given| given > wanted);
        let smaller = [30.0, 15.0, 10.0, 5.0].into_iter().filter(narrow).filter(|_| options.neighbors.is_none());
        let try_one = |wanted: f64| {
            let edit = |options: &mut FitOptions| options.perplexity = List(vec![wanted]);
            fits(&format!("--perplexity {wanted}"), *size, &edit)
        };
        smaller.into_iter().find_map(try_one).filter(|_| options.method.has_perplexity())
    };
    let method = || {
        let others = [Method::TSnekhorn, Method::Mds].into_iter().filter(|&method| method != options.method);
        others
            .into_iter()
            .find_map(|method| fits(&format!("--method {method}"), *size, &|options| options.method = method))
    };
    found.or_else(neighbors).or_else(perplexity).or_else(method)
}

/// Prints the plan.
pub(super) fn tell(
    options: &FitOptions,
    size: &Size,
    recipe: &Recipe,
    prototypes: Option<usize>,
    limit: u64,
) -> Outcome<()> {
    let plan = size.plan(recipe);
    let prototypes = prototypes.unwrap_or(size.samples);
    if options.run.json {
        return print(format_args!("{}\n", object(options, size, &plan, prototypes, limit)));
    }
    let mut text = String::new();
    for gromap::Part { bytes, from, until, what, .. } in &plan.parts {
        let (size, from, until) = (Bytes(*bytes).to_string(), from.to_string(), until.to_string());
        text += &format!("{size:>10}  {from:<9} to {until:<9}  {what}\n");
    }
    text += &match size.stored {
        None => format!("\nsamples     {} of {} features\n", size.samples, size.features),
        Some(stored) => format!("\nsamples     {}, with {stored} entries for pairs of them\n", size.samples),
    };
    text += &match plan.neighbors {
        Some(near) => format!("neighbours  {} of each sample, {} search\n", near.k, search(near.exact)),
        None => "neighbours  none are sought\n".into(),
    };
    let fits = if plan.peak() <= limit { "fits" } else { "does not fit" };
    let within = if limit == u64::MAX { "no limit".into() } else { format!("a limit of {}", Bytes(limit)) };
    text += &format!("memory      {} at most at once, which {fits} within {within}\n", Bytes(plan.peak()));
    print(text)
}

fn search(exact: bool) -> &'static str {
    if exact { "exact" } else { "approximate" }
}

fn object(options: &FitOptions, size: &Size, plan: &MemoryPlan, prototypes: usize, limit: u64) -> Value {
    let part = |part: &gromap::Part| {
        let (from, until) = (part.from.to_string(), part.until.to_string());
        json!({"what": part.what, "bytes": part.bytes, "from": from, "until": until})
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "method": options.method.name(),
        "n_samples": size.samples,
        "n_features": size.stored.is_none().then_some(size.features),
        "n_prototypes": prototypes,
        "neighbors": plan.neighbors.map(|near| json!({"k": near.k, "search": search(near.exact)})),
        "memory": {
            "peak_bytes": plan.peak(),
            "limit_bytes": (limit != u64::MAX).then_some(limit),
            "fits": plan.peak() <= limit,
            "parts": plan.parts.iter().map(part).collect::<Vec<_>>(),
        },
    })
}
