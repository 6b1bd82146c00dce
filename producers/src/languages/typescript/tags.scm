; What TypeScript and JavaScript files define. The capture of the whole is definition.KIND, that of its name name.

(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_body name: (property_identifier) @name @definition.enum_member)
(enum_assignment name: (property_identifier) @name) @definition.enum_member
(type_alias_declaration name: (type_identifier) @name) @definition.type_alias
(internal_module name: [(identifier) (nested_identifier)] @name) @definition.namespace
(module name: [(identifier) (nested_identifier)] @name) @definition.namespace

(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(function_signature name: (identifier) @name) @definition.function

(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.field
(interface_body (property_signature name: (property_identifier) @name) @definition.property)

; Quoted names that could stand without quotes or nearly so.
(method_definition name: (string (string_fragment) @name) (#match? @name "^[\\w$-]+$")) @definition.method
(method_signature name: (string (string_fragment) @name) (#match? @name "^[\\w$-]+$")) @definition.method
(public_field_definition name: (string (string_fragment) @name) (#match? @name "^[\\w$-]+$")) @definition.field
(interface_body (property_signature name: (string (string_fragment) @name) (#match? @name "^[\\w$-]+$")) @definition.property)
(enum_body name: (string (string_fragment) @name @definition.enum_member) (#match? @name "^[\\w$-]+$"))
(enum_assignment name: (string (string_fragment) @name) (#match? @name "^[\\w$-]+$")) @definition.enum_member

; Parameters of a constructor that are fields.
((method_definition
  name: (property_identifier) @_constructor
  parameters: (formal_parameters (_ (accessibility_modifier) pattern: (identifier) @name) @definition.field))
  (#eq? @_constructor "constructor"))
((method_definition
  name: (property_identifier) @_constructor
  parameters: (formal_parameters (_ "readonly" pattern: (identifier) @name) @definition.field))
  (#eq? @_constructor "constructor"))

; Variables count where the whole file sees them; a function that a variable holds is a function. Only declarations hold declarators.
(program (_ (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function))
(export_statement (_ (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function))
(program (_ (variable_declarator name: (identifier) @name) @definition.variable))
(export_statement (_ (variable_declarator name: (identifier) @name) @definition.variable))
(ambient_declaration (_ (variable_declarator name: (identifier) @name) @definition.variable))
(program (_ (variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @name
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
  (pair_pattern value: (identifier) @name)
  (rest_pattern (identifier) @name)])) @definition.variable))
(program (_ (variable_declarator name: (array_pattern [(identifier) @name (rest_pattern (identifier) @name)])) @definition.variable))
(export_statement (_ (variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @name
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
  (pair_pattern value: (identifier) @name)
  (rest_pattern (identifier) @name)])) @definition.variable))
(export_statement (_ (variable_declarator name: (array_pattern [(identifier) @name (rest_pattern (identifier) @name)])) @definition.variable))

; What a module of CommonJS hands out, and what is added to a prototype.
((program (expression_statement (assignment_expression
  left: (member_expression object: (identifier) @_exports property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @definition.function)) (#eq? @_exports "exports"))
((program (expression_statement (assignment_expression
  left: (member_expression object: (identifier) @_exports property: (property_identifier) @name)) @definition.variable)) (#eq? @_exports "exports"))
((program (expression_statement (assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
    property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @definition.function)) (#eq? @_module "module") (#eq? @_exports "exports"))
((program (expression_statement (assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
    property: (property_identifier) @name)) @definition.variable)) (#eq? @_module "module") (#eq? @_exports "exports"))
((program (expression_statement (assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @owner property: (property_identifier) @_prototype)
    property: (property_identifier) @name)) @definition.method)) (#eq? @_prototype "prototype"))

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
