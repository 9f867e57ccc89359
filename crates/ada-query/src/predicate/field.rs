//! What conditions can be on, and groups made by: columns of spans and of events.

use ada_span::table::Column;

use crate::span::SpanColumn;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Spans,
    Events,
}

impl Subject {
    /// By the table's name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "spans" => Some(Self::Spans),
            "events" => Some(Self::Events),
            _ => None,
        }
    }
}

/// What conditions can be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    Session,
    Pid,
    Type,
    Runtime,
    FunctionId,
    Name,
    Module,
    Start,
    End,
    Duration,
    SelfTime,
    Depth,
    Thread,
    Status,
    Reason,
    /// Of an event, as the others from here on.
    Time,
    Seq,
    Kind,
    HasDetail,
}

impl Field {
    /// Those of spans, in the order of the columns.
    const OF_SPANS: [(&'static str, Self); 15] = [
        ("session", Self::Session),
        ("pid", Self::Pid),
        ("type", Self::Type),
        ("runtime", Self::Runtime),
        ("function_id", Self::FunctionId),
        ("name", Self::Name),
        ("module", Self::Module),
        ("start_ns", Self::Start),
        ("end_ns", Self::End),
        ("duration_ns", Self::Duration),
        ("self_ns", Self::SelfTime),
        ("depth", Self::Depth),
        ("thread_id", Self::Thread),
        ("status", Self::Status),
        ("reason", Self::Reason),
    ];

    /// Those of events.
    const OF_EVENTS: [(&'static str, Self); 11] = [
        ("session", Self::Session),
        ("pid", Self::Pid),
        ("thread_id", Self::Thread),
        ("seq", Self::Seq),
        ("time_ns", Self::Time),
        ("kind", Self::Kind),
        ("function_id", Self::FunctionId),
        ("name", Self::Name),
        ("module", Self::Module),
        ("depth", Self::Depth),
        ("has_detail", Self::HasDetail),
    ];

    fn all(subject: Subject) -> &'static [(&'static str, Self)] {
        match subject {
            Subject::Spans => &Self::OF_SPANS,
            Subject::Events => &Self::OF_EVENTS,
        }
    }

    /// The column of `spans` that it is; none of those that only events have.
    pub(crate) fn column(self) -> Option<SpanColumn> {
        let (name, _) = Self::OF_SPANS.into_iter().find(|(_, field)| *field == self)?;
        SpanColumn::ALL.iter().copied().find(|column| column.name() == name)
    }

    /// By the column of `spans`; none of one that takes no conditions.
    pub(crate) fn of(column: SpanColumn) -> Option<Self> {
        Self::from_column(Subject::Spans, column.name())
    }

    /// By the column's name, or by what people call it.
    pub(crate) fn from_name(subject: Subject, name: &str) -> Option<Self> {
        match name {
            "function" => Some(Self::Name),
            "thread" => Some(Self::Thread),
            name => Self::from_column(subject, name),
        }
    }

    /// By the column's name.
    pub(crate) fn from_column(subject: Subject, name: &str) -> Option<Self> {
        Self::all(subject).iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }

    /// The columns' names.
    pub(crate) fn names(subject: Subject) -> impl Iterator<Item = &'static str> {
        Self::all(subject).iter().map(|(name, _)| *name)
    }

    /// The column's name.
    pub(crate) fn name(self, subject: Subject) -> &'static str {
        Self::all(subject).iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    /// Whether its values are numbers.
    pub(crate) fn is_number(self) -> bool {
        self.measure().is_some() || matches!(self, Self::Pid | Self::Thread)
    }

    /// What is measured of each row, for those that are.
    pub(crate) fn measure(self) -> Option<Measure> {
        Some(match self {
            Self::Start | Self::Time => Measure::Start,
            Self::End => Measure::End,
            Self::Duration => Measure::Duration,
            Self::SelfTime => Measure::SelfTime,
            Self::Depth => Measure::Depth,
            Self::Seq => Measure::Seq,
            Self::HasDetail => Measure::Detail,
            _ => return None,
        })
    }
}

/// A number that each row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Start,
    End,
    Duration,
    SelfTime,
    Depth,
    Seq,
    Detail,
}

impl Measure {
    /// The column that it is in. An end is a start and a duration.
    pub(crate) fn column(self) -> Column {
        match self {
            Self::Start | Self::End => Column::Start,
            Self::Duration => Column::Duration,
            Self::SelfTime => Column::SelfTime,
            Self::Depth => Column::Depth,
            Self::Seq => Column::OpenSeq,
            Self::Detail => Column::Context,
        }
    }

    /// Whether it is made from a column.
    pub(crate) fn needs(self, column: Column) -> bool {
        column == self.column() || self == Self::End && column == Column::Duration
    }
}
