//! Phrases for facts, the same words everywhere.

use crate::config::scope_name;
use crate::derive::accesses::{self, AccessRemark};
use facts::symbolic::ValueForm;
use facts::{AccessClass, AccessFact, BranchFact, Class, LoopFact, Scope, words};
use ir::{Language, Space};

/// `affine 4*tid.x + n`, `divergent`.
pub fn class_and_form(class: Class, form: &ValueForm) -> String {
    match (class, form.is_empty()) {
        (Class::Affine, false) => format!("affine {}", shortened(&form.to_string(), 60)),
        _ => class_name(class).to_owned(),
    }
}

/// A number with its word; nothing of none.
pub fn counted(count: usize, word: &str, many: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        count => Some(format!("{count} {many}")),
    }
}

/// A form that fits into a margin; an ellipsis stands for the omitted part.
pub fn shortened(form: &str, limit: usize) -> String {
    if form.chars().count() <= limit {
        return form.to_owned();
    }
    let cut: String = form.chars().take(limit.saturating_sub(1)).collect();
    format!("{cut}…")
}

pub fn scope_phrase(scope: Option<Scope>, language: Language) -> String {
    let (warp, group) = (words::warp(language), words::workgroup(language));
    match scope {
        None => format!("may differ from lane to lane of a {warp}"),
        Some(Scope::Quad) => format!("the same within a quad, may differ within a {warp}"),
        Some(Scope::Subgroup) => {
            format!("the same within a {warp}, may differ between the {warp}s of a {group}")
        }
        Some(Scope::Workgroup) => format!("the same within a {group}, may differ between {group}s"),
        Some(Scope::Dispatch) => "the same for the whole dispatch".to_owned(),
    }
}

/// The name of a scope in the words of the language.
pub const fn scope_word(scope: Scope, language: Language) -> &'static str {
    match scope {
        Scope::Subgroup => words::warp(language),
        Scope::Workgroup => words::workgroup(language),
        Scope::Quad | Scope::Dispatch => scope_name(scope),
    }
}

pub fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Constant => "constant",
    }
}

/// `stride 16 B: 16 sectors, ideal 4`; short enough for the end of a line.
pub fn access_short(access: &AccessFact) -> String {
    if let Some(ways) = access.bank_ways.filter(|&ways| ways > 1) {
        return format!("{ways}-way bank conflict");
    }
    let stride = match (access.stride_bytes, &access.stride_sum) {
        (Some(stride), _) => format!("stride {stride} B"),
        (None, Some(sum)) if sum.is_unknown() => "unknown stride".to_owned(),
        (None, Some(sum)) => format!("stride {} B", shortened(&sum.to_string(), 24)),
        (None, None) => scattering(access).to_owned(),
    };
    match (access.class, access.sectors) {
        (AccessClass::Uniform, _) => "uniform address".to_owned(),
        (AccessClass::Coalesced, _) => "coalesced".to_owned(),
        (_, Some(sectors)) if sectors != access.ideal_sectors => {
            format!(
                "{stride}: {sectors} sectors, ideal {}",
                access.ideal_sectors
            )
        }
        _ => stride,
    }
}

/// The remark at the end of a line: `gather: ≤ 32 sectors`, `atomic: one address`. `None`: the access is worth none.
pub fn access_remark(access: &AccessFact, kernel: bool) -> Option<String> {
    Some(match accesses::access_remark(access, kernel)? {
        AccessRemark::AtomicConflict => {
            format!("atomic: up to {}-way conflict", access.lanes.min(32))
        }
        AccessRemark::AtomicAddress => "atomic: one address for all lanes".to_owned(),
        AccessRemark::Gather => match access.sectors {
            Some(sectors) => format!("{}: {sectors} sectors", scattering(access)),
            None => format!("{}: ≤ {} sectors", scattering(access), access.most_sectors),
        },
        AccessRemark::Waste => access_short(access),
    })
}

/// The word for an access: lanes gather by loads and scatter by stores.
fn scattering(access: &AccessFact) -> &'static str {
    match (access.class, access.kind) {
        (AccessClass::Gather, facts::AccessKind::Load) => "gather",
        (AccessClass::Gather, facts::AccessKind::Store) => "scatter",
        (AccessClass::Gather, facts::AccessKind::Atomic(_)) => "scattered atomic",
        (class, _) => access_class_name(class),
    }
}

/// The whole sentence.
pub fn access_long(access: &AccessFact, warp_size: u32) -> String {
    let mut text = format!("{} ", access_kind_name(access.kind));
    if !access.base.is_empty() {
        text += &format!("of `{}` ", access.base);
    }
    text += &format!(
        "({} memory): **{}**",
        space_name(access.space),
        scattering(access)
    );
    if let Some(stride) = access.stride_bytes {
        text += &format!(", neighbouring lanes are {stride} B apart");
    } else if let Some(stride) = &access.stride_sum {
        text += &format!(", neighbouring lanes are `{stride}` B apart");
    }
    text += &format!(", {} B a lane", access.bytes);
    if matches!(
        access.space,
        Space::Global | Space::Generic | Space::Constant
    ) && access.ideal_sectors > 0
    {
        match access.sectors {
            Some(sectors) => {
                let used = 100 * access.ideal_sectors.min(sectors) / sectors.max(1);
                text += &format!(
                    "; {sectors} sectors of 32 B for {warp_size} lanes, ideal {} ({used} % used) *(bound: every lane takes part)*",
                    access.ideal_sectors
                );
            }
            None => {
                text += &format!(
                    "; at most {} sectors *(bound)*, ideal {}",
                    access.most_sectors, access.ideal_sectors
                );
            }
        }
    }
    if let Some(ways) = access.bank_ways {
        text += &match ways {
            0 | 1 => "; no bank conflict".to_owned(),
            ways => format!("; {ways}-way bank conflict *(bound: every lane takes part)*"),
        };
    }
    text
}

/// Returns true if a divergent branch loses at least so many cycles; one whose cost is not known does.
pub fn is_costly(branch: &BranchFact, cycles: u32) -> bool {
    branch
        .divergence_cost
        .is_none_or(|cost| cost >= f64::from(cycles))
}

pub fn branch_short(branch: &BranchFact) -> String {
    match (branch.class, branch.divergence_cost) {
        (Class::Uniform, _) => "uniform branch".to_owned(),
        (_, Some(cost)) if cost >= 1.0 => format!("lanes diverge, ~{cost:.0} cycles"),
        _ => "divergent branch".to_owned(),
    }
}

/// The least cycles of an arm for a remark about its waiting lanes.
const IDLE: f64 = 40.0;

/// `1 of 32 lanes busy for ~120 cycles`: a branch with one dear arm; `None` where it is cheap or a mere range check.
pub fn idle_short(branch: &BranchFact, warp: u32) -> Option<String> {
    let cycles = branch.idle.filter(|&cycles| cycles >= IDLE)?;
    let busy = branch.lanes.map(|lanes| lanes.count_ones());
    Some(match busy.filter(|&busy| busy > 0 && busy < warp) {
        Some(busy) => format!("{busy} of {warp} lanes busy, ~{cycles:.0} cycles"),
        None => format!("some lanes idle, ~{cycles:.0} cycles"),
    })
}

pub fn branch_long(branch: &BranchFact, language: Language, target: &str) -> String {
    let mut text = match branch.class {
        Class::Uniform => "branch: **uniform**, all lanes go the same way".to_owned(),
        Class::Unknown => "branch: **unknown**, treated as divergent".to_owned(),
        _ => "branch: **divergent**, lanes may go both ways".to_owned(),
    };
    if let Some(scope) = branch.uniform_at {
        text += &format!(" (one way within a {})", scope_word(scope, language));
    }
    if let Some(cost) = branch.divergence_cost {
        text += &format!("; both sides cost about {cost:.0} cycles more *(estimate, {target})*");
    }
    text
}

/// "divergent branch, nothing lost": for places that name every branch.
pub fn branch_note(branch: &BranchFact) -> String {
    match branch.divergence_cost {
        Some(cost) if branch.class > Class::Uniform && cost < 8.0 => {
            "divergent branch, one side only".to_owned()
        }
        _ => branch_short(branch),
    }
}

pub fn loop_short(fact: &LoopFact) -> String {
    match (fact.trip, fact.count) {
        (Class::Uniform, Some(count)) => format!("{count} iterations"),
        (Class::Uniform, None) => "uniform trip count".to_owned(),
        _ => "divergent trip count".to_owned(),
    }
}

pub fn loop_long(fact: &LoopFact) -> String {
    match (fact.trip, fact.count) {
        (Class::Uniform, Some(count)) => format!("loop: **{count} iterations** in every lane"),
        (Class::Uniform, None) => {
            "loop: **uniform trip count**, all lanes leave in the same iteration".to_owned()
        }
        (Class::Unknown, _) => "loop: **unknown trip count**".to_owned(),
        _ => "loop: **divergent trip count**, lanes that are done wait for the longest".to_owned(),
    }
}

/// The word for a class.
pub const fn class_name(class: Class) -> &'static str {
    match class {
        Class::Uniform => "uniform",
        Class::Affine => "affine",
        Class::Divergent => "divergent",
        Class::Unknown => "unknown",
    }
}

pub const fn access_class_name(class: facts::AccessClass) -> &'static str {
    match class {
        facts::AccessClass::Uniform => "uniform",
        facts::AccessClass::Coalesced => "coalesced",
        facts::AccessClass::Strided => "strided",
        facts::AccessClass::Gather => "gather",
    }
}

pub const fn access_kind_name(kind: facts::AccessKind) -> &'static str {
    match kind {
        facts::AccessKind::Load => "load",
        facts::AccessKind::Store => "store",
        facts::AccessKind::Atomic(_) => "atomic",
    }
}

pub const fn kind_name(kind: ir::FunctionKind) -> &'static str {
    use ir::{FunctionKind, ShaderStage};
    match kind {
        FunctionKind::Kernel => "kernel",
        FunctionKind::Device => "device",
        FunctionKind::Host => "host",
        FunctionKind::Stage(stage) => match stage {
            ShaderStage::Vertex => "vertex",
            ShaderStage::Pixel => "pixel",
            ShaderStage::Geometry => "geometry",
            ShaderStage::Hull => "hull",
            ShaderStage::Domain => "domain",
            ShaderStage::Amplification => "amplification",
            ShaderStage::Mesh => "mesh",
            ShaderStage::RayTracing => "ray-tracing",
            ShaderStage::Library => "library",
        },
    }
}
