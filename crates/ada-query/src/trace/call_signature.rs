//! What is captured of a function, and what that says of its calls.

use std::collections::{BTreeSet, HashMap};

use ada_event::{FunctionId, RuntimeAddr};
use ada_format::atf::{FunctionRow, Probes, X86Call, X86Return};
use ada_image::{IMPLEMENTATION, without_arguments};
use ada_value::{Captured, RESULT, Signature, Type, Value, is_c_library, is_cxx_library, known};

use super::call_values::{CallValues, NamedValue};
use super::names::Names;

/// The signatures of a process's functions whose values were captured.
pub(crate) type Signatures = HashMap<FunctionId, CallSignature>;

/// What is known of a function's values.
pub(crate) struct CallSignature {
    signature: Signature,
    /// Whether they were captured on purpose.
    is_captured: bool,
    name: String,
}

impl CallSignature {
    /// Those of all functions whose values were captured, by the lists of their names.
    pub(super) fn captured(names: &Names) -> Signatures {
        let captured = names.all().filter(|(_, row)| !row.values.is_empty());
        let signature = |(function, row): (FunctionId, &FunctionRow)| {
            let signature = Signature::from_stored(&row.values).ok()?;
            Some((function, Self { signature, is_captured: true, name: plain_name(names, function) }))
        };
        captured.filter_map(signature).collect()
    }

    /// Adds what conditions can ask for.
    pub(super) fn add_value_names(&self, names: &mut BTreeSet<String>) {
        self.signature.prototype().add_value_names(names);
    }

    /// That of a function of the C library, or of libstdc++, whose registers were recorded for another reason.
    pub(super) fn known(names: &Names, function: FunctionId) -> Option<Self> {
        let module = names.module(function);
        let name = names.raw(function).filter(|_| is_c_library(&module) || is_cxx_library(&module))?;
        let known = known(name)?;
        // What has its implementations beside it only chooses one of them.
        let implementations = format!("__{name}_");
        let is_resolver = |row: &FunctionRow| {
            let of = || ada_value::known(&row.name).map(|it| it.prototype.name.as_str());
            (row.name.starts_with(&implementations) || row.name.ends_with(IMPLEMENTATION)) && of() == Some(name)
        };
        if names.functions(function.module()).iter().any(is_resolver) {
            return None;
        }
        let signature = Signature::of(known.prototype.clone());
        Some(Self { signature, is_captured: false, name: plain_name(names, function) })
    }

    /// The values of a call that has begun.
    pub(super) fn call(&self, names: &Names, call: &X86Call<'_>) -> CallValues {
        let words = self.words(call.probes);
        let vectors = call.vectors.as_ref().map_or(&[][..], |vectors| &vectors[..]);
        let values = self.signature.arguments(&Captured { registers: &call.arguments(), vectors, words: &words });
        let prototype = self.signature.prototype();
        let (further, has_more) = (self.signature.further_types(&values), self.signature.may_have_more(&values));
        let declared = prototype.parameters.iter().map(|it| (it.name.clone(), &it.ty));
        // What a format asks for has no name but its number.
        let all = declared.chain((1..).map(|number| format!("argument{number}")).zip(&further)).zip(values);
        CallValues {
            name: self.name.clone(),
            arguments: all.map(|((name, ty), value)| self.named(names, &name, ty, value)).collect(),
            has_more,
            result: None,
            error: None,
        }
    }

    /// Adds what a call gave back, and what it wrote where its arguments point.
    pub(super) fn returned(&self, names: &Names, values: &mut CallValues, back: &X86Return<'_>) {
        let words = self.words(back.probes);
        let vectors = back.vectors.as_ref().map_or(&[][..], |vectors| &vectors[..]);
        let outcome = self.signature.outcome(&Captured { registers: &[back.rax, back.rdx], vectors, words: &words });
        let prototype = self.signature.prototype();
        for (number, written) in outcome.written {
            if let (Some(value), Some(it)) = (values.arguments.get_mut(number), prototype.parameters.get(number)) {
                *value = self.named(names, &it.name, &it.ty, written);
            }
        }
        values.result = outcome.value.map(|value| self.named(names, RESULT, &prototype.result, value));
        values.error = outcome.error;
    }

    /// What the capture program has read; nothing where another probe did.
    fn words(&self, probes: Option<Probes<'_>>) -> Vec<u64> {
        probes.filter(|_| self.is_captured).map_or(Vec::new(), |probes| probes.values().collect())
    }

    fn named(&self, names: &Names, name: &str, ty: &Type, value: Value) -> NamedValue {
        let name_of = |address: u64| Some(names.name(names.code_at(RuntimeAddr(address))?.0));
        let (ty, text) = (self.signature.prototype().written(ty), value.shown(&name_of));
        NamedValue { name: name.to_owned(), ty, value, text }
    }
}

fn plain_name(names: &Names, function: FunctionId) -> String {
    without_arguments(&names.name(function)).to_owned()
}
