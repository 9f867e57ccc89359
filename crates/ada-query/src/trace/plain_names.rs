//! Names of what threads, tasks and blocks run, without what languages put around them.

/// The closure in the name of the function that runs it.
pub(super) fn closure_name(name: &str) -> String {
    for (begin, end) in [("_Invoker<std::tuple<", '>'), ("__rust_begin_short_backtrace::<", '>')] {
        // Of several the innermost: `std::async` wraps its runner into another.
        if let Some((_, rest)) = name.rsplit_once(begin) {
            let mut depth = 0_u32;
            let length = rest.find(|letter: char| {
                match letter {
                    '<' | '(' | '{' => depth += 1,
                    _ if letter == end && depth == 0 => return true,
                    ',' if depth == 0 => return true,
                    '>' | ')' | '}' => depth = depth.saturating_sub(1),
                    _ => (),
                }
                false
            });
            if let Some(length) = length {
                return rest[..length].trim().to_owned();
            }
        }
    }
    name.to_owned()
}

/// The name without what the compiler put around it.
pub(crate) fn plain_name(name: String) -> String {
    const AROUND: [&str; 3] = ["partial apply forwarder for ", "partial apply for ", "merged "];
    const SPECIALIZED: [&str; 3] =
        ["function signature specialization ", "generic specialization ", "generic not re-abstracted specialization "];
    let mut rest = name.as_str();
    loop {
        if let Some(inner) = AROUND.iter().find_map(|around| rest.strip_prefix(around)) {
            rest = inner;
        } else if SPECIALIZED.iter().any(|around| rest.starts_with(around))
            && let Some((_, inner)) = rest.split_once("> of ")
        {
            rest = inner;
        } else if rest.starts_with('(')
            && let Some((_, inner)) = rest.split_once(" resume partial function for ")
        {
            // What follows an `await` is a function of its own: `(3) await resume partial function for f`.
            rest = inner;
        } else {
            return rest.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_are_named_after_themselves() {
        let cpp = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda(int)#1}, int> > >::_M_run()";
        assert_eq!(closure_name(cpp), "main::{lambda(int)#1}");
        let rust = "std::sys::backtrace::__rust_begin_short_backtrace::<app::main::{closure#0}, ()>";
        assert_eq!(closure_name(rust), "app::main::{closure#0}");
        let wrapped = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (std::_Async_state_impl<\
                       std::thread::_Invoker<std::tuple<main::{lambda(long)#2}, long> >, long>::*)()> > >::_M_run()";
        assert_eq!(closure_name(wrapped), "main::{lambda(long)#2}");
        assert_eq!(closure_name("body"), "body");
    }

    #[test]
    fn names_lose_what_the_compiler_put_around_them() {
        for (name, plain) in [
            (
                "partial apply forwarder for closure #1 () -> () in demo.f() -> ()",
                "closure #1 () -> () in demo.f() -> ()",
            ),
            (
                "function signature specialization <Arg[0] = Dead> of merged static demo.P.main() async -> ()",
                "static demo.P.main() async -> ()",
            ),
            ("generic specialization <Swift.Int> of demo.f<A>(A) -> ()", "demo.f<A>(A) -> ()"),
            ("body", "body"),
        ] {
            assert_eq!(plain_name(name.to_owned()), plain);
        }
    }
}
