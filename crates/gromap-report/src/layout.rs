//! Where marks stand on a page, and how large: areas in proportion to weights, places as far from each other as they must.
//!
//! Marks that cover each other are pushed apart a little at a time while a weak pull brings them back to their
//! places, so neighbours stay neighbours. `viewer/src/layout.ts` does the same on the page.

/// Share of the page that marks may fill.
const COVER: f64 = 0.32;

/// The largest mark may have this share of the page's width.
const LARGEST: f64 = 0.17;

/// Steps of pushing apart, the last of them without the pull: what still covers each other then parts.
const STEPS: usize = 160;
const FREE_STEPS: usize = 40;

/// What is left of the way home is shortened by this share in each step.
const PULL: f64 = 0.02;
/// How far apart the middles of two marks should be, in the sum of their sides: side by side, and corner to corner of tiles.
const BESIDE: f64 = 0.56;
const CORNERS: f64 = 0.75;

/// A place and a size on the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Side of a square of the mark's area.
    pub(crate) side: f64,
}

/// A map of two dimensions has no up: it is turned so that it is widest from left to right.
pub(crate) fn turned(places: &[[f64; 2]], weights: &[f64]) -> Vec<[f64; 2]> {
    let mean = [0, 1].map(|axis| places.iter().zip(weights).map(|(place, weight)| weight * place[axis]).sum::<f64>());
    let moment = |a: usize, b: usize| -> f64 {
        let product = |(place, weight): (&[f64; 2], &f64)| weight * (place[a] - mean[a]) * (place[b] - mean[b]);
        places.iter().zip(weights).map(product).sum()
    };
    let (xx, xy, yy) = (moment(0, 0), moment(0, 1), moment(1, 1));
    // A map as wide as high stays as it is.
    if (xx - yy).hypot(2.0 * xy) <= 0.02 * (xx + yy) {
        return places.to_vec();
    }
    let (sin, cos) = (-0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
    places.iter().map(|[x, y]| [cos * x - sin * y, sin * x + cos * y]).collect()
}

/// Height of a page of the given width that suits places of this extent.
pub(crate) fn height(places: &[[f64; 2]], width: f64) -> f64 {
    let [horizontal, vertical] = [0, 1].map(|axis| extent(places, axis));
    let share = if horizontal.1 > 0.0 { vertical.1 / horizontal.1 } else { 1.0 };
    (width * share).clamp(0.5 * width, 1.1 * width)
}

/// Lowest value and range along an axis.
fn extent(places: &[[f64; 2]], axis: usize) -> (f64, f64) {
    let low = places.iter().map(|place| place[axis]).fold(f64::INFINITY, f64::min);
    let high = places.iter().map(|place| place[axis]).fold(f64::NEG_INFINITY, f64::max);
    (low, high - low)
}

/// Marks on a page, their areas in proportion to the weights.
pub(crate) fn marks(places: &[[f64; 2]], weights: &[f64], width: f64, height: f64) -> Vec<Mark> {
    let whole: f64 = weights.iter().sum();
    let heaviest = weights.iter().copied().fold(0.0, f64::max);
    let unit = (COVER * width * height / whole).min((LARGEST * width).powi(2) / heaviest);
    let largest = (unit * heaviest).sqrt();
    let (x, y) = (extent(places, 0), extent(places, 1));
    let room = (width - 1.2 * largest, height - 1.2 * largest);
    let ratio = |room: f64, range: f64| if range > 0.0 { room / range } else { f64::INFINITY };
    let scale = ratio(room.0, x.1).min(ratio(room.1, y.1));
    let scale = if scale.is_finite() { scale } else { 0.0 };
    let mut marks: Vec<Mark> = places
        .iter()
        .zip(weights)
        .map(|(place, weight)| Mark {
            x: width / 2.0 + (place[0] - x.0 - x.1 / 2.0) * scale,
            // Upwards on the map is upwards on the page.
            y: height / 2.0 - (place[1] - y.0 - y.1 / 2.0) * scale,
            side: (unit * weight).sqrt(),
        })
        .collect();
    spread(&mut marks);
    marks
}

/// Shifts marks so that their box begins at the origin, and says how large it is.
pub(crate) fn to_corner(marks: &mut [Mark]) -> (f64, f64) {
    // Discs are a little wider than squares of the same area.
    let half = |mark: &Mark| 0.57 * mark.side;
    let low = |place: fn(&Mark) -> f64| marks.iter().map(|m| place(m) - half(m)).fold(f64::INFINITY, f64::min);
    let high = |place: fn(&Mark) -> f64| marks.iter().map(|m| place(m) + half(m)).fold(f64::NEG_INFINITY, f64::max);
    let (left, top) = (low(|m| m.x), low(|m| m.y));
    let size = (high(|m| m.x) - left, high(|m| m.y) - top);
    for mark in marks {
        mark.x -= left;
        mark.y -= top;
    }
    size
}

/// Pushes marks apart where they cover each other.
fn spread(marks: &mut [Mark]) {
    let homes: Vec<(f64, f64)> = marks.iter().map(|mark| (mark.x, mark.y)).collect();
    let cell = marks.iter().map(|mark| mark.side).fold(0.0, f64::max) * 2.0 * CORNERS;
    if !(cell > 0.0 && cell.is_finite()) {
        return;
    }
    for step in 0..STEPS {
        let mut moved = false;
        for (a, b) in near_pairs(marks, cell) {
            moved |= part(marks, a, b);
        }
        if !moved {
            break;
        }
        if step + FREE_STEPS >= STEPS {
            continue;
        }
        for (mark, home) in marks.iter_mut().zip(&homes) {
            mark.x += PULL * (home.0 - mark.x);
            mark.y += PULL * (home.1 - mark.y);
        }
    }
}

/// Moves two marks apart by part of what they cover, the lighter one more. Says whether they had to move.
fn part(marks: &mut [Mark], a: usize, b: usize) -> bool {
    let (first, second) = (marks[a], marks[b]);
    let (mut dx, mut dy) = (second.x - first.x, second.y - first.y);
    let distance = dx.hypot(dy);
    let slant = if distance > 0.0 { distance / dx.abs().max(dy.abs()) } else { 1.0 };
    let wanted = (BESIDE * slant).min(CORNERS) * (first.side + second.side);
    if distance >= wanted {
        return false;
    }
    if distance < 1e-9 * wanted {
        // In one place: each pair parts in a direction of its own.
        let angle = 2.399_963_229_728_653 * (a * 31 + b) as f64;
        (dx, dy) = (angle.cos(), angle.sin());
    } else {
        (dx, dy) = (dx / distance, dy / distance);
    }
    let step = 0.5 * (wanted - distance);
    let share = second.side / (first.side + second.side);
    marks[a].x -= step * share * dx;
    marks[a].y -= step * share * dy;
    marks[b].x += step * (1.0 - share) * dx;
    marks[b].y += step * (1.0 - share) * dy;
    true
}

/// Pairs of marks in the same cell of a grid or in cells next to each other, in a fixed order.
fn near_pairs(marks: &[Mark], cell: f64) -> Vec<(usize, usize)> {
    let of = |mark: &Mark| ((mark.x / cell).floor() as i64, (mark.y / cell).floor() as i64);
    let mut cells = std::collections::BTreeMap::<(i64, i64), Vec<usize>>::new();
    for (k, mark) in marks.iter().enumerate() {
        cells.entry(of(mark)).or_default().push(k);
    }
    let mut pairs = Vec::new();
    for (k, mark) in marks.iter().enumerate() {
        let (column, row) = of(mark);
        for neighbor in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (column + dx, row + dy))) {
            let others = cells.get(&neighbor).into_iter().flatten();
            pairs.extend(others.filter(|&&other| other > k).map(|&other| (k, other)));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four groups of nine marks, all of a group in one place.
    fn crowded() -> (Vec<[f64; 2]>, Vec<f64>) {
        let places = (0..36).map(|k| [f64::from(k % 4), f64::from(k % 4 / 2)]).collect();
        (places, (0..36).map(|k| f64::from(k + 4) / 774.0).collect())
    }

    #[test]
    fn areas_are_in_proportion_to_weights() {
        let (places, weights) = crowded();
        let marks = marks(&places, &weights, 1000.0, 600.0);
        let unit = marks[0].side.powi(2) / weights[0];
        assert!(
            marks.iter().zip(&weights).all(|(mark, weight)| (mark.side.powi(2) / weight / unit - 1.0).abs() < 1e-9)
        );
    }

    #[test]
    fn marks_part_and_stay_near_their_places() {
        let (places, weights) = crowded();
        let marks = marks(&places, &weights, 1000.0, 600.0);
        for a in 0..36 {
            for b in 0..a {
                let (first, second) = (marks[a], marks[b]);
                let distance = (first.x - second.x).hypot(first.y - second.y);
                let wider = (first.x - second.x).abs().max((first.y - second.y).abs());
                assert!(wider > 0.4 * (first.side + second.side), "{a} and {b} are {wider} apart");
                // Groups stay groups.
                assert!(a % 4 != b % 4 || distance < 400.0);
            }
        }
    }

    #[test]
    fn a_box_holds_all_marks() {
        let (places, weights) = crowded();
        let mut marks = marks(&places, &weights, 1000.0, 600.0);
        let (width, height) = to_corner(&mut marks);
        let inside = |at: f64, side: f64, size: f64| at - side / 2.0 > 0.0 && at + side / 2.0 < size;
        assert!(marks.iter().all(|m| inside(m.x, m.side, width) && inside(m.y, m.side, height)));
        assert!(marks.iter().any(|m| m.x < 0.6 * m.side) && marks.iter().any(|m| m.y > height - 0.6 * m.side));
    }

    #[test]
    fn maps_are_widest_from_left_to_right() {
        let diagonal: Vec<[f64; 2]> = (0..9).map(|k| [f64::from(k), f64::from(k) + 0.1 * f64::from(k % 2)]).collect();
        let found = turned(&diagonal, &[1.0 / 9.0; 9]);
        assert!(extent(&found, 0).1 > 11.0 && extent(&found, 1).1 < 0.2, "{found:?}");
        let square = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
        assert_eq!(turned(&square, &[0.25; 4]), square);
    }

    #[test]
    fn one_place_is_the_middle_of_the_page() {
        assert_eq!(marks(&[[7.0, -3.0]], &[1.0], 1000.0, 1000.0)[0], Mark { x: 500.0, y: 500.0, side: 170.0 });
    }
}
