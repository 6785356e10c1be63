//! The checksum that etcd writes at the end of a snapshot.

use ring::digest::{Context, SHA256, SHA256_OUTPUT_LEN};

/// Whether a snapshot is what etcd wrote, as it passes by.
pub(super) struct SnapshotSum {
    context: Context,
    /// What may be the checksum: the last bytes so far.
    tail: Vec<u8>,
    bytes: u64,
}

impl SnapshotSum {
    pub(super) fn new() -> Self {
        Self { context: Context::new(&SHA256), tail: Vec::new(), bytes: 0 }
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.tail.extend_from_slice(piece);
        let known = self.tail.len().saturating_sub(SHA256_OUTPUT_LEN);
        self.context.update(&self.tail[..known]);
        self.tail.drain(..known);
    }

    /// How many bytes there were, if the last of them are the checksum of the others.
    pub(super) fn finish(self) -> Option<u64> {
        let fits = self.tail.len() == SHA256_OUTPUT_LEN && self.bytes > SHA256_OUTPUT_LEN as u64;
        (fits && self.context.finish().as_ref() == self.tail.as_slice()).then_some(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use ring::digest::digest;

    use super::*;

    #[test]
    fn a_snapshot_is_whole_however_it_is_cut() {
        let mut whole: Vec<u8> = (0..100).collect();
        let sum = digest(&SHA256, &whole);
        whole.extend_from_slice(sum.as_ref());
        let of = |bytes: &[u8], size: usize| {
            let mut sum = SnapshotSum::new();
            bytes.chunks(size).for_each(|piece| sum.take(piece));
            sum.finish()
        };
        for size in [1, 7, 31, 32, 33, 132, 500] {
            assert_eq!(of(&whole, size), Some(132), "{size}");
            assert_eq!(of(&whole[..131], size), None, "{size}");
            assert_eq!(of(&whole[1..], size), None, "{size}");
        }
        assert_eq!(SnapshotSum::new().finish(), None);
        assert_eq!(of(digest(&SHA256, b"").as_ref(), 8), None, "an empty snapshot is none");
    }
}
