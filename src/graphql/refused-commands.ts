/**
 * Audit rows of commands that a request names and that are refused before their resolvers run: the document breaks the schema or a limit,
 * a variable or argument has another type, the request as a whole is malformed. What reaches `run()` has its row from there. A document
 * that cannot be parsed names no command.
 */
import type { ApolloServerPlugin } from '@apollo/server';
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  isInputObjectType,
  Kind,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import type { AnyOperation } from '../kernel/operation.ts';
import { isRecord } from '../lib/objects.ts';
import type { GraphqlContext } from './context.ts';
import { isArgumentFault } from './errors.ts';
import { withDefaults } from './limits/cost.ts';
import { type Fragments, fragmentsOf } from './limits/document.ts';
import { limits } from './limits/limits.ts';
import { commandOf } from './table.ts';

type Values = Record<string, unknown>;

/** A request as it was sent, before any member is validated. */
export type Sent = { query?: unknown; operationName?: unknown; variables?: unknown };

interface NamedCommand {
  /** What the answer calls it. */
  key: string;
  command: AnyOperation;
  input: Values;
}

/** The fields of a selection set by the name the answer gives them, fragments in place. */
function fieldsOf(set: SelectionSetNode, fragments: Fragments): Map<string, FieldNode> {
  const fields = new Map<string, FieldNode>();
  const spread = new Set<string>();
  const left = [set];
  for (let next = left.pop(); next; next = left.pop()) {
    for (const selection of next.selections) {
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        if (!fields.has(key)) fields.set(key, selection);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) left.push(selection.selectionSet);
      else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment) left.push(fragment.selectionSet);
      }
    }
  }
  return fields;
}

/**
 * The arguments of a field as they were written: where it acts, and what its input has of the fields there are, in one. Of unknown names an
 * input may have a hundred thousand.
 */
function inputOf(
  { args }: GraphQLField<unknown, unknown>,
  { arguments: given = [] }: FieldNode,
  variables: Values,
): Values {
  const { input, ...at } = Object.fromEntries(
    given.map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables)]),
  );
  const type = getNamedType(args.find(({ name }) => name === 'input')?.type);
  if (!isRecord(input) || !isInputObjectType(type)) return at;
  const known = Object.keys(type.getFields()).filter((name) => Object.hasOwn(input, name));
  return { ...Object.fromEntries(known.map((name) => [name, input[name]])), ...at };
}

/** The commands of the operation that was chosen, as many as one request may have. */
function commandsIn(schema: GraphQLSchema, document: DocumentNode, sent: Sent): NamedCommand[] {
  const name = typeof sent.operationName === 'string' ? sent.operationName : null;
  const operation = getOperationAST(document, name);
  if (operation?.operation !== OperationTypeNode.MUTATION) return [];
  const variables = withDefaults(operation, isRecord(sent.variables) ? sent.variables : {});
  const known = schema.getMutationType()?.getFields() ?? {};
  return [...fieldsOf(operation.selectionSet, fragmentsOf(document))]
    .slice(0, limits.commands)
    .flatMap(([key, node]) => {
      const field = Object.hasOwn(known, node.name.value) ? known[node.name.value] : undefined;
      if (!field) return [];
      const input = inputOf(field, node, variables);
      return [{ key, command: commandOf(field, input), input }];
    });
}

function parsed(source: unknown): DocumentNode | null {
  if (typeof source !== 'string') return null;
  try {
    return parse(source, { maxTokens: limits.tokens });
  } catch {
    return null;
  }
}

/** Writes the rows of all commands of a request of which none has run. */
export async function recordUnread(schema: GraphQLSchema, context: GraphqlContext, sent: unknown): Promise<void> {
  const requests = [sent].flat().filter(isRecord);
  const commands = requests.flatMap((each: Sent) => {
    const document = parsed(each.query);
    return document ? commandsIn(schema, document, each) : [];
  });
  for (const { command, input } of commands.slice(0, limits.commands)) await context.refuse(command, input);
}

/** Whether the field of an error was refused by the executor, so that its resolver was not called. */
const isRefusedField = (error: GraphQLError) => error.path?.length === 1 && isArgumentFault(error);

/**
 * @param current the request being answered, as it was sent: Apollo keeps nothing of what is malformed
 */
export function refusedCommands(
  schema: GraphQLSchema,
  current: () => { context: GraphqlContext; sent: unknown },
): ApolloServerPlugin<GraphqlContext> {
  const begun = new WeakSet<object>();
  return {
    async invalidRequestWasReceived() {
      const request = current();
      // An operation whose answer Apollo refuses for its media type has run.
      if (!begun.has(request)) await recordUnread(schema, request.context, request.sent);
    },
    async requestDidStart() {
      begun.add(current());
      return {
        async didEncounterErrors({ errors, document, request, contextValue }) {
          if (!document) return;
          const isWhole = errors.some(({ path }) => path === undefined);
          const refused = new Set(errors.filter(isRefusedField).map(({ path }) => path?.[0]));
          for (const { key, command, input } of commandsIn(schema, document, request))
            if (isWhole || refused.has(key)) await contextValue.refuse(command, input);
        },
      };
    },
  };
}
