//! Writes maps to look at: of made-up data, for the tests of the page, or of MNIST, Fashion-MNIST and COIL-20.
//!
//! ```text
//! cargo run --release -p gromap-report --example maps -- OUT
//! cargo run --release -p gromap-report --example maps -- OUT --data FOLDER
//! ```
//!
//! FOLDER holds `mnist` and `fashion-mnist` with the IDX files of the test set, and `coil-20` with its PNG files; what is
//! not there is left out.

mod datasets;
mod made_up;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [out] => made_up::write(&Folder::new(out)?),
        [out, flag, data] if flag == "--data" => datasets::write(&Folder::new(out)?, Path::new(data)),
        _ => Err("usage: maps OUT [--data FOLDER]".into()),
    }
}

/// Where maps are written.
struct Folder(PathBuf);

impl Folder {
    fn new(path: &str) -> Result<Self, Box<dyn Error>> {
        std::fs::create_dir_all(path)?;
        Ok(Self(path.into()))
    }

    /// Writes a file and says so.
    fn write(&self, name: &str, content: &str, since: Instant) -> Result<(), Box<dyn Error>> {
        std::fs::write(self.0.join(name), content)?;
        writeln!(std::io::stdout(), "{name}: {} bytes, {:.1} s", content.len(), since.elapsed().as_secs_f64())?;
        Ok(())
    }
}
