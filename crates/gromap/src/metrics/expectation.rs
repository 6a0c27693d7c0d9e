//! What mutual information is worth by chance: its mean over all ways to deal out N samples to groups
//! of given sizes (Vinh, Epps and Bailey, 2010).
//!
//! The number n of samples that groups of sizes a and b share is then hypergeometric, so that
//!
//! ```text
//! E = Σ_u Σ_v Σ_n n/N·log(N·n / (a_u·b_v))·p(n),   p(n) = C(a,n)·C(N−a, b−n) / C(N,b)
//! ```
//!
//! Instead of taking p from factorials, which loses seven digits at a million samples, it is walked
//! from its mode by the ratio of neighbours, both ways until nothing is left, and divided by its sum:
//! as many steps as p is wide, and full precision. Groups of equal sizes are added up together; there
//! are at most √(2N) sizes, so that even a group for each sample costs no more than N.

use rayon::prelude::*;

/// Shares of the mode's below which the rest of p, which falls ever faster, adds up to nothing.
const NEGLIGIBLE: f64 = 1e-30;

/// E for groups of sizes `truth` and `found`, both of sum `total`; whole numbers.
pub(super) fn expected_information(truth: &[f64], found: &[f64], total: f64) -> f64 {
    let (truth, found) = (multiplicities(truth), multiplicities(found));
    let of_size = |&(a, times_a): &(f64, f64)| {
        let of_pair = |&(b, times_b): &(f64, f64)| times_b * expected_term(a, b, total);
        times_a * found.iter().map(of_pair).sum::<f64>()
    };
    let partial: Vec<f64> = truth.par_iter().map(of_size).collect();
    partial.into_iter().sum()
}

/// Each size once, and how often it occurs.
fn multiplicities(sizes: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as f64)).collect()
}

/// Σ_n n/N·log(N·n/(a·b))·p(n) for one pair of groups.
fn expected_term(a: f64, b: f64, total: f64) -> f64 {
    let outside = total - a - b;
    let mode = ((a + 1.0) * (b + 1.0) / (total + 2.0)).floor().clamp((-outside).max(0.0), a.min(b));
    let value = |n: f64| if n == 0.0 { 0.0 } else { n / total * (n / a * (total / b)).ln() };
    let (mut mass, mut sum) = (1.0, value(mode));
    let mut walk = |step: f64, ratio: &dyn Fn(f64) -> f64| {
        let (mut n, mut p) = (mode, 1.0);
        loop {
            // Zero at the end of the range, where no more samples can be shared, or fewer.
            p *= ratio(n);
            n += step;
            if p < NEGLIGIBLE {
                break;
            }
            mass += p;
            sum += p * value(n);
        }
    };
    walk(1.0, &|n| (a - n) * (b - n) / ((n + 1.0) * (outside + n + 1.0)));
    walk(-1.0, &|n| n * (outside + n) / ((a - n + 1.0) * (b - n + 1.0)));
    sum / mass
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The classical formula, by logarithms of factorials.
    fn classical(truth: &[usize], found: &[usize], total: usize) -> f64 {
        let logs: Vec<f64> = std::iter::once(0.0)
            .chain((1..=total).scan(0.0, |sum, i| {
                *sum += (i as f64).ln();
                Some(*sum)
            }))
            .collect();
        let mut sum = 0.0;
        for &a in truth {
            for &b in found {
                for n in (a + b).saturating_sub(total).max(1)..=a.min(b) {
                    let log_p = logs[a] + logs[b] + logs[total - a] + logs[total - b]
                        - logs[total]
                        - logs[n]
                        - logs[a - n]
                        - logs[b - n]
                        - logs[total + n - a - b];
                    let value = n as f64 / total as f64 * ((total * n) as f64 / (a * b) as f64).ln();
                    sum += value * log_p.exp();
                }
            }
        }
        sum
    }

    fn check(truth: &[usize], found: &[usize], tolerance: f64) {
        let total = truth.iter().sum();
        assert_eq!(total, found.iter().sum::<usize>());
        let wide = |sizes: &[usize]| sizes.iter().map(|&s| s as f64).collect::<Vec<_>>();
        let (expected, walked) =
            (classical(truth, found, total), expected_information(&wide(truth), &wide(found), total as f64));
        assert!((walked - expected).abs() <= tolerance * expected.max(1e-3), "{walked} is not {expected}");
    }

    #[test]
    fn small_tables_are_those_of_the_classical_formula() {
        check(&[3, 3, 4], &[5, 5], 1e-12);
        check(&[1, 1, 1, 1], &[2, 1, 1], 1e-12);
        check(&[9, 1], &[1, 9], 1e-12);
        check(&[40, 30, 20, 10], &[25, 25, 25, 24, 1], 1e-12);
        check(&[10], &[4, 6], 1e-12);
    }

    #[test]
    fn lopsided_and_large_tables_are_too() {
        check(&[9_990, 9, 1], &[5_000, 4_000, 999, 1], 1e-9);
        check(&[6_000, 4_000], &[100; 100], 1e-9);
    }

    #[test]
    fn a_group_for_each_sample_is_worth_the_whole_entropy() {
        let (truth, alone) = ([600_000.0, 400_000.0], vec![1.0; 1_000_000]);
        let entropy = -(0.6 * 0.6f64.ln() + 0.4 * 0.4f64.ln());
        assert!((expected_information(&truth, &alone, 1e6) - entropy).abs() < 1e-12);
        assert!((expected_information(&alone, &alone, 1e6) - 1e6f64.ln()).abs() < 1e-11);
    }
}
