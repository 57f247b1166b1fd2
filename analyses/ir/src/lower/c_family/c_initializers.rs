//! Initialisation as C has it: lists whose inner braces may be left out, designators, strings for arrays of characters,
//! and objects of static storage, whose bytes are computed here.
//!
//! ```text
//! struct { int a[2]; struct { int b, c; } in; } x = { 1, 2, .in.c = 3 };     a[0] = 1, a[1] = 2, in.c = 3, the rest 0
//! ```
//! A list is first resolved to pieces: a path of members and elements, and the expression that it is
//! initialised with. The contents of objects of static storage are computed from them in `static_contents`.

use super::context::*;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::function::BranchKind;
use crate::inst::*;
use crate::types::{Space, Type};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, Designator, Expr, ExprKind, Ident, Initializer, TypeKind};

/// Values that one list may come to, each element of a range `[a ... b]` counted.
const MAX_PIECES: usize = 1 << 22;
/// Scalars that are set to zero one by one; more are by a loop.
const MAX_STORES: u64 = 64;
const MAX_DEPTH: u32 = 32;

type Items = [(Option<Ident>, Expr)];

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    Member(SmolStr),
    Element(u64),
}

/// A part of an object, and its initialiser.
pub(super) struct Piece<'e> {
    pub(super) path: Vec<Step>,
    ty: CType,
    pub(super) value: &'e Expr,
}

/// The pieces that an initialiser list comes to.
#[derive(Default)]
pub(super) struct Pieces<'e> {
    pub(super) list: Vec<Piece<'e>>,
    /// Some of the list is not among them: a designator was not understood, or a limit was met.
    pub(super) cut: bool,
    /// A designator went back, so that the following parts may be initialised already.
    back: bool,
}

impl<'e> Pieces<'e> {
    fn push(&mut self, piece: Piece<'e>) {
        match self.list.len() < MAX_PIECES {
            true => self.list.push(piece),
            false => self.cut = true,
        }
    }

    /// Drops initialisers below `path` that an initialiser of the whole object follows: they have no effect,
    /// and parts that the later one leaves out are zero.
    fn replace(&mut self, path: &[Step]) {
        if self.back {
            self.list.retain(|piece| !piece.path.starts_with(path));
        }
    }

    /// Keeps, in a union, only the member that was initialised last.
    fn only(&mut self, path: &[Step], member: &SmolStr) {
        self.list.retain(|piece| {
            let below = piece.path.strip_prefix(path).and_then(<[Step]>::first);
            below.is_none_or(|step| *step == Step::Member(member.clone()))
        });
    }
}

/// The entries of one list that are yet to come.
struct Cursor<'e> {
    items: &'e Items,
    at: usize,
}

impl<'e> Cursor<'e> {
    /// The next entry's designators and value.
    fn entry(&self) -> Option<(Vec<Designator>, &'e Expr)> {
        let (name, e) = self.items.get(self.at)?;
        Some(match (name, &e.kind) {
            (Some(name), _) => (vec![Designator::Member(name.clone())], e),
            (None, ExprKind::Designated { path, value }) => (path.clone(), &**value),
            (None, _) => (Vec::new(), e),
        })
    }
}

impl Context<'_> {
    /// Initialises a place with `{...}`, a string or a value.
    pub(super) fn c_initialise(&mut self, place: &LValue, e: &Expr) {
        let pieces = self.pieces(&place.ty, e);
        if pieces.cut {
            self.not_initialised(place, e.span);
        }
        let whole = matches!(pieces.list.as_slice(), [only] if only.path.is_empty())
            && !matches!(e.kind, ExprKind::String(_));
        if !whole {
            self.c_zero(place, e.span);
        }
        for piece in pieces.list {
            let Some(target) = self.c_part(place, &piece.path, piece.value.span) else {
                self.rvalue(piece.value);
                continue;
            };
            match (&piece.value.kind, &piece.ty) {
                (ExprKind::String(text), CType::Array { .. }) => {
                    let bytes = string_bytes(text);
                    self.c_store_string(&target, &bytes, piece.value.span);
                }
                _ => {
                    let value = self.initialise_value(&target.ty.clone(), piece.value);
                    self.store_silently(&target, value, piece.value.span);
                }
            }
        }
    }

    /// Stores an unknown value in an object whose initialiser list is not understood.
    fn not_initialised(&mut self, place: &LValue, span: Span) {
        let reason = "an initialiser with designators that are not understood, or of more values than are looked at";
        let value = self.unknown(reason, &[], &place.ty.clone(), span);
        self.store_silently(place, value, span);
    }

    /// `(T){...}`
    pub(super) fn c_compound_literal(&mut self, ty: CType, list: &Expr, span: Span) -> LValue {
        let ty = self.c_sized(ty, &Initializer::Copy(list.clone()));
        let place = match &ty {
            // An object whose address is asked for is one object.
            CType::Array { .. } | CType::Struct(_) => {
                let (size, align) = (
                    self.structs.size_of(&ty).unwrap_or(4096),
                    self.structs.align_of(&ty),
                );
                let address = self.private_memory(size, align);
                LValue::memory(ty, address, MemoryAccess::in_space(Space::Local))
            }
            _ => self.temporary(&ty, span),
        };
        match (
            &list.kind,
            place.ty.is_arithmetic() || place.ty.is_pointer(),
        ) {
            (ExprKind::List(items), true) => {
                if let Some((_, only)) = items.first() {
                    let value = self.initialise_value(&place.ty.clone(), only);
                    self.store_silently(&place, value, span);
                }
            }
            _ => self.c_initialise(&place, list),
        }
        place
    }

    /// The type of `T x[] = ...` with its size.
    pub(super) fn c_sized(&mut self, ty: CType, initializer: &Initializer) -> CType {
        let CType::Array {
            element,
            size: ArraySize::Unknown,
        } = &ty
        else {
            return ty;
        };
        let count = match initializer {
            Initializer::Copy(e) => match &e.kind {
                ExprKind::String(text) => string_bytes(text).len() as u64 + 1,
                ExprKind::List(items) => match items.as_slice() {
                    [(None, only)]
                        if matches!(only.kind, ExprKind::String(_)) && is_char(element) =>
                    {
                        return self.c_sized(ty.clone(), &Initializer::Copy(only.clone()));
                    }
                    _ => {
                        let mut pieces = Pieces::default();
                        self.pieces_of(&ty, items, &mut Vec::new(), &mut pieces, 0);
                        if pieces.cut {
                            return ty;
                        }
                        let last =
                            pieces
                                .list
                                .iter()
                                .filter_map(|piece| match piece.path.first() {
                                    Some(Step::Element(number)) => Some(number + 1),
                                    _ => None,
                                });
                        last.max().unwrap_or(0)
                    }
                },
                _ => return ty,
            },
            _ => return ty,
        };
        CType::array((**element).clone(), ArraySize::Fixed(count))
    }

    // -------------------------------------------------------------------------------------------- lists

    /// The parts of an object of type `ty` that `e` initialises.
    pub(super) fn pieces<'e>(&mut self, ty: &CType, e: &'e Expr) -> Pieces<'e> {
        let mut pieces = Pieces::default();
        match &e.kind {
            ExprKind::List(items) => self.pieces_of(ty, items, &mut Vec::new(), &mut pieces, 0),
            _ => pieces.push(Piece {
                path: Vec::new(),
                ty: ty.clone(),
                value: e,
            }),
        }
        pieces
    }

    fn pieces_of<'e>(
        &mut self,
        ty: &CType,
        items: &'e Items,
        path: &mut Vec<Step>,
        out: &mut Pieces<'e>,
        depth: u32,
    ) {
        if depth > MAX_DEPTH {
            out.cut = true;
            return;
        }
        let mut cursor = Cursor { items, at: 0 };
        // The braces of a string may be doubled.
        if let (CType::Array { element, .. }, [(None, only)]) = (ty, items)
            && matches!(only.kind, ExprKind::String(_))
            && is_char(element)
        {
            let (path, ty) = (path.clone(), ty.clone());
            return out.push(Piece {
                path,
                ty,
                value: only,
            });
        }
        match ty {
            CType::Struct(id) => {
                let fields = self.structs[*id].fields.clone();
                let mut next = 0usize;
                while let Some((designators, _)) = cursor.entry() {
                    if let Some(Designator::Member(name)) = designators.first() {
                        let Some(place) = self.structs.field(*id, &name.name) else {
                            out.cut = true;
                            cursor.at += 1;
                            continue;
                        };
                        let number = self.number_of_field(&fields, &name.name);
                        out.back |= number < next || designators.len() > 1;
                        if self.structs[*id].union && next > 0 {
                            out.only(path, &name.name);
                        }
                        next = number + 1;
                        path.push(Step::Member(name.name.clone()));
                        self.designated(
                            &place.ty,
                            &designators[1..],
                            &mut cursor,
                            path,
                            out,
                            depth,
                        );
                        path.pop();
                        self.behind_unnamed(&fields, &name.name, &mut cursor, path, out, depth);
                        continue;
                    }
                    let found = self.structs[*id].union && next > 0;
                    let Some(field) = fields.get(next).filter(|_| !found) else {
                        break;
                    };
                    next += 1;
                    self.field_pieces(field, &mut cursor, path, out, depth);
                }
            }
            CType::Array { element, size } => {
                let count = match size {
                    ArraySize::Fixed(count) => *count,
                    _ => u64::MAX,
                };
                let mut next = 0u64;
                while let Some((designators, _)) = cursor.entry() {
                    let mut last = None;
                    if let Some(Designator::Element { first, last: upper }) = designators.first() {
                        let number = |cx: &mut Self, e: &Expr| {
                            let known = cx.constant(e)?.as_int();
                            u64::try_from(known).ok()
                        };
                        match number(self, first) {
                            Some(number) => {
                                out.back |= number < next || designators.len() > 1;
                                next = number;
                            }
                            None => out.cut = true,
                        }
                        last = upper.as_ref().and_then(|e| number(self, e));
                        out.cut |= last.is_none() && upper.is_some();
                    }
                    if next >= count {
                        break;
                    }
                    let last = last.unwrap_or(next).min(count - 1);
                    let before = cursor.at;
                    for number in next..=last {
                        if out.cut {
                            return;
                        }
                        cursor.at = before;
                        path.push(Step::Element(number));
                        let rest = designators.get(1..).unwrap_or_default();
                        self.designated(element, rest, &mut cursor, path, out, depth);
                        path.pop();
                    }
                    next = last + 1;
                }
            }
            _ => {
                if let Some((_, value)) = cursor.entry() {
                    let (path, ty) = (path.clone(), ty.clone());
                    out.push(Piece { path, ty, value });
                }
            }
        }
    }

    /// The entry at the cursor for a part of type `ty`, further designators first.
    fn designated<'e>(
        &mut self,
        ty: &CType,
        rest: &[Designator],
        cursor: &mut Cursor<'e>,
        path: &mut Vec<Step>,
        out: &mut Pieces<'e>,
        depth: u32,
    ) {
        let below = match (rest.first(), ty) {
            (Some(Designator::Member(name)), CType::Struct(id)) => self
                .structs
                .field(*id, &name.name)
                .map(|field| (Step::Member(name.name.clone()), field.ty)),
            (Some(Designator::Element { first, .. }), CType::Array { element, .. }) => self
                .constant(first)
                .and_then(|number| u64::try_from(number.as_int()).ok())
                .map(|number| (Step::Element(number), (**element).clone())),
            (None, _) => return self.consume(ty, cursor, path, out, depth),
            _ => None,
        };
        let whole = ty;
        let Some((step, ty)) = below.filter(|_| depth < MAX_DEPTH) else {
            out.cut = true;
            cursor.at += 1;
            return;
        };
        path.push(step.clone());
        self.designated(&ty, &rest[1..], cursor, path, out, depth + 1);
        path.pop();
        // Entries without designators go on behind the part that was designated.
        match (step, whole) {
            (Step::Member(name), CType::Struct(id)) => {
                let fields = self.structs[*id].fields.clone();
                self.behind_unnamed(&fields, &name, cursor, path, out, depth + 1);
                if self.structs[*id].union {
                    return;
                }
                let next = self.number_of_field(&fields, &name) + 1;
                for field in fields.iter().skip(next) {
                    if !self.goes_on(cursor) {
                        return;
                    }
                    self.field_pieces(field, cursor, path, out, depth + 1);
                }
            }
            (Step::Element(number), CType::Array { element, size }) => {
                let count = match size {
                    ArraySize::Fixed(count) => *count,
                    _ => 0,
                };
                for number in number + 1..count {
                    if !self.goes_on(cursor) {
                        return;
                    }
                    path.push(Step::Element(number));
                    self.consume(element, cursor, path, out, depth + 1);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// Entries without designators behind a member of a structure without a name go on in that structure.
    fn behind_unnamed<'e>(
        &mut self,
        fields: &[Field],
        name: &SmolStr,
        cursor: &mut Cursor<'e>,
        path: &mut Vec<Step>,
        out: &mut Pieces<'e>,
        depth: u32,
    ) {
        let around = fields.get(self.number_of_field(fields, name));
        let Some(CType::Struct(id)) = around
            .filter(|field| field.name.is_empty() && depth < MAX_DEPTH)
            .map(|field| &field.ty)
        else {
            return;
        };
        let inner = self.structs[*id].fields.clone();
        self.behind_unnamed(&inner, name, cursor, path, out, depth + 1);
        if self.structs[*id].union {
            return;
        }
        let next = self.number_of_field(&inner, name) + 1;
        for field in inner.iter().skip(next) {
            if !self.goes_on(cursor) {
                return;
            }
            self.field_pieces(field, cursor, path, out, depth + 1);
        }
    }

    /// Takes as many entries as a part of type `ty` wants: one, or without braces of its own those of its parts.
    fn consume<'e>(
        &mut self,
        ty: &CType,
        cursor: &mut Cursor<'e>,
        path: &mut Vec<Step>,
        out: &mut Pieces<'e>,
        depth: u32,
    ) {
        let Some((_, value)) = cursor.entry() else {
            return;
        };
        let aggregate = matches!(ty, CType::Struct(_) | CType::Array { .. });
        let whole = match (&value.kind, ty) {
            (ExprKind::List(items), _) => {
                cursor.at += 1;
                out.replace(path);
                return self.pieces_of(ty, items, path, out, depth + 1);
            }
            (ExprKind::String(_), CType::Array { element, .. }) => is_char(element),
            (_, CType::Struct(_)) => {
                may_be_object(value) && matches!(self.type_of(value).value_type(), CType::Struct(_))
            }
            _ => !aggregate,
        };
        if whole || depth > MAX_DEPTH {
            cursor.at += 1;
            out.replace(path);
            let (path, ty) = (path.clone(), ty.clone());
            return out.push(Piece { path, ty, value });
        }
        let before = cursor.at;
        match ty {
            CType::Struct(id) => {
                let fields = self.structs[*id].fields.clone();
                let count = match self.structs[*id].union {
                    true => 1,
                    false => fields.len(),
                };
                for field in fields.iter().take(count) {
                    if cursor.at > before && !self.goes_on(cursor) {
                        return;
                    }
                    self.field_pieces(field, cursor, path, out, depth);
                }
            }
            CType::Array { element, size } => {
                let count = match size {
                    ArraySize::Fixed(count) => *count,
                    _ => 0,
                };
                for number in 0..count {
                    if cursor.at > before && !self.goes_on(cursor) {
                        return;
                    }
                    path.push(Step::Element(number));
                    self.consume(element, cursor, path, out, depth + 1);
                    path.pop();
                }
            }
            _ => {}
        }
        // Something without parts takes nothing.
        if cursor.at == before {
            cursor.at += 1;
        }
    }

    fn goes_on(&self, cursor: &Cursor<'_>) -> bool {
        matches!(cursor.entry(), Some((designators, _)) if designators.is_empty())
    }

    /// A member; those of a structure without a name are members of the one around.
    fn field_pieces<'e>(
        &mut self,
        field: &Field,
        cursor: &mut Cursor<'e>,
        path: &mut Vec<Step>,
        out: &mut Pieces<'e>,
        depth: u32,
    ) {
        if let (true, CType::Struct(inner)) = (field.name.is_empty(), &field.ty) {
            if let Some((
                _,
                Expr {
                    kind: ExprKind::List(items),
                    ..
                },
            )) = cursor.entry()
            {
                cursor.at += 1;
                return self.pieces_of(&field.ty, items, path, out, depth + 1);
            }
            let fields = self.structs[*inner].fields.clone();
            let count = match self.structs[*inner].union {
                true => 1,
                false => fields.len(),
            };
            let before = cursor.at;
            if depth < MAX_DEPTH {
                for field in fields.iter().take(count) {
                    if cursor.at > before && !self.goes_on(cursor) {
                        return;
                    }
                    self.field_pieces(field, cursor, path, out, depth + 1);
                }
            }
            return;
        }
        path.push(Step::Member(field.name.clone()));
        self.consume(&field.ty, cursor, path, out, depth + 1);
        path.pop();
    }

    /// The field that is a member, or the one without a name that it lies in.
    fn number_of_field(&self, fields: &[Field], name: &str) -> usize {
        let found = fields.iter().position(|field| {
            field.name == name
                || field.name.is_empty()
                    && matches!(&field.ty, CType::Struct(id) if self.structs.field(*id, name).is_some())
        });
        found.unwrap_or(fields.len())
    }

    // -------------------------------------------------------------------------------------------- places

    fn c_part(&mut self, place: &LValue, path: &[Step], span: Span) -> Option<LValue> {
        let mut at = place.clone();
        for step in path {
            at = match (step, &at.ty) {
                (Step::Member(name), CType::Struct(id)) => {
                    let id = *id;
                    self.field(&at, id, name, span)?
                }
                (Step::Element(number), CType::Array { .. }) => {
                    match self.constant_element(&at, *number) {
                        Some(element) => element,
                        None => {
                            let number = self.builder.int(Type::I64, *number as i64);
                            let number = RValue::scalar(CType::LONG, number);
                            self.element(&at, &number, span)
                        }
                    }
                }
                _ => return None,
            };
        }
        Some(at)
    }

    fn c_store_string(&mut self, place: &LValue, bytes: &[u8], span: Span) {
        let CType::Array {
            size: ArraySize::Fixed(room),
            ..
        } = place.ty
        else {
            return;
        };
        for (number, byte) in bytes.iter().enumerate().take(room as usize) {
            if let Some(target) = self.c_part(place, &[Step::Element(number as u64)], span) {
                let byte = self.builder.int(Type::I8, i64::from(*byte as i8));
                let value = RValue::scalar(CType::CHAR, byte);
                let value = self.convert(value, &target.ty.clone(), span);
                self.store_silently(&target, value, span);
            }
        }
    }

    /// Sets an object to zero: large ones in memory by a loop.
    fn c_zero(&mut self, place: &LValue, span: Span) {
        let size = self.structs.size_of(&place.ty).unwrap_or(0);
        if let Place::Memory { address, access } = &place.place
            && size > MAX_STORES * 4
        {
            let align = self.structs.align_of(&place.ty);
            let access = MemoryAccess {
                untyped: self.is_c(),
                ..*access
            };
            return self.zeros(*address, access, size, align);
        }
        self.zero_place(place, span);
    }

    fn zeros(&mut self, address: Value, access: MemoryAccess, size: u64, align: u64) {
        self.each_word(size, align, &mut |cx, word, at| {
            let element = cx.builder.ptr_add(address, at);
            let zero = cx.builder.constant(word, 0);
            cx.builder.store(access, element, &[zero]);
        });
    }

    /// Copies an object whose values have no scalars.
    pub(super) fn copied(
        &mut self,
        to: (Value, MemoryAccess),
        from: (Value, MemoryAccess),
        ty: &CType,
    ) {
        let size = self.structs.size_of(ty).unwrap_or(0);
        let align = self.structs.align_of(ty);
        self.each_word(size, align, &mut |cx, word, at| {
            let element = cx.builder.ptr_add(from.0, at);
            let value = cx.builder.load(from.1, element, word);
            let element = cx.builder.ptr_add(to.0, at);
            cx.builder.store(to.1, element, &[value]);
        });
    }

    /// A loop over the words of so many bytes.
    fn each_word(
        &mut self,
        size: u64,
        align: u64,
        body_of: &mut dyn FnMut(&mut Self, Type, Value),
    ) {
        let word = match align {
            8.. if size.is_multiple_of(8) => Type::I64,
            4.. if size.is_multiple_of(4) => Type::I32,
            2.. if size.is_multiple_of(2) => Type::I16,
            _ => Type::I8,
        };
        let slot = self.builder.slot(Type::I64);
        let start = self.builder.int(Type::I64, 0);
        self.builder.write(slot, start);
        let (header, body, exit) = (
            self.builder.create_block(),
            self.builder.create_block(),
            self.builder.create_block(),
        );
        self.builder.jump(header);
        self.builder.switch_to(header);
        let at = self.builder.read(slot);
        let end = self.builder.int(Type::I64, size as i64);
        let more = self.builder.int_compare(IntCondition::LessSigned, at, end);
        self.builder.branch(more, body, exit, BranchKind::Implied);
        self.builder.switch_to(body);
        body_of(self, word, at);
        let step = self.builder.int(Type::I64, i64::from(word.bytes()));
        let next = self
            .builder
            .binary(BinaryOp::Add, Wrap::NO_SIGNED, at, step);
        self.builder.write(slot, next);
        self.builder.jump(header);
        self.builder.switch_to(exit);
    }
}

/// A string as C stores it, without the zero at its end. A character written by its number is one byte.
pub(super) fn string_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            number @ ast::NUMBERED.. => bytes.push(number as u8),
            _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The object itself is not written: the object that a pointer points to does not count.
pub(super) fn object_is_const(ty: &ast::Type) -> bool {
    let mut current = ty;
    for _ in 0..MAX_DEPTH {
        match &current.kind {
            TypeKind::Array { element, .. } => current = element,
            _ => break,
        }
    }
    current.is_const
}

pub(super) fn is_char(ty: &CType) -> bool {
    matches!(ty, CType::Int { bits: 8, .. })
}

/// Can have a structure as its value, by its form.
fn may_be_object(e: &Expr) -> bool {
    !matches!(
        e.kind,
        ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Char(_)
            | ExprKind::String(_)
            | ExprKind::Binary { .. }
            | ExprKind::SizeofType(_)
            | ExprKind::SizeofExpr(_)
    )
}
