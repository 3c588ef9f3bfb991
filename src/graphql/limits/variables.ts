import {
  coerceInputValue,
  GraphQLError,
  type GraphQLSchema,
  isInputType,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql';

const written = (path: readonly (string | number)[]) =>
  path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');

/**
 * Refuses variables by the first fault: the executor looks for fifty, and prints the whole value for each of them. What is missing or null it
 * finds itself.
 * @throws GraphQLError
 */
export function checkVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): void {
  for (const definition of variableDefinitions) {
    const name = definition.variable.name.value;
    const type = typeFromAST(schema, definition.type);
    if (given[name] == null || !isInputType(type)) continue;
    const refuse: Parameters<typeof coerceInputValue>[2] = (path, _value, { message }) => {
      const place = path.length > 0 ? ` at "${name}${written(path)}"` : '';
      throw new GraphQLError(`Variable "$${name}" got an invalid value${place}; ${message}`, {
        nodes: [definition],
        extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
      });
    };
    // Suggestions of similar names take time that grows with the length of what was sent.
    coerceInputValue(given[name], type, refuse, true);
  }
}
