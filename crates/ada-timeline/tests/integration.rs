//! Pictures of real tables: nothing that matters is missing, whichever way they are made.

#[path = "integration/lens.rs"]
mod lens;
#[path = "integration/recorded.rs"]
mod recorded;
#[path = "integration/scene.rs"]
mod scene;
#[path = "integration/summary.rs"]
mod summary;
