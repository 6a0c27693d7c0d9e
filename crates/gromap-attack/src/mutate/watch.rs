//! What watches a case: an allocator that counts, and a thread that ends the program if the case does not end.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{LazyLock, Once};
use std::time::{Duration, Instant};

/// A case that wants more than this is not served: the machine has other work.
const CAP: isize = 1 << 30;

/// A case that takes longer is taken for one that never ends.
const ENDLESS: Duration = Duration::from_secs(60);

/// Counts what the current thread asks for while a case runs.
struct Counting;

struct Meter {
    is_on: Cell<bool>,
    held: Cell<isize>,
    peak: Cell<isize>,
    largest: Cell<usize>,
}

thread_local! {
    static METER: Meter = const {
        Meter { is_on: Cell::new(false), held: Cell::new(0), peak: Cell::new(0), largest: Cell::new(0) }
    };
}

impl Meter {
    /// Notes a request that takes the place of `before` bytes; false if it is not to be served.
    fn grows(&self, before: usize, size: usize) -> bool {
        if !self.is_on.get() {
            return true;
        }
        self.largest.set(self.largest.get().max(size));
        let held = self.held.get() + size as isize - before as isize;
        self.peak.set(self.peak.get().max(held));
        if held > CAP {
            let _ = writeln!(std::io::stderr(), "attack: {} asks for {size} bytes at once, {held} in all", Running);
            return false;
        }
        self.held.set(held);
        true
    }
}

/// Notes a request on its way to the system's allocator, which does the work.
fn is_served(before: usize, size: usize) -> bool {
    METER.try_with(|meter| meter.grows(before, size)).unwrap_or(true)
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_served(0, layout.size()) { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_served(0, layout.size()) { unsafe { System.alloc_zeroed(layout) } } else { std::ptr::null_mut() }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_served(layout.size(), size) {
            unsafe { System.realloc(pointer, layout, size) }
        } else {
            std::ptr::null_mut()
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        is_served(layout.size(), 0);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The case that runs: the place of its kind, its number, and when it began, in milliseconds since the program did, or 0.
static KIND: AtomicUsize = AtomicUsize::new(0);
static NUMBER: AtomicU64 = AtomicU64::new(0);
static BEGAN: AtomicU64 = AtomicU64::new(0);
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How to run the case again that runs now.
struct Running;

impl std::fmt::Display for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = super::kinds::NAMES[KIND.load(Ordering::Relaxed)];
        write!(f, "--kind {name} --case {}", NUMBER.load(Ordering::Relaxed))
    }
}

/// What a case took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) time: Duration,
    /// The most that was held at once.
    pub(super) peak: usize,
    /// The largest piece.
    pub(super) largest: usize,
}

thread_local! {
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Runs a case under watch; a panic is an error that says where it was.
pub(super) fn watched<T>(kind: usize, number: u64, run: impl FnOnce() -> T) -> (Result<T, String>, Taken) {
    static SET_UP: Once = Once::new();
    SET_UP.call_once(set_up);
    KIND.store(kind, Ordering::Relaxed);
    NUMBER.store(number, Ordering::Relaxed);
    let start = Instant::now();
    BEGAN.store(START.elapsed().as_millis().max(1) as u64, Ordering::Relaxed);
    METER.with(|meter| {
        meter.held.set(0);
        meter.peak.set(0);
        meter.largest.set(0);
        meter.is_on.set(true);
    });
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    METER.with(|meter| meter.is_on.set(false));
    BEGAN.store(0, Ordering::Relaxed);
    let (peak, largest) = METER.with(|meter| (meter.peak.get().max(0) as usize, meter.largest.get()));
    let answer = answer.map_err(|_| PANIC.take().unwrap_or_else(|| "a panic without a message".into()));
    (answer, Taken { time: start.elapsed(), peak, largest })
}

/// Keeps what panics say while a case runs, and starts the thread that waits for cases that never end.
fn set_up() {
    LazyLock::force(&START);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if METER.with(|meter| meter.is_on.replace(false)) {
            PANIC.set(Some(panic.to_string()));
            METER.with(|meter| meter.is_on.set(true));
        } else {
            before(panic);
        }
    }));
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let (began, now) = (BEGAN.load(Ordering::Relaxed), START.elapsed().as_millis() as u64);
            if began > 0 && now.saturating_sub(began) > ENDLESS.as_millis() as u64 {
                let _ = writeln!(std::io::stderr(), "attack: {Running} does not end");
                std::process::exit(1);
            }
        }
    });
}
