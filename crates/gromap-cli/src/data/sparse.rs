//! Compressed rows, as graphs and counts come: made of entries in any order.

use gromap::Matrix;
use gromap::data::Samples;
use gromap::similarity::{self, Similarity, Sparse};

use super::Values;
use super::source::Room;
use crate::args::options::Precision;
use crate::failure::{Failure, Outcome};

/// At most this many empty rows for every entry: a small file must not claim a huge matrix.
const EMPTY_ROWS_PER_ENTRY: usize = 64;
const ALWAYS_FINE: usize = 1 << 16;

/// A matrix by its entries, rows one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rows {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Values,
    width: usize,
}

impl Rows {
    /// From (row, column, value) in any order; those of the same place are combined.
    pub(crate) fn from_entries(
        (height, width): (usize, usize),
        entries: &[(u32, u32, f64)],
        combine: impl Fn(f64, f64) -> f64,
    ) -> Outcome<Self> {
        check_size(height, width, entries.len())?;
        let mut starts = vec![0; height + 1];
        entries.iter().for_each(|&(row, ..)| starts[row as usize + 1] += 1);
        (0..height).for_each(|row| starts[row + 1] += starts[row]);
        let mut next = starts.clone();
        let mut sorted = vec![(0, 0.0); entries.len()];
        for &(row, column, value) in entries {
            sorted[next[row as usize]] = (column, value);
            next[row as usize] += 1;
        }
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::with_capacity(entries.len()), Vec::new());
        for row in 0..height {
            let own = &mut sorted[starts[row]..starts[row + 1]];
            own.sort_by_key(|entry| entry.0);
            let first = columns.len();
            for &(column, value) in own.iter() {
                match (columns.len() > first).then(|| columns.last().copied()).flatten() {
                    Some(last) if last == column => {
                        let at = values.len() - 1;
                        values[at] = combine(values[at], value);
                    }
                    _ => {
                        columns.push(column);
                        values.push(value);
                    }
                }
            }
            offsets.push(columns.len());
        }
        Ok(Self { offsets, columns, values: Values::F64(values), width })
    }

    /// From compressed rows, which are checked.
    pub(crate) fn from_parts(offsets: Vec<usize>, columns: Vec<u32>, values: Values, width: usize) -> Outcome<Self> {
        let stored = match &values {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
        };
        let ascending = offsets.first() == Some(&0) && offsets.is_sorted() && offsets.last() == Some(&stored);
        if !ascending || columns.len() != stored {
            return Err(Failure::data("the compressed rows are damaged: indptr, indices and data do not fit together"));
        }
        check_size(offsets.len() - 1, width, stored)?;
        if let Some(at) = columns.iter().position(|&column| column as usize >= width) {
            let row = offsets.partition_point(|&offset| offset <= at) - 1;
            let message = format!("row {row} has an entry in column {}, but there are {width} columns", columns[at]);
            return Err(Failure::data(message));
        }
        let mut rows = Self { offsets, columns, values, width };
        rows.sort();
        Ok(rows)
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of entries.
    pub(crate) fn stored(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn is_single(&self) -> bool {
        matches!(self.values, Values::F32(_))
    }

    /// Columns ascending within each row, as the core wants them.
    fn sort(&mut self) {
        fn sort<T: Copy>(columns: &mut [u32], values: &mut [T]) {
            let mut pairs: Vec<(u32, T)> = columns.iter().copied().zip(values.iter().copied()).collect();
            pairs.sort_by_key(|pair| pair.0);
            for (at, (column, value)) in pairs.into_iter().enumerate() {
                (columns[at], values[at]) = (column, value);
            }
        }
        for row in 0..self.offsets.len() - 1 {
            let range = self.offsets[row]..self.offsets[row + 1];
            let columns = &mut self.columns[range.clone()];
            if !columns.is_sorted() {
                match &mut self.values {
                    Values::F32(values) => sort(columns, &mut values[range]),
                    Values::F64(values) => sort(columns, &mut values[range]),
                }
            }
        }
    }

    pub(super) fn with_precision(self, precision: Precision) -> Self {
        Self { values: self.values.with_precision(precision), ..self }
    }

    /// All values, zeros too.
    pub(super) fn to_dense(&self, room: Room) -> Outcome<Samples<'static>> {
        fn spread<T: Copy + Default>(rows: &Rows, values: &[T]) -> Vec<T> {
            let mut dense = vec![T::default(); rows.len() * rows.width];
            for row in 0..rows.len() {
                for at in rows.offsets[row]..rows.offsets[row + 1] {
                    dense[row * rows.width + rows.columns[at] as usize] = values[at];
                }
            }
            dense
        }
        let size = if self.is_single() { 4 } else { 8 };
        room.check_values("the sparse matrix with all its zeros", self.len(), self.width, size)?;
        let values = match &self.values {
            Values::F32(values) => Values::F32(spread(self, values)),
            Values::F64(values) => Values::F64(spread(self, values)),
        };
        values.into_samples(self.len(), self.width)
    }

    /// The matrix as a similarity of single or double precision.
    pub(crate) fn similarity(&self) -> Outcome<Box<dyn Similarity + '_>> {
        Ok(similarity::sparse(&self.offsets[..], &self.columns[..], self.square("similarity")?)?)
    }

    /// The matrix as the weights of a graph.
    pub(crate) fn graph(&self) -> Outcome<Sparse<'_, f32>> {
        Ok(similarity::graph(&self.offsets[..], &self.columns[..], self.square("graph")?)?)
    }

    /// The values of a matrix that must be N×N.
    fn square(&self, what: &str) -> Outcome<Samples<'_>> {
        let (height, width) = (self.len(), self.width);
        if height != width {
            return Err(Failure::data(format!("a {what} of {height} rows needs as many columns, not {width}")));
        }
        Ok(match &self.values {
            Values::F32(values) => Matrix::new(&values[..], 1, values.len())?.into(),
            Values::F64(values) => Matrix::new(&values[..], 1, values.len())?.into(),
        })
    }
}

fn check_size(height: usize, width: usize, entries: usize) -> Outcome<()> {
    let most = entries.saturating_mul(EMPTY_ROWS_PER_ENTRY).saturating_add(ALWAYS_FINE);
    if height > u32::MAX as usize || width > u32::MAX as usize || height > most {
        let message = format!("a matrix of {height} rows and {width} columns with {entries} entries is nearly empty");
        return Err(Failure::data(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_combined() {
        let rows =
            Rows::from_entries((2, 3), &[(1, 2, 1.0), (0, 1, 2.0), (1, 0, 3.0), (1, 2, 4.0)], |a, b| a + b).unwrap();
        let dense = rows.to_dense(Room(1000)).unwrap();
        assert!(matches!(dense, Samples::F64(m) if m.values() == [0.0, 2.0, 0.0, 3.0, 0.0, 5.0]));
        assert_eq!((rows.len(), rows.stored()), (2, 3));
    }

    #[test]
    fn damaged_parts_are_refused() {
        let values = || Values::F32(vec![1.0, 2.0]);
        assert!(Rows::from_parts(vec![0, 2], vec![1, 0], values(), 2).is_ok());
        for (offsets, columns) in
            [(vec![0, 1], vec![0, 1]), (vec![], vec![]), (vec![0, 2], vec![0, 7]), (vec![1, 2], vec![0, 1])]
        {
            assert!(Rows::from_parts(offsets, columns, values(), 2).is_err());
        }
        assert!(Rows::from_entries((1 << 30, 5), &[], |a, _| a).is_err());
    }
}
