//! Files that are whole or not there: written beside their place, flushed to disk, then moved into it.
//!
//! Whoever looks sees the old file or the new one, whatever happens in between; what a killed process leaves is a temporary
//! file beside it. A file that exists is replaced only on demand, which is checked before the work starts and, by the move
//! itself, when it ends.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Kind, Outcome, shown};

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

impl Existing {
    /// Replaced only with `--force`.
    pub(crate) fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Keep }
    }
}

/// A place that a file will be written to.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    path: PathBuf,
    existing: Existing,
}

impl Output {
    /// Refuses a place where nothing can be written, before any work is done for it.
    pub(crate) fn new(path: &Path, existing: Existing) -> Outcome<Self> {
        let folder = folder(path);
        if !folder.is_dir() {
            let message = format!("cannot write {}: there is no folder {}", shown(path), folder.display());
            return Err(Failure::new(Kind::Io, message));
        }
        if path.is_dir() {
            return Err(Failure::new(Kind::Io, format!("cannot write {}: it is a folder", shown(path))));
        }
        let output = Self { path: path.into(), existing };
        if existing == Existing::Keep && path.exists() && !output.is_special() {
            return Err(output.exists());
        }
        Ok(output)
    }

    /// The same for a path that may not have been given.
    pub(crate) fn optional(path: Option<&Path>, existing: Existing) -> Outcome<Option<Self>> {
        path.map(|path| Self::new(path, existing)).transpose()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the whole file, or leaves what was there.
    pub(crate) fn write(&self, bytes: &[u8]) -> Outcome<()> {
        let trouble = |error: io::Error| Failure::io(format_args!("cannot write {}", shown(&self.path)), &error);
        // A pipe or a device is written to, never replaced.
        if self.is_special() {
            return File::options()
                .write(true)
                .open(&self.path)
                .and_then(|mut file| file.write_all(bytes))
                .map_err(trouble);
        }
        let mut file = temporary(folder(&self.path)).map_err(trouble)?;
        file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(trouble)?;
        let moved = match self.existing {
            Existing::Replace => file.persist(&self.path),
            Existing::Keep => file.persist_noclobber(&self.path),
        };
        moved.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => self.exists(),
            _ => trouble(error.error),
        })?;
        // The move is on disk once the folder is; where folders cannot be flushed, it is in good hands already.
        let _ = File::open(folder(&self.path)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    fn is_special(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|metadata| !metadata.is_file())
    }

    fn exists(&self) -> Failure {
        let message = format!("{} exists already", shown(&self.path));
        Failure::new(Kind::Io, message).hint("add --force to replace it")
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file beside the one that is to be, with the rights that any new file gets.
fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gromap-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_is_kept_unless_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        Output::new(&path, Existing::Keep).unwrap().write(b"one").unwrap();
        let refused = Output::new(&path, Existing::Keep).unwrap_err();
        assert!(refused.hint.unwrap().contains("--force"));
        Output::new(&path, Existing::Replace).unwrap().write(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_appears_during_the_work_is_kept_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let output = Output::new(&path, Existing::Keep).unwrap();
        std::fs::write(&path, b"someone else's").unwrap();
        assert!(output.write(b"ours").unwrap_err().message.contains("exists"));
        assert_eq!(std::fs::read(&path).unwrap(), b"someone else's");
    }

    #[test]
    fn places_that_cannot_be_are_named() {
        assert!(Output::new(Path::new("/nowhere/a"), Existing::Keep).unwrap_err().message.contains("no folder"));
        assert!(Output::new(Path::new("/"), Existing::Replace).unwrap_err().message.contains("it is a folder"));
    }

    #[test]
    #[cfg(unix)]
    fn devices_are_written_to_and_rights_are_the_usual_ones() {
        Output::new(Path::new("/dev/null"), Existing::Keep).unwrap().write(b"x").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        let folder = tempfile::tempdir().unwrap();
        let (ours, usual) = (folder.path().join("a"), folder.path().join("b"));
        Output::new(&ours, Existing::Keep).unwrap().write(b"x").unwrap();
        std::fs::write(&usual, b"x").unwrap();
        let mode =
            |path: &Path| std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions());
        assert_eq!(mode(&ours), mode(&usual));
    }
}
