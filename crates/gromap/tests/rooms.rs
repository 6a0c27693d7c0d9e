//! What may use what inside the crate, as `docs/architecture.md` says: a room uses rooms of its own layer and of those
//! before it, and none that come later.

#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not take for tests

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up.
const LAYERS: [&[&str]; 7] = [
    &[
        "data",
        "error",
        "interrupt",
        "loss",
        "numeric",
        "observe",
        "outcome",
        "plan",
        "setters",
        "similarity",
        "table",
        "weights",
    ],
    &["memory", "metrics", "neighbors", "preprocessing", "transport"],
    &["embedding", "solve"],
    &["affinity", "start"],
    &["method"],
    &["model"],
    &["vocabulary"],
];

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// The rooms that code outside of tests and comments names.
fn used(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = lines.flat_map(|line| line.split("crate::").skip(1));
    names.map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("")).collect()
}

#[test]
fn rooms_use_no_later_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 80, "{} files", files.len());
    for file in files.iter().filter(|file| !file.to_string_lossy().contains("test") && !file.ends_with("lib.rs")) {
        let inside = file.strip_prefix(&root).unwrap();
        let room = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let here = layer(room).unwrap_or_else(|| panic!("{room} is in no layer: add it here and to the architecture"));
        for name in used(&fs::read_to_string(file).unwrap()) {
            let Some(there) = layer(name) else { continue };
            assert!(there <= here, "{} uses {name}, which comes after {room}", inside.display());
        }
    }
}

#[test]
fn the_architecture_lists_every_room() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/architecture.md")).unwrap();
    for room in LAYERS.iter().copied().flatten() {
        assert!(page.contains(&format!("`{room}`")) || page.contains(&format!("`{room}/`")), "{room}");
    }
}
