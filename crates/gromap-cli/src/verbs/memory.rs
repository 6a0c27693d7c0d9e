//! The memory that a fit takes: checked before it starts and printed by `--dry-run`. If it is too much, the error recommends
//! an option that was tried on the plan.

use gromap::Method;
use gromap::data::{Form, Shape};
use gromap::memory::{MemoryPlan, Part};
use gromap::options::Parameters;
use gromap::solve::Solver;
use serde_json::{Value, json};

use super::print;
use crate::args::options::{FitOptions, Precision};
use crate::args::values::{Bytes, List};
use crate::failure::{Failure, Outcome};
use crate::recipe::memory_plan;

/// The recipe that options ask for, and the numbers of prototypes of a path.
type Made<'a> = (&'a dyn Fn(&FitOptions) -> Parameters, Option<&'a [usize]>);

/// Refuses a fit that needs too much memory, and names an option that avoids it.
pub(super) fn check(options: &FitOptions, shape: &Shape, (make, levels): Made<'_>, limit: u64) -> Outcome<()> {
    let plan = memory_plan(&make(options), shape, levels);
    let Err(error) = plan.check(limit) else { return Ok(()) };
    let raise = format!("raise --max-memory to {}", option_value(plan.peak()));
    let hint = match way_out(options, shape, (make, levels), limit) {
        Some((option, peak)) => format!("{option} needs {}; or {raise}", Bytes(peak)),
        None => format!("{raise}, or keep fewer samples"),
    };
    Err(Failure::from(error).hint(hint))
}

/// A size that can be given as an option, rounded up.
pub(super) fn option_value(bytes: u64) -> String {
    let tenths = bytes.div_ceil((1 << 30) / 10);
    format!("{}.{}GiB", tenths / 10, tenths % 10)
}

/// The first change of a single option with which the fit stays within the limit.
fn way_out(options: &FitOptions, shape: &Shape, (make, levels): Made<'_>, limit: u64) -> Option<(String, u64)> {
    let fits = |option: &str, shape: &Shape, edit: &dyn Fn(&mut FitOptions)| {
        let mut changed = options.clone();
        edit(&mut changed);
        let peak = memory_plan(&make(&changed), shape, levels).peak();
        (peak <= limit).then(|| (option.to_owned(), peak))
    };
    let single = Shape { is_single: true, ..*shape };
    let precision = |options: &mut FitOptions| options.data.precision = Some(Precision::F32);
    let found = fits("--precision f32", &single, &precision).filter(|_| !shape.is_single);
    let solver = || fits("--solver vertex", shape, &|options| options.solver = Solver::Vertex);
    let found = found.or_else(|| (options.solver != Solver::Vertex).then(solver).flatten());
    if matches!(shape.form, Form::Pairs { .. } | Form::Graph { .. }) {
        return found;
    }
    let neighbors = || {
        let fewer = [90, 45, 30, 15].into_iter().filter(|&k| options.neighbors.is_some_and(|given| given > k));
        fewer.into_iter().find_map(|k| fits(&format!("--neighbors {k}"), shape, &|options| options.neighbors = Some(k)))
    };
    let perplexity = || {
        let narrow = |wanted: &f64| options.perplexity.0.iter().any(|given| given > wanted);
        let smaller = [30.0, 15.0, 10.0, 5.0].into_iter().filter(narrow).filter(|_| options.neighbors.is_none());
        let try_one = |wanted: f64| {
            let edit = |options: &mut FitOptions| options.perplexity = List(vec![wanted]);
            fits(&format!("--perplexity {wanted}"), shape, &edit)
        };
        smaller.into_iter().find_map(try_one).filter(|_| options.method.uses().perplexity)
    };
    let method = || {
        let others = [Method::default(), Method::Mds].into_iter().filter(|&method| method != options.method);
        others
            .into_iter()
            .find_map(|method| fits(&format!("--method {method}"), shape, &|options| options.method = method))
    };
    found.or_else(neighbors).or_else(perplexity).or_else(method)
}

/// Prints the plan.
pub(super) fn tell(options: &FitOptions, shape: &Shape, (make, levels): Made<'_>, limit: u64) -> Outcome<()> {
    let recipe = make(options);
    let what = (recipe.common().method.name(), recipe.prototypes().unwrap_or(shape.samples));
    tell_plan(options, shape, what, &memory_plan(&recipe, shape, levels), limit)
}

/// Prints the plan of a method, by its name, for so many prototypes.
pub(super) fn tell_plan(
    options: &FitOptions,
    shape: &Shape,
    what: (&str, usize),
    plan: &MemoryPlan,
    limit: u64,
) -> Outcome<()> {
    if options.run.json {
        return print(format_args!("{}\n", object(shape, what, plan, limit)));
    }
    let mut text = String::new();
    for Part { bytes, from, until, what, .. } in &plan.parts {
        let (size, from, until) = (Bytes(*bytes).to_string(), from.name(), until.name());
        text += &format!("{size:>10}  {from:<9} to {until:<9}  {what}\n");
    }
    text += &match shape.form {
        Form::Samples { features } => format!("\nsamples     {} of {features} features\n", shape.samples),
        Form::Views { views, features } => {
            format!("\nsamples     {} of {features} features in {views} views\n", shape.samples)
        }
        Form::Pairs { stored } => format!("\nsamples     {}, with {stored} entries for pairs of them\n", shape.samples),
        Form::Graph { stored } => format!("\nnodes       {}, with {stored} entries for edges of them\n", shape.samples),
    };
    text += &match plan.neighbors {
        Some(near) => format!("neighbours  {} of each sample, {} search\n", near.k, search(near.exact)),
        None => "neighbours  none are needed\n".into(),
    };
    let fits = if plan.peak() <= limit { "fits" } else { "does not fit" };
    let within = if limit == u64::MAX { "no limit".into() } else { format!("a limit of {}", Bytes(limit)) };
    text += &format!("memory      {} at most at once, which {fits} within {within}\n", Bytes(plan.peak()));
    print(text)
}

fn search(exact: bool) -> &'static str {
    if exact { "exact" } else { "approximate" }
}

fn object(shape: &Shape, (method, prototypes): (&str, usize), plan: &MemoryPlan, limit: u64) -> Value {
    let part = |part: &Part| json!({"what": part.what, "bytes": part.bytes, "from": part.from.name(), "until": part.until.name()});
    let features = match shape.form {
        Form::Samples { features } | Form::Views { features, .. } => Some(features),
        Form::Pairs { .. } | Form::Graph { .. } => None,
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "method": method,
        "n_samples": shape.samples,
        "n_features": features,
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
