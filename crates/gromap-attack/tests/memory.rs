//! A slice of `attack memory`: every case is a process of its own, whose peak the system knows.

use std::process::Command;

#[test]
fn small_fits_hold_no_more_than_planned() {
    let run = Command::new(env!("CARGO_BIN_EXE_attack")).args(["memory", "--smoke"]).output().expect("attack runs");
    assert!(run.status.success(), "{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
}
