//! The code of a function of C before and after its profile: an action that shows both.
//!
//! ```text
//! Compare code before and after its profile: 23 % fewer cycles
//! ```
//!
//! Nothing is edited: `emit --profile` has the second, here with loops pipelined and branches if-converted in both.

use super::compared::{CodeChange, Codes};
use crate::db::{self, Db, File, Item};
use crate::derive::guided::GuidedCode;
use crate::derive::loops::are_shown;
use crate::program::item_at;
use crate::views::model::{Action, Doing};
use syntax::Span;

const ID: &str = "profile-code";

/// The action on the head of a function.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let found = || {
        if !are_shown(db, file) {
            return None;
        }
        let (place, item) = item_at(db, file, range.start)?;
        let module = &db::lowered(db, item).first()?.module;
        let head = module.functions.first()?.name_span.shifted(place.start);
        let lines = db::line_index(db, file);
        let line = |at: u32| lines.line_column(at).0;
        let here = line(head.start) == line(range.start);
        here.then(|| db::guided_code(db, item).as_ref()).flatten()
    };
    let Some(code) = found() else {
        return Vec::new();
    };
    let title = format!(
        "Compare code before and after its profile: {}",
        difference(code)
    );
    let mut action = Action::rewrite(ID, title);
    action.effect = "both codes side by side (estimate); nothing is edited".to_owned();
    action.what = Doing::Codes(Codes::Profile);
    vec![action]
}

/// Both codes of the function at a place, if its profile changes something.
pub fn change(db: &dyn Db, file: File, offset: u32) -> Option<CodeChange> {
    let (_, item) = item_at(db, file, offset)?;
    of_item(db, item)
}

fn of_item(db: &dyn Db, item: Item<'_>) -> Option<CodeChange> {
    let code = db::guided_code(db, item).as_ref()?;
    Some(CodeChange {
        function: item.name(db).clone(),
        target: format!("ia64:{}", code.processor),
        comment: "//",
        difference: difference(code),
        names: ["as it is", "after its profile"],
        before: code.before.clone(),
        after: code.after.clone(),
    })
}

fn difference(code: &GuidedCode) -> String {
    if code.spared > 0.0 {
        let (other, than) = match code.added < 0.0 {
            true => (-code.added, "fewer"),
            false => (code.added, "more"),
        };
        return format!(
            "about {:.0} fewer cycles of waiting for caches, {other:.0} {than} besides",
            code.spared
        );
    }
    format!("{:.0} % fewer cycles", 100.0 * code.saved)
}
