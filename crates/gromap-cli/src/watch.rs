//! Who looks on while a fit runs: the clock, the progress bar, the log of rounds, and Ctrl-C.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gromap::Interrupt;
use gromap::observe::{Event, Flow, Observer, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::{Failure, Kind, Outcome, safe};
use crate::machine;

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
        if signal().asked.load(Ordering::SeqCst) { Flow::Stop } else { Flow::Continue }
    }
}

/// Writes a line to standard error; there is no one left to tell if that fails.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{}", safe(&line.to_string()));
}

/// What Ctrl-C has asked for.
struct Signal {
    asked: AtomicBool,
    /// Whether there is a state worth keeping: then rounds are asked to stop, otherwise everything is.
    has_state: AtomicBool,
    interrupt: Interrupt,
}

fn signal() -> &'static Signal {
    static SIGNAL: OnceLock<Signal> = OnceLock::new();
    SIGNAL.get_or_init(|| Signal {
        asked: AtomicBool::new(false),
        has_state: AtomicBool::new(false),
        interrupt: Interrupt::default(),
    })
}

/// Listens to Ctrl-C: once, to end with the best state so far; twice, to end at once.
pub(crate) fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        // Without a handler, Ctrl-C ends the program as it ends any other: nothing half-written is left either way.
        let _ = ctrlc::set_handler(|| {
            let signal = signal();
            if signal.asked.swap(true, Ordering::SeqCst) {
                std::process::exit(i32::from(Kind::Interrupted.exit_code()));
            }
            if !signal.has_state.load(Ordering::SeqCst) {
                signal.interrupt.request();
            }
        });
    });
}

/// Whether Ctrl-C was heard.
pub(crate) fn is_interrupted() -> bool {
    signal().asked.load(Ordering::SeqCst)
}

/// Works on so many threads, in a pool that ends with the work; Ctrl-C ends it where there is nothing to keep yet.
pub(crate) fn on_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
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
