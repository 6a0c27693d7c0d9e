//! What was tried of every kind, kept in a file after every case: a run goes on where the last one stopped, and a case that
//! ended the whole program is found.

use std::fmt;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use super::Answer;
use super::kinds::NAMES;

/// What was tried.
#[derive(Default)]
pub(super) struct State {
    rows: [Row; NAMES.len()],
    /// The kind whose next case is under way, and how often that was begun.
    under_way: Option<(usize, u64)>,
    file: Option<File>,
}

/// What was tried of a kind.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    accepted: u64,
    refused: u64,
    failures: u64,
    seconds: f64,
}

impl Row {
    fn tried(&self) -> u64 {
        self.accepted + self.refused + self.failures
    }
}

impl State {
    /// What a file remembers, or nothing yet.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Self::default()) };
        let trouble = |error: std::io::Error| format!("cannot keep {}: {error}", path.display());
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(trouble)?;
        let text = std::io::read_to_string(&file).map_err(trouble)?;
        let mut state = Self::parse(&text).ok_or_else(|| format!("{} is no state of cases", path.display()))?;
        state.file = Some(file);
        // Once may be an accident of the machine.
        if let Some((kind, 2..)) = state.under_way {
            println!(
                "FAILED: attack mutate --kind {} --case {}: it ends the program",
                NAMES[kind],
                state.rows[kind].tried()
            );
            state.rows[kind].failures += 1;
            state.under_way = None;
        }
        Ok(state)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut state = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let kind = NAMES.iter().position(|name| words.first() == Some(name))?;
            match words[1..] {
                ["begun", times] => state.under_way = Some((kind, times.parse().ok()?)),
                [accepted, refused, failures, seconds] => {
                    let count = |word: &str| word.parse().ok();
                    state.rows[kind] = Row {
                        accepted: count(accepted)?,
                        refused: count(refused)?,
                        failures: count(failures)?,
                        seconds: seconds.parse().ok()?,
                    };
                }
                _ => return None,
            }
        }
        Some(state)
    }

    /// As a file: every line as long as ever, so that one write replaces all of it.
    fn text(&self) -> String {
        let row = |(name, row): (&&str, &Row)| {
            let Row { accepted, refused, failures, seconds } = row;
            format!("{name:<14} {accepted:>12} {refused:>12} {failures:>12} {seconds:>12.3}\n")
        };
        let under_way = self.under_way.map_or(String::new(), |(kind, times)| format!("{} begun {times}", NAMES[kind]));
        NAMES.iter().zip(&self.rows).map(row).chain([format!("{under_way:<40}\n")]).collect()
    }

    fn keep(&mut self) {
        let text = self.text();
        if let Some(file) = &mut self.file
            && let Err(error) = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(text.as_bytes()))
        {
            eprintln!("attack: the state is lost: {error}");
            self.file = None;
        }
    }

    /// The kind whose next case was under way when the last run ended.
    pub(super) fn unfinished(&self) -> Option<usize> {
        self.under_way.map(|(kind, _)| kind)
    }

    /// The number of the next case of a kind, which is now under way.
    pub(super) fn begin(&mut self, kind: usize) -> u64 {
        let times = self.under_way.filter(|(other, _)| *other == kind).map_or(0, |(_, times)| times);
        self.under_way = Some((kind, times + 1));
        self.keep();
        self.rows[kind].tried()
    }

    pub(super) fn end(&mut self, kind: usize, answer: &Result<Answer, String>, time: Duration) {
        let row = &mut self.rows[kind];
        match answer {
            Ok(Answer::Accepted) => row.accepted += 1,
            Ok(Answer::Refused(_)) => row.refused += 1,
            Err(_) => row.failures += 1,
        }
        row.seconds += time.as_secs_f64();
        self.under_way = None;
        self.keep();
    }

    pub(super) fn failures(&self) -> u64 {
        self.rows.iter().map(|row| row.failures).sum()
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<14} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "kind", "cases", "accepted", "refused", "failures", "cases/s"
        )?;
        let sum = |sum: Row, row: &Row| Row {
            accepted: sum.accepted + row.accepted,
            refused: sum.refused + row.refused,
            failures: sum.failures + row.failures,
            seconds: sum.seconds + row.seconds,
        };
        let all = self.rows.iter().fold(Row::default(), sum);
        for (name, row) in NAMES.iter().zip(&self.rows).chain([(&"all", &all)]) {
            let Row { accepted, refused, failures, seconds } = *row;
            let (tried, rate) = (row.tried(), row.tried() as f64 / seconds.max(1e-9));
            writeln!(f, "{name:<14} {tried:>9} {accepted:>9} {refused:>9} {failures:>9} {rate:>9.0}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_where_the_last_one_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut state = State::open(Some(&path)).unwrap();
        for number in 0..3 {
            assert_eq!(state.begin(1), number);
            state.end(1, &Ok(Answer::Accepted), Duration::from_millis(5));
        }
        state.begin(2);
        drop(state);
        // A case that was under way is begun again, and given up if it ends the program once more.
        let mut state = State::open(Some(&path)).unwrap();
        assert_eq!((state.unfinished(), state.begin(2)), (Some(2), 0));
        drop(state);
        let mut state = State::open(Some(&path)).unwrap();
        assert_eq!((state.failures(), state.unfinished(), state.begin(2), state.begin(1)), (1, None, 1, 3));
        std::fs::write(&path, "x,y\n1,2\n").unwrap();
        assert!(State::open(Some(&path)).is_err());
    }
}
