//! Numbers in and out of a file's bytes.

/// Appends numbers, little-endian.
#[derive(Default)]
pub(crate) struct Encoder(pub(crate) Vec<u8>);

impl Encoder {
    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// The length, then the bytes.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.u64(text.len() as u64);
        self.0.extend(text.as_bytes());
        self
    }

    /// The length, then each.
    pub(crate) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.u64(items.len() as u64);
        items.iter().for_each(|item| each(self, item));
    }
}

/// Takes numbers off the front. None at the end, for whatever was asked.
pub(crate) struct Decoder<'a>(pub(crate) &'a [u8]);

impl Decoder<'_> {
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    /// What [`Encoder::text`] wrote.
    pub(crate) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.u64()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// What [`Encoder::list`] wrote. Nothing is allocated by the stated length, which may be anything.
    pub(crate) fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u64()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(each(self)?);
        }
        Some(items)
    }
}
