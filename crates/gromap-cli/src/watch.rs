//! Who looks on while a fit runs: the clock, the progress bar, the log of rounds, and signals.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use gromap::Interrupt;
use gromap::observe::{Event, Flow, Observer, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::{Failure, Kind, Outcome, safe};
use crate::{machine, output};

/// Where the time went, in the words of the JSON.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) neighbors: f64,
    pub(crate) affinity: f64,
    pub(crate) init: f64,
    pub(crate) fit: f64,
    pub(crate) total: f64,
}

/// How much is said on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// Nothing.
    Quiet,
    /// A bar, if someone is looking.
    Bar,
    /// Every round.
    Rounds,
}

/// The observer of a run.
pub(crate) struct Watch {
    pub(crate) seconds: Seconds,
    start: Instant,
    since: Instant,
    stage: Option<Stage>,
    max_rounds: usize,
    bar: ProgressBar,
    voice: Voice,
}

impl Watch {
    /// Starts the clock; what comes first is reading.
    pub(crate) fn new(voice: Voice, max_rounds: usize) -> Self {
        let looked_at = voice != Voice::Quiet && std::io::stderr().is_terminal();
        let target = if looked_at { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.enable_steady_tick(Duration::from_millis(120));
        let watch = Self {
            seconds: Seconds::default(),
            start: Instant::now(),
            since: Instant::now(),
            stage: None,
            max_rounds,
            bar,
            voice,
        };
        watch.show("read");
        watch
    }

    /// A stage without rounds.
    fn show(&self, stage: &str) {
        let style = ProgressStyle::with_template("{spinner} {prefix:<10} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        self.bar.set_style(style);
        self.bar.set_prefix(stage.to_owned());
        self.bar.reset_elapsed();
    }

    /// Books the time since the last change on the stage that ended.
    fn book(&mut self, next: Option<Stage>) {
        let seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        let of = &mut self.seconds;
        *match self.stage {
            None => &mut of.read,
            // Scaling and projection are done for the sake of the neighbours.
            Some(Stage::Prepare | Stage::Neighbors) => &mut of.neighbors,
            Some(Stage::Affinity) => &mut of.affinity,
            Some(Stage::Start) => &mut of.init,
            Some(Stage::Fit) => &mut of.fit,
        } += seconds;
        self.stage = next;
    }

    /// Reading is done; what is not a stage of its own goes to the first one.
    pub(crate) fn read(&mut self) {
        self.book(Some(Stage::Prepare));
    }

    /// The last stage is done; returns where the time went.
    pub(crate) fn finish(&mut self) -> Seconds {
        self.book(Some(Stage::Fit));
        self.bar.finish_and_clear();
        self.seconds.total = self.start.elapsed().as_secs_f64();
        self.seconds
    }

    fn begin(&mut self, stage: Stage) {
        self.book(Some(stage));
        self.show(stage.name());
    }

    fn round(&mut self, round: usize, loss: f64) {
        if self.voice == Voice::Rounds {
            self.bar.suspend(|| say(format_args!("round {round:>4}  loss {loss:.9}")));
        }
        if round == 0 {
            let template =
                "{spinner} {prefix:<10} [{bar:24}] round {pos} of at most {len}, loss {msg}, {eta} left at most";
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            self.bar.set_style(style.progress_chars("=> "));
            self.bar.set_length(self.max_rounds as u64);
            self.bar.reset_eta();
        }
        self.bar.set_position(round as u64);
        self.bar.set_message(format!("{loss:.6}"));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Watch {
    fn on(&mut self, event: &Event) -> Flow {
        match *event {
            Event::Stage(stage) => self.begin(stage),
            Event::Round { round, loss } => {
                signal().has_state.store(true, Ordering::SeqCst);
                self.round(round, loss);
            }
            _ => {}
        }
        if is_interrupted() { Flow::Stop } else { Flow::Continue }
    }
}

/// Writes a line to standard error; there is no one left to tell if that fails.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{}", safe(&line.to_string()));
}

/// What a signal has asked for.
struct Signal {
    /// Its number; 0 if there was none.
    asked: AtomicU8,
    /// Whether there is work to end in good order.
    is_working: AtomicBool,
    /// Whether there is a state worth keeping: then rounds are asked to stop, otherwise everything is.
    has_state: AtomicBool,
    interrupt: Interrupt,
}

/// The number of Ctrl-C.
const INTERRUPT: u8 = 2;

fn signal() -> &'static Signal {
    static SIGNAL: OnceLock<Signal> = OnceLock::new();
    SIGNAL.get_or_init(|| Signal {
        asked: AtomicU8::new(0),
        is_working: AtomicBool::new(false),
        has_state: AtomicBool::new(false),
        interrupt: Interrupt::default(),
    })
}

/// Listens to Ctrl-C, and to the wish of the system or of a terminal that the program ends: once, to end with the best state so
/// far; twice, to end at once. `tell` is told where there is nothing to keep yet, so that the first one ends everything.
pub(crate) fn listen(tell: impl Fn(&Failure) + Send + 'static) {
    static LISTENING: OnceLock<()> = OnceLock::new();
    // Without it, a signal ends the program as it ends any other.
    LISTENING.get_or_init(|| drop(on_signals(move |number| hear(number, &tell))));
}

#[cfg(unix)]
fn on_signals(hear: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
    use std::sync::Arc;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    // A file that grows beyond a limit is an error of whoever writes it, not the end of the program.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    // Under nohup a program outlives its terminal.
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&number| number != SIGHUP || !machine::ignores(number));
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
    let listen = move || signals.forever().for_each(|number| hear(number.try_into().unwrap_or(INTERRUPT)));
    std::thread::Builder::new().name("signals".into()).spawn(listen).map(drop)
}

#[cfg(not(unix))]
fn on_signals(hear: impl Fn(u8) + Send + 'static) -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || hear(INTERRUPT))
}

fn hear(number: u8, tell: &impl Fn(&Failure)) {
    let signal = signal();
    let is_first = signal.asked.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if !is_first || !signal.is_working.load(Ordering::SeqCst) {
        // Nothing is written from here on.
        let _unfinished = output::abandon();
        if is_first {
            tell(&interrupted());
        }
        std::process::exit(128 + i32::from(number));
    }
    if !signal.has_state.load(Ordering::SeqCst) {
        signal.interrupt.request();
    }
}

/// From here on a first signal does not end the program where it stands.
pub(crate) fn begin_work() {
    signal().is_working.store(true, Ordering::SeqCst);
}

/// Whether a signal was heard.
pub(crate) fn is_interrupted() -> bool {
    signal().asked.load(Ordering::SeqCst) != 0
}

/// The exit code of a program that was asked to end: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
pub(crate) fn exit_code() -> u8 {
    128 + match signal().asked.load(Ordering::SeqCst) {
        0 => INTERRUPT,
        number => number,
    }
}

/// Works on so many threads, in a pool that ends with the work; a signal ends it where there is nothing to keep yet.
pub(crate) fn on_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    begin_work();
    let interrupt = &signal().interrupt;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or_else(machine::default_threads));
    let done = pool.build_scoped(
        |thread| interrupt.watch(|| thread.run()),
        |pool| {
            pool.install(|| {
                let mut outcome = None;
                let ended = interrupt.guard(|| {
                    outcome = Some(work());
                    Ok(())
                });
                match (ended, outcome) {
                    (Ok(()), Some(outcome)) => outcome,
                    _ => Err(interrupted()),
                }
            })
        },
    );
    done.unwrap_or_else(|error| Err(Failure::new(Kind::Failure, format!("cannot start threads: {error}"))))
}

fn interrupted() -> Failure {
    Failure::new(Kind::Interrupted, "interrupted before there was a result; nothing is written")
}
