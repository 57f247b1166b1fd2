//! `lockstep dump`: trees, IR, gates and facts as text.

use super::{CliError, DumpArgs, DumpWhat, input};
use crate::db::{self, Database};
use crate::derive::parts;
use crate::program;
use std::io::Write;

pub(super) fn dump(args: &DumpArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    let mut out = std::io::stdout().lock();
    let mut known = Vec::new();
    let mut printed = false;
    for (_, item) in program::items_to_show(&db, file) {
        let name = item.name(&db).as_str();
        if args
            .item
            .as_deref()
            .is_some_and(|only| only != name && name.rsplit("::").next() != Some(only))
        {
            known.push(name.to_owned());
            continue;
        }
        printed = true;
        match args.what {
            DumpWhat::Parse => match file.language(&db).c_dialect() {
                Some(_) => writeln!(
                    out,
                    "{}",
                    syntax::c_family::dump::item(db::parsed(&db, item))
                )?,
                None if file.language(&db) == program::Language::Ptx => {
                    writeln!(out, "{:#?}", db::ptx_tree(&db, item))?;
                }
                None => writeln!(
                    out,
                    "{:#?}",
                    syntax::musimd::parse(program::text(file.source(&db)))
                )?,
            },
            DumpWhat::Ir => {
                for lowered in db::lowered(&db, item).iter() {
                    writeln!(out, "{}", ir::text::print_module(&lowered.module))?;
                }
            }
            DumpWhat::Gates => {
                for lowered in db::lowered(&db, item).iter() {
                    write!(out, "{}", ir::text::print_gates(&lowered.module))?;
                }
            }
            DumpWhat::Facts => {
                for part in parts::parts(&db, item) {
                    writeln!(
                        out,
                        "function {} by {}",
                        part.function.name,
                        crate::config::method_name(part.facts.options.method)
                    )?;
                    for (variable, fact) in &part.facts.named {
                        writeln!(
                            out,
                            "  {} {} {} {}",
                            part.function.variables[*variable].name,
                            crate::views::text::class_name(fact.class),
                            fact.state,
                            fact.form
                        )?;
                    }
                    for (value, fact) in part.facts.values.iter() {
                        let scope = fact.uniform_at.map_or("", crate::config::scope_name);
                        writeln!(
                            out,
                            "  {value} {} {scope} {} {} {:?}",
                            crate::views::text::class_name(fact.class),
                            fact.state,
                            fact.form,
                            fact.cause
                        )?;
                    }
                    for temporal in &part.facts.temporal {
                        writeln!(
                            out,
                            "  {} in {}: {:?}",
                            temporal.value, temporal.block, temporal.fact
                        )?;
                    }
                    for branch in &part.facts.branches {
                        writeln!(out, "  {branch:?}")?;
                    }
                    for each in &part.facts.loops {
                        writeln!(out, "  {each:?}")?;
                    }
                    for access in &part.facts.accesses {
                        writeln!(out, "  {access:?}")?;
                    }
                }
            }
        }
    }
    if let Some(name) = args.item.as_deref().filter(|_| !printed) {
        return Err(CliError::Usage(format!(
            "{}: there is no function `{name}`; there are: {}",
            args.file.display(),
            known.join(", ")
        )));
    }
    Ok(0)
}
