import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { z } from 'zod';
import { costOf } from '../limits/cost.ts';
import { documentLimits, fragmentsOf } from '../limits/document.ts';
import { check, limits, maxErrors } from '../limits/limits.ts';
import { checkVariables } from '../limits/variables.ts';

const request = z.object({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
});

/** A subscription that may run. */
export interface Prepared {
  document: DocumentNode;
  variableValues: Record<string, unknown>;
  operationName: string | null;
}

/**
 * Parses and validates a request under the limits every document has.
 * @throws Error or an array of GraphQLErrors, as a client should see them
 */
export function prepare(schema: GraphQLSchema, body: unknown): Prepared {
  const asked = request.safeParse(body);
  if (!asked.success) throw badRequest('body: must be an object with a query, and variables as an object');
  const { query, operationName = null } = asked.data;
  const variableValues = asked.data.variables ?? {};
  const document = parse(query, { maxTokens: limits.tokens });
  const errors = validate(schema, document, [...specifiedRules, documentLimits], { maxErrors });
  if (errors.length > 0) throw new AggregateError(errors);
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== 'subscription') {
    throw badRequest(
      'Only subscriptions are streamed; send queries and mutations with the header Accept: application/json',
    );
  }
  checkVariables(schema, operation, variableValues);
  const { errors: faults = [] } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues);
  if (faults.length > 0) throw new AggregateError(faults.map(({ message }) => badRequest(message)));
  check('cost', costOf(schema, operation, fragmentsOf(document), variableValues));
  return { document, variableValues, operationName };
}

const badRequest = (message: string) => new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });
