//! What is hooked, and how: images are read, and a plan made of each.

pub(crate) mod captured_functions;
pub(crate) mod debug_files;
mod declared;
mod declared_go;
mod declared_types;
pub(crate) mod earlier_runs;
mod futex_functions;
pub(crate) mod image_file;
pub(crate) mod image_plan;
pub(crate) mod module;
pub(crate) mod plan_cache;
pub(crate) mod planned_files;
pub(crate) mod planned_image;
pub(crate) mod probes;
pub(crate) mod relied_on;
pub(crate) mod suspicion;
pub(crate) mod switchable;
mod task_completions;
pub(crate) mod values;
