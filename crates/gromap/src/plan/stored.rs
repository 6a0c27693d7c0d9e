//! A plan taken apart for a file, and put together again with every promise checked: labels that name prototypes, rows
//! that carry their sample's weight. Nothing is rescaled, so what comes back is what went in, bit for bit.

use super::{Plan, PlanEntries, ROW_SUM_TOLERANCE, check_prototypes};
use crate::error::{Error, Result};
use crate::weights::SampleWeights;

impl Plan {
    /// The entries as they are stored.
    pub(crate) fn stored(&self) -> &PlanEntries {
        &self.rows
    }

    /// A plan of entries stored before.
    pub(crate) fn restored(rows: PlanEntries, prototypes: usize, weights: SampleWeights) -> Result<Self> {
        if let PlanEntries::Hard(labels) = rows {
            return Self::from_labels(labels, prototypes, weights);
        }
        check_prototypes(prototypes, weights.len())?;
        rows.check_layout(weights.len())?;
        let plan = Self { sample_weights: weights, prototypes, rows };
        plan.check_rows()?;
        Ok(plan)
    }

    /// Every row names prototypes that exist, once each, and carries the weight of its sample.
    fn check_rows(&self) -> Result<()> {
        let mut seen_in = vec![usize::MAX; self.prototypes];
        for (i, &weight) in self.sample_weights.iter().enumerate() {
            let row = self.row(i);
            for (&k, &mass) in row.prototypes.iter().zip(row.mass) {
                match seen_in.get_mut(k as usize) {
                    Some(seen) if *seen != i => *seen = i,
                    Some(_) => return Err(Error::parameter("prototype", f64::from(k), format!("once in row {i}"))),
                    None => {
                        return Err(Error::parameter(
                            "prototype",
                            f64::from(k),
                            format!("less than {}", seen_in.len()),
                        ));
                    }
                }
                if !(mass.is_finite() && mass >= 0.0) {
                    return Err(Error::parameter("plan entry", mass, format!("finite and not negative (row {i})")));
                }
            }
            let sum: f64 = row.mass.iter().sum();
            if (sum - weight).abs() > ROW_SUM_TOLERANCE * weight.max(f64::MIN_POSITIVE) {
                return Err(Error::RowSum { row: i, expected: weight, found: sum });
            }
        }
        Ok(())
    }
}

impl PlanEntries {
    /// Every row lies within the entries and holds at least one.
    fn check_layout(&self, samples: usize) -> Result<()> {
        let Self::Soft { starts, lengths, prototypes, mass } = self else { return Ok(()) };
        Error::check_len("number of rows of the plan", samples, starts.len())?;
        Error::check_len("number of row lengths of the plan", samples, lengths.len())?;
        Error::check_len("entries of the plan", prototypes.len(), mass.len())?;
        let outside = |(&start, &length): (&usize, &u32)| {
            length == 0 || start.checked_add(length as usize).is_none_or(|end| end > mass.len())
        };
        match starts.iter().zip(lengths).position(outside) {
            None => Ok(()),
            Some(row) => {
                let allowed = format!("within the {} entries of the plan (row {row})", mass.len());
                Err(Error::parameter("start of a row", starts[row] as f64, allowed))
            }
        }
    }
}
