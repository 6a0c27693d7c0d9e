//! Work on threads of its own, while the thread that asked for it listens for signals and tells Python how far it is.
//!
//! The GIL is free all the while. Every 50 ms the calling thread lets Python run its signal handlers; what they raise
//! (Ctrl-C: `KeyboardInterrupt`), and what a callback raises, requests an [`Interrupt`] and is raised once the work has
//! ended, which is soon. The threads end with the work: the pool is scoped, so none outlives the call.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use gromap::Interrupt;
use gromap::observe::{Event, Flow, Observer};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::to_python;

/// How long a signal may wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// Threads and whom to tell, by attribute.
#[derive(FromPyObject, Default)]
pub(crate) struct Running {
    /// As many as there are cores if not said.
    threads: Option<usize>,
    /// Called with the stage, or with round and loss; true ends the descent with its best state.
    callback: Option<Py<PyAny>>,
}

/// An event, and where the answer goes.
type Message = (Event, Sender<Flow>);

/// What the working side holds: passes events on and waits for the answer, if anyone wants to hear.
pub(crate) struct Reporter(Option<Sender<Message>>);

impl Observer for Reporter {
    fn on(&mut self, event: &Event) -> Flow {
        let Some(listener) = &self.0 else { return Flow::Continue };
        let (answer, answered) = channel();
        // Nobody hangs up before the work ends; if they did, nobody would want the result.
        if listener.send((*event, answer)).is_err() {
            return Flow::Stop;
        }
        answered.recv().unwrap_or(Flow::Stop)
    }
}

impl Running {
    /// Runs `work` without the GIL, and raises what happened meanwhile.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Reporter) -> gromap::Result<T> + Send,
    ) -> PyResult<T> {
        let interrupt = Interrupt::default();
        let is_heard = self.callback.is_some();
        let mut result = None;
        let heard = py.detach(|| {
            let (sender, inbox) = channel();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0));
            pool.thread_name(|index| format!("gromap-{index}")).build_scoped(
                |thread| interrupt.watch(|| thread.run()),
                |pool| {
                    pool.in_place_scope(|scope| {
                        scope.spawn(|_| {
                            // Whatever happens to the work, the end of the sender is the end of listening.
                            let sender = sender;
                            let mut reporter = Reporter(is_heard.then(|| sender.clone()));
                            result = Some(interrupt.guard(|| work(&mut reporter)));
                        });
                        self.listen(&inbox, &interrupt)
                    })
                },
            )
        });
        heard.map_err(|error| PyRuntimeError::new_err(format!("threads could not be started: {error}")))??;
        match result {
            Some(result) => result.map_err(to_python),
            None => Err(PyRuntimeError::new_err("the work ended without a result")),
        }
    }

    /// Answers events until the work has ended; gives the first exception.
    fn listen(&self, inbox: &Receiver<Message>, interrupt: &Interrupt) -> PyResult<()> {
        let mut outcome = Ok(());
        let mut stop = false;
        loop {
            let heard = match inbox.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Disconnected) => return outcome,
                Err(RecvTimeoutError::Timeout) if outcome.is_ok() => Python::attach(|py| py.check_signals()),
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Ok((event, answer)) => {
                    let told = if outcome.is_ok() { Python::attach(|py| self.tell(py, &event)) } else { Ok(true) };
                    stop |= !matches!(told, Ok(false));
                    let _ = answer.send(if stop { Flow::Stop } else { Flow::Continue });
                    told.map(|_| ())
                }
            };
            if let Err(error) = heard {
                interrupt.request();
                outcome = Err(error);
            }
        }
    }

    /// Whether the callback asks to stop.
    fn tell(&self, py: Python<'_>, event: &Event) -> PyResult<bool> {
        py.check_signals()?;
        let Some(callback) = &self.callback else { return Ok(false) };
        let (stage, round, loss) = match event {
            Event::Stage(stage) => (Some(stage.to_string()), None, None),
            Event::Round { round, loss } => (None, Some(*round), Some(*loss)),
            _ => return Ok(false),
        };
        callback.bind(py).call1((stage, round, loss))?.is_truthy()
    }
}
