//! Protobuf messages, written field by field.

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    pub(crate) fn fixed64(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3 | FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn double(&mut self, field: u64, value: f64) -> &mut Self {
        self.fixed64(field, value.to_bits())
    }

    pub(crate) fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.raw(field, text.as_bytes())
    }

    pub(crate) fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.raw(field, &message.0)
    }

    fn raw(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        let mut message = Message::default();
        message.number(1, 150).text(2, "testing");
        assert_eq!(message.bytes(), b"\x08\x96\x01\x12\x07testing");
    }
}
