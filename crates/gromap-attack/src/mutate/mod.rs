//! Damaged files, by the million: whatever a reader is given, it answers with data or with an error, soon, without a panic and
//! within the memory it may take.
//!
//! ```text
//! kinds.rs    a case: kind and number ──► bytes and their reader       wholes.rs    whole files to start from
//! damage.rs   changes to bytes                                         archive.rs   changes inside a model file
//! watch.rs    time, memory and panics of a case                        state.rs     what was tried, in a file
//! ```
//!
//! A model file that is accepted must also place samples, be shown, and be written again as the same bytes.

mod archive;
mod damage;
mod kinds;
mod state;
mod watch;
mod wholes;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gromap::{Matrix, Model};
use gromap_cli::probe;
use gromap_report::Report;

use kinds::{Door, Input, NAMES};
use state::State;
use watch::Taken;

/// What readers may hold, as `--max-memory` has it.
const ROOM: u64 = 4 << 20;

/// What a case may ask for in one piece, and hold in all: readers need scratch beside what they hold.
const LARGEST: usize = 16 << 20;
const HELD: usize = 32 << 20;

/// No small file takes this long.
const LONGEST: Duration = Duration::from_secs(10);

/// Nobody reads more of an error.
const LONGEST_ERROR: usize = 2000;

/// Cases of a kind before it is the turn of the next.
const TURN: u64 = 100;

/// What to try.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Cases to try; without this and without --seconds, 100,000
    #[arg(long)]
    count: Option<u64>,

    /// Seconds to go on for
    #[arg(long)]
    seconds: Option<u64>,

    /// Only this kind of input
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(NAMES))]
    kind: Option<String>,

    /// Only this case, and say more of it
    #[arg(long, value_name = "NUMBER", requires = "kind")]
    case: Option<u64>,

    /// Write the bytes of that case to a file
    #[arg(long, value_name = "FILE", requires = "case")]
    save: Option<PathBuf>,

    /// Remember what was tried, and go on from there the next time
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

/// Whether every promise held.
pub(crate) fn run(options: &Options) -> bool {
    let chosen: Vec<usize> =
        (0..NAMES.len()).filter(|&kind| options.kind.as_ref().is_none_or(|name| NAMES[kind] == name)).collect();
    on_one_thread(|| match options.case {
        Some(number) => replay(chosen[0], number, options),
        None => {
            let opened = State::open(options.state.as_deref());
            let Ok(mut state) = opened.map_err(|problem| eprintln!("attack: {problem}")) else { return false };
            try_all(&chosen, options, &mut state);
            print!("{state}");
            state.failures() == 0
        }
    })
}

/// Runs on one thread of its own, where what is allocated can be counted.
fn on_one_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(run),
        Err(_) => run(),
    }
}

fn replay(kind: usize, number: u64, options: &Options) -> bool {
    let input = kinds::input(kind, number);
    if let Some(path) = &options.save
        && let Err(error) = std::fs::write(path, &input.bytes)
    {
        eprintln!("attack: cannot write {}: {error}", path.display());
        return false;
    }
    let (size, door) = (input.bytes.len(), input.door);
    println!("{} case {number}: {size} bytes as {} for {door:?}", NAMES[kind], input.file);
    let (answer, Taken { time, peak, largest }) = judged(kind, number, input);
    println!("{time:?}, {peak} bytes held at most, {largest} in one piece");
    match &answer {
        Ok(Answer::Accepted) => println!("accepted"),
        Ok(Answer::Refused(error)) => println!("refused: {error}"),
        Err(problem) => println!("FAILED: {problem}"),
    }
    answer.is_ok()
}

/// Goes round the kinds until there were enough cases or there was enough time.
fn try_all(chosen: &[usize], options: &Options, state: &mut State) {
    let (start, mut told, mut tried) = (Instant::now(), Instant::now(), 0);
    let seconds = options.seconds.map(Duration::from_secs);
    let count = options.count.or(seconds.is_none().then_some(100_000)).unwrap_or(u64::MAX);
    if let Some(kind) = state.unfinished() {
        try_next(kind, state);
    }
    for &kind in chosen.iter().cycle() {
        for _ in 0..TURN {
            if tried >= count || seconds.is_some_and(|seconds| start.elapsed() >= seconds) {
                return;
            }
            tried += 1;
            try_next(kind, state);
        }
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            let rate = tried as f64 / start.elapsed().as_secs_f64();
            eprintln!("{tried} cases, {} failures, {rate:.0} cases/s", state.failures());
        }
    }
}

/// Tries the next case of a kind.
fn try_next(kind: usize, state: &mut State) {
    let number = state.begin(kind);
    let start = Instant::now();
    let (answer, _) = judged(kind, number, kinds::input(kind, number));
    if let Err(problem) = &answer {
        println!("FAILED: attack mutate --kind {} --case {number}: {problem}", NAMES[kind]);
    }
    state.end(kind, &answer, start.elapsed());
}

/// What a reader says of a case.
#[derive(Debug)]
enum Answer {
    Accepted,
    Refused(String),
}

/// Reads a case under watch; an error says which promise it broke.
fn judged(kind: usize, number: u64, input: Input) -> (Result<Answer, String>, Taken) {
    let (answer, taken) = watch::watched(kind, number, || answer(input));
    let answer = answer.and_then(|answer| answer);
    let answer = answer.and_then(|answer| match answer {
        Answer::Refused(error) if error.len() > LONGEST_ERROR => Err(format!(
            "an error of {} bytes, which begins: {}",
            error.len(),
            error.chars().take(200).collect::<String>()
        )),
        Answer::Refused(error) if error.trim().is_empty() => Err("an error without a word".into()),
        _ if taken.largest > LARGEST => Err(format!("{} bytes were asked for in one piece", taken.largest)),
        _ if taken.peak > HELD => Err(format!("{} bytes were held at once", taken.peak)),
        _ if taken.time > LONGEST => Err(format!("it took {:?}", taken.time)),
        answer => Ok(answer),
    });
    (answer, taken)
}

fn answer(input: Input) -> Result<Answer, String> {
    match input.door {
        Door::Model => model(&input.bytes),
        Door::Reader(reading) => Ok(match probe::read(&input.file, input.bytes, reading, ROOM) {
            Ok(()) => Answer::Accepted,
            Err(error) => Answer::Refused(error),
        }),
    }
}

/// A model that is accepted does all that a model does.
fn model(bytes: &[u8]) -> Result<Answer, String> {
    let model = match Model::from_bytes(bytes) {
        Ok(model) => model,
        Err(error) => return Ok(Answer::Refused(error.to_string())),
    };
    let widths = [1, 2, 3, model.features.as_ref().map_or(4, Matrix::columns).min(1 << 12)];
    for width in widths {
        let samples = Matrix::from_fn(5, width, |i, j| (i as f64 - 2.0) * 10f64.powi(i as i32 * 8) + j as f64);
        // Whether it can be answered is one thing; that it is answered is what counts here.
        let _ = (model.place(&samples), model.predict(samples.single()));
    }
    let _ = (model.embedding(), model.parameters.to_json());
    let _ = Report::new(&model).svg();
    let written = model.to_bytes();
    match Model::from_bytes(&written) {
        Ok(again) if again.to_bytes() == written => Ok(Answer::Accepted),
        Ok(_) => Err("it is not written again as the same bytes".into()),
        Err(error) => Err(format!("it is accepted, but not once it is written again: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_files_are_accepted() {
        for (kind, name) in NAMES.iter().enumerate() {
            let inputs = kinds::whole_inputs(kind);
            assert!(inputs.len() > 1, "{name}");
            for (at, input) in inputs.into_iter().enumerate() {
                let answer = answer(input);
                assert!(matches!(answer, Ok(Answer::Accepted)), "{name}, file {at}: {answer:?}");
            }
        }
    }

    #[test]
    fn a_case_is_a_function_of_its_kind_and_number() {
        for kind in 0..NAMES.len() {
            let bytes = |number| kinds::input(kind, number).bytes;
            assert_eq!(bytes(7), bytes(7));
            assert!((0..50).any(|number| bytes(number) != bytes(7)));
        }
    }

    /// The slice of every day; a million cases are a command.
    #[test]
    fn damaged_files_are_answered() {
        let mut state = State::default();
        let options = Options { count: Some(10_000), seconds: None, kind: None, case: None, save: None, state: None };
        on_one_thread(|| try_all(&(0..NAMES.len()).collect::<Vec<_>>(), &options, &mut state));
        assert_eq!(state.failures(), 0, "{state}");
    }
}
