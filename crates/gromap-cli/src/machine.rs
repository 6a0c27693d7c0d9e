//! The cores and the memory of the machine, and what the operating system knows of this process, where it reports them.

use std::fs::read_to_string;

/// Fraction of the machine's memory that may be used by default.
const SHARE: f64 = 0.8;

/// The default of `--max-memory`: 80% of the memory of the machine or the container; no limit where that is not known.
pub(crate) fn default_limit() -> u64 {
    memory().map_or(u64::MAX, |bytes| (SHARE * bytes as f64) as u64)
}

/// Memory of the machine, or of the control group that holds this process.
fn memory() -> Option<u64> {
    let machine = kilobytes(&read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = group.iter().filter_map(|path| read_to_string(path).ok()?.trim().parse().ok());
    limits.chain([machine]).min()
}

/// As many threads are fine on any machine.
const ALWAYS_FINE: usize = 64;

/// The cores that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// More threads than this would only wait for each other.
pub(crate) fn most_threads() -> usize {
    cores().max(ALWAYS_FINE)
}

/// Threads if the user does not say: what the environment tells every program of this kind, or one for each core.
pub(crate) fn default_threads() -> usize {
    let told = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok()).filter(|&number| number > 0);
    told.map_or_else(cores, |number: usize| number.min(most_threads()))
}

/// Whether whoever started this process wants a signal to be ignored.
#[cfg(unix)]
pub(crate) fn ignores(signal: i32) -> bool {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// The most memory this process has held at once.
pub(crate) fn peak() -> Option<u64> {
    kilobytes(&read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The bytes in a line such as `MemTotal: 1024 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|number| 1024 * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_understood() {
        assert_eq!(kilobytes("A: 1 kB\nMemTotal:  20 kB\n", "MemTotal:"), Some(20 * 1024));
        assert_eq!(kilobytes("MemTotal: many\n", "MemTotal:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_limit_is_more_than_we_have_taken() {
        assert!(peak().unwrap() < default_limit());
    }
}
