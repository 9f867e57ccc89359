// As values.rs, with strings, vectors, slices, enums with data and what else Rust programs pass: by value, behind references, as
// fields and as results.
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;

macro_rules! kept {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub fn $name($($argument: $ty),*) $(-> $result)? {
                $(black_box(&$argument);)*
                $body
            }
        )*
    };
}

#[derive(Clone, Copy)]
pub enum Mode {
    Fast,
    Careful,
}

pub struct Point {
    pub x: i32,
    pub y: i32,
}

pub enum Shape {
    Circle { radius: u32 },
    Named(String, u8),
    Line(f64, f64),
    Empty,
}

// Both are passed in two registers, or as one number.
pub enum Step {
    Go(u32),
    Stop,
}

pub enum Event {
    Key { code: u16, mode: Mode },
    Text(&'static str),
}

pub struct Config {
    pub name: String,
    pub sizes: Vec<u16>,
    pub limit: Option<u32>,
    pub mode: Mode,
}

pub struct Meters(pub f64);
pub struct Id(pub u64);
pub struct Two {
    pub a: u32,
    pub b: u32,
}
pub struct Three {
    pub a: u32,
    pub b: u32,
    pub c: u32,
}
pub struct Marker;

kept! {
    fn text(it: String, n: i32) -> usize { it.len() + n as usize }
    fn text_reference(it: &String) -> usize { it.len() }
    fn text_boxed(it: Box<str>, n: i32) -> usize { it.len() + n as usize }
    fn joined(a: &str, b: &str) -> String { format!("{a}{b}") }
    fn first_word(it: &'static str) -> &'static str { it.split(' ').next().unwrap_or_default() }
    fn sum(it: Vec<i32>, n: i32) -> i64 { it.iter().map(|it| i64::from(*it)).sum::<i64>() + i64::from(n) }
    fn halves(it: &[u16], n: u8) -> Vec<u8> { it.iter().map(|it| *it as u8 / n).collect() }
    fn floats(it: &Vec<f64>) -> f64 { it[0] }
    fn points(it: &[Point]) -> usize { it.len() }
    fn texts(it: &Vec<String>) -> usize { it.len() }
    fn no_bytes(it: &[()]) -> usize { it.len() }
    fn boxed(it: Box<i64>) -> i64 { *it }
    fn boxed_shape(it: Box<Shape>) -> bool { matches!(*it, Shape::Empty) }
    fn counted(a: Rc<u32>, b: Arc<Point>) -> u32 { *a + b.x as u32 }
    fn next(it: Option<u32>) -> Option<u32> { it.map(|it| it + 1) }
    fn negated(it: Option<i64>) -> Option<i64> { it.map(|it| -it) }
    fn flipped(it: Option<bool>) -> Option<bool> { it.map(|it| !it) }
    fn mode(it: Option<Mode>) -> Option<Mode> { it.map(|_| Mode::Fast) }
    fn maybe_view(it: Option<&'static str>) -> Option<&'static str> { it.map(|it| &it[1..]) }
    fn maybe_text(it: Option<String>, n: i32) -> Option<String> { it.map(|it| format!("{it}{n}")) }
    fn maybe_bytes(it: &Option<Vec<u8>>) -> bool { it.is_some() }
    fn maybe_boxed(it: Option<Box<i32>>) -> bool { it.is_some() }
    fn parsed(it: &str, least: Option<u8>) -> Result<u32, String> {
        match it.parse::<u32>() {
            Ok(number) if number >= u32::from(least.unwrap_or(0)) => Ok(number),
            _ => Err(format!("not {it}")),
        }
    }
    fn checked(it: Result<u8, String>) -> Result<(), u16> { it.map(|_| ()).map_err(|_| 404) }
    fn grown(it: Shape, by: u32) -> Shape {
        match it {
            Shape::Circle { radius } => Shape::Circle { radius: radius + by },
            Shape::Named(name, number) => Shape::Named(name + "!", number + 1),
            Shape::Line(x, y) => Shape::Line(y, x),
            Shape::Empty => Shape::Empty,
        }
    }
    fn looks(it: &Shape, n: i32) -> i32 { if matches!(it, Shape::Empty) { 0 } else { n } }
    fn event(it: Event) -> u32 {
        match it {
            Event::Key { code, mode } => u32::from(code) + mode as u32,
            Event::Text(text) => text.len() as u32,
        }
    }
    fn configured(it: Config) -> Config { Config { name: it.name + "2", ..it } }
    fn looked_up(it: &Config, n: i32) -> i32 { it.sizes.len() as i32 + n }
    fn tuple(it: (u8, u64), n: i32) -> (u64, bool) { (it.1, n > 0) }
    fn mixed(it: (i32, f32), n: i32) -> (f32, f32) { (it.1, n as f32) }
    fn nothing(unit: (), marker: Marker, n: i32) -> i32 { n }
    fn array(it: [u8; 4], n: i32) -> i32 { i32::from(it[0]) + n }
    fn two_back(n: u32) -> Two { Two { a: n, b: n } }
    fn three(it: Three, n: i32) -> u32 { it.a + it.b + it.c + n as u32 }
    fn ids(it: Option<Id>, n: i32) -> u64 { it.map_or(0, |it| it.0) + n as u64 }
    fn crowded(a: i32, b: i32, c: i32, d: i32, e: i32, it: &str) -> usize { it.len() + (a + b + c + d + e) as usize }
}

// What is never in memory is in registers, as debug information says where it is optimised.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn meters(it: Meters, n: i32) -> f64 {
    black_box(it).0 + f64::from(black_box(n))
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn two(it: Two, n: i32) -> u32 {
    let it = black_box(it);
    it.a + it.b + black_box(n) as u32
}

#[inline(never)]
pub fn step(it: Step, n: u32) -> Step {
    match black_box(it) {
        Step::Go(far) => Step::Go(far + black_box(n)),
        Step::Stop => Step::Stop,
    }
}

// Where nobody else calls a function, it does not give back where its result is.
#[inline(never)]
pub fn asked(it: u32) -> Result<Option<u32>, String> {
    match black_box(it) {
        0 => Ok(None),
        1..=9 => Ok(Some(it)),
        _ => Err("too much".to_owned()),
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
#[allow(improper_ctypes_definitions)]
pub extern "C" fn as_c(it: String, n: i32) -> usize {
    black_box(&it).len() + black_box(n) as usize
}

#[unsafe(no_mangle)]
#[inline(never)]
#[allow(improper_ctypes_definitions)]
pub extern "C" fn two_as_c(it: Two, n: i32) -> u32 {
    black_box(&it).a + black_box(n) as u32
}

// C passes it in one register, and debug information has no other than the same type as Rust's functions.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum StepOfC {
    Go(u32),
    Stop,
}

#[inline(never)]
pub extern "C" fn step_as_c(it: StepOfC, n: u32) -> StepOfC {
    match black_box(it) {
        StepOfC::Go(far) => StepOfC::Go(far + black_box(n)),
        StepOfC::Stop => it,
    }
}

// What is called by its address is called as it was written.
static STEP: fn(Step, u32) -> Step = step;
static STEP_AS_C: extern "C" fn(StepOfC, u32) -> StepOfC = step_as_c;

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let mut truth = File::create(path).expect("a file that can be written");
    let mut expect = |line: &str| writeln!(truth, "{line}").expect("a file that can be written");
    // Where functions are not optimised, debug information does not say which registers they take.
    let or_unknown = |value: &'static str| if cfg!(debug_assertions) { "?" } else { value };
    let long = "q".repeat(300);

    text(black_box("a string".to_owned()), 3);
    expect("text(\"a string\", 3) = 11");
    text(black_box(String::new()), 4);
    expect("text(\"\", 4) = 4");
    text(black_box(long.clone()), 0);
    expect(&format!("text(\"{}\"…, 0) = 300", &long[..128]));
    text(black_box("ü".repeat(100) + "x"), 0);
    expect(&format!("text(\"{}\"…, 0) = 201", "ü".repeat(64)));
    text_reference(black_box(&"grün".to_owned()));
    expect("text_reference(\"grün\") = 5");
    text_boxed(black_box("boxed".into()), 1);
    expect("text_boxed(\"boxed\", 1) = 6");
    black_box(joined("a b", "c"));
    expect("joined(\"a b\", \"c\") = \"a bc\"");
    black_box(first_word("two words"));
    expect("first_word(\"two words\") = \"two\"");

    sum(black_box(vec![1, -2, 3]), 4);
    expect("sum([1, -2, 3], 4) = 6");
    sum(black_box(Vec::new()), 5);
    expect("sum([], 5) = 5");
    sum(black_box((0..100).collect()), 0);
    let numbers: Vec<String> = (0..32).map(|number| number.to_string()).collect();
    expect(&format!("sum([{}, …; 100], 0) = 4950", numbers.join(", ")));
    black_box(halves(black_box(&[2, 4, 500]), 2));
    expect("halves([2, 4, 500], 2) = [1, 2, 122]");
    floats(black_box(&vec![0.5, 1.5]));
    expect("floats(&[0.5, 1.5]) = 0.5");
    points(black_box(&[Point { x: 1, y: -1 }, Point { x: 2, y: 3 }]));
    expect("points([{x: 1, y: -1}, {x: 2, y: 3}]) = 2");
    texts(black_box(&vec!["a".to_owned(), String::new()]));
    expect("texts(&[?, \"\"]) = 2");
    no_bytes(black_box(&[(), (), ()]));
    expect("no_bytes([…; 3]) = 3");
    boxed(black_box(Box::new(-5)));
    expect("boxed([-5]) = -5");
    boxed_shape(black_box(Box::new(Shape::Circle { radius: 7 })));
    expect("boxed_shape(&Shape::Circle { radius: 7 }) = false");
    counted(black_box(Rc::new(7)), black_box(Arc::new(Point { x: 1, y: 2 })));
    expect("counted([7], &{x: 1, y: 2}) = 8");

    black_box(next(black_box(Some(3))));
    expect("next(Some(3)) = Some(4)");
    black_box(next(black_box(None)));
    expect("next(None) = None");
    black_box(negated(black_box(Some(-3))));
    expect("negated(Some(-3)) = Some(3)");
    black_box(flipped(black_box(Some(true))));
    expect("flipped(Some(true)) = Some(false)");
    black_box(flipped(black_box(None)));
    expect("flipped(None) = None");
    black_box(mode(black_box(Some(Mode::Careful))));
    expect("mode(Some(Careful)) = Some(Fast)");
    black_box(mode(black_box(None)));
    expect("mode(None) = None");
    black_box(maybe_view(black_box(Some("view"))));
    expect("maybe_view(Some(\"view\")) = Some(\"iew\")");
    black_box(maybe_view(black_box(None)));
    expect("maybe_view(None) = None");
    black_box(maybe_text(black_box(Some("x".to_owned())), 1));
    expect("maybe_text(Some(\"x\"), 1) = Some(\"x1\")");
    black_box(maybe_text(black_box(None), 2));
    expect("maybe_text(None, 2) = None");
    maybe_bytes(black_box(&Some(vec![1, 2])));
    expect("maybe_bytes(&Some([1, 2])) = true");
    maybe_bytes(black_box(&None));
    expect("maybe_bytes(&None) = false");
    maybe_boxed(black_box(Some(Box::new(1))));
    expect("maybe_boxed(Some(*)) = true");
    black_box(parsed(black_box("17"), black_box(Some(3)))).unwrap();
    expect("parsed(\"17\", Some(3)) = Ok(17)");
    black_box(parsed(black_box("x"), black_box(None))).unwrap_err();
    expect("parsed(\"x\", None) = Err(\"not x\")");
    black_box(checked(black_box(Ok(9)))).unwrap();
    expect("checked(Ok(9)) = Ok(())");
    black_box(checked(black_box(Err("no".to_owned())))).unwrap_err();
    expect("checked(Err(\"no\")) = Err(404)");

    black_box(grown(black_box(Shape::Circle { radius: 2 }), 3));
    expect("grown(Shape::Circle { radius: 2 }, 3) = Shape::Circle { radius: 5 }");
    black_box(grown(black_box(Shape::Named("box".to_owned(), 8)), 0));
    expect("grown(Shape::Named(\"box\", 8), 0) = Shape::Named(\"box!\", 9)");
    black_box(grown(black_box(Shape::Line(0.5, -1.0)), 0));
    expect("grown(Shape::Line(0.5, -1.0), 0) = Shape::Line(-1.0, 0.5)");
    black_box(grown(black_box(Shape::Empty), 1));
    expect("grown(Shape::Empty, 1) = Shape::Empty");
    looks(black_box(&Shape::Named("it".to_owned(), 1)), 6);
    expect("looks(&Shape::Named(\"it\", 1), 6) = 6");
    black_box(black_box(STEP)(black_box(Step::Go(7)), 2));
    expect(&format!("containers::step({}, {}) = ?", or_unknown("Step::Go(7)"), or_unknown("2")));
    black_box(black_box(STEP)(black_box(Step::Stop), 2));
    expect(&format!("containers::step({}, {}) = ?", or_unknown("Step::Stop"), or_unknown("2")));
    black_box(black_box(STEP_AS_C)(black_box(StepOfC::Go(7)), 2));
    expect("containers::step_as_c(?, ?) = ?");
    for (it, result) in [(0, "Ok(None)"), (5, "Ok(Some(5))"), (10, "Err(\"too much\")")] {
        black_box(asked(black_box(it)).is_ok());
        expect(&format!("containers::asked({it}) = {result}"));
    }
    event(black_box(Event::Key { code: 65, mode: Mode::Careful }));
    expect("event(Event::Key { code: 65, mode: Careful }) = 66");
    event(black_box(Event::Text("typed")));
    expect("event(Event::Text(\"typed\")) = 5");

    let config = |name: &str| Config { name: name.to_owned(), sizes: vec![1, 2], limit: Some(9), mode: Mode::Careful };
    let shown = |name: &str| format!("{{name: \"{name}\", sizes: [1, 2], limit: Some(9), mode: Careful}}");
    black_box(configured(black_box(config("main"))));
    expect(&format!("configured({}) = {}", shown("main"), shown("main2")));
    looked_up(black_box(&config("other")), 40);
    expect(&format!("looked_up(&{}, 40) = 42", shown("other")));

    black_box(tuple(black_box((1, 2)), 3));
    expect("tuple((1, 2), 3) = (2, true)");
    black_box(mixed(black_box((-1, 0.5)), 3));
    expect("mixed((-1, 0.5), 3) = (0.5, 3.0)");
    nothing(black_box(()), Marker, 12);
    expect("nothing((), (), 12) = 12");
    array(black_box([9, 8, 7, 6]), 1);
    expect("array(?, 1) = 10");
    meters(black_box(Meters(2.5)), 1);
    expect(&format!("meters({}, {}) = 3.5", or_unknown("(2.5)"), or_unknown("1")));
    two(black_box(Two { a: 1, b: 2 }), 3);
    expect(&format!("two({}, {}) = 6", or_unknown("{a: 1, b: 2}"), or_unknown("3")));
    black_box(two_back(5));
    expect("two_back(5) = ?");
    three(black_box(Three { a: 1, b: 2, c: 3 }), 4);
    expect("three({a: 1, b: 2, c: 3}, 4) = 10");
    ids(black_box(Some(Id(5))), 1);
    expect("ids(Some((5)), 1) = 6");
    crowded(1, 2, 3, 4, 5, black_box("six"));
    expect("crowded(1, 2, 3, 4, 5, ?) = 18");
    // C's functions take no pointer to a copy of Rust's string, and debug information shows that.
    as_c(black_box("for C".to_owned()), 1);
    expect("as_c(?, ?) = 6");
    two_as_c(black_box(Two { a: 1, b: 2 }), 3);
    expect("two_as_c(?, ?) = 4");

    // A length and a tag that nothing has.
    let mut damaged: Vec<i32> = Vec::with_capacity(64);
    damaged.extend(0..40);
    // SAFETY: nothing looks at the elements until the length is right again.
    let words = unsafe { &mut *(&raw mut damaged).cast::<[usize; 3]>() };
    let length = words.iter().position(|word| *word == 40).expect("the length");
    words[length] = black_box(1 << 60);
    long_vector(black_box(&damaged));
    expect(&format!("long_vector(&[{}, …; 1152921504606846976]) = 1152921504606846976", numbers.join(", ")));
    damaged.clear();
    let mut tagged = [1_u32, 5];
    tagged[0] = black_box(77);
    // SAFETY: nothing looks at it.
    wrong_tag(black_box(unsafe { &*tagged.as_ptr().cast::<Option<u32>>() }));
    expect("wrong_tag([?]) = 1");
}

kept! {
    fn long_vector(it: &Vec<i32>) -> usize { it.len() }
    fn wrong_tag(it: &Option<u32>) -> u32 { 1 }
}
