//! What conditions on a function's values can ask for.

use std::collections::BTreeSet;

use crate::{Content, ERRNO, Failure, Prototype, RESULT, Type};

/// The fields of a socket's address, of whatever family.
const OF_ADDRESSES: [&str; 4] = ["family", "host", "path", "port"];

impl Prototype {
    /// Adds the names that [`find_value`](crate::find_value) knows, and between whose parts there can be dots: of
    /// parameters, of fields at any depth, of the result and of the error.
    pub fn add_value_names(&self, names: &mut BTreeSet<String>) {
        for parameter in self.parameters.iter().filter(|it| !it.name.is_empty()) {
            names.insert(parameter.name.clone());
            add_fields(&parameter.ty, names);
        }
        if self.result != Type::Void {
            names.insert(RESULT.to_owned());
            add_fields(&self.result, names);
        }
        if self.failure != Failure::None {
            names.insert(ERRNO.to_owned());
        }
    }
}

fn add_fields(ty: &Type, names: &mut BTreeSet<String>) {
    match ty {
        it if it.is_address() => names.extend(OF_ADDRESSES.map(str::to_owned)),
        Type::Reference { to, .. } | Type::Copy(to) => add_fields(to, names),
        Type::Aggregate { content: Content::Wrapped(_, ty), .. } => add_fields(ty, names),
        Type::Aggregate { content, .. } => {
            for field in content.fields() {
                names.insert(field.shown_name().to_owned());
                add_fields(&field.ty, names);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation;

    fn names(line: &str) -> Vec<String> {
        let mut names = BTreeSet::new();
        notation::parse(line).unwrap().add_value_names(&mut names);
        names.into_iter().collect()
    }

    #[test]
    fn parameters_fields_results_and_errors_have_names() {
        let connect = "connect(fd: fd, address: address(length), length: u32) -> i32?";
        assert_eq!(names(connect), ["address", "errno", "family", "fd", "host", "length", "path", "port", "result"]);
        assert_eq!(names("f(p: *struct{16;;n:i32@0;next:*struct{8;;m:i32@0}@8})"), ["m", "n", "next", "p"]);
    }
}
