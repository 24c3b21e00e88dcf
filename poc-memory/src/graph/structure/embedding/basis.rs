//! Vectors of unit length at right angles to each other.

use faer::linalg::matmul::matmul;
use faer::{Accum, Col, ColMut, Mat, MatMut, MatRef, Par};

/// Rows that are worked on at once, so that they stay in the processor's cache.
const ROWS: usize = 4096;

/// Numbers from which on the work is done by two threads.
const SHARED: usize = 2_000_000;

/// The vectors, as the first columns of a matrix.
pub(super) struct Basis {
    vectors: Mat<f64>,
    len: usize,
}

impl Basis {
    /// For vectors of so many components, with room for so many of them.
    pub(super) fn new(size: usize, room: usize) -> Basis {
        Basis { vectors: Mat::zeros(size, room), len: 0 }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds one that is at right angles to the others and of unit length.
    pub(super) fn push(&mut self, vector: &[f64]) {
        self.vectors.col_as_slice_mut(self.len).copy_from_slice(vector);
        self.len += 1;
    }

    /// Takes out of `x` what lies along the vectors and returns how much that was. Twice, since
    /// once leaves what rounding leaves (Giraud, Langou and Rozložník 2005).
    pub(super) fn leave(&self, x: &mut [f64]) -> Vec<f64> {
        let first = self.sweep(x, None);
        let second = self.sweep(x, Some(&first));
        self.sweep(x, Some(&second));
        first.iter().zip(second.iter()).map(|(first, second)| first + second).collect()
    }

    /// Takes so much of each vector out of `x`, then tells how much of each is left in it.
    fn sweep(&self, x: &mut [f64], out: Option<&Col<f64>>) -> Col<f64> {
        let vectors = self.vectors.subcols(0, self.len);
        if x.len() * self.len < SHARED {
            return sweep(vectors, x, out);
        }
        let middle = x.len() / 2;
        let (high, low) = vectors.split_at_row(middle);
        let (left, right) = x.split_at_mut(middle);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| sweep(high, left, out));
            let own = sweep(low, right, out);
            other.join().map_or(own.clone(), |other| own + other)
        })
    }

    /// The vectors times a matrix.
    pub(super) fn turned(&self, by: MatRef<'_, f64>) -> Vec<Vec<f64>> {
        let mut image = Mat::<f64>::zeros(self.vectors.nrows(), by.ncols());
        let vectors = self.vectors.subcols(0, self.len);
        matmul(image.as_mut(), Accum::Replace, vectors, by, 1.0, Par::Seq);
        image.col_iter().map(|column| column.iter().copied().collect()).collect()
    }

    /// Replaces the vectors by the vectors times a matrix with fewer columns than rows.
    pub(super) fn turn(&mut self, by: MatRef<'_, f64>) {
        let mut rows = self.vectors.as_mut().subcols_mut(0, self.len);
        let mut image = Mat::<f64>::zeros(ROWS, by.ncols());
        while rows.nrows() > 0 {
            let size = ROWS.min(rows.nrows());
            let (mut part, rest) = rows.split_at_row_mut(size);
            let mut image = image.as_mut().subrows_mut(0, size);
            matmul(image.as_mut(), Accum::Replace, part.as_ref(), by, 1.0, Par::Seq);
            part.as_mut().subcols_mut(0, by.ncols()).copy_from(image);
            rows = rest;
        }
        self.len = by.ncols();
    }
}

fn sweep(vectors: MatRef<'_, f64>, x: &mut [f64], out: Option<&Col<f64>>) -> Col<f64> {
    let mut left = Col::zeros(vectors.ncols());
    let mut from = 0;
    for x in x.chunks_mut(ROWS) {
        let part = vectors.subrows(from, x.len());
        from += x.len();
        let mut x: MatMut<'_, f64> = ColMut::from_slice_mut(x).as_mat_mut();
        if let Some(out) = out {
            matmul(x.as_mut(), Accum::Add, part, out.as_mat(), -1.0, Par::Seq);
        }
        matmul(left.as_mat_mut(), Accum::Add, part.transpose(), x.as_ref(), 1.0, Par::Seq);
    }
    left
}
