//! The basis of a transportation simplex, kept for many samples and few sinks.
//!
//! A basis is a spanning tree of samples and sinks. With N ≫ n nearly every sample is a leaf of it, and all that is said of
//! a leaf is its sink. Only the samples whose mass is split between sinks, n − 1 at most, hold the tree together: it is kept for them and the
//! sinks alone, 2n nodes, so that a pivot costs O(n) whatever N is.
//!
//! Masses are whole numbers, so nothing drifts and zero is zero. The tree is *strongly feasible* (Cunningham 1976): a cell without
//! mass leads from a sample up to its parent, never down. The leaving cell is the last one in the cycle that blocks, seen
//! from its highest node; that keeps the tree so, and no basis comes back.

/// Marks a sample that is a node of the tree; the other bits are the node.
const SPLIT: u32 = 1 << 31;
/// No cell, no sample.
const NONE: u32 = u32::MAX;

/// A cell of the basis that belongs to a split sample.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// The node of the sample.
    node: u32,
    sink: u32,
    units: i64,
    cost: f64,
}

impl Cell {
    /// The other end.
    fn across(&self, node: usize) -> usize {
        if node == self.sink as usize { self.node as usize } else { self.sink as usize }
    }
}

/// A feasible plan with a spanning tree, and the potentials that follow from it.
pub(super) struct Basis {
    sinks: usize,
    /// Mass of every sample.
    units: Vec<i64>,
    /// The sink of a leaf, or the node of a split sample.
    home: Vec<u32>,
    /// The cells of split samples.
    cells: Vec<Cell>,
    /// The sample of every node behind the sinks.
    samples: Vec<u32>,
    /// How many cells each of them has.
    degrees: Vec<u32>,
    free: Vec<u32>,
    /// The cell that leads up from every node.
    above: Vec<u32>,
    depths: Vec<u32>,
    /// v of sinks and u of split samples: u + v = cost on every cell.
    potentials: Vec<f64>,
    scratch: Scratch,
}

/// Lists of the cells of every node, and nodes to visit.
#[derive(Default)]
struct Scratch {
    first: Vec<u32>,
    next: Vec<[u32; 2]>,
    queue: Vec<u32>,
}

impl Basis {
    /// Leaves at their sinks, and split samples with all that their cells carry, by sample: the plan must be feasible and
    /// without cycles. Every sink must receive something.
    ///
    /// `cost` is asked for the cells of the tree.
    pub(super) fn new(
        units: Vec<i64>,
        labels: Vec<u32>,
        splits: &[(u32, Vec<(u32, i64)>)],
        sinks: usize,
        cost: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let mut basis = Self {
            sinks,
            units,
            home: labels,
            cells: Vec::with_capacity(2 * sinks),
            samples: vec![NONE; sinks],
            degrees: vec![0; sinks],
            free: (sinks as u32..2 * sinks as u32).rev().collect(),
            above: vec![NONE; 2 * sinks],
            depths: vec![0; 2 * sinks],
            potentials: vec![0.0; 2 * sinks],
            scratch: Scratch::default(),
        };
        for (sample, parts) in splits {
            let node = basis.split(*sample as usize);
            for &(sink, units) in parts {
                basis.push(Cell { node, sink, units, cost: cost(*sample as usize, sink as usize) });
            }
        }
        basis.connect(&cost);
        basis.rebuild();
        basis
    }

    /// Hangs every part of the forest that does not hold sink 0 below it, by a cell without mass that leads up.
    fn connect(&mut self, cost: &impl Fn(usize, usize) -> f64) {
        let mut parts = Parts::new(self.sinks);
        let mut sink_of = vec![NONE; 2 * self.sinks];
        for cell in &self.cells {
            match sink_of[cell.node as usize] {
                NONE => sink_of[cell.node as usize] = cell.sink,
                sink => parts.join(sink, cell.sink),
            }
        }
        // A sample with mass for every part: its first.
        let mut hooks = vec![NONE; self.sinks];
        for sample in 0..self.units.len() {
            let sink = match self.home[sample] {
                node if node & SPLIT != 0 => sink_of[(node & !SPLIT) as usize],
                sink => sink,
            };
            let part = parts.of(sink) as usize;
            if self.units[sample] > 0 && hooks[part] == NONE {
                hooks[part] = sample as u32;
            }
        }
        for (part, &hook) in hooks.iter().enumerate().skip(1) {
            if parts.of(part as u32) == part as u32 {
                let sample = hook as usize;
                debug_assert!(hook != NONE, "a sink without samples");
                let node = self.node(sample, |sink| cost(sample, sink));
                self.push(Cell { node, sink: 0, units: 0, cost: cost(sample, 0) });
            }
        }
    }

    /// Potentials v of the sinks.
    pub(super) fn potentials(&self) -> &[f64] {
        &self.potentials[..self.sinks]
    }

    /// The sink that a sample would rather go to and how much less it costs there, if that is more than `tolerance`.
    #[inline]
    pub(super) fn wish(&self, sample: usize, costs: &[f64], tolerance: f64) -> Option<(usize, f64)> {
        let v = &self.potentials[..self.sinks];
        let least = costs.iter().zip(v).map(|(c, v)| c - v).fold(f64::INFINITY, |a, b| if b < a { b } else { a });
        let own = self.own(sample, costs);
        if own - least <= tolerance {
            return None;
        }
        costs.iter().zip(v).position(|(c, v)| c - v == least).map(|sink| (sink, own - least))
    }

    /// How much more the second best sink costs a sample that is at the best one; negative for what it would gain by moving.
    #[inline]
    pub(super) fn margin(&self, sample: usize, costs: &[f64]) -> f64 {
        let v = &self.potentials[..self.sinks];
        let (mut least, mut second) = (f64::INFINITY, f64::INFINITY);
        for (c, v) in costs.iter().zip(v) {
            let x = c - v;
            let larger = if x > least { x } else { least };
            second = if larger < second { larger } else { second };
            least = if x < least { x } else { least };
        }
        let own = self.own(sample, costs);
        if own > least { least - own } else { second - least }
    }

    /// What a sample pays where it is, less the potential.
    #[inline]
    fn own(&self, sample: usize, costs: &[f64]) -> f64 {
        match self.home[sample] {
            node if node & SPLIT != 0 => self.potentials[(node & !SPLIT) as usize],
            sink => costs[sink as usize] - self.potentials[sink as usize],
        }
    }

    /// Lets as much of a sample go to a sink as fits, and the mass of the cycle that closes with it.
    pub(super) fn pivot(&mut self, sample: usize, to: usize, costs: &[f64]) {
        let home = self.home[sample];
        let is_leaf = home & SPLIT == 0;
        let from = (home & !SPLIT) as usize;
        let (leaving, units) = self.blocking(from, to, is_leaf.then_some(self.units[sample]));
        if units > 0 {
            self.shift(from, to, units);
        }
        if leaving == NONE {
            self.home[sample] = to as u32;
            return;
        }
        let node = self.node(sample, |sink| costs[sink]);
        if is_leaf && let Some(own) = self.cells.last_mut() {
            own.units -= units;
        }
        self.push(Cell { node, sink: to as u32, units, cost: costs[to] });
        self.remove(leaving as usize);
        self.rebuild();
    }

    /// The cell that leaves, or none if it is the leaf's own, and the mass that goes round.
    fn blocking(&self, from: usize, to: usize, leaf: Option<i64>) -> (u32, i64) {
        let mut below_sample = (NONE, leaf.unwrap_or(i64::MAX));
        let mut below_sink = (NONE, i64::MAX);
        let (mut x, mut y) = (from, to);
        while x != y {
            if self.depths[x] >= self.depths[y] {
                let cell = self.above[x];
                let held = self.cells[cell as usize].units;
                if x >= self.sinks && held < below_sample.1 {
                    below_sample = (cell, held);
                }
                x = self.cells[cell as usize].across(x);
            } else {
                let cell = self.above[y];
                let held = self.cells[cell as usize].units;
                if y < self.sinks && held <= below_sink.1 {
                    below_sink = (cell, held);
                }
                y = self.cells[cell as usize].across(y);
            }
        }
        if below_sink.1 <= below_sample.1 { below_sink } else { below_sample }
    }

    /// Sends mass round the cycle.
    fn shift(&mut self, from: usize, to: usize, units: i64) {
        let (mut x, mut y) = (from, to);
        while x != y {
            let (node, sign) = if self.depths[x] >= self.depths[y] { (&mut x, 1) } else { (&mut y, -1) };
            let cell = &mut self.cells[self.above[*node] as usize];
            cell.units += if *node < self.sinks { sign * units } else { -sign * units };
            *node = cell.across(*node);
        }
    }

    /// The node of a sample; a leaf becomes one.
    fn node(&mut self, sample: usize, cost: impl Fn(usize) -> f64) -> u32 {
        let home = self.home[sample];
        if home & SPLIT != 0 {
            return home & !SPLIT;
        }
        let node = self.split(sample);
        self.push(Cell { node, sink: home, units: self.units[sample], cost: cost(home as usize) });
        node
    }

    /// A node without cells for a sample.
    fn split(&mut self, sample: usize) -> u32 {
        let node = self.free.pop().unwrap_or_else(|| unreachable!("a forest has fewer split samples than sinks"));
        self.samples[node as usize - self.sinks] = sample as u32;
        self.degrees[node as usize - self.sinks] = 0;
        self.home[sample] = SPLIT | node;
        node
    }

    fn push(&mut self, cell: Cell) {
        self.degrees[cell.node as usize - self.sinks] += 1;
        self.cells.push(cell);
    }

    /// Takes a cell out; a sample with one cell left is a leaf again.
    fn remove(&mut self, cell: usize) {
        let node = self.cells.swap_remove(cell).node;
        let place = node as usize - self.sinks;
        self.degrees[place] -= 1;
        if self.degrees[place] == 1
            && let Some(last) = self.cells.iter().position(|cell| cell.node == node)
        {
            self.home[self.samples[place] as usize] = self.cells.swap_remove(last).sink;
            self.free.push(node);
        }
    }

    /// Hangs the tree from sink 0 again, and reads the potentials off it.
    fn rebuild(&mut self) {
        let Scratch { first, next, queue } = &mut self.scratch;
        first.clear();
        first.resize(2 * self.sinks, NONE);
        next.clear();
        for (c, cell) in self.cells.iter().enumerate() {
            next.push([first[cell.node as usize], first[cell.sink as usize]]);
            first[cell.node as usize] = c as u32;
            first[cell.sink as usize] = c as u32;
        }
        queue.clear();
        queue.push(0);
        (self.above[0], self.depths[0], self.potentials[0]) = (NONE, 0, 0.0);
        let mut at = 0;
        while let Some(&node) = queue.get(at) {
            at += 1;
            let node = node as usize;
            let mut c = first[node];
            while c != NONE {
                let cell = &self.cells[c as usize];
                let other = cell.across(node);
                if c != self.above[node] {
                    self.above[other] = c;
                    self.depths[other] = self.depths[node] + 1;
                    self.potentials[other] = cell.cost - self.potentials[node];
                    queue.push(other as u32);
                }
                c = next[c as usize][usize::from(node < self.sinks)];
            }
        }
        debug_assert_eq!(at, self.cells.len() + 1, "a spanning tree");
    }

    /// The sink of every sample, or of some cell of it, and the cells with mass of split samples, by sample.
    pub(super) fn into_plan(self) -> (Vec<u32>, Vec<(u32, u32, i64)>) {
        let mut labels = self.home;
        let mut cells = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.units > 0) {
            let sample = self.samples[cell.node as usize - self.sinks];
            labels[sample as usize] = cell.sink;
            cells.push((sample, cell.sink, cell.units));
        }
        cells.sort_unstable();
        (labels, cells)
    }
}

/// Sinks that hang together; a part goes by its first.
pub(super) struct Parts(Vec<u32>);

impl Parts {
    pub(super) fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    pub(super) fn of(&mut self, mut sink: u32) -> u32 {
        while self.0[sink as usize] != sink {
            self.0[sink as usize] = self.0[self.0[sink as usize] as usize];
            sink = self.0[sink as usize];
        }
        sink
    }

    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}
