//! The Heph trace format 0.1.0: packets of metadata and events, big-endian.
