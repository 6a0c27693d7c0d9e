//! Atomic output files: written to a temporary file in the same folder, flushed to disk, then renamed.
//!
//! Another process sees the old file or the new one, never a part of it; only kill -9 leaves a temporary file. An existing file
//! is replaced only with `--force`, which is checked before the work starts and again by the renaming; a file that is read is
//! never replaced.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

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
    pub(crate) fn new(path: &Path, existing: Existing) -> Self {
        Self { path: path.into(), existing }
    }

    /// The same for a path that may not have been given.
    pub(crate) fn optional(path: Option<&Path>, existing: Existing) -> Option<Self> {
        path.map(|path| Self::new(path, existing))
    }

    /// Refuses outputs that cannot be written, before any work is done: two that are the same file, of which the second would
    /// replace the first, a file that is read, which nothing may replace, one that exists, and a folder that takes no files.
    pub(crate) fn check<'o>(outputs: impl IntoIterator<Item = &'o Self>, read: &[PathBuf]) -> Outcome<()> {
        let mut seen: Vec<(PathBuf, Option<Place>, &Path)> = Vec::new();
        for output in outputs.into_iter().filter(|output| !output.is_special()) {
            let (file, place) = (resolved(&output.path), place(&output.path));
            if let Some(input) = read.iter().find(|input| place.is_some() && place_of_input(input) == place) {
                let (one, two) = (shown(&output.path), shown(input));
                let which = if one == two { String::new() } else { format!("{two}, which is ") };
                let message = format!("{one} is {which}read, and must not be replaced");
                return Err(Failure::usage(message).hint("give the output another name"));
            }
            let is_same = |other: &Path, at: &Option<Place>| other == file || place.is_some() && *at == place;
            if let Some((.., other)) = seen.iter().find(|(other, at, _)| is_same(other, at)) {
                let (one, two) = (shown(other), shown(&output.path));
                return Err(Failure::usage(format!("two outputs are the same file: {one} and {two}")));
            }
            output.check_alone()?;
            seen.push((file, place, &output.path));
        }
        Ok(())
    }

    /// Refuses a path that cannot be written.
    fn check_alone(&self) -> Outcome<()> {
        let (path, folder) = (&self.path, folder(&self.path));
        if !folder.is_dir() {
            let message = format!("cannot write {}: there is no folder {}", shown(path), shown(folder));
            return Err(Failure::new(Kind::Io, message));
        }
        if path.is_dir() || path.file_name().is_none() {
            return Err(Failure::new(Kind::Io, format!("cannot write {}: it is a folder", shown(path))));
        }
        // /dev/stdout and its like, where they lead to a file: the file could be replaced, but never the link.
        let is_of_system = |folder: PathBuf| folder == Path::new("/dev") || folder.starts_with("/proc");
        if path.is_symlink() && folder.canonicalize().is_ok_and(is_of_system) {
            let message = format!("cannot write {}: it is a link of the system to a file", shown(path));
            return Err(Failure::new(Kind::Io, message).hint("give the name of the file"));
        }
        // A link to nothing is there too.
        if self.existing == Existing::Keep && path.symlink_metadata().is_ok() {
            return Err(self.exists());
        }
        let tried = Temporary::new(folder).map(drop);
        tried.map_err(|error| Failure::io(format_args!("cannot write {}", shown(path)), &error))
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
        let mut file = Temporary::new(folder(&self.path)).map_err(trouble)?;
        let inside = file.0.as_file_mut();
        inside.write_all(bytes).and_then(|()| inside.sync_all()).map_err(trouble)?;
        file.keep(self).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => self.exists(),
            _ => trouble(error),
        })?;
        // The new name is safe once the folder is flushed; some systems cannot flush folders, and do not need to.
        let _ = File::open(folder(&self.path)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Whether this is a pipe or a device.
    fn is_special(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
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

/// What all names of one file have in common.
#[cfg(unix)]
type Place = (u64, u64);
#[cfg(not(unix))]
type Place = PathBuf;

/// Where a file is, if it is.
#[cfg(unix)]
fn place(path: &Path) -> Option<Place> {
    path.metadata().ok().map(|metadata| place_of(&metadata))
}

#[cfg(unix)]
fn place_of(metadata: &std::fs::Metadata) -> Place {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn place(path: &Path) -> Option<Place> {
    path.canonicalize().ok()
}

/// The same for a file that is read; `-` is what standard input comes from.
fn place_of_input(path: &Path) -> Option<Place> {
    #[cfg(unix)]
    if path.as_os_str() == "-" {
        let input = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned().ok()?;
        return File::from(input).metadata().ok().map(|metadata| place_of(&metadata));
    }
    place(path)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The temporary file that is being written, for whoever ends the program at once.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes what is half-written; nothing more can be written as long as the result lives.
pub(crate) fn abandon() -> MutexGuard<'static, Option<PathBuf>> {
    let mut unfinished = unfinished();
    if let Some(path) = unfinished.take() {
        // It may just have become the output.
        let _ = std::fs::remove_file(path);
    }
    unfinished
}

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file, which is removed unless it is kept.
struct Temporary(NamedTempFile);

impl Temporary {
    /// One with the permissions of any new file.
    fn new(folder: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".gromap-").suffix(".part");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut unfinished = unfinished();
        let file = builder.tempfile_in(folder)?;
        *unfinished = Some(file.path().into());
        Ok(Self(file))
    }

    /// Gives the file its name.
    fn keep(self, output: &Output) -> io::Result<()> {
        let moved = match output.existing {
            Existing::Replace => self.0.persist(&output.path),
            Existing::Keep => self.0.persist_noclobber(&output.path),
        };
        moved.map(drop).map_err(|error| error.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &Path, existing: Existing) -> Outcome<()> {
        Output::check([&Output::new(path, existing)], &[])
    }

    #[test]
    fn what_exists_is_kept_unless_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        Output::new(&path, Existing::Keep).write(b"one").unwrap();
        let refused = checked(&path, Existing::Keep).unwrap_err();
        assert!(refused.hint.unwrap().contains("--force"));
        checked(&path, Existing::Replace).unwrap();
        Output::new(&path, Existing::Replace).write(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_appears_during_the_work_is_kept_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let output = Output::new(&path, Existing::Keep);
        Output::check([&output], &[]).unwrap();
        std::fs::write(&path, b"someone else's").unwrap();
        assert!(output.write(b"ours").unwrap_err().message.contains("exists"));
        assert_eq!(std::fs::read(&path).unwrap(), b"someone else's");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
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
        // Two outputs, and an output and an input.
        let same = |one: &str, other: &str| {
            let outputs = [one, other].map(|name| Output::new(&at(name), Existing::Replace));
            let is_read = Output::check([&outputs[0]], &[at(other)]).is_err();
            assert_eq!(is_read, at(other).is_file(), "{one} {other}");
            Output::check(&outputs, &[]).is_err()
        };
        for (one, other) in
            [("a", "a"), ("a", "./a"), ("below/../a", "a"), ("there", "link"), ("hard", "link"), ("dangling", "a")]
        {
            assert!(same(one, other), "{one} {other}");
        }
        assert!(!same("a", "b") && !same("a", "below/a") && !same("/dev/null", "/dev/null"));
        let failure = Output::check([&Output::new(&at("link"), Existing::Keep)], &[at("hard")]).unwrap_err();
        assert!(failure.message.contains("hard, which is read") && !failure.hint.unwrap().contains("--force"));
    }

    #[test]
    fn places_that_cannot_be_are_named() {
        let message = |path: &str| checked(Path::new(path), Existing::Keep).unwrap_err().message;
        assert!(message("/nowhere/a").contains("no folder"));
        assert!(message("/").contains("it is a folder"));
        // A folder that takes no files, even from those who may do anything.
        #[cfg(target_os = "linux")]
        assert!(message("/proc/a").contains("cannot write /proc/a"));
    }

    #[test]
    #[cfg(unix)]
    fn devices_are_written_to_and_rights_are_the_usual_ones() {
        checked(Path::new("/dev/null"), Existing::Keep).unwrap();
        Output::new(Path::new("/dev/null"), Existing::Keep).write(b"x").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        let folder = tempfile::tempdir().unwrap();
        let (ours, usual) = (folder.path().join("a"), folder.path().join("b"));
        Output::new(&ours, Existing::Keep).write(b"x").unwrap();
        std::fs::write(&usual, b"x").unwrap();
        let mode =
            |path: &Path| std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions());
        assert_eq!(mode(&ours), mode(&usual));
    }
}
