//! What the tests of the program share: a folder of their own, runs of the real binary, and small data in every format.

#![allow(dead_code)] // each test program uses a part

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Samples, features and groups of the small data.
pub(crate) const SAMPLES: usize = 90;
pub(crate) const FEATURES: usize = 4;
pub(crate) const GROUPS: usize = 3;

/// A folder in which the program runs.
pub(crate) struct Bench(TempDir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("text")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gromap"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// The JSON of a run that must succeed, and say nothing else.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.json_with_code(arguments, 0)
    }

    pub(crate) fn json_with_code(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}{err}");
        assert!(err.is_empty(), "{arguments:?} says on standard error: {err}");
        serde_json::from_str(&out)
            .unwrap_or_else(|error| panic!("standard output is not one JSON value: {error}\n{out}"))
    }

    /// The error of a run that must fail with this code.
    pub(crate) fn error(&self, arguments: &[&str], code: i32) -> Value {
        let mut found = self.json_with_code(arguments, code);
        assert_eq!(found.as_object().map(serde_json::Map::len), Some(1), "{found}");
        found["error"].take()
    }

    /// A run for people that must succeed; what it printed.
    pub(crate) fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Files in the folder, by name.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// A value of the small data: three groups far apart, a little noise, all exact in half precision.
pub(crate) fn value(i: usize, j: usize) -> f64 {
    let noise = ((i * 37 + j * 101 + i * i * 7) % 64) as f64 / 64.0;
    noise + if (i % GROUPS) == (j % GROUPS) { 8.0 } else { 0.0 }
}

pub(crate) fn label(i: usize) -> &'static str {
    ["ant", "bee", "cat"][i % GROUPS]
}

pub(crate) fn values() -> impl Iterator<Item = f64> {
    (0..SAMPLES).flat_map(|i| (0..FEATURES).map(move |j| value(i, j)))
}

/// An array as numpy saves it.
pub(crate) fn npy(descr: &str, shape: &str, values: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(values);
    bytes
}

pub(crate) fn npy_f64() -> Vec<u8> {
    npy("<f8", &format!("({SAMPLES}, {FEATURES})"), values().flat_map(f64::to_le_bytes))
}

pub(crate) fn npy_f32() -> Vec<u8> {
    npy("<f4", &format!("({SAMPLES}, {FEATURES})"), values().flat_map(|value| (value as f32).to_le_bytes()))
}

/// A table with labels, weights and a note.
pub(crate) fn csv(delimiter: &str) -> String {
    let mut text = ["a", "b", "c", "d", "kind", "weight"].join(delimiter) + "\n";
    for i in 0..SAMPLES {
        let mut cells: Vec<String> = (0..FEATURES).map(|j| value(i, j).to_string()).collect();
        cells.extend([label(i).to_owned(), "1".into()]);
        text += &(cells.join(delimiter) + "\n");
    }
    text
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Options that make a fit of the small data quick and sure.
pub(crate) const QUICK: [&str; 4] = ["--prototypes", "6", "--perplexity", "8"];

pub(crate) fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

/// The header of the data in a page.
pub(crate) fn page_data(html: &str) -> Value {
    let (_, data) = html.split_once("type=\"application/octet-stream\">").expect("data");
    let (data, _) = data.split_once('<').expect("an end");
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits = |group: &[u8]| group.iter().fold(0_u32, |bits, &byte| bits << 6 | u32::from(digit(byte)));
    let packed: Vec<u8> = data.as_bytes().chunks(4).flat_map(|group| bits(group).to_be_bytes()[1..].to_vec()).collect();
    let mut bytes = Vec::new();
    // What comes after the end is padding.
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("gzip");
    let length = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
    serde_json::from_slice(&bytes[4..4 + length]).expect("JSON")
}

/// Sends a signal to a program.
pub(crate) fn send(signal: &str, child: &std::process::Child) {
    // The shell's own: a small system has no program of that name.
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success(), "{kill}");
}

/// Whether this program, and so those that it starts, ignores hangups, as under nohup.
pub(crate) fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1)
}

/// Removes what is never the same: times and memory.
pub(crate) fn without_times(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("seconds");
            object.remove("peak_memory_bytes");
            object.values_mut().for_each(without_times);
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

/// The folder of the large datasets, on machines that have it.
pub(crate) fn datasets() -> Option<PathBuf> {
    let folder = std::env::var_os("GROMAP_DATA").map(PathBuf::from)?;
    Path::is_dir(&folder).then_some(folder)
}
