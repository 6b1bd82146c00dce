; What TypeScript and JavaScript files define. The capture of the whole is definition.KIND, that of its name name.

(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_body name: (property_identifier) @name @definition.enum_member)
(enum_assignment name: (property_identifier) @name) @definition.enum_member
(type_alias_declaration name: (type_identifier) @name) @definition.type_alias
(internal_module name: (identifier) @name) @definition.namespace
(module name: (identifier) @name) @definition.namespace

(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(function_signature name: (identifier) @name) @definition.function

(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.field
(interface_body (property_signature name: (property_identifier) @name) @definition.property)

; Variables count where the whole file sees them; a function that a variable holds is a function.
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)])) @definition.function)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)])) @definition.function)
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable)

; What they name. Of several captures of one name the first in this file counts.

(call_expression function: (identifier) @reference.call)
(call_expression function: (member_expression property: (property_identifier) @reference.call))
(new_expression constructor: (identifier) @reference.construct)
(assignment_expression left: (identifier) @reference.write)
(assignment_expression left: (member_expression property: (property_identifier) @reference.write))

(identifier) @reference.name
(type_identifier) @reference.name
(property_identifier) @reference.name
(private_property_identifier) @reference.name
(shorthand_property_identifier) @reference.name
(shorthand_property_identifier_pattern) @reference.name
