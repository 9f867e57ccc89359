//! What a finished recording writes into its manifests.

use std::collections::BTreeMap;

use ada_format::atf::{self, BuildId, Coverage, Drops, Exit, HexAddr, SessionWriter};
use ada_patch::Verdict;

use crate::ControlError;
use crate::module::Module;
use crate::recorder::End;

/// Completes a process's manifest.
pub(crate) fn complete(
    is_first: bool,
    end: End,
    modules: &[Module],
    drops: &[(&'static str, u64)],
    writer: &mut SessionWriter,
) -> Result<(), ControlError> {
    let manifest = writer.manifest_mut();
    manifest.modules = modules.iter().map(describe).collect();
    if is_first {
        manifest.exit = Some(match end {
            End::Exited(code) => Exit { code: Some(code), ..Exit::default() },
            End::Killed(signal) => Exit { signal: Some(signal), ..Exit::default() },
        });
    }
    manifest.drops = drops
        .iter()
        .map(|&(reason, count)| Drops { lane: "index".into(), reason: reason.into(), count, ..Drops::default() })
        .collect();
    Ok(())
}

fn describe(module: &Module) -> atf::Module {
    let build_id = module.build_id.clone().map(BuildId);
    atf::Module {
        module_id: module.id.0,
        path: module.file.path.to_string_lossy().into_owned(),
        uuid: build_id.as_ref().and_then(BuildId::uuid),
        build_id,
        load_base: Some(HexAddr(module.bias)),
        symbol_count: Some(module.functions.len() as u32),
        function_table_hash: Some(format!("{:016x}", module.functions.hash())),
        coverage: Some(coverage(module)),
        ..atf::Module::default()
    }
}

fn coverage(module: &Module) -> Coverage {
    let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
    let mut entry_only = 0;
    for verdict in &module.verdicts {
        match verdict {
            Verdict::Hooked => {}
            Verdict::EntryOnly(_) => entry_only += 1,
            Verdict::Skipped(reason) => *skipped.entry(reason.name().to_owned()).or_default() += 1,
        }
    }
    let left_alone: u64 = skipped.values().sum();
    Coverage {
        found: module.functions.len() as u64,
        hooked: module.functions.len() as u64 - entry_only - left_alone,
        entry_only,
        skipped,
        ..Coverage::default()
    }
}
