//! Relations as SQLite's virtual tables.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};

use rusqlite::types::Value;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor, sqlite3_vtab,
    sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Error, Result, ffi};

use crate::relation::{Ask, Condition, Op, Relation, RowCursor};

/// Makes a relation a table of the connection.
pub(crate) fn register<R: Relation>(connection: &Connection, source: &R::Source) -> Result<()> {
    let module = const { &module::<R>() };
    connection.create_module(R::doc(source).name, module, Some(source.clone()))
}

/// rusqlite's module, but for what is called once a row and value: full scans take most of their time there.
const fn module<R: Relation>() -> Module<'static, Table<R>> {
    let mut module = common_module::<R>();
    module.xNext = Some(next::<R>);
    module.xColumn = Some(column::<R>);
    // SAFETY: a `Module` is `repr(transparent)` around SQLite's.
    unsafe { std::mem::transmute_copy(&module) }
}

const fn common_module<R: Relation>() -> ffi::sqlite3_module {
    // SAFETY: as above.
    unsafe { std::mem::transmute_copy(&Module::<Table<R>>::eponymous_only_module()) }
}

unsafe extern "C" fn next<R: Relation>(cursor: *mut sqlite3_vtab_cursor) -> c_int {
    // SAFETY: SQLite gives back the cursor that `open` has made.
    let rows = unsafe { &mut (*cursor.cast::<Cursor<R>>()).rows };
    if rows.as_mut().is_some_and(RowCursor::step) {
        return ffi::SQLITE_OK;
    }
    let common = const { common_module::<R>().xNext.expect("every module has it") };
    // SAFETY: SQLite's own arguments.
    unsafe { common(cursor) }
}

unsafe extern "C" fn column<R: Relation>(
    cursor: *mut sqlite3_vtab_cursor,
    context: *mut ffi::sqlite3_context,
    column: c_int,
) -> c_int {
    // SAFETY: SQLite gives back the cursor that `open` has made.
    let rows = unsafe { &(*cursor.cast::<Cursor<R>>()).rows };
    if let Some(number) = rows.as_ref().and_then(|rows| rows.number(column as usize)) {
        // SAFETY: SQLite's own context.
        unsafe { ffi::sqlite3_result_int64(context, number) };
        return ffi::SQLITE_OK;
    }
    let common = const { common_module::<R>().xColumn.expect("every module has it") };
    // SAFETY: SQLite's own arguments.
    unsafe { common(cursor, context, column) }
}

#[repr(C)]
struct Table<R: Relation> {
    /// SQLite's part, which has to come first.
    base: sqlite3_vtab,
    source: R::Source,
}

/// What is said of conditions between planning and running: a column, an operator and a colon for each, then the used
/// columns.
fn encode(conditions: &[(usize, Op)], used: u64) -> String {
    let conditions: Vec<String> = conditions.iter().map(|(column, op)| format!("{column}{}", letter(*op))).collect();
    format!("{};{used}", conditions.join(","))
}

fn decode(text: &str) -> Option<(Vec<(usize, Op)>, u64)> {
    let (conditions, used) = text.split_once(';')?;
    let parse = |text: &str| -> Option<(usize, Op)> {
        let (column, op) = text.split_at_checked(text.len().checked_sub(1)?)?;
        Some((column.parse().ok()?, from_letter(op)?))
    };
    let conditions: Option<Vec<_>> = conditions.split(',').filter(|it| !it.is_empty()).map(parse).collect();
    Some((conditions?, used.parse().ok()?))
}

fn letter(op: Op) -> char {
    match op {
        Op::Eq => 'e',
        Op::Gt => 'g',
        Op::Ge => 'G',
        Op::Lt => 'l',
        Op::Le => 'L',
        Op::Like => '%',
        Op::Glob => '*',
    }
}

fn from_letter(letter: &str) -> Option<Op> {
    Some(match letter {
        "e" => Op::Eq,
        "g" => Op::Gt,
        "G" => Op::Ge,
        "l" => Op::Lt,
        "L" => Op::Le,
        "%" => Op::Like,
        "*" => Op::Glob,
        _ => return None,
    })
}

fn operator(op: &IndexConstraintOp) -> Option<Op> {
    Some(match op {
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ => Op::Eq,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GT => Op::Gt,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GE => Op::Ge,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LT => Op::Lt,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LE => Op::Le,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LIKE => Op::Like,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GLOB => Op::Glob,
        _ => return None,
    })
}

// SAFETY: the struct is `repr(C)` and begins with SQLite's part.
unsafe impl<R: Relation> VTab<'_> for Table<R> {
    type Aux = R::Source;
    type Cursor = Cursor<R>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&R::Source>,
        _module: &[u8],
        _database: &[u8],
        _table: &[u8],
        _arguments: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let source = aux.cloned().ok_or_else(|| Error::ModuleError("a table without a trace".into()))?;
        let declaration =
            CString::new(R::doc(&source).declaration()).map_err(|error| Error::ModuleError(error.to_string()))?;
        Ok((Cow::Owned(declaration), Self { base: sqlite3_vtab::default(), source }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let doc = R::doc(&self.source);
        let columns = doc.columns.len();
        let used = info.col_used();
        let mut chosen: Vec<(usize, usize, Op)> = Vec::new();
        for (index, constraint) in info.constraints().enumerate() {
            let column = constraint.column();
            let Some(op) = operator(&constraint.operator()) else { continue };
            let Ok(column) = usize::try_from(column) else { continue };
            if column >= columns {
                // An argument that is not known yet means that this order of tables does not work.
                if op == Op::Eq && !constraint.is_usable() {
                    return Ok(false);
                }
                if op == Op::Eq {
                    chosen.push((index, column, op));
                }
            } else if constraint.is_usable() && doc.columns[column].is_pushed {
                chosen.push((index, column, op));
            }
        }
        // A comparison under another collation means something else.
        chosen.retain(|(index, ..)| info.collation(*index).is_ok_and(|it| it.eq_ignore_ascii_case("binary")));
        for (number, (index, column, _)) in chosen.iter().enumerate() {
            let mut usage = info.constraint_usage(*index);
            usage.set_argv_index(number as c_int + 1);
            usage.set_omit(*column >= columns);
        }
        let conditions: Vec<(usize, Op)> = chosen.iter().map(|(_, column, op)| (*column, *op)).collect();
        let rows = R::expect(&self.source, &conditions).max(1.0);
        info.set_estimated_rows(rows as i64);
        info.set_estimated_cost(rows * 10.0);
        info.set_idx_str(&encode(&conditions, used));
        Ok(true)
    }

    fn open(&mut self) -> Result<Cursor<R>> {
        let cursor = sqlite3_vtab_cursor::default();
        Ok(Cursor { base: cursor, source: self.source.clone(), rows: None })
    }
}

#[repr(C)]
struct Cursor<R: Relation> {
    /// SQLite's part, which has to come first.
    base: sqlite3_vtab_cursor,
    source: R::Source,
    rows: Option<R::Cursor>,
}

// SAFETY: the struct is `repr(C)` and begins with SQLite's part.
unsafe impl<R: Relation> VTabCursor for Cursor<R> {
    fn filter(&mut self, _number: c_int, plan: Option<&str>, arguments: &Filters<'_>) -> Result<()> {
        let plan = plan.and_then(decode).ok_or_else(|| Error::ModuleError("a plan that is not ours".into()))?;
        let mut conditions = Vec::with_capacity(plan.0.len());
        let columns = R::doc(&self.source).columns.len();
        for ((column, op), value) in plan.0.into_iter().zip(arguments.iter()) {
            let value = Value::try_from(value).map_err(|error| Error::ModuleError(error.to_string()))?;
            // Nothing compares with what is not there. A join on `close_seq` asks so for each call that never returned, and a table
            // that knows no such condition would read all its rows each time.
            if column < columns && value == Value::Null {
                self.rows = None;
                return Ok(());
            }
            conditions.push(Condition { column, op, value });
        }
        self.rows = Some(R::open(&self.source, &Ask::new(conditions, plan.1))?);
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        match &mut self.rows {
            Some(rows) => Ok(rows.advance()?),
            None => Ok(()),
        }
    }

    #[inline]
    fn eof(&self) -> bool {
        self.rows.as_ref().is_none_or(RowCursor::is_done)
    }

    #[inline]
    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        match &self.rows {
            Some(rows) => rows.put(column as usize, context),
            None => Ok(()),
        }
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.rows.as_ref().map_or(0, RowCursor::id))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::doc::{Kind, TableDoc, pushed};
    use crate::error::QueryError;

    /// A table without rows that counts how often it is read.
    struct Counted;

    impl Relation for Counted {
        type Cursor = crate::relation::Batched;
        type Source = Arc<AtomicU64>;

        fn doc(_: &Self::Source) -> &'static TableDoc {
            const {
                &TableDoc {
                    name: "counted",
                    about: "",
                    columns: &[pushed("number", Kind::Integer, "")],
                    parameters: &[],
                }
            }
        }

        fn open(source: &Self::Source, _: &Ask) -> std::result::Result<Self::Cursor, QueryError> {
            source.fetch_add(1, Ordering::Relaxed);
            Self::Cursor::new(Box::new(|| Ok(None)))
        }

        fn expect(_: &Self::Source, _: &[(usize, Op)]) -> f64 {
            1.0
        }
    }

    #[test]
    fn a_table_is_not_read_for_what_no_value_is_equal_to() {
        let (connection, reads) = (Connection::open_in_memory().unwrap(), Arc::new(AtomicU64::new(0)));
        register::<Counted>(&connection, &reads).unwrap();
        let ask = |number: Option<i64>| {
            let sql = "SELECT count(*) FROM counted WHERE number = ?1";
            assert_eq!(connection.query_row(sql, [number], |row| row.get::<_, i64>(0)).unwrap(), 0);
            reads.load(Ordering::Relaxed)
        };
        assert_eq!((ask(Some(7)), ask(None), ask(Some(8))), (1, 1, 2));
    }

    #[test]
    fn a_plan_survives_its_text() {
        let ops = [Op::Eq, Op::Gt, Op::Ge, Op::Lt, Op::Le, Op::Like, Op::Glob];
        let conditions: Vec<(usize, Op)> = ops.into_iter().enumerate().map(|(at, op)| (at * 7, op)).collect();
        assert_eq!(decode(&encode(&conditions, u64::MAX)), Some((conditions, u64::MAX)));
        assert_eq!(decode(&encode(&[], 5)), Some((vec![], 5)));
        assert_eq!(decode("x"), None);
    }
}
