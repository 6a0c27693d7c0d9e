//! stub
use crate::{Matrix, Result, Similarity};
pub(crate) struct Eigenpairs {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Matrix<'static>,
}
pub(crate) fn leading_of_similarity(
    similarity: &dyn Similarity,
    weights: Option<&[f64]>,
    wanted: usize,
) -> Result<Eigenpairs> {
    let n = similarity.len();
    let id = Matrix::from_fn(n, n, |i, j| if i == j { weights.map_or(1.0, |w| w[i].sqrt()) } else { 0.0 });
    let mut m = similarity.times(&id, crate::Side::Direct);
    if let Some(w) = weights {
        for i in 0..n {
            m.row_mut(i).iter_mut().for_each(|v| *v *= w[i].sqrt());
        }
    }
    let m = Matrix::from_fn(n, n, |i, j| 0.5 * (m[(i, j)] + m[(j, i)]));
    let (v, vec) = crate::eigen::symmetric_eigen(&m)?;
    Ok(Eigenpairs { values: v[..wanted].to_vec(), vectors: Matrix::from_fn(n, wanted, |i, c| vec[(c, i)]) })
}
