//! a and b of UMAP's 1/(1 + a·d^{2b}), fitted by least squares to the curve that is 1 up to
//! `min_dist` and exp(−(d − min_dist)/spread) beyond, at 300 distances between 0 and 3·spread.

const POINTS: usize = 300;
const MAX_STEPS: usize = 500;

/// Levenberg–Marquardt from a = b = 1.
pub(super) fn fit(min_dist: f64, spread: f64) -> (f64, f64) {
    let points: Vec<(f64, f64)> = (0..POINTS)
        .map(|i| {
            let x = 3.0 * spread * i as f64 / (POINTS - 1) as f64;
            (x, if x < min_dist { 1.0 } else { (-(x - min_dist) / spread).exp() })
        })
        .collect();
    let (mut a, mut b, mut damping) = (1.0, 1.0, 1e-3);
    let mut here = normal_equations(&points, a, b);
    for _ in 0..MAX_STEPS {
        let [aa, ab, bb] = here.matrix;
        let (da, db) = (aa * (1.0 + damping), bb * (1.0 + damping));
        let determinant = da * db - ab * ab;
        let step = [
            (db * here.right[0] - ab * here.right[1]) / determinant,
            (da * here.right[1] - ab * here.right[0]) / determinant,
        ];
        let next = (a + step[0], b + step[1]);
        let there = normal_equations(&points, next.0, next.1);
        if next.0 > 0.0 && next.1 > 0.0 && there.error <= here.error {
            let small = step[0].abs() <= 1e-12 * a && step[1].abs() <= 1e-12 * b;
            (a, b) = next;
            here = there;
            damping *= 0.2;
            if small {
                break;
            }
        } else {
            damping *= 5.0;
            if damping > 1e15 {
                break;
            }
        }
    }
    (a, b)
}

struct NormalEquations {
    error: f64,
    /// JᵀJ: aa, ab, bb.
    matrix: [f64; 3],
    /// −Jᵀr.
    right: [f64; 2],
}

fn normal_equations(points: &[(f64, f64)], a: f64, b: f64) -> NormalEquations {
    let mut out = NormalEquations { error: 0.0, matrix: [0.0; 3], right: [0.0; 2] };
    for &(x, y) in points {
        let power = x.powf(2.0 * b);
        let value = 1.0 / (1.0 + a * power);
        let by_a = -value * value * power;
        let by_b = if x > 0.0 { by_a * a * 2.0 * x.ln() } else { 0.0 };
        let residual = value - y;
        out.error += residual * residual;
        out.matrix[0] += by_a * by_a;
        out.matrix[1] += by_a * by_b;
        out.matrix[2] += by_b * by_b;
        out.right[0] -= by_a * residual;
        out.right[1] -= by_b * residual;
    }
    out
}
