//! Heph packets by hand.
