//! Where names stand on a static map: beside their marks, never upon each other, and not upon other marks if it can be helped.
//!
//! The heaviest marks choose first; a text that several marks share is said once in each region. `viewer/src/placing.ts` does the
//! same on the page, with lines to places farther off.

use crate::layout::Mark;
use crate::level::Level;
use crate::report::Report;

/// Height of a name, and about how wide a character is.
const LINE: f64 = 15.0;
const CHARACTER: f64 = 7.0;
/// How near the same text may stand again.
const REGION: f64 = 190.0;
/// Names on a map.
const MOST: usize = 80;
/// Characters of a name that are shown.
const LENGTH: usize = 28;
/// The share of a name that may lie on other marks, and the same for a text that stands nowhere yet.
const COVERED: f64 = 0.25;
const LAST_RESORT: f64 = 0.85;

/// A name and the middle of its box.
pub(crate) struct Placed {
    pub(crate) text: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A box by its middle and half its size.
#[derive(Clone, Copy)]
struct Space {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Space {
    /// The area that two boxes share.
    fn overlap(self, other: Self) -> f64 {
        let along =
            |a: f64, half_a: f64, b: f64, half_b: f64| (a + half_a).min(b + half_b) - (a - half_a).max(b - half_b);
        let (width, height) =
            (along(self.x, self.width, other.x, other.width), along(self.y, self.height, other.y, other.height));
        width.max(0.0) * height.max(0.0)
    }
}

/// What a prototype is called: its given name, or its largest class.
fn name_of(report: &Report<'_>, level: &Level<'_>, at: usize, k: usize) -> Option<String> {
    if let Some(names) = &report.prototype_names {
        return names.get(at)?.get(k).cloned();
    }
    let share = level.classes.as_ref()?[k].first()?;
    report.classes.as_ref()?.names.get(share.0 as usize).cloned()
}

/// Names for the marks of the level at an index, in the order in which they choose, on a page of some width.
pub(crate) fn placed(
    report: &Report<'_>,
    (at, level): (usize, &Level<'_>),
    marks: &[Mark],
    order: &[usize],
    width: f64,
) -> Vec<Placed> {
    // Pictures may be wider than high, discs wider than squares: about half a side and a little.
    let spaces: Vec<Space> =
        marks.iter().map(|m| Space { x: m.x, y: m.y, width: 0.55 * m.side, height: 0.55 * m.side }).collect();
    let mut taken: Vec<(Space, String, Space)> = Vec::new();
    for &k in order {
        let Some(name) = name_of(report, level, at, k).filter(|name| !name.trim().is_empty()) else { continue };
        let own = spaces[k];
        let before = taken.iter().filter(|(_, said, _)| *said == name);
        if taken.len() >= MOST || before.clone().any(|(_, _, mark)| (mark.x - own.x).hypot(mark.y - own.y) < REGION) {
            continue;
        }
        let resort = if before.count() == 0 { LAST_RESORT } else { COVERED };
        let half = (CHARACTER * name.chars().count().min(LENGTH) as f64 / 2.0 + 3.0, LINE / 2.0);
        let space = |dx: f64, dy: f64| Space { x: own.x + dx, y: own.y + dy, width: half.0, height: half.1 };
        let (right, below) = (own.width + half.0 + 1.0, own.height + half.1 + 1.0);
        let covered = |space: Space| {
            let others = spaces.iter().enumerate().filter(|(other, _)| *other != k);
            others.map(|(_, mark)| space.overlap(*mark)).sum::<f64>() / (4.0 * half.0 * half.1)
        };
        let sides = [space(0.0, below), space(0.0, -below), space(right, 0.0), space(-right, 0.0)];
        let free = sides.into_iter().filter(|side| {
            side.x - side.width >= 0.0
                && side.x + side.width <= width
                && taken.iter().all(|(other, _, _)| other.overlap(*side) == 0.0)
        });
        let scored: Vec<(f64, Space)> = free.map(|side| (covered(side), side)).collect();
        let clear = scored.iter().find(|(share, _)| *share <= COVERED);
        let found =
            clear.or_else(|| scored.iter().min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, _)| *share <= resort));
        if let Some(&(_, side)) = found {
            taken.push((side, name, own));
        }
    }
    let shown = |name: String| {
        if name.chars().count() <= LENGTH { name } else { name.chars().take(LENGTH - 1).chain(['…']).collect() }
    };
    taken.into_iter().map(|(side, name, _)| Placed { text: shown(name), x: side.x, y: side.y }).collect()
}
