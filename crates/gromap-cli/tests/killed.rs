//! kill -9 during writing: a file is the old one or the new one, whole, or not there.

#![cfg(unix)]

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::*;

/// Kills that must hit while the temporary file is there.
const TIMES: u32 = 50;

/// Waits until the program has begun to write beside its output, or has ended. An empty file only tries the folder.
fn has_begun(bench: &Bench, child: &mut std::process::Child) -> bool {
    let has_bytes = |name: &String| std::fs::metadata(bench.path(name)).is_ok_and(|file| file.len() > 0);
    loop {
        if bench.files().iter().any(|name| name.ends_with(".part") && has_bytes(name)) {
            return true;
        }
        if child.try_wait().expect("a state").is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn a_killed_program_leaves_no_half_written_file() {
    let bench = Bench::new();
    let text: String = (0..20_000).map(|i| format!("{},{}\n", (i * 37) % 1009, (i * 101) % 997)).collect();
    bench.write("x.csv", text);
    let embed = ["embed", "x.csv", "--method", "pca", "--quiet", "--force", "-o", "places.csv"];
    assert_eq!(bench.run(&embed).status.code(), Some(0));
    let new = bench.read("places.csv");
    assert!(new.len() > 500_000);
    let old = b"the file that was there before".to_vec();
    let (mut hits, mut kept, mut rounds) = (0, 0, 0_u32);
    while hits < TIMES {
        rounds += 1;
        assert!(rounds < 20 * TIMES, "writing is never seen");
        // Half of the time nothing was there before.
        let was_there = rounds.is_multiple_of(2);
        match was_there {
            true => drop(bench.write("places.csv", &old)),
            false => std::fs::remove_file(bench.path("places.csv")).unwrap_or_default(),
        }
        let mut child = bench.command(&embed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        if has_begun(&bench, &mut child) {
            // From the first byte to well beyond the last.
            std::thread::sleep(Duration::from_micros(u64::from(rounds) * 7919 % 4000));
            hits += 1;
        }
        child.kill().expect("kill -9");
        child.wait().expect("it ends");
        match std::fs::read(bench.path("places.csv")) {
            Ok(found) if found == new => {}
            Ok(found) => {
                assert!(was_there && found == old, "round {rounds}: {} bytes, neither old nor new", found.len());
                kept += 1;
            }
            Err(_) => {
                assert!(!was_there, "round {rounds}: the old file is gone");
                kept += 1;
            }
        }
        bench.files().iter().filter(|name| name.ends_with(".part")).for_each(|name| {
            std::fs::remove_file(bench.path(name)).expect("what a killed program leaves can be removed");
        });
    }
    assert!(kept > 0, "every kill came after the end of writing");
}
