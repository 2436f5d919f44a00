//! The icon of the pages: a square in the colour of links, generated here.
use workgraph_api::ApiResponse;

/// Side length in pixels.
const SIDE: u8 = 16;
/// Colour of a pixel: blue, green, red and opacity.
const ACCENT: [u8; 4] = [0x52, 0x5f, 0x1f, 0xff];
const CLEAR: [u8; 4] = [0; 4];

/// Returns the icon in the format that every browser reads: a directory with one bitmap of 32 bits per pixel.
fn icon() -> Vec<u8> {
    let pixels = u32::from(SIDE) * u32::from(SIDE) * 4;
    // The mask has a row of four bytes for each row of pixels.
    let mask = u32::from(SIDE) * 4;
    let mut out = vec![0, 0, 1, 0, 1, 0, SIDE, SIDE, 0, 0, 1, 0, 32, 0];
    out.extend((40 + pixels + mask).to_le_bytes());
    out.extend(22u32.to_le_bytes());
    out.extend(40u32.to_le_bytes());
    out.extend(u32::from(SIDE).to_le_bytes());
    // The height includes the mask.
    out.extend((u32::from(SIDE) * 2).to_le_bytes());
    out.extend([1, 0, 32, 0]);
    out.extend([0; 24]);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let edge = |n: u8| n == 0 || n == SIDE - 1;
            let is_corner = edge(x) && edge(y);
            out.extend(if is_corner { CLEAR } else { ACCENT });
        }
    }
    out.extend(vec![0; mask as usize]);
    out
}

/// Returns the icon as a response.
pub(crate) fn reply() -> ApiResponse {
    ApiResponse::json(200, icon())
        .with("Content-Type", "image/x-icon")
        .with("Cache-Control", "public, max-age=86400")
        .with("X-Content-Type-Options", "nosniff")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_the_icon_says_where_its_bitmap_is_and_how_long() {
        let bytes = icon();
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(number(18), 22);
        assert_eq!(number(14) as usize, bytes.len() - 22);
    }
}
