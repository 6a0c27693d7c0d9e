//! What the footer and the pages of a Parquet file claim, checked before its reader believes it: that reader takes memory for
//! as many children as an element of the schema says it has, goes as deep as they are nested, and takes as much memory as a
//! page says it becomes.
//!
//! ```text
//! file     PAR1  pages: header, values  footer  length of the footer  PAR1
//! footer   struct { 1: version, 2: list of elements { 1: type, …, 4: name, 5: children, …, 10: logical type }, … }
//! header   struct { 1: type, 2: bytes when unpacked, 3: bytes in the file, …, 5 or 8: { 1: values, … }, … }
//! struct   fields: step to the next number and type in one byte, value; then a zero
//! ```
//!
//! The reader goes by the numbers of fields and not by their types, so a field whose type is not the one of its number is
//! refused: otherwise the two of us could read different things.

use super::source::Room;
use crate::failure::{Failure, Outcome};

/// No table is nested like this.
const DEEPEST: usize = 64;

/// Types of values; true and false are types of their own, and all whole numbers but bytes are stored alike.
const TRUE: u8 = 1;
const BYTE: u8 = 3;
const INTEGER: u8 = 5;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Refuses a schema that claims more children than it has elements, or is nested too deeply.
pub(super) fn check(file: &[u8]) -> Outcome<()> {
    let footer = file.strip_suffix(b"PAR1").and_then(|rest| rest.split_last_chunk());
    let footer =
        footer.and_then(|(rest, length)| rest.get(rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?..));
    // What is no footer at all is told by the reader.
    footer.map_or(Ok(()), |footer| Footer { rest: footer }.check())
}

/// Refuses a chunk of this many values with a page that claims to become larger than we may hold.
pub(super) fn check_pages(mut chunk: &[u8], values: i64, room: Room) -> Outcome<()> {
    let mut seen = 0_i64;
    while !chunk.is_empty() {
        let mut header = Footer { rest: chunk };
        match header.page() {
            Some(page) => {
                room.check("a page", page.unpacked)?;
                seen = seen.saturating_add(page.values);
                chunk = header.rest.get(page.packed..).unwrap_or_default();
            }
            // What comes after all values is not read.
            None if seen >= values => return Ok(()),
            None => return Err(damaged("the header of a page is damaged")),
        }
    }
    Ok(())
}

/// What the header of a page says.
#[derive(Default)]
struct Page {
    /// Bytes that it becomes, and bytes that it is.
    unpacked: u64,
    packed: usize,
    values: i64,
}

/// The structs that the reader looks into on its way.
#[derive(Clone, Copy)]
enum Struct {
    File,
    Element,
    /// One of several logical types.
    Logical,
    /// The logical type of this number.
    OfType(i64),
    Unit,
    Page,
    /// What the header of a page says of its kind, by the number of the field.
    OfPage(i64),
    Statistics,
    Other,
}

impl Struct {
    /// The type that the field of this number has, and the struct that it is, if the reader knows it.
    fn field(self, number: i64) -> Option<(u8, Self)> {
        let plain = |kind| Some((kind, Self::Other));
        match (self, number) {
            (Self::File, 1 | 3) => plain(INTEGER),
            (Self::File, 4 | 5 | 7) => plain(LIST),
            (Self::File, 6) | (Self::Element, 4) => plain(BINARY),
            (Self::Element, 10) => Some((STRUCT, Self::Logical)),
            (Self::Element, 1..=9) => plain(INTEGER),
            (Self::Logical, 1..=19) => Some((STRUCT, Self::OfType(number))),
            (Self::OfType(5), 1 | 2) | (Self::OfType(18), 2) => plain(INTEGER),
            (Self::OfType(7 | 8), 1) | (Self::OfType(10), 2) => plain(TRUE),
            (Self::OfType(7 | 8), 2) => Some((STRUCT, Self::Unit)),
            (Self::OfType(10 | 16), 1) => plain(BYTE),
            (Self::OfType(17 | 18), 1) => plain(BINARY),
            (Self::Unit, 1..=3) => plain(STRUCT),
            (Self::Page, 1..=4) => plain(INTEGER),
            (Self::Page, 5..=8) => Some((STRUCT, Self::OfPage(number))),
            (Self::OfPage(5), 5) | (Self::OfPage(8), 8) => Some((STRUCT, Self::Statistics)),
            (Self::OfPage(7), 3) | (Self::OfPage(8), 7) => plain(TRUE),
            (Self::OfPage(5), 1..=4) | (Self::OfPage(7), 1 | 2) | (Self::OfPage(8), 1..=6) => plain(INTEGER),
            (Self::Statistics, 1 | 2 | 5 | 6) => plain(BINARY),
            (Self::Statistics, 3 | 4) => plain(INTEGER),
            (Self::Statistics, 7 | 8) => plain(TRUE),
            _ => None,
        }
    }
}

/// What is left of a footer.
struct Footer<'a> {
    rest: &'a [u8],
}

impl Footer<'_> {
    fn check(&mut self) -> Outcome<()> {
        let (mut number, mut is_seen) = (0, false);
        loop {
            match self.field(&mut number).filter(|kind| *kind > 0) {
                Some(kind) if (number, kind) == (2, LIST) && !is_seen => {
                    is_seen = true;
                    self.schema()?;
                }
                Some(_) if number == 2 => return Err(damaged("its schema is there twice, or is no list")),
                Some(kind) if self.known(kind, number, Struct::File, DEEPEST).is_some() => {}
                // Here it ends, or the reader will say what is wrong behind the schema.
                _ if is_seen => return Ok(()),
                _ => return Err(damaged("its footer is damaged")),
            }
        }
    }

    /// The elements of the schema: those with children are followed by them.
    fn schema(&mut self) -> Outcome<()> {
        let damage = || damaged("its schema is damaged");
        let (_, count) = self.list().filter(|(kind, _)| *kind == STRUCT).ok_or_else(damage)?;
        // How many are still to come at every level above the next one.
        let mut missing: Vec<u64> = Vec::new();
        for _ in 0..count {
            while missing.pop_if(|missing| *missing == 0).is_some() {}
            missing.last_mut().into_iter().for_each(|missing| *missing -= 1);
            let children = self.element().ok_or_else(damage)?;
            match u64::try_from(children) {
                Ok(0) => {}
                Ok(children) if children < count => missing.push(children),
                _ => return Err(damaged(&format!("an element of its schema has {children} children of {count}"))),
            }
            if missing.len() > DEEPEST {
                return Err(damaged(&format!("its schema is nested in more than {DEEPEST} levels")));
            }
        }
        Ok(())
    }

    /// The number of children of an element.
    fn element(&mut self) -> Option<i64> {
        let (mut number, mut children) = (0, 0);
        loop {
            match self.field(&mut number)? {
                0 => return Some(children),
                4..=6 if number == 5 => children = self.integer()?,
                kind => self.known(kind, number, Struct::Element, DEEPEST)?,
            }
        }
    }

    /// The header of a page.
    fn page(&mut self) -> Option<Page> {
        let (mut number, mut page) = (0, Page::default());
        loop {
            match (self.field(&mut number)?, number) {
                (0, _) => return Some(page),
                (4..=6, 2) => page.unpacked = u64::try_from(self.integer()?).ok()?,
                (4..=6, 3) => page.packed = usize::try_from(self.integer()?).ok()?,
                (STRUCT, 5 | 8) => page.values = self.values_of_page(number)?,
                (kind, _) => self.known(kind, number, Struct::Page, DEEPEST)?,
            }
        }
    }

    /// The number of values of a page.
    fn values_of_page(&mut self, kind: i64) -> Option<i64> {
        let (mut number, mut values) = (0, 0);
        loop {
            match (self.field(&mut number)?, number) {
                (0, _) => return Some(values),
                (4..=6, 1) => values = self.integer()?,
                (inner, _) => self.known(inner, number, Struct::OfPage(kind), DEEPEST)?,
            }
        }
    }

    /// Skips a field, if it is of the type that the reader takes it for.
    fn known(&mut self, kind: u8, number: i64, of: Struct, depth: usize) -> Option<()> {
        let Some((expected, inner)) = of.field(number) else { return self.value(kind, Struct::Other, depth) };
        let alike = match expected {
            TRUE => kind <= 2,
            INTEGER => (4..=6).contains(&kind),
            _ => kind == expected,
        };
        alike.then(|| self.value(kind, inner, depth))?
    }

    /// Skips a value.
    fn value(&mut self, kind: u8, of: Struct, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.skip(1),
            4..=6 => self.integer().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = self.count()?;
                self.skip(length)
            }
            9 | 10 => {
                let (kind, count) = self.list()?;
                // In a list, true and false take a byte.
                let kind = if kind <= 2 { BYTE } else { kind };
                (0..count).try_for_each(|_| self.value(kind, Struct::Other, depth))
            }
            12 => {
                let mut number = 0;
                loop {
                    match self.field(&mut number)? {
                        0 => return Some(()),
                        kind => self.known(kind, number, of, depth)?,
                    }
                }
            }
            _ => None,
        }
    }

    /// The type of the next field, 0 at the end; its number takes the place of the last one.
    fn field(&mut self, number: &mut i64) -> Option<u8> {
        let byte = self.byte()?;
        match (byte >> 4, byte & 15) {
            (_, 0) => return Some(0),
            (0, _) => *number = self.integer()?,
            (step, _) => *number = number.checked_add(step.into())?,
        }
        Some(byte & 15)
    }

    /// The type and number of items, each of which takes a byte at least.
    fn list(&mut self) -> Option<(u8, u64)> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.count()? } else { u64::from(byte >> 4) };
        (count <= self.rest.len() as u64).then_some((byte & 15, count))
    }

    fn byte(&mut self) -> Option<u8> {
        self.rest.split_off_first().copied()
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        self.rest.split_off(..usize::try_from(length).ok()?).map(|_| ())
    }

    /// A number of seven bits a byte.
    fn count(&mut self) -> Option<u64> {
        let mut sum = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            sum |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(sum);
            }
        }
        None
    }

    /// The same with a sign, which is the lowest bit.
    fn integer(&mut self) -> Option<i64> {
        self.count().map(|bits| (bits >> 1) as i64 ^ -((bits & 1) as i64))
    }
}

fn damaged(problem: &str) -> Failure {
    Failure::data(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose schema is a root and what is given, with this many elements in all.
    fn file(count: u8, root: &[u8], elements: &[u8]) -> Vec<u8> {
        let name = [0x48, 1, b'x'];
        let schema = [&[0x15, 2, 0x19, count << 4 | STRUCT][..], &name, root, &[0], elements, &[0]].concat();
        [b"PAR1", &schema[..], &(schema.len() as u32).to_le_bytes(), b"PAR1"].concat()
    }

    #[test]
    fn children_are_counted_before_they_are_believed() {
        let leaf = [0x15, 2, 0x25, 0, 0x18, 1, b'y', 0];
        assert_eq!(check(&file(2, &[0x15, 2], &leaf)), Ok(()));
        let message = |root: &[u8]| check(&file(2, root, &leaf)).unwrap_err().message;
        assert!(message(&[0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f]).contains("has 2147483647 children of 2"));
        assert!(message(&[0x15, 1]).contains("has -1 children"));
        // A byte is not a number: the reader would take what follows it for a part of it.
        assert!(message(&[0x13, 2]).contains("its schema is damaged"));
        assert_eq!(check(b"PAR1"), Ok(()));
    }

    #[test]
    fn pages_claim_what_may_be_held() {
        // A page of data with two values, three bytes of the file that become as many as given.
        let page = |unpacked: &[u8]| [&[0x15, 0, 0x15], unpacked, &[0x15, 6, 0x2c, 0x15, 4, 0, 0, 7, 7, 7]].concat();
        let pages =
            |pages: &[Vec<u8>]| check_pages(&pages.concat(), 4, Room(1 << 20)).map_err(|failure| failure.message);
        assert_eq!(pages(&[page(&[6]), page(&[6])]), Ok(()));
        assert_eq!(pages(&[page(&[6]), page(&[6]), b"padding".to_vec()]), Ok(()));
        assert!(pages(&[page(&[6]), page(&[0xfe, 0xff, 0xff, 0xff, 0x0f])]).unwrap_err().contains("needs 2.0 GiB"));
        assert!(pages(&[page(&[6]), b"padding".to_vec()]).unwrap_err().contains("header of a page is damaged"));
    }

    #[test]
    fn no_schema_is_nested_without_end() {
        let nest = [0x48, 1, b'x', 0x15, 2, 0];
        let schema = [&[0x15, 2, 0x19, 0xfc, 0xd0, 0x0f][..], &nest.repeat(2000), &[0]].concat();
        let file = [&schema[..], &(schema.len() as u32).to_le_bytes(), b"PAR1"].concat();
        assert!(check(&file).unwrap_err().message.contains("more than 64 levels"));
    }
}
