//! Atomic output files: written to a temporary file in the same folder, flushed to disk, then renamed.
//!
//! Another process sees the old file or the new one, never a part of it; a killed process leaves at most a temporary file.
//! An existing file is replaced only with `--force`, which is checked before the work starts and again by the renaming.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Kind, Outcome, shown};

/// What happens to a file that exists.
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

/// A file that will be written.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    path: PathBuf,
    existing: Existing,
}

impl Output {
    /// Refuses a path that cannot be written, before any work is done.
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

    /// Refuses two outputs that are the same file, of which the second would replace the first.
    pub(crate) fn check_different<'o>(outputs: impl IntoIterator<Item = &'o Self>) -> Outcome<()> {
        let mut seen: Vec<(PathBuf, &Path)> = Vec::new();
        for output in outputs.into_iter().filter(|output| !output.is_special()) {
            let file = resolved(&output.path);
            if let Some((_, other)) = seen.iter().find(|(other, _)| *other == file || is_same_file(other, &file)) {
                let (one, two) = (shown(other), shown(&output.path));
                return Err(Failure::usage(format!("two outputs are the same file: {one} and {two}")));
            }
            seen.push((file, &output.path));
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the whole file, or leaves the old one.
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
        // The new name is safe once the folder is flushed; some systems cannot flush folders, and do not need to.
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

/// The absolute path of a file that may not exist yet, with links and `..` resolved.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(file) = path.canonicalize() {
        return file;
    }
    let target = std::fs::read_link(path).map_or_else(|_| path.to_owned(), |target| folder(path).join(target));
    match (folder(&target).canonicalize(), target.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => target,
    }
}

/// Whether two names are links to one file.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    place(one).is_some() && place(one) == place(other)
}

#[cfg(not(unix))]
fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A temporary file with the permissions of any new file.
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
    #[cfg(unix)]
    fn two_names_of_one_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("below")).unwrap();
        std::fs::write(at("there"), b"x").unwrap();
        std::fs::hard_link(at("there"), at("hard")).unwrap();
        std::os::unix::fs::symlink("there", at("link")).unwrap();
        std::os::unix::fs::symlink("a", at("dangling")).unwrap();
        let same = |one: &str, other: &str| {
            let outputs = [one, other].map(|name| Output::new(&at(name), Existing::Replace).unwrap());
            Output::check_different(&outputs).is_err()
        };
        for (one, other) in
            [("a", "a"), ("a", "./a"), ("below/../a", "a"), ("there", "link"), ("hard", "link"), ("dangling", "a")]
        {
            assert!(same(one, other), "{one} {other}");
        }
        assert!(!same("a", "b") && !same("a", "below/a") && !same("/dev/null", "/dev/null"));
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
