//! The file of a summary: kept, used again, and made anew when it is not what it should be.

use std::fs;

use ada_event::TraceNanos;
use ada_span::ThreadIndex;
use ada_timeline::{Blocks, Range, Row, Scene, Summary};

use crate::recorded::{tables, thread};

#[test]
fn one_that_is_damaged_is_made_anew_without_a_word() {
    let (folder, tables) = tables(vec![thread(5, 60_000), thread(6, 100)]);
    let rows = |summary: &Summary| -> Vec<Row> {
        let scene = Scene { tables: &tables, summary, blocks: &Blocks::default(), lens: None };
        let range = Range { start: TraceNanos(0), end: TraceNanos::MAX, width: 1000 };
        scene.rows(ThreadIndex(0), range, (0, 255), 0).unwrap()
    };
    let first = rows(&Summary::of(&tables, &|_| ()).unwrap());
    assert!(first.iter().map(|row| row.items.len()).sum::<usize>() > 0);
    let path = folder.path().join("summary.bin");
    let good = fs::read(&path).unwrap();
    let mut changed_item = good.clone();
    changed_item[40] ^= 0x10;
    let damaged: [&[u8]; 6] =
        [&[], &good[..good.len() - 1], &good[1..], &changed_item, b"no summary at all", &[0xff; 4096]];
    for bytes in damaged {
        fs::write(&path, bytes).unwrap();
        let summary = Summary::of(&tables, &|_| ()).unwrap();
        assert_eq!(format!("{:?}", rows(&summary)), format!("{first:?}"));
        assert_eq!(fs::read(&path).unwrap(), good, "it is kept again");
    }
}

#[test]
fn one_that_cannot_be_kept_is_held_in_memory() {
    let (folder, tables) = tables(vec![thread(5, 60_000)]);
    // Nobody, root included, can put a file where a folder is.
    fs::create_dir_all(folder.path().join("summary.bin/in the way")).unwrap();
    let summary = Summary::of(&tables, &|_| ()).unwrap();
    let scene = Scene { tables: &tables, summary: &summary, blocks: &Blocks::default(), lens: None };
    let rows = scene
        .rows(ThreadIndex(0), Range { start: TraceNanos(0), end: TraceNanos::MAX, width: 1000 }, (0, 255), 0)
        .unwrap();
    assert!(rows.iter().map(|row| row.items.len()).sum::<usize>() > 0);
}
