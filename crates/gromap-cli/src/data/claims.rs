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
        let fits = end(block).is_some_and(|end| end <= bytes.len() as u64);
        if !fits {
            return Err(damaged("a block claims more bytes than the file has"));
        }
        check_message(&bytes[block.offset() as usize..], room)?;
    }
    Ok(())
}

/// Refuses a stream whose messages claim more than we may hold; what they claim of the stream itself is read as it comes.
pub(super) fn check_stream(mut bytes: &[u8], room: Room) -> Outcome<()> {
    while let Some(length) = check_message(bytes, room)? {
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(())
}

fn damaged(problem: &str) -> Failure {
    Failure::data(problem)
}

/// Where a block ends, if its numbers can be added up.
fn end(block: &Block) -> Option<u64> {
    let parts = [block.offset(), block.metaDataLength().into(), block.bodyLength()];
    parts.iter().try_fold(0_u64, |sum, &part| sum.checked_add(u64::try_from(part).ok()?))
}

/// A number of four bytes that is not negative.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(i32::from_le_bytes(bytes)).ok()
}

/// Checks a message and returns its length; nothing at the end of messages, or where there is none the reader can make out.
fn check_message(bytes: &[u8], room: Room) -> Outcome<Option<usize>> {
    let start = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
    let header = number(bytes, start - 4).filter(|&length| length > 0);
    let Some(header) = header.and_then(|length| bytes.get(start..start.checked_add(length)?)) else { return Ok(None) };
    let Ok(message) = root_as_message(header) else { return Ok(None) };
    let length = usize::try_from(message.bodyLength()).ok().and_then(|body| body.checked_add(start + header.len()));
    let body = &bytes[start + header.len()..];
    if let Some(batch) = batch(&message).filter(|batch| batch.compression().is_some()) {
        for buffer in batch.buffers().into_iter().flatten().filter(|buffer| buffer.length() >= 8) {
            let at = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
            let claim = at.checked_add(8).and_then(|end| body.get(at..end)?.try_into().ok()).map(i64::from_le_bytes);
            // A length of −1 says that the buffer is not compressed after all.
            room.check("a compressed buffer", u64::try_from(claim.unwrap_or(0)).unwrap_or(0))?;
        }
    }
    Ok(length)
}

/// The values of a message, if it has any.
fn batch<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())
}
