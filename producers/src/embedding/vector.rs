//! The vector of a text: its direction, in one byte per number.

use serde_json::Value;

/// The direction of a text: numbers from -127 to 127, the largest of which is 127 or -127, or all 0.
///
/// One byte per number nearly preserves the order of neighbours (docs/embeddings.md has the figures) and keeps tables small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector(Vec<i8>);

impl Vector {
    pub fn from_numbers(numbers: &[f32]) -> Self {
        let largest = numbers.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let scale = if largest > 0.0 { 127.0 / largest } else { 0.0 };
        Self(numbers.iter().map(|number| (number * scale).round() as i8).collect())
    }

    /// Returns the bytes of a table row.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().map(|number| number.to_le_bytes()[0]).collect()
    }

    /// Reads the bytes of a table row.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| i8::from_le_bytes([*byte])).collect())
    }

    /// Returns the output: JSON, `{"vector": [12, -127, …]}`.
    pub fn to_text(&self) -> String {
        serde_json::json!({ "vector": self.0 }).to_string()
    }

    pub fn from_text(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let numbers = value["vector"]
            .as_array()?
            .iter()
            .map(|number| number.as_i64().and_then(|number| i8::try_from(number).ok()));
        Some(Self(numbers.collect::<Option<_>>()?))
    }

    pub fn numbers(&self) -> &[i8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn forms_lead_back_and_the_length_does_not_count(numbers in prop::collection::vec(-1e6_f32..1e6, 0..40)) {
            let vector = Vector::from_numbers(&numbers);
            prop_assert_eq!(&Vector::from_bytes(&vector.to_bytes()), &vector);
            prop_assert_eq!(Vector::from_text(vector.to_text().as_bytes()).unwrap(), vector.clone());
            let twice: Vec<f32> = numbers.iter().map(|number| number * 2.0).collect();
            prop_assert_eq!(Vector::from_numbers(&twice), vector);
        }
    }

    #[test]
    fn text_that_is_no_vector_is_rejected() {
        for text in ["", "{}", "{\"vector\": [200]}", "{\"vector\": [0.5]}", "{\"vector\": \"x\"}"] {
            assert_eq!(Vector::from_text(text.as_bytes()), None, "{text}");
        }
    }
}
