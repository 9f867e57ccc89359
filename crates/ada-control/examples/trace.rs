//! Traces a command: `cargo run --release -p ada-control --example trace -- CMD ARGS…`.

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let mut command = std::process::Command::new(arguments.next().expect("a command"));
    command.args(arguments);
    let options = ada_control::TraceOptions {
        output: "/tmp/ada_traces".into(),
        on_full: ada_control::OnFull::Wait,
        chunks: 256,
        start_up_timeout: None,
        max_depth: None,
        detail: match std::env::var("ADA_DETAIL").as_deref() {
            Ok("all") => ada_control::DetailMode::All,
            Ok("windows") => ada_control::DetailMode::Windows,
            _ => ada_control::DetailMode::Off,
        },
        stack_window: 128,
        exclude: Box::new(|_, _| false),
    };
    match ada_control::trace(command, &options, &()) {
        Ok(report) => {
            eprintln!(
                "[ada] {:?}; {} events, {} threads, {} of {} functions, start-up {:?}, waited {:?}, drops {:?}, {}",
                report.end,
                report.events,
                report.threads,
                report.hooked,
                report.found,
                report.start_up,
                report.waited,
                report.drops,
                report.session.display()
            );
            if let ada_control::End::Exited(code) = report.end {
                std::process::exit(code);
            }
        }
        Err(error) => {
            eprintln!("[ada] {error}");
            std::process::exit(125);
        }
    }
}
