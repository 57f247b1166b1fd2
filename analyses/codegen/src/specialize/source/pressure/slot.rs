//! A uniform value kept once for the warp, or once for the workgroup, in shared memory.
//!
//! ```text
//! float u = scale[row];                __shared__ volatile float u_of_warp[8];
//! (the peak)                           const unsigned warp = threadIdx.x / 32;
//! sum *= u;                      ->    float u = scale[row];
//!                                      u_of_warp[warp] = u;
//!                                      (the peak)
//!                                      const float u_again = u_of_warp[warp];
//!                                      sum *= u_again;
//! ```
//!
//! Every lane stores, and reads behind its own store the value that it or another lane of the warp has
//! stored, which is the same: no lane waits for another. In a loop a lane could store the next value before
//! another has read the last one; there `__syncwarp()` stands before the store, and all lanes must come to it
//! together. Accesses are volatile, or a compiler would keep the value in a register all the same. A value
//! that is the same in the whole workgroup needs no number of a warp; HLSL, which does not say how lanes form
//! waves, has that form alone, behind a barrier that waits for nobody.
//!
//! Source: Sampaio et al. 2013, Figure 18, row ii.

use super::super::flow::Edit;
use super::super::types::{Base, Shape, Ty};
use super::again::{constant, spelled};
use super::scene::{Definition, Scene};
use super::{Kernel, Refusal, Rewriting, Subject};
use facts::Scope;
use ir::Language;
use smol_str::SmolStr;

/// The place of a value, and how its slot is spelled.
struct Slot {
    declaration: String,
    element: String,
    /// The number of the warp is part of it.
    of_warp: bool,
    bytes: u32,
    before_store: Option<&'static str>,
    after_store: Option<&'static str>,
}

pub(super) fn rewrite(
    scene: &Scene<'_>,
    subjects: &[Subject],
    kernel: Kernel,
) -> Result<Rewriting, Refusal> {
    if !kernel.groups {
        return Err(Refusal::NoGroups);
    }
    let mut taken = Vec::new();
    let number = scene.fresh("warp", &mut taken);
    let mut head: Vec<String> = Vec::new();
    let mut globals: Vec<String> = Vec::new();
    let mut numbered = false;
    let mut made = Rewriting::default().of_each(subjects, &mut |subject, made| {
        let (name, slot, edits) = variable(scene, subject, kernel, &number, &mut taken)?;
        match scene.source.language {
            Language::Hlsl => globals.push(slot.declaration),
            _ => head.push(slot.declaration),
        }
        numbered |= slot.of_warp;
        made.shared += slot.bytes;
        made.names.push(name);
        made.edits.extend(edits);
        Ok(())
    })?;
    if numbered {
        let thread = match kernel.flat {
            true => "threadIdx.x",
            false => "((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)",
        };
        head.push(format!("const unsigned {number} = {thread} / 32;"));
    }
    if !head.is_empty() {
        made.edits.insert(0, scene.first(&head));
    }
    if !globals.is_empty() {
        let start = scene.function.signature_span.to(scene.function.span);
        let start = scene
            .function
            .specifiers
            .attributes
            .iter()
            .fold(start, |span, attribute| span.to(attribute.span));
        made.edits.insert(0, scene.before(start, &globals));
    }
    Ok(made.joined())
}

fn variable(
    scene: &Scene<'_>,
    subject: &Subject,
    kernel: Kernel,
    number: &SmolStr,
    taken: &mut Vec<SmolStr>,
) -> Result<(SmolStr, Slot, Vec<Edit>), Refusal> {
    let definition = scene.definition(subject.declared)?;
    let name = definition.name.clone();
    let slot = slot(scene, subject, &definition, kernel, number, taken)?;
    let served = scene.served(&definition)?;
    let stmt = definition.stmt();
    let mut lines: Vec<String> = Vec::new();
    lines.extend(slot.before_store.map(str::to_owned));
    lines.push(format!("{} = {name};", slot.element));
    lines.extend(slot.after_store.map(str::to_owned));
    let mut edits = vec![scene.behind(stmt.span, &lines)];
    let ty = spelled(scene, &definition.declarator.ty, 0).unwrap_or_default();
    for served in &served {
        let again = scene.fresh(&format!("{name}_again"), taken);
        let line = format!("{} = {};", constant(&ty, &again), slot.element);
        edits.push(scene.before(served.anchor, &[line]));
        edits.extend(served.uses.iter().map(|place| (*place, again.to_string())));
    }
    Ok((name, slot, edits))
}

fn slot(
    scene: &Scene<'_>,
    subject: &Subject,
    definition: &Definition<'_>,
    kernel: Kernel,
    number: &SmolStr,
    taken: &mut Vec<SmolStr>,
) -> Result<Slot, Refusal> {
    let name = definition.name.clone();
    let bytes = bytes(scene, definition)?;
    let not_numeric = || Refusal::NotNumeric {
        name: name.clone(),
        why: "its type is not one that can be written again",
    };
    let ty = spelled(scene, &definition.declarator.ty, 0).ok_or_else(not_numeric)?;
    let hlsl = scene.source.language == Language::Hlsl;
    let in_group = subject.uniform >= Some(Scope::Workgroup) && !definition.in_loop;
    if in_group {
        let slot = scene.fresh(&format!("{name}_of_group"), taken);
        let (words, after) = match hlsl {
            true => ("groupshared", Some("GroupMemoryBarrier();")),
            false => ("__shared__ volatile", None),
        };
        return Ok(Slot {
            declaration: format!("{words} {ty} {slot};"),
            element: slot.to_string(),
            of_warp: false,
            bytes,
            before_store: None,
            after_store: after,
        });
    }
    if hlsl {
        return Err(match definition.in_loop {
            true => Refusal::InLoop(name),
            false => Refusal::NotUniformInGroup(name),
        });
    }
    if subject.uniform < Some(Scope::Subgroup) {
        return Err(Refusal::NotUniform(name));
    }
    if kernel.warp != 32 {
        return Err(Refusal::WarpSize(kernel.warp));
    }
    if definition.in_loop && !kernel.together {
        return Err(Refusal::InLoop(name));
    }
    let threads = kernel.threads.ok_or(Refusal::NoBound)?;
    let warps = threads.div_ceil(32).max(1);
    let slot = scene.fresh(&format!("{name}_of_warp"), taken);
    Ok(Slot {
        declaration: format!("__shared__ volatile {ty} {slot}[{warps}];"),
        element: format!("{slot}[{number}]"),
        of_warp: true,
        bytes: bytes * warps,
        before_store: definition.in_loop.then_some("__syncwarp();"),
        after_store: None,
    })
}

/// Bytes of a number that a register holds.
fn bytes(scene: &Scene<'_>, definition: &Definition<'_>) -> Result<u32, Refusal> {
    let refuse = |why| Refusal::NotNumeric {
        name: definition.name.clone(),
        why,
    };
    match scene.source.type_of(&definition.declarator.ty) {
        Ty::Number(Base::Int | Base::Uint | Base::Float, Shape::Scalar) => Ok(4),
        Ty::Number(Base::Long | Base::Double, Shape::Scalar) => Ok(8),
        Ty::Number(_, Shape::Vector(_) | Shape::Matrix(..)) => {
            Err(refuse("a vector, which has no volatile copy"))
        }
        Ty::Number(..) => Err(refuse("a slot has a word or two")),
        Ty::Other(ty) if matches!(ty.kind, syntax::c_family::ast::TypeKind::Pointer(_)) => Err(
            refuse("of a pointer that is loaded a compiler does not know which memory it leads to"),
        ),
        _ => Err(refuse(
            "a slot keeps whole numbers and floating-point numbers",
        )),
    }
}
