//! Images that the tests build with gcc, and those of the system, against what binutils and gimli say of them.
#[path = "image/damage.rs"]
mod damage;
#[path = "image/debug_files.rs"]
mod debug_files;
#[path = "image/go.rs"]
mod go;
#[path = "image/headers.rs"]
mod headers;
#[path = "image/landing_pads.rs"]
mod landing_pads;
#[path = "image/names.rs"]
mod names;
#[path = "image/source_lines.rs"]
mod source_lines;
#[path = "image/stripped.rs"]
mod stripped;
#[path = "image/target.rs"]
mod target;
#[path = "image/unwind_rows.rs"]
mod unwind_rows;
