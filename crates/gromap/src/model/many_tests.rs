use super::*;
use crate::embedding::PrototypeKernel;
use crate::numeric::vector::dot;
use crate::weights::SampleWeights;

const SAMPLES: usize = 90;
const PROTOTYPES: usize = 15;

/// A ring of samples that see six on each side.
fn ring() -> Sparse<'static, f32> {
    let near = |i: usize| {
        let mut row: Vec<(u32, f32)> = (1..=6)
            .flat_map(|d| {
                [(i + d) % SAMPLES, (i + SAMPLES - d) % SAMPLES].map(|j| (j as u32, 1.0 / (d + (i + j) % 3) as f32))
            })
            .collect();
        row.sort_by_key(|entry| entry.0);
        row
    };
    let (columns, values) = (0..SAMPLES).flat_map(near).unzip::<_, _, Vec<u32>, Vec<f32>>();
    Sparse::new((0..=SAMPLES).map(|i| 12 * i).collect::<Vec<_>>(), columns, values).unwrap()
}

fn many<'a>(similarity: &'a Sparse<'static, f32>, normalization: Normalization, coupling: f64) -> Many<'a> {
    let radial = Radial { profile: Profile::HeavyTailed, normalization };
    let weights = weights();
    let (scale, constant) = Joint::scale_of(MapKernel::Radial(radial), Loss::Kl, similarity, &weights).unwrap();
    let stopping = Stopping { max_rounds: 20, rel_tolerance: 1e-7, abs_tolerance: 0.0 };
    let settings = Settings { stopping, ..Settings::default() };
    Many { similarity, radial, dims: 2, settings, scale, constant, coupling }
}

fn weights() -> SampleWeights {
    SampleWeights::new(&(0..SAMPLES).map(|i| 1.0 + (i % 4) as f64).collect::<Vec<_>>()).unwrap()
}

fn scattered() -> Plan {
    let labels = (0..SAMPLES).map(|i| ((i * 7 + i / 11) % PROTOTYPES) as u32).collect();
    Plan::from_labels(labels, PROTOTYPES, weights()).unwrap()
}

/// λ·(qᵀCq − c·⟨M, log C⟩) + (1−λ)·Σ ψ(c·M, qqᵀ) by the definition, for a given kernel C.
fn by_definition(many: &Many<'_>, plan: &Plan, kernel: &Matrix<'_>) -> f64 {
    let (q, labels, h) = (plan.weights(), plan.labels(), plan.sample_weights());
    let mut mass = Matrix::zeros(PROTOTYPES, PROTOTYPES);
    for i in 0..SAMPLES {
        let (columns, values) = many.similarity.row(i);
        for (&j, &value) in columns.iter().zip(values) {
            let (k, l) = (labels[i] as usize, labels[j as usize] as usize);
            mass[(k, l)] += many.scale * h[i] * f64::from(value) * h[j as usize];
        }
    }
    let mut total = many.constant.unwrap();
    for k in 0..PROTOTYPES {
        for l in 0..PROTOTYPES {
            let (m, pairs, c) = (mass[(k, l)], q[k] * q[l], kernel[(k, l)]);
            total += many.coupling * (pairs * c - m * c.ln());
            total += (1.0 - many.coupling) * Loss::Kl.at_best_target(m, pairs);
        }
    }
    total
}

/// C_Z of an iterate, from its factors.
fn kernel_of(many: &Many<'_>, here: &Iterate) -> Matrix<'static> {
    let target = MapTarget::new(many, here);
    let rows: Vec<f64> = (0..PROTOTYPES).flat_map(|k| target.row(k)).collect();
    Matrix::new(rows, PROTOTYPES, PROTOTYPES).unwrap()
}

const NORMALIZATIONS: [Normalization; 2] = [Normalization::Measure, Normalization::DoublyStochastic];

#[test]
fn the_loss_is_that_of_the_definition() {
    let similarity = ring();
    for normalization in NORMALIZATIONS {
        let many = many(&similarity, normalization, 0.3);
        let here = many.iterate(scattered(), None, 50).unwrap();
        let kernel = kernel_of(&many, &here);
        let expected = by_definition(&many, &here.plan, &kernel);
        assert!((here.loss - expected).abs() < 1e-5 * expected.abs(), "{normalization:?}: {} {expected}", here.loss);
        // The kernel is that of its name, but for the margins of M, which weights of samples move from those of q.
        let margins: Vec<f64> = (0..PROTOTYPES).map(|k| dot(kernel.row(k), &here.weights)).collect();
        for (margin, sum) in margins.iter().zip(&here.kernel.sums) {
            assert!((margin - sum).abs() < 1e-6 * sum, "{margin} {sum}");
        }
        if normalization == Normalization::Measure {
            let eval = many.radial.eval(here.descent.prototypes(), &here.weights).unwrap();
            assert!((eval[(0, 1)] - kernel[(0, 1)]).abs() < 1e-5 * eval[(0, 1)]);
        }
    }
}

#[test]
fn samples_end_where_no_single_move_pays() {
    let similarity = ring();
    for (normalization, coupling) in [(NORMALIZATIONS[0], 1.0), (NORMALIZATIONS[1], 0.25), (NORMALIZATIONS[1], 0.0)] {
        let many = many(&similarity, normalization, coupling);
        let mut here = many.iterate(scattered(), None, 50).unwrap();
        let kernel = kernel_of(&many, &here);
        let mut value = by_definition(&many, &here.plan, &kernel);
        let first = value;
        for seed in 0..50 {
            let (plan, moves) = many.move_samples(&here, Breadth::Full, seed);
            let next = by_definition(&many, &plan, &kernel);
            assert!(next <= value + 1e-12, "{next} above {value}");
            value = next;
            // The places stay, so that the kernel does; what follows from the plan is new.
            let sums = (0..PROTOTYPES).map(|k| dot(kernel.row(k), &plan.weights())).collect();
            here.mass = SparseMass::new(&similarity, &plan);
            (here.weights, here.kernel.sums, here.plan) = (plan.weights(), sums, plan);
            if moves == 0 {
                break;
            }
        }
        assert!(value < first, "nothing moved");
        let labels = here.plan.labels();
        for i in 0..SAMPLES {
            for &j in similarity.row(i).0 {
                let mut moved = here.plan.clone();
                moved.assign(i, labels[j as usize]);
                let there = by_definition(&many, &moved, &kernel);
                assert!(there >= value - 1e-12, "{normalization:?} {coupling}: sample {i}, {there} below {value}");
            }
        }
    }
}

#[test]
fn rounds_never_raise_the_loss_and_end() {
    let similarity = ring();
    let many = many(&similarity, Normalization::DoublyStochastic, 0.25);
    let ended = many.descend(scattered(), &mut ()).unwrap();
    assert!(ended.history.windows(2).all(|pair| pair[1] <= pair[0]), "{:?}", ended.history);
    assert!(ended.loss() < ended.history[0] && ended.places.values().iter().all(|z| z.is_finite()));
}
