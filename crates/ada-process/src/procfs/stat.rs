//! `/proc/PID/stat`.

/// The fields of `/proc/PID/stat` behind the program's name, for a process or for one of its threads.
pub struct Stat {
    fields: String,
}

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// The kernel's number of the policy.
    pub policy: u32,
    /// The priority among those of real time.
    pub realtime: u32,
    /// How nice it is.
    pub nice: i32,
}

impl Stat {
    pub(super) fn parse(text: &str) -> Option<Self> {
        // The name stands in parentheses, and may hold spaces and parentheses itself.
        let (_, fields) = text.rsplit_once(')')?;
        Some(Self { fields: fields.to_owned() })
    }

    /// A field by its number in proc(5). The state, which follows the name, is number 3.
    fn field(&self, number: usize) -> Option<&str> {
        self.fields.split_ascii_whitespace().nth(number - 3)
    }

    /// Whether it has ended. A process whose first thread has ended counts, even if others run.
    pub fn has_ended(&self) -> bool {
        matches!(self.field(3), Some("Z" | "X") | None)
    }

    /// Whether a process has ended with all its threads, and nobody has waited for it yet.
    pub fn is_zombie(&self) -> bool {
        self.field(3) == Some("Z") && self.field(20).is_none_or(|threads| matches!(threads, "0" | "1"))
    }

    /// When it started, in clock ticks since the machine did.
    pub fn started(&self) -> Option<u64> {
        self.field(22)?.parse().ok()
    }

    /// How it is scheduled, without what locks have handed on to it.
    pub fn priority(&self) -> Option<Priority> {
        Some(Priority {
            policy: self.field(41)?.parse().ok()?,
            realtime: self.field(40)?.parse().ok()?,
            nice: self.field(19)?.parse().ok()?,
        })
    }

    /// The status of a process that has ended, and that nobody has waited for yet.
    pub(crate) fn exit_status(&self) -> Option<i32> {
        self.has_ended().then(|| self.field(52)?.parse().ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_from_behind_a_name_of_any_shape() {
        let after_state: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        let zombie = Stat::parse(&format!("1 (a) Z (b) Z {}", after_state.join(" "))).unwrap();
        assert!(zombie.has_ended() && !zombie.is_zombie(), "it has 20 threads");
        assert_eq!((zombie.started(), zombie.exit_status()), (Some(22), Some(52)));
        let running = Stat::parse(&format!("1 (Z) S {}", after_state.join(" "))).unwrap();
        assert!(!running.has_ended() && !running.is_zombie() && running.exit_status().is_none());
        assert_eq!(running.priority(), Some(Priority { policy: 41, realtime: 40, nice: 19 }));
        assert!(Stat::parse("").is_none() && Stat::parse("1 (a)").unwrap().has_ended());
    }
}
