//! The figures that the second script measures against: the table of the machine, and kernels with heavy work
//! under a factor that is often zero, before and after the version on zero, with the share of zero warps from
//! which it is said to pay.

use crate::SM;
use crate::read::{Read, read};
use crate::sources::printed_with;
use crate::timed::{self, KERNELS};
use lockstep_codegen::machine;
use serde_json::{Value as Json, json};

/// The table of the machine as `section.name`.
pub(crate) fn machine() -> Json {
    let table = machine::named(&format!("sm_{SM}")).expect("a table");
    let rows: serde_json::Map<String, Json> = table
        .quantities()
        .map(|(field, quantity)| {
            let name = format!("{}.{}", field.section, field.name);
            let row =
                json!({ "value": quantity.value, "is": quantity.label.name(), "unit": field.unit });
            (name, row)
        })
        .collect();
    json!({ "name": table.name.as_str(), "title": table.title, "quantities": rows })
}

/// Kernels, their versions and the predictions for them.
pub(crate) fn versions() -> Json {
    KERNELS
        .iter()
        .map(|&(name, variable, text)| row(name, variable, text))
        .collect()
}

fn row(name: &str, variable: &str, text: &str) -> Json {
    let whole = read(text, ir::Language::Cuda);
    let printed_of = |whole: &Read| {
        whole
            .kernels()
            .first()
            .ok_or_else(|| "no kernel".to_owned())
            .and_then(|module| printed_with(module, true))
    };
    let before = match printed_of(&whole) {
        Ok(ptx) => ptx,
        Err(why) => return json!({ "name": name, "refused": why }),
    };
    let table = machine::named(&format!("sm_{SM}")).expect("a table");
    let charges = machine::charges(&table, 32);
    let timed = match timed::versioned(&whole, text, variable, &charges) {
        Ok(timed) => timed,
        Err(why) => return json!({ "name": name, "refused": why }),
    };
    let ptx = match printed_of(&read(&timed.text, ir::Language::Cuda)) {
        Ok(ptx) => ptx,
        Err(why) => return json!({ "name": name, "refused": why }),
    };
    let model = timed.model;
    json!({
        "name": name,
        "source": timed.text,
        "before": before,
        "after": ptx,
        "region": model.map(|model| model.region),
        "special": model.map(|model| model.special),
        "check": model.map(|model| model.check),
        "break_even": model.and_then(|model| model.break_even()),
        "pays": model.map(timed::pays),
    })
}
