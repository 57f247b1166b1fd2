//! The listing of an object by GNU `objdump`: bundles with their templates, and instructions.

use super::assembler::into_object;
use std::path::Path;
use std::process::Command;

/// An instruction as the disassembler writes it, with the template of its bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(dead_code)]
pub(crate) struct Listed {
    /// `MII`
    pub(crate) template: String,
    /// The address of its bundle.
    pub(crate) address: u64,
    /// From 0 to 2.
    pub(crate) slot: usize,
    pub(crate) text: String,
    /// A stop behind it.
    pub(crate) stop: bool,
}

impl Listed {
    pub(crate) fn is_nop(&self) -> bool {
        self.text.starts_with("nop.")
    }
}

/// Returns the listing of the text's object by the `objdump -d` beside this assembler, and the assembler's
/// messages. A disassembler that does not work is an error of the installation, and no empty list.
pub(crate) fn disassembled(assembler: &Path, text: &str) -> (String, Vec<Listed>) {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("x.o");
    let said = into_object(assembler, text, &object);
    let name = assembler
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("");
    let lister = assembler.with_file_name(name.replace("-as", "-objdump"));
    let listed = Command::new(&lister)
        .args(["-d", "--no-show-raw-insn"])
        .arg(&object)
        .output();
    let listed = listed.unwrap_or_else(|error| panic!("{}: {error}", lister.display()));
    assert!(
        listed.status.success(),
        "{}: {}\n{said}",
        lister.display(),
        String::from_utf8_lossy(&listed.stderr)
    );
    (said, parsed(&String::from_utf8_lossy(&listed.stdout)))
}

#[allow(dead_code)]
/// Returns the number of nops in the text's object, and the assembler's messages.
pub(crate) fn nops(assembler: &Path, text: &str) -> (String, usize) {
    let (said, listed) = disassembled(assembler, text);
    (said, listed.iter().filter(|it| it.is_nop()).count())
}

fn parsed(text: &str) -> Vec<Listed> {
    let (mut out, mut template, mut slot, mut address) = (Vec::new(), String::new(), 0, 0);
    for line in text.lines() {
        let Some((place, rest)) = line.split_once(":\t") else {
            continue;
        };
        let Ok(place) = u64::from_str_radix(place.trim(), 16) else {
            continue;
        };
        let mut rest = rest.trim();
        if let Some(inner) = rest.strip_prefix('[') {
            let Some((name, after)) = inner.split_once(']') else {
                continue;
            };
            (template, slot, address) = (name.to_owned(), 0, place);
            rest = after.trim();
        }
        let stop = rest.ends_with(";;");
        let own = rest.trim_end_matches(";;").trim();
        let mut words: Vec<String> = own.split_whitespace().map(str::to_owned).collect();
        // `90 <name+0x90>`: where a branch goes.
        if words.last().is_some_and(|word| word.starts_with('<')) {
            words.pop();
            if let Some(last) = words.last_mut() {
                let at = last.rfind(',').map_or(0, |comma| comma + 1);
                last.insert_str(at, "0x");
            }
        }
        if words.is_empty() {
            continue;
        }
        out.push(Listed {
            template: template.clone(),
            address,
            slot,
            text: words.join(" "),
            stop,
        });
        slot += 1;
    }
    out
}
