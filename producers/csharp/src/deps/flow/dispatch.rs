//! Calls that may pass a message to its handlers: `mediator.Send(command)`, where a package declares the mediator.

use super::candidate_rules::known_type;
use super::{Call, Flow, Use, UseKind};
use crate::code::ast::{Argument, Name};
use crate::deps::shape::Shape;

/// Owner of an unknown method to which code passes a value of the workspace's types as a message.
pub const SENT: &str = "~>";

/// Methods of mediators and buses that pass a message to its handlers, without `Async`.
const DISPATCHERS: [&str; 10] = [
    "CreateStream", "Dispatch", "Execute", "Invoke", "Publish", "Query", "Raise", "Request", "Send", "SendLocal",
];

/// Whether a method has the name of one that passes a message to its handlers.
pub fn is_dispatcher(method: &str) -> bool {
    DISPATCHERS.contains(&method.strip_suffix("Async").unwrap_or(method))
}

impl<'f> Flow<'f, '_> {
    /// Binds a call of an unknown member.
    pub(super) fn unknown_call(&mut self, name: &Name, args: &'f [Argument]) -> Shape {
        self.type_arguments(name);
        let given = self.arguments(args, &[]);
        if is_dispatcher(&name.word.text) {
            self.note_dispatch(name, &given);
        }
        Shape::Unknown
    }

    /// Records the call of a dispatcher with the types of its arguments, if one of them is a type of the workspace.
    fn note_dispatch(&mut self, name: &Name, given: &[Shape]) {
        let is_own = |shape: &Shape| shape.key().is_some_and(|key| !key.starts_with(['~', '^']));
        let Some(uses) = self.found.uses.as_mut().filter(|_| given.iter().any(is_own)) else {
            return;
        };
        uses.push(Use {
            place: name.word.place,
            owner: SENT.into(),
            member: Some(name.word.text.clone()),
            certain: true,
            kind: UseKind::Call,
            call: Some(Call {
                arguments: given.iter().map(known_type).collect(),
                types: name.args.len(),
                ..Call::default()
            }),
        });
    }
}
