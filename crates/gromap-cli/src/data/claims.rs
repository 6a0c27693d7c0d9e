//! What an Arrow file claims, checked before its reader believes it: that reader takes as much memory as a block says it
//! has, and as much as a compressed buffer says it becomes.
//!
//! ```text
//! file     ARROW1 0 0  messages  footer: {offset, length} of each block  length of the footer  ARROW1
//! message  ffffffff  length of the header  header: {length of the body, buffers}  body
//! ```

use arrow_ipc::{Block, Message, RecordBatch, root_as_footer, root_as_message};

use super::source::Room;
use crate::failure::{Failure, Outcome};

/// Marks the beginning of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Refuses a file whose blocks or buffers claim more than the file has, or than we may hold.
pub(super) fn check_file(bytes: &[u8], room: Room) -> Outcome<()> {
    let tail = bytes.len().checked_sub(10).ok_or_else(|| damaged("it is too short"))?;
    let length = number(bytes, tail).ok_or_else(|| damaged("its footer has no length"))?;
    let footer = tail.checked_sub(length).and_then(|start| bytes.get(start..tail));
    let footer = root_as_footer(footer.ok_or_else(|| damaged("its footer is longer than the file"))?);
    let footer = footer.map_err(|error| Failure::data(format!("its footer is damaged: {error}")))?;
    for block in footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten() {
        let whole = range(block).and_then(|range| bytes.get(range));
        let whole = whole.ok_or_else(|| damaged("a block claims more bytes than the file has"))?;
        // The message ends where it ends, whatever its length says; the body begins where the block says.
        let message = whole.get(prefix(whole)..).and_then(|message| root_as_message(message).ok());
        let body = usize::try_from(block.metaDataLength()).ok().and_then(|length| whole.get(length..));
        message.map_or(Ok(()), |message| check_buffers(&message, body.unwrap_or_default(), room))?;
    }
    Ok(())
}

/// Refuses a stream whose messages claim more than it has or than we may hold.
pub(super) fn check_stream(mut bytes: &[u8], room: Room) -> Outcome<()> {
    loop {
        let start = prefix(bytes);
        let header = number(bytes, start - 4).filter(|&length| length > 0);
        let header = header.and_then(|length| bytes.get(start..start.checked_add(length)?));
        // Nothing follows, or nothing that the reader can make out.
        let Some((header, Ok(message))) = header.map(|header| (header, root_as_message(header))) else { return Ok(()) };
        let body = &bytes[start + header.len()..];
        check_buffers(&message, body, room)?;
        let rest = usize::try_from(message.bodyLength()).ok().and_then(|length| body.get(length..));
        bytes = rest.ok_or_else(|| damaged("a message claims more bytes than the stream has"))?;
    }
}

fn damaged(problem: &str) -> Failure {
    Failure::data(problem)
}

/// The bytes of a block, if its numbers can be added up.
fn range(block: &Block) -> Option<std::ops::Range<usize>> {
    let number = |number: i64| usize::try_from(number).ok();
    let start = number(block.offset())?;
    let end = start.checked_add(number(block.metaDataLength().into())?)?.checked_add(number(block.bodyLength())?)?;
    Some(start..end)
}

/// Bytes before a message: its length, and mostly a mark before that.
fn prefix(bytes: &[u8]) -> usize {
    if bytes.starts_with(&CONTINUATION) { 8 } else { 4 }
}

/// A number of four bytes that is not negative.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(i32::from_le_bytes(bytes)).ok()
}

/// Refuses compressed buffers that claim to become larger than we may hold.
fn check_buffers(message: &Message<'_>, body: &[u8], room: Room) -> Outcome<()> {
    let Some(batch) = batch(message).filter(|batch| batch.compression().is_some()) else { return Ok(()) };
    for buffer in batch.buffers().into_iter().flatten() {
        let at = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let claim = at.checked_add(8).and_then(|end| body.get(at..end)?.try_into().ok()).map(i64::from_le_bytes);
        // A length of −1 says that the buffer is not compressed after all.
        room.check("a compressed buffer", u64::try_from(claim.unwrap_or(0)).unwrap_or(0))?;
    }
    Ok(())
}

/// The values of a message, if it has any.
fn batch<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())
}
