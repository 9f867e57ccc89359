//! Ids and times as manifests have them: plain numbers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{FunctionId, ModuleId, ProcessId, ThreadId, TraceNanos};

macro_rules! stored_as_number {
    ($($id:ident),*) => {$(
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(to)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Deserialize::deserialize(from).map(Self)
            }
        }
    )*};
}

stored_as_number!(FunctionId, ModuleId, ProcessId, ThreadId, TraceNanos);
