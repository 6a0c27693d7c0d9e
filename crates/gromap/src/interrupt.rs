//! A way out of deep loops: a request to end, seen wherever work takes long.
//!
//! An [`Observer`](crate::Observer) is asked between rounds and keeps the best state. What comes before the first
//! round (neighbours, affinities, starts) has no state worth keeping, only loops that may run for minutes, many
//! calls deep and on many threads. They look at an [`Interrupt`] instead. A request unwinds the stack, without a message,
//! from the next look to [`Interrupt::guard`], which makes an [`Error::Interrupted`] of it: nothing in between needs to
//! know, and what was built so far is dropped as on any error.
//!
//! Threads learn of their interrupt by being started under it, so that two fits in one process do not hear each other.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// How long a request may wait for a thread that cannot look itself, and such a thread, at most, for its result to be
/// noticed.
const PATIENCE: Duration = Duration::from_millis(5);

/// What unwinds.
struct Requested;

/// A request to end that other threads can make.
///
/// ```
/// use gromap::{Error, GromovDr, Interrupt, Matrix};
/// let samples = Matrix::from_fn(100, 2, |i, j| ((i * (j + 3)) % 17) as f64);
/// let interrupt = Interrupt::default();
/// interrupt.request(); // from a signal handler, another thread, a button
/// let fit = interrupt.guard(|| GromovDr::builder().prototypes(5).perplexity(5.0).fit(&samples));
/// assert_eq!(fit.unwrap_err(), Error::Interrupted);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Asks all work under this interrupt to end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Works under this interrupt on the current thread; a request ends it with [`Error::Interrupted`].
    ///
    /// Threads of a pool that the work is shared with must have been started under it too, with [`Interrupt::watch`].
    /// Needs a program that unwinds, as programs do unless they are built with `panic = "abort"`.
    pub fn guard<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // What the work leaves half done is its own and dropped: nobody can see it afterwards.
        match catch_unwind(AssertUnwindSafe(|| self.watch(work))) {
            Ok(result) => result,
            Err(cause) if cause.is::<Requested>() => Err(Error::Interrupted),
            Err(cause) => resume_unwind(cause),
        }
    }

    /// Lets everything `run` does on the current thread look at this interrupt: the main loop of a pool's thread.
    pub fn watch<T>(&self, run: impl FnOnce() -> T) -> T {
        struct Restore(Option<Interrupt>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        run()
    }
}

/// Whether work on this thread can be interrupted.
pub(crate) fn is_watched() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Waits for `work` on a thread of its own, and leaves it there if the work must end.
pub(crate) fn wait_for<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(work);
    while !thread.is_finished() {
        look();
        std::thread::sleep(PATIENCE);
    }
    thread.join().unwrap_or_else(|cause| resume_unwind(cause))
}

/// Ends the work here if that was asked. Costs a few nanoseconds: looked at every millisecond or so, it is free.
#[inline]
pub(crate) fn look() {
    let requested = CURRENT.with_borrow(|current| current.as_ref().is_some_and(Interrupt::is_requested));
    if requested {
        resume_unwind(Box::new(Requested));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn a_request_ends_work_on_every_thread_of_a_pool() {
        let interrupt = Interrupt::default();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let outcome = pool
            .build_scoped(
                |thread| interrupt.watch(|| thread.run()),
                |pool| {
                    pool.install(|| {
                        interrupt.guard(|| {
                            (0..1_000_000).into_par_iter().for_each(|i| {
                                if i == 500_000 {
                                    interrupt.request();
                                }
                                look();
                                assert!(!interrupt.is_requested() || i != 999_999, "some work is left undone");
                            });
                            Ok(())
                        })
                    })
                },
            )
            .expect("a pool");
        assert_eq!(outcome, Err(Error::Interrupted));
    }

    #[test]
    fn without_a_request_nothing_changes_and_other_panics_pass() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.guard(|| Ok(7)), Ok(7));
        let cause = catch_unwind(|| interrupt.guard(|| -> Result<()> { resume_unwind(Box::new("other")) }));
        assert_eq!(cause.expect_err("a panic").downcast_ref(), Some(&"other"));
        look(); // outside of any interrupt
    }

    #[test]
    fn a_thread_that_cannot_look_is_left_alone() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.guard(|| Ok(wait_for(|| 7))), Ok(7));
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        interrupt.request();
        let found = interrupt.guard(|| Ok(wait_for(move || receiver.recv().is_ok())));
        assert_eq!(found, Err(Error::Interrupted));
        drop(sender); // only now does that thread end
    }

    #[test]
    fn an_inner_interrupt_hides_the_outer_one_only_while_it_lasts() {
        let (outer, inner) = (Interrupt::default(), Interrupt::default());
        outer.request();
        let found = outer.guard(|| {
            let hears_nothing = || {
                look();
                Ok(())
            };
            assert_eq!(inner.guard(hears_nothing), Ok(()));
            look();
            Ok(())
        });
        assert_eq!(found, Err(Error::Interrupted));
    }
}
