//! Services: the type of the value that a service provider returns.

use super::Flow;
use crate::code::ast::Name;
use crate::deps::shape::Shape;

/// Extension methods of `Microsoft.Extensions.DependencyInjection` that return a value of their type argument.
const GETTERS: [&str; 4] = ["GetKeyedService", "GetRequiredKeyedService", "GetRequiredService", "GetService"];

impl Flow<'_, '_> {
    /// Returns the type of the service that an undeclared extension method of `IServiceProvider` returns; unknown for other calls.
    pub(super) fn requested_service(&self, on: &Shape, name: &Name) -> Shape {
        match name.args.as_slice() {
            [service] if on.key() == Some("~System.IServiceProvider") && GETTERS.contains(&name.word.text.as_str()) => {
                self.shape_unrecorded(Some(service))
            }
            _ => Shape::Unknown,
        }
    }
}
