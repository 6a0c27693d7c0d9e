//! Fits of natural data of every kind, with every method and every loss it takes, for n from 1 to N.
//!
//! Asserted of every fit: it is not refused; places, weights and losses are finite; the loss never rises; the weights
//! sum to one; at least as many prototypes are used as there are groups that nobody could overlook, or as many as were
//! asked for; with one thread and with three the model has the same bytes; a symmetric entropic affinity has rows of sum one,
//! or a warning names the rows that have not, and the fit does not call itself converged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gromap::affinity::SymmetricEntropic;
use gromap::observe::StopReason;
use gromap::{Error, GromovClustering, GromovDr, Loss, Matrix, Method, Model};

use crate::natural::{Drawn, FAMILIES, Family};

/// What to try.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Datasets of each family
    #[arg(long, default_value_t = 40)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Only the families whose name contains this
    #[arg(long)]
    family: Option<String>,
    /// Only this method
    #[arg(long)]
    method: Option<Method>,
}

/// Perplexity where there are enough samples, the default.
const PERPLEXITY: f64 = 30.0;
/// Samples beyond which one prototype for each takes too long.
const MANY: usize = 200;
/// Rounding of a loss, as a share of it.
const ROUNDING: f64 = 1e-9;
/// The tolerance of a symmetric entropic affinity, and what single precision adds.
const ROW_SUM: f64 = 1.1e-3;

/// Whether every promise held.
pub(crate) fn run(options: &Options) -> bool {
    let started = Instant::now();
    let threads = [1, 3].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let [Ok(one), Ok(three)] = threads else {
        println!("threads could not be started");
        return false;
    };
    println!("{:26} {:>6} {:>8} {:>9} {:>8}", "family", "fits", "refused", "warnings", "broken");
    let mut total = Tally::default();
    for family in FAMILIES.iter().filter(|family| options.family.as_ref().is_none_or(|part| family.name.contains(part)))
    {
        let cases: Vec<Case> = cases(family, options).collect();
        let tally = attack_all(&cases, [&one, &three]);
        println!(
            "{:26} {:>6} {:>8} {:>9} {:>8}",
            family.name,
            tally.fits,
            tally.refused,
            tally.warned,
            tally.broken.len()
        );
        tally.broken.iter().take(20).for_each(|broken| println!("    {broken}"));
        total = total.and(tally);
    }
    let Tally { fits, refused, warned, broken } = &total;
    let seconds = started.elapsed().as_secs_f64();
    println!("{:26} {fits:>6} {refused:>8} {warned:>9} {:>8}   in {seconds:.0} s", "all", broken.len());
    let mut kinds = BTreeMap::new();
    broken.iter().for_each(|broken| *kinds.entry(broken.promise).or_insert(0) += 1);
    kinds.iter().for_each(|(promise, times)| println!("    {times} × {promise}"));
    broken.is_empty()
}

/// Attacks case after case on every core. Threads of their own: one of a pool that waits for another pool takes up more
/// and more work of its own, until its stack ends.
fn attack_all(cases: &[Case<'_>], pools: [&rayon::ThreadPool; 2]) -> Tally {
    let next = AtomicUsize::new(0);
    let attack = || {
        let mut tally = Tally::default();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            tally = tally.and(case.attack(pools));
        }
        tally
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(attack)).collect();
        let tallies = threads.into_iter().map(|thread| thread.join().expect("an attack that does not panic"));
        tallies.fold(Tally::default(), Tally::and)
    })
}

/// What was tried, and what came of it.
#[derive(Default)]
struct Tally {
    fits: usize,
    /// Losses that the method's similarity does not allow.
    refused: usize,
    warned: usize,
    broken: Vec<Broken>,
}

impl Tally {
    fn and(mut self, other: Self) -> Self {
        self.fits += other.fits;
        self.refused += other.refused;
        self.warned += other.warned;
        self.broken.extend(other.broken);
        self
    }
}

/// A promise that a fit broke.
struct Broken {
    promise: &'static str,
    case: String,
    details: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.case, self.promise, self.details)
    }
}

/// One dataset and one method.
struct Case<'a> {
    family: &'a Family,
    seed: u64,
    method: Method,
}

fn cases<'a>(family: &'a Family, options: &Options) -> impl Iterator<Item = Case<'a>> {
    let methods = Method::ALL.iter().copied().filter(|method| options.method.is_none_or(|only| only == *method));
    let seeds = options.from..options.from + options.seeds;
    seeds.flat_map(move |seed| methods.clone().map(move |method| Case { family, seed, method }))
}

impl Case<'_> {
    /// Fewer samples for methods that would take seconds a fit.
    fn thinned(&self, drawn: Drawn) -> Drawn {
        let Drawn { samples, .. } = &drawn;
        let few = match self.method {
            Method::Sne | Method::Umap => 36,
            _ => samples.rows(),
        };
        if samples.rows() <= few {
            return drawn;
        }
        // From all over, and some that follow each other: copies may come back at any distance.
        let row = |i: usize| if i.is_multiple_of(2) { i * samples.rows() / few } else { i };
        Drawn { samples: Matrix::from_fn(few, samples.columns(), |i, j| samples[(row(i), j)]), groups: 1 }
    }

    fn attack(&self, pools: [&rayon::ThreadPool; 2]) -> Tally {
        let Drawn { samples, groups } = self.thinned(self.family.draw(self.seed));
        let mut tally = Tally::default();
        let at = self.seed as usize + Method::ALL.iter().position(|method| *method == self.method).unwrap_or(0);
        let many = if samples.rows() > MANY { 10 } else { samples.rows() };
        let sizes = [1, 2, 3, 10, 20, many / 2, many - 1, many];
        // The loss of the method, and one of the three: each meets every size as seeds go on.
        let losses = [Loss::Square, Loss::Kl, Loss::BinaryCrossEntropy];
        for (turn, loss) in [None, Some(losses[at % losses.len()])].into_iter().enumerate() {
            let n = sizes[(at + 3 * turn) % sizes.len()].min(samples.rows());
            let try_one = Try { case: self, samples: &samples, groups, n, loss };
            try_one.map(pools, &mut tally);
            if turn == 0 {
                try_one.clusters(&mut tally);
                try_one.affinity(&mut tally);
            }
        }
        tally
    }
}

/// One fit.
struct Try<'a> {
    case: &'a Case<'a>,
    samples: &'a Matrix<'static, f64>,
    groups: usize,
    n: usize,
    loss: Option<Loss>,
}

impl Try<'_> {
    fn perplexity(&self) -> f64 {
        PERPLEXITY.min((self.samples.rows() - 1) as f64 - 0.5)
    }

    fn broken(&self, tally: &mut Tally, promise: &'static str, details: impl ToString) {
        let &Self { case, n, loss, samples, .. } = self;
        let loss = loss.map_or("its own".to_owned(), |loss| loss.to_string());
        let size = format!("{}×{}", samples.rows(), samples.columns());
        let case = format!("{}, seed {}, {size}, {}, n = {n}, loss {loss}", case.family.name, case.seed, case.method);
        tally.broken.push(Broken { promise, case, details: details.to_string() });
    }

    fn map(&self, pools: [&rayon::ThreadPool; 2], tally: &mut Tally) {
        let recipe = GromovDr::builder()
            .method(self.case.method)
            .prototypes(self.n)
            .perplexity(self.perplexity())
            .loss(self.loss)
            .seed(self.case.seed);
        let models = pools.map(|pool| pool.install(|| recipe.fit(self.samples)));
        tally.fits += 1;
        match models {
            [Ok(one), Ok(three)] => {
                if one.to_bytes() != three.to_bytes() {
                    self.broken(tally, "the same bytes on three threads", "other bytes");
                }
                self.check(&one, tally);
            }
            [Err(error), Err(_)] if self.may_refuse(&error) => tally.refused += 1,
            [Err(error), _] | [_, Err(error)] => self.broken(tally, "a map", error),
        }
    }

    /// A loss that the method has no domain for is refused, and so are inner products of samples beyond any number; the
    /// error says so.
    fn may_refuse(&self, error: &Error) -> bool {
        match error {
            Error::Name { .. } | Error::Unsupported(_) | Error::Domain { .. } => self.loss.is_some(),
            Error::Parameter { name, .. } => *name == "largest distance between samples",
            _ => false,
        }
    }

    fn clusters(&self, tally: &mut Tally) {
        let clusters = self.n.min(self.samples.rows());
        let recipe = GromovClustering::builder(clusters)
            .method(self.case.method)
            .perplexity(self.perplexity())
            .seed(self.case.seed);
        tally.fits += 1;
        match recipe.fit(self.samples) {
            Ok(model) => self.check(&model, tally),
            Err(error) if self.may_refuse(&error) => tally.refused += 1,
            Err(error) => self.broken(tally, "clusters", error),
        }
    }

    /// What every model promises.
    fn check(&self, model: &Model, tally: &mut Tally) {
        let outcome = &model.outcome;
        let places = model.prototypes.values().iter().chain(&model.weights).chain(&outcome.history);
        if let Some(value) = places.chain([&outcome.loss]).find(|value| !value.is_finite()) {
            self.broken(tally, "finite numbers", value);
        }
        if let Some(pair) =
            outcome.history.windows(2).find(|pair| pair[1] > pair[0] + ROUNDING * pair[0].abs().max(1.0))
        {
            self.broken(tally, "a loss that never rises", format!("{} to {}", pair[0], pair[1]));
        }
        let mass: f64 = model.weights.iter().sum();
        if (mass - 1.0).abs() > 1e-6 {
            self.broken(tally, "weights of sum one", mass);
        }
        let used = model.weights.iter().filter(|weight| **weight > 0.0).count();
        if used < self.n.min(self.groups) {
            self.broken(tally, "as many prototypes as groups", format!("{used} used, {} groups", self.groups));
        }
        let inexact = outcome.warnings.iter().any(|warning| warning.contains("row"));
        tally.warned += usize::from(!outcome.warnings.is_empty());
        if inexact && outcome.stop == StopReason::Converged {
            self.broken(tally, "not converged on an inexact similarity", &outcome.warnings[0]);
        }
    }

    /// Row sums of the symmetric entropic affinity, or rows that a warning names.
    fn affinity(&self, tally: &mut Tally) {
        if self.case.method != Method::TSnekhorn {
            return;
        }
        let recipe = SymmetricEntropic { perplexity: self.perplexity(), ..SymmetricEntropic::default() };
        let solution = match recipe.solve_samples(self.samples) {
            Ok(solution) => solution,
            Err(error) => return self.broken(tally, "an affinity", error),
        };
        let affinity = &solution.affinity;
        let sum = |i: usize| affinity.row(i).1.iter().map(|&p| f64::from(p)).sum::<f64>();
        let is_off = |i: &usize| sum(*i).is_nan() || (sum(*i) - 1.0).abs() > ROW_SUM;
        let off: Vec<usize> = (0..self.samples.rows()).filter(is_off).collect();
        if solution.converged && !off.is_empty() {
            self.broken(tally, "row sums of one", format!("row {}: {}", off[0], sum(off[0])));
        }
        if !solution.converged && solution.unsolved.is_empty() {
            self.broken(tally, "rows named where not solved", solution.row_sum_error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slice of `attack families --seeds 40`.
    #[test]
    fn a_dataset_of_every_family_is_fitted_with_every_method() {
        assert!(run(&Options { seeds: 1, from: 1000, family: None, method: None }));
    }
}
