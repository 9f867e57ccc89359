//! Puts shared memory, agent, stubs and jumps into a process, through whatever controls it
//! ([`Remote`](ada_process::Remote)).

mod agent_image;
pub(crate) mod arena_list;
pub(crate) mod code_memory;
pub(crate) mod crash_handlers;
mod file_parts;
pub(crate) mod filled_images;
pub(crate) mod function_numbers;
mod go_runtime;
pub(crate) mod heartbeat;
pub(crate) mod inherited_filters;
pub(crate) mod installer;
pub(crate) mod lasting_memory;
pub(crate) mod loader_notification;
pub(crate) mod memory_layout;
mod near_room;
pub(crate) mod numbering;
pub(crate) mod open_frames;
pub(crate) mod open_in_target;
mod ready_arena;
pub(crate) mod ready_image;
mod reserved_images;
mod ring_homes;
pub(crate) mod rings;
pub(crate) mod shared_memory;
mod shift;
pub(crate) mod site_table;
pub(crate) mod sites;
mod switch_arenas;
pub(crate) mod target_memory;
mod thread_words;
