import { type ApolloServerPlugin, type GraphQLRequestContext, HeaderMap } from '@apollo/server';
import { GraphQLError, type GraphQLFormattedError, Kind } from 'graphql';
import { DomainError } from '../../kernel/errors.ts';
import type { GraphqlContext } from '../context.ts';
import { costOf, schemaValues } from './cost.ts';
import { asksForSchema, fragmentsOf } from './document.ts';
import { check } from './limits.ts';
import { checkVariables } from './variables.ts';

type Request = GraphQLRequestContext<GraphqlContext>;

interface Options {
  /** Shows the schema to callers without a credential too. */
  introspection: boolean;
  format(error: Error): GraphQLFormattedError;
}

/** @throws LimitError when the chosen operation, with its variables, would cost too much. */
function checkCost({ document, operation, schema, request }: Request): void {
  // An operation that is not in the document is refused by the executor.
  if (!document || !operation) return;
  check('cost', costOf(schema, document, operation, request.variables ?? {}));
  if (asksForSchema(operation.selectionSet, fragmentsOf(document)))
    check('schema', schemaValues(schema, document, operation));
}

/** @throws GraphQLError for a subscription: it is answered by a stream, which this request does not accept. */
function checkKind({ operation }: Request): void {
  if (operation?.operation !== 'subscription') return;
  throw new GraphQLError('Subscriptions need the header Accept: text/event-stream', {
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  });
}

/** The answer to an operation that only looks up types by name: for anonymous callers no type exists. */
function withoutTypes({ operation }: Request): Record<string, null> | null {
  const names = operation?.selectionSet.selections.map((field) =>
    field.kind === Kind.FIELD && field.name.value === '__type' ? (field.alias ?? field.name).value : null,
  );
  return names?.every((name) => name !== null) ? Object.fromEntries(names.map((name) => [name, null])) : null;
}

function isHidden({ document, operation, contextValue }: Request, introspection: boolean): boolean {
  if (introspection || contextValue.actor || !document || !operation) return false;
  return asksForSchema(operation.selectionSet, fragmentsOf(document));
}

/** Stands between validation and execution: what depends on the caller, the operation chosen or its variables. */
export function guard({ introspection, format }: Options): ApolloServerPlugin<GraphqlContext> {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation(request) {
          checkKind(request);
          if (request.operation) checkVariables(request.schema, request.operation, request.request.variables ?? {});
          try {
            checkCost(request);
          } catch (error) {
            const { message } = error as Error;
            throw new GraphQLError(message, { originalError: error as Error, extensions: { http: { status: 400 } } });
          }
          request.contextValue.deadline.start(request.operation?.operation === 'mutation' ? 'mutation' : 'query');
        },
        // Refused like any field a caller may not read: an answer, with an error.
        async responseForOperation(request) {
          if (!isHidden(request, introspection)) return null;
          const data = withoutTypes(request);
          const error = new DomainError('unauthenticated', 'The schema is shown to authenticated callers');
          const singleResult = data ? { data } : { data, errors: [format(error)] };
          return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
        },
        async willSendResponse({ contextValue, response: { body } }) {
          const ignored_fields = [...new Set(contextValue.ignored)].sort();
          if (body.kind === 'single' && ignored_fields.length > 0)
            body.singleResult.extensions = { ...body.singleResult.extensions, ignored_fields };
        },
      };
    },
  };
}
