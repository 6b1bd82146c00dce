; What Python files define. The capture of the whole is definition.KIND, that of its name name.

(class_definition name: (identifier) @name) @definition.class
(class_definition body: (block (function_definition name: (identifier) @name) @definition.method))
(class_definition body: (block (decorated_definition (function_definition name: (identifier) @name) @definition.method)))
(function_definition name: (identifier) @name) @definition.function
(module (expression_statement (assignment left: (identifier) @name) @definition.variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @definition.field)))

; Documentation is the first text of a body.

(class_definition body: (block . (expression_statement (string (string_content) @doc)))) @documented
(function_definition body: (block . (expression_statement (string (string_content) @doc)))) @documented

; What they name. Of several captures of one name the first in this file counts.

(call function: (identifier) @reference.call)
(call function: (attribute attribute: (identifier) @reference.call))
(assignment left: (identifier) @reference.write)
(assignment left: (attribute attribute: (identifier) @reference.write))

(identifier) @reference.name
