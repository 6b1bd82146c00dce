; What Python files define. The capture of the whole is definition.KIND, that of its name name.

(class_definition name: (identifier) @name) @definition.class
(class_definition body: (block (function_definition name: (identifier) @name) @definition.method))
(class_definition body: (block (decorated_definition (function_definition name: (identifier) @name) @definition.method)))
(function_definition name: (identifier) @name) @definition.function
(module (expression_statement (assignment left: (identifier) @name) @definition.variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @definition.field)))
(type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @definition.type_alias

; Several names of one statement.
(module (expression_statement (assignment left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]) @definition.variable))
(module (expression_statement (assignment right: (assignment left: (identifier) @name)) @definition.variable))
(class_definition body: (block (expression_statement (assignment left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]) @definition.field)))

; Fields that the first method of an object sets.
((class_definition body: (block (function_definition
  name: (identifier) @_init
  body: (block (expression_statement (assignment left: (attribute object: (identifier) @_self attribute: (identifier) @name)) @definition.field)))))
  (#eq? @_init "__init__") (#eq? @_self "self"))

; Documentation is the first text of a body, and of the file.

(module . (comment)* . (expression_statement (string (string_content) @doc))) @documented
(class_definition body: (block . (expression_statement (string (string_content) @doc)))) @documented
(function_definition body: (block . (expression_statement (string (string_content) @doc)))) @documented

; What they name. Of several captures of one name the first in this file counts.

(call function: (identifier) @reference.call)
(call function: (attribute attribute: (identifier) @reference.call))
(assignment left: (identifier) @reference.write)
(assignment left: (attribute attribute: (identifier) @reference.write))

(identifier) @reference.name
