//! ATF V2: a session is a folder a process, with a manifest and per thread an index and perhaps a detail file.
