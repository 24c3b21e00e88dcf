//! The end of a log.

use std::io::{Read, Seek, SeekFrom};

/// The last `count` lines of a file, read backwards in blocks.
pub(crate) fn tail(file: &mut (impl Read + Seek), count: usize) -> std::io::Result<Vec<String>> {
    const BLOCK: u64 = 64 * 1024;
    let mut start = file.seek(SeekFrom::End(0))?;
    let mut bytes: Vec<u8> = Vec::new();
    // One newline more than lines, because the first line may be incomplete.
    while start > 0 && bytes.iter().filter(|byte| **byte == b'\n').count() <= count {
        let length = start.min(BLOCK);
        start -= length;
        file.seek(SeekFrom::Start(start))?;
        let mut block = Vec::new();
        file.by_ref().take(length).read_to_end(&mut block)?;
        block.append(&mut bytes);
        bytes = block;
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines.iter().skip(lines.len().saturating_sub(count)).map(|line| (*line).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn tail_returns_the_last_lines() {
        let check = |text: &str, count, expected: &[&str]| {
            assert_eq!(tail(&mut Cursor::new(text), count).unwrap(), expected);
        };
        check("", 5, &[]);
        check("a\nb\nc\n", 2, &["b", "c"]);
        check("a\nb\nc", 2, &["b", "c"]);
        check("a\nb\n", 9, &["a", "b"]);
        check("a\n", 0, &[]);
        let long: String = (0..40_000).map(|n| format!("line {n}\n")).collect();
        check(&long, 2, &["line 39998", "line 39999"]);
    }
}
