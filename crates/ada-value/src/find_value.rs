//! Values of a call by their names.

use crate::{ERRNO, RESULT, Value};

/// The value of a parameter or of one of its fields, of the result, or of `errno`: what conditions ask for.
pub fn find_value<'v>(
    arguments: impl Iterator<Item = (&'v str, &'v Value)> + Clone,
    result: Option<&'v Value>,
    error: Option<(i64, &str)>,
    name: &str,
) -> Option<Value> {
    let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
    let of = |value: &Value| match rest {
        None => Some(value.clone()),
        Some(rest) => value.field(rest).cloned(),
    };
    match first {
        RESULT => result.and_then(of),
        ERRNO => error.map(|(number, name)| Value::Number(number.into(), name.to_owned())),
        _ => {
            let named = arguments.clone().find(|(known, _)| *known == first).and_then(|(_, value)| of(value));
            let mut values = arguments.map(|(_, value)| value).chain(result);
            named.or_else(|| values.find_map(|value| value.field(name).cloned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_parameter_field_result_and_errno() {
        let number = |number: i128| Value::Number(number, number.to_string());
        let (fd, result) = (number(5), number(-1));
        let address = Value::Structure(vec![("port".to_owned(), number(8081))], None);
        let arguments = [("fd", &fd), ("to", &address)];
        let error = Some((111, "ECONNREFUSED"));
        let find = |name| find_value(arguments.into_iter(), Some(&result), error, name).and_then(|it| it.number());
        assert_eq!(["fd", "port", "to.port", "result", "errno"].map(find), [5, 8081, 8081, -1, 111].map(Some));
        assert_eq!(["from", "to.host", "fd.port"].map(find), [None; 3]);
        assert_eq!(find_value(arguments.into_iter(), None, None, "result"), None);
    }
}
