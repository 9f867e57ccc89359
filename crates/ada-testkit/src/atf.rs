//! ATF V2 files by hand.
