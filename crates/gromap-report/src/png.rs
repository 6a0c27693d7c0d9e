//! A PNG of one small picture: what an SVG can hold. One deflated block without prediction; pictures are small.

use std::io::Write;

use flate2::{Compression, Crc, write::ZlibEncoder};

/// Encodes a picture of 1 (grey), 3 (RGB) or 4 (RGBA) bytes a pixel.
pub(crate) fn encode(width: usize, height: usize, channels: usize, pixels: &[u8]) -> Vec<u8> {
    let color_type = match channels {
        1 => 0,
        3 => 2,
        _ => 6,
    };
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::with_capacity(13);
    header.extend((width as u32).to_be_bytes());
    header.extend((height as u32).to_be_bytes());
    header.extend([8, color_type, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &header);
    chunk(&mut file, b"IDAT", &deflated(pixels, width * channels));
    chunk(&mut file, b"IEND", &[]);
    file
}

/// The rows, each after the byte that says it is stored as it is.
fn deflated(pixels: &[u8], row: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let mut filtered = Vec::with_capacity(pixels.len() + pixels.len() / row.max(1));
    for line in pixels.chunks_exact(row.max(1)) {
        filtered.push(0);
        filtered.extend_from_slice(line);
    }
    // Writing to memory does not fail.
    let _ = encoder.write_all(&filtered);
    encoder.finish().unwrap_or_default()
}

/// Length, name, content, and the checksum of both.
fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    let mut crc = Crc::new();
    crc.update(name);
    crc.update(content);
    file.extend((content.len() as u32).to_be_bytes());
    file.extend_from_slice(name);
    file.extend_from_slice(content);
    file.extend(crc.sum().to_be_bytes());
}
