//! Trouble during writing, be it kill -9, signals, a full disk or another program that writes the same file: a file is the old
//! one or the new one, whole, or not there.

#![cfg(unix)]

mod common;

use std::process::{Command, Stdio};
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

/// A table that is long in writing, and the arguments that write it.
fn large() -> (Bench, [&'static str; 8]) {
    let bench = Bench::new();
    let text: String = (0..20_000).map(|i| format!("{},{}\n", (i * 37) % 1009, (i * 101) % 997)).collect();
    bench.write("x.csv", text);
    (bench, ["embed", "x.csv", "--method", "pca", "--quiet", "--force", "-o", "places.csv"])
}

#[test]
fn a_killed_program_leaves_no_half_written_file() {
    let (bench, embed) = large();
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

/// Two signals end writing at once, and take the temporary file along.
#[test]
fn signals_leave_no_temporary_file() {
    let (bench, embed) = large();
    assert_eq!(bench.run(&embed).status.code(), Some(0));
    let new = bench.read("places.csv");
    // Sends them as soon as there is something in the temporary file. Two of one kind could become one on their way.
    let watch = "while kill -0 $0; do
        for part in .gromap-*.part; do
            if [ -s \"$part\" ]; then kill -TERM $0; kill -INT $0; exit; fi
        done
    done";
    let mut cut = 0;
    for _ in 0..30 {
        std::fs::remove_file(bench.path("places.csv")).unwrap_or_default();
        let mut child = bench.command(&embed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut watcher = Command::new("sh");
        watcher.args(["-c", watch, &child.id().to_string()]).current_dir(bench.path(".")).stderr(Stdio::null());
        let mut watcher = watcher.spawn().expect("a shell");
        let code = child.wait().expect("it ends").code();
        watcher.wait().expect("it ends");
        assert!([Some(0), Some(130), Some(143)].contains(&code), "{code:?}");
        match std::fs::read(bench.path("places.csv")) {
            Ok(found) => assert!(found == new, "{} bytes", found.len()),
            Err(_) => cut += 1,
        }
        assert!(!bench.files().iter().any(|name| name.ends_with(".part")), "{code:?}: {:?}", bench.files());
    }
    assert!(cut > 0, "every signal came after the end of writing");
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let (bench, embed) = large();
    bench.write("places.csv", "the file that was there before");
    // A limit on the size of files is the full disk that every system has.
    let limited = "ulimit -f 8; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_gromap")]).args(embed).arg("--json").current_dir(bench.path("."));
    let output = command.output().expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(error["error"]["kind"], "io", "{error}");
    assert!(error["error"]["message"].as_str().expect("text").starts_with("cannot write places.csv: "), "{error}");
    assert_eq!(bench.text("places.csv"), "the file that was there before");
    assert_eq!(bench.files(), ["places.csv", "x.csv"]);
    if cfg!(target_os = "linux") {
        let full = ["embed", "x.csv", "--method", "pca", "--quiet", "-o", "/dev/full"];
        let error = bench.error(&full, 1);
        assert_eq!(
            (&error["kind"], error["message"].as_str().is_some_and(|text| text.contains("/dev/full"))),
            (&"io".into(), true)
        );
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
        let mut command = bench.command(&["embed", "x.csv", "--method", "pca", "--quiet"]);
        assert_eq!(command.stdout(full).status().expect("it starts").code(), Some(1));
    }
}

/// Of several programs that write one file, the file is of one of them, whole; without --force it is of the first.
#[test]
fn racing_writers_leave_one_whole_file() {
    let (bench, _) = large();
    bench.write("y.csv", bench.text("x.csv").replace('7', "1"));
    let embed = |data: &'static str, more: &[&'static str]| {
        let arguments = with(&["embed", data, "--method", "pca", "--quiet", "-o", "places.csv"], more);
        bench.command(&arguments).stderr(Stdio::null()).spawn().expect("it starts")
    };
    let alone = ["x.csv", "y.csv"].map(|data| {
        assert!(embed(data, &["--force"]).wait().expect("it ends").success());
        bench.read("places.csv")
    });
    assert_ne!(alone[0], alone[1]);
    for force in [true, false] {
        for _ in 0..5 {
            std::fs::remove_file(bench.path("places.csv")).expect("a file");
            let more = if force { &["--force"][..] } else { &[] };
            let writers = ["x.csv", "y.csv", "x.csv", "y.csv"].map(|data| embed(data, more));
            let codes = writers.map(|mut writer| writer.wait().expect("it ends").code().expect("a code"));
            let written = codes.iter().filter(|&&code| code == 0).count();
            let refused = codes.iter().filter(|&&code| code == 1).count();
            assert_eq!((written, refused), if force { (4, 0) } else { (1, 3) });
            assert!(alone.contains(&bench.read("places.csv")), "a mixture");
            assert_eq!(bench.files(), ["places.csv", "x.csv", "y.csv"]);
        }
    }
}
