//! The promises of C as an editor shows them.

use lockstep_server::db::{Database, File, Source};
use lockstep_server::views;
use std::path::Path;
use std::sync::Arc;

const SUM: &str = "int sum(const short *x, int n) {
  int s = 0, i;
#pragma align *x 8
  for (i = 0; i < n; i++) {
#pragma loop_count (4, 512, 4)
    s += x[i];
  }
  return s;
}
";

fn hover(db: &Database, file: File, wanted: &str) -> String {
    let at = SUM.find(wanted).expect("the text") as u32;
    let found = views::hover::hover(db, file, at).expect("a hover");
    found.markdown
}

#[test]
fn promises_are_told_at_their_pragmas_and_at_the_pointer() {
    let mut db = Database::default();
    let source = Source::Text {
        text: Arc::from(SUM),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/sum.c"), source);
    assert_eq!(hover(&db, file, "align *x"), "`x` is aligned to 8 bytes");
    assert_eq!(
        hover(&db, file, "loop_count"),
        "the loop has 4 to 512 rounds, a multiple of 4"
    );
    assert_eq!(
        hover(&db, file, "x[i]"),
        "`x` is aligned to 8 bytes, as line 3 promises"
    );
}
