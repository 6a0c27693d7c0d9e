//! The steps end at the minimum that a search over all places finds, never go up, and stay in the cell.

use super::*;
use crate::embedding::objective::Objective;

const UMAP: Profile = Profile::Umap { a: 1.58, b: 0.895 };

/// Every form of the row: by rows, as it is, and with binary cross-entropy.
const FORMS: [(Profile, Normalization, Loss); 6] = [
    (Profile::HeavyTailed, Normalization::DoublyStochastic, Loss::Kl),
    (Profile::Student, Normalization::DoublyStochastic, Loss::Kl),
    (Profile::Student, Normalization::Measure, Loss::Kl),
    (Profile::Gaussian, Normalization::Rows, Loss::Kl),
    (Profile::Student, Normalization::Cells, Loss::Square),
    (UMAP, Normalization::None, Loss::BinaryCrossEntropy),
];

/// Prototypes on a bent lattice, about 1.5 apart.
fn prototypes(n: usize, dims: usize) -> Matrix<'static> {
    Matrix::from_fn(n, dims, |k, c| {
        let step = if dims == 1 { k } else { [k % 3, k / 3 % 3, k / 9][c] };
        1.5 * step as f64 + 0.3 * ((k * (c + 2)) as f64).sin()
    })
}

/// A row that sees its own prototype most and some others.
fn products(n: usize, own: usize, turn: usize) -> Vec<f64> {
    let mut row = vec![0.0; n];
    (0..n)
        .filter(|l| (l + turn).is_multiple_of(2))
        .for_each(|l| row[l] = 0.02 + 0.03 * ((l * 7 + turn * 3) % 5) as f64 / 5.0);
    row[own] = 0.3;
    row
}

fn with_map(form: (Profile, Normalization, Loss), n: usize, dims: usize, run: impl Fn(&FrozenMap<'_>)) {
    let (profile, normalization, loss) = form;
    let (kernel, places) = (Radial { profile, normalization }, prototypes(n, dims));
    let weights: Vec<f64> = (0..n).map(|k| (1 + k % 3) as f64).collect();
    let whole: f64 = weights.iter().sum();
    let weights: Vec<f64> = weights.iter().map(|q| q / whole).collect();
    let target = kernel.matched(&places, &weights, &weights).unwrap();
    let diagonal: Vec<f64> = (0..n).map(|k| target[(k, k)]).collect();
    let repulsion = repulsion_weights(kernel, loss, (&diagonal, &weights), 1.0);
    run(&FrozenMap::new(kernel, loss, &places, &repulsion));
}

#[test]
fn the_steps_end_at_the_minimum_of_a_grid() {
    for form in FORMS {
        for dims in [1, 2] {
            let n = if dims == 1 { 5 } else { 9 };
            with_map(form, n, dims, |map| {
                for own in 0..n {
                    let (mut row, mut place) = (Row::default(), map.prototypes.row(own).to_vec());
                    assert!(map.load(own, &products(n, own, own + 1), &mut row));
                    map.descend(own, &mut row, &mut place, |_| {});
                    let end = map.value(own, &mut row, &place).value;
                    // A grid over the surroundings of the prototype, where a descent from it can end.
                    let (fine, reach) = (60, 1.5);
                    let cells = if dims == 1 { fine + 1 } else { (fine + 1) * (fine + 1) };
                    let at = |cell: usize, c: usize| {
                        let step = if c == 0 { cell % (fine + 1) } else { cell / (fine + 1) };
                        map.prototypes[(own, c)] + reach * (2.0 * step as f64 / fine as f64 - 1.0)
                    };
                    let best = (0..cells).map(|cell| {
                        let there: Vec<f64> = (0..dims).map(|c| at(cell, c)).collect();
                        map.value(own, &mut row, &there).value
                    });
                    let best = best.fold(f64::INFINITY, f64::min);
                    assert!(end <= best + 1e-9, "{form:?} {dims} {own}: {end} above {best}");
                }
            });
        }
    }
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    for form in FORMS {
        for dims in [1, 2, 3] {
            let n = [5, 9, 10][dims - 1];
            with_map(form, n, dims, |map| {
                let (own, h) = (2, 1e-5);
                let mut row = Row::default();
                map.load(own, &products(n, own, 1), &mut row);
                let place: Vec<f64> = map.prototypes.row(own).iter().map(|z| z + 0.37).collect();
                let here = map.value(own, &mut row, &place);
                for a in 0..dims {
                    let mut moved = |by: f64| {
                        let mut place = place.clone();
                        place[a] += by;
                        map.value(own, &mut row, &place)
                    };
                    let (up, down) = (moved(h), moved(-h));
                    let slope = (up.value - down.value) / (2.0 * h);
                    assert!((here.gradient[a] - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{form:?} {dims}");
                    for b in 0..dims {
                        let bend = (up.gradient[b] - down.gradient[b]) / (2.0 * h);
                        let found = here.hessian[a * dims + b];
                        assert!((found - bend).abs() < 1e-5 * (1.0 + bend.abs()), "{form:?} {dims}: {found} {bend}");
                    }
                }
            });
        }
    }
}

/// A sample with the products of its whole prototype feels, at its place, what the prototype does: there the members of a
/// prototype are in balance with each other.
#[test]
fn at_a_prototype_the_mean_row_has_the_gradient_of_the_objective() {
    let (n, scale) = (9, 1.7);
    let forms = [
        (Profile::HeavyTailed, Normalization::DoublyStochastic, Loss::Kl),
        (Profile::Student, Normalization::Measure, Loss::Kl),
        (Profile::Gaussian, Normalization::None, Loss::Kl),
        (UMAP, Normalization::None, Loss::BinaryCrossEntropy),
    ];
    let weights: Vec<f64> = (0..n).map(|k| (1 + k % 3) as f64 / 18.0).collect();
    let places = prototypes(n, 2);
    for (profile, normalization, loss) in forms {
        // Nothing scales a kernel that is not normalised.
        let scale = if normalization == Normalization::None { 1.0 } else { scale };
        let mass = Matrix::from_fn(n, n, |k, l| {
            weights[k] * weights[l] * (0.2 + 0.6 * ((k + l) as f64).sin().powi(2)) / scale
        });
        let scaled = Matrix::from_fn(n, n, |k, l| scale * mass[(k, l)]);
        let margins: Vec<f64> = (0..n).map(|k| scaled.row(k).iter().sum()).collect();
        let kernel = Radial { profile, normalization };
        let objective = Objective::new(kernel, loss, &scaled, &weights);
        let (_, gradient) = objective.value_and_gradient(&places, &mut objective.scaling()).unwrap();
        let target = kernel.matched(&places, &weights, &margins).unwrap();
        let diagonal: Vec<f64> = (0..weights.len()).map(|k| target[(k, k)]).collect();
        let repulsion = repulsion_weights(kernel, loss, (&diagonal, &weights), scale);
        let map = FrozenMap::new(kernel, loss, &places, &repulsion);
        for k in 0..n {
            let mut row = Row::default();
            let products: Vec<f64> = mass.row(k).iter().map(|m| m / weights[k]).collect();
            assert!(map.load(k, &products, &mut row));
            let found = map.value(k, &mut row, places.row(k)).gradient;
            let factor = 2.0 * if map.by_rows { margins[k] } else { scale * weights[k] };
            for (found, expected) in found.iter().zip(gradient.row(k)) {
                let error = (factor * found - expected).abs();
                assert!(error < 1e-6 * (1e-3 + expected.abs()), "{kernel:?} {k}: {} {expected}", factor * found);
            }
        }
    }
}

#[test]
fn no_step_goes_up_and_the_last_gradient_is_none() {
    for form in FORMS {
        for dims in [1, 2, 3] {
            let n = [6, 9, 18][dims - 1];
            with_map(form, n, dims, |map| {
                for own in 0..n {
                    let mut row = Row::default();
                    map.load(own, &products(n, own, own), &mut row);
                    let (mut place, mut values) = (map.prototypes.row(own).to_vec(), Vec::new());
                    map.descend(own, &mut row, &mut place, |value| values.push(value));
                    assert!(values.is_sorted_by(|before, after| after <= before), "{form:?} {values:?}");
                    assert!(values.len() < MOST_STEPS, "{form:?}: {} steps", values.len());
                    let end = map.value(own, &mut row, &place);
                    assert!(norm(&end.gradient) < 1e-4 * end.majorant, "{form:?} {dims}: {:?}", end.gradient);
                }
            });
        }
    }
}

#[test]
fn samples_stay_in_the_cell_of_their_prototype_and_move_towards_what_they_see() {
    for form in FORMS {
        for dims in [1, 2, 3] {
            let n = [6, 9, 18][dims - 1];
            with_map(form, n, dims, |map| {
                let (mut row, mut place) = (Row::default(), vec![0.0; dims]);
                for own in 0..n {
                    let around = squared_distances(&map.axes, map.prototypes.row(own));
                    let others = (0..n).filter(|&l| l != own);
                    let neighbor = others.min_by(|&a, &b| around[a].total_cmp(&around[b]));
                    for seen in 0..n {
                        // Far more of another prototype than of the own one.
                        let products: Vec<f64> = (0..n).map(|l| if l == seen { 0.9 } else { 0.001 }).collect();
                        map.place(own, &products, &mut row, &mut place);
                        let squares = squared_distances(&map.axes, &place);
                        let nearest = (0..n).min_by(|&a, &b| squares[a].total_cmp(&squares[b]));
                        assert_eq!(nearest, Some(own), "{form:?} {dims} {seen}");
                        // Farther ones may be behind others that repel.
                        let comes_near = squares[seen] < around[seen];
                        assert!(neighbor != Some(seen) || comes_near, "{form:?} {dims}: {own} away from {seen}");
                    }
                }
            });
        }
    }
}

#[test]
fn a_row_that_sees_nothing_and_a_prototype_that_is_alone_stay_where_they_are() {
    with_map(FORMS[0], 9, 2, |map| {
        let (mut row, mut place) = (Row::default(), vec![0.0; 2]);
        for products in [vec![0.0; 9], vec![-1.0; 9], vec![f64::NAN; 9]] {
            map.place(4, &products, &mut row, &mut place);
            assert_eq!(place, map.prototypes.row(4));
        }
    });
    with_map(FORMS[0], 1, 2, |map| {
        let mut place = vec![0.0; 2];
        map.place(0, &[1.0], &mut Row::default(), &mut place);
        assert_eq!(place, map.prototypes.row(0));
    });
}
