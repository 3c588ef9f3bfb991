/**
 * Rows of which the schema is made, as REST is of its table: `field('Studio', 'deployment', getDeployment)` is a read, `mutation('createEntry',
 * createEntry)` a command. Types, arguments, descriptions and the call follow from the operation. What an operation's input needs comes from the
 * place of the parent (`node`, `object` say what names it), from `given`, and for the rest from arguments. `edge` and `subscription` are for
 * fields that do more than call one operation.
 */
import {
  type GraphQLArgumentConfig,
  type GraphQLField,
  type GraphQLInputFieldConfig,
  GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLString,
  isNonNullType,
} from 'graphql';
import { z } from 'zod';
import type { Permission } from '../kernel/actor.ts';
import { DomainError } from '../kernel/errors.ts';
import type { AnyOperation, Operation, Scope } from '../kernel/operation.ts';
import { connectionOfWhole, type ListArguments } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { type Place, placeOf } from './place.ts';
import { type Selects, selects, selectsInItems } from './selected-fields.ts';
import { follow, type Source } from './stream/follow.ts';
import { pascal, verbOf } from './types/names.ts';
import { type Field, listArguments, pageItem, type Types } from './types/types.ts';
import type { AnySchema } from './types/zod-schema.ts';

type Values = Record<string, unknown>;

/** Gives the records of an answer their places: those of a type that rows lead on from. `above`: the input they were read by. */
export type PlaceAll = (answer: unknown, above: Place) => void;

/** What rows need of the schema they are built into. */
export interface Builder {
  types: Types;
  /** Names of the inputs by which operations find objects of a type. */
  keysOf(type: string): readonly string[];
  placing(answer: GraphQLOutputType): PlaceAll;
}

/** How records of a type are named to operations: by input name, the field of the record or what is made of it and of the input it was read by. */
type Keys<Record = never> = {
  readonly [input: string]: (keyof Record & string) | ((record: Record, above: Place) => unknown);
};

/** An object type that fields lead on from. */
export interface ObjectRow {
  object: string;
  schema: AnySchema | null;
  description?: string;
  keys: Keys;
  /** The operation that reads a record of the type by its place: the type is a Node. */
  read?: AnyOperation;
  /** Its objects may be located only: fields of the record are read when they are selected. */
  isLocated?: true;
}

/** A field of one type, or the same field of several. */
export interface FieldRow {
  on: readonly string[];
  name: string;
  build(builder: Builder, on: string): Field;
}

export type Row = ObjectRow | FieldRow;

type ItemOf<Out> = Out extends { items: (infer Item)[] } ? Item : Out;

const itemSchema = (operation: AnyOperation): AnySchema => pageItem(operation.output) ?? operation.output;

/** The type of the records that an operation reads one of, by these keys: a Node. */
export function node<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
  name: string,
  read: Operation<S, In, Out, Also>,
  keys: Keys<z.input<Out>>,
): ObjectRow {
  return { object: name, schema: read.output, keys, read: read as unknown as AnyOperation };
}

/** The type of an operation's records that have no address of their own. */
export function object<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
  name: string,
  operation: Operation<S, In, Out, Also>,
  keys: Keys<ItemOf<z.input<Out>>>,
): ObjectRow {
  return { object: name, schema: itemSchema(operation as unknown as AnyOperation), keys };
}

/**
 * A Node whose objects may be located only: each field of the record is then read with the operation. So they are nullable: a caller who may see
 * what lies below it may not be allowed to read the record.
 */
export const place: typeof node = (name, read, keys) => ({ ...node(name, read, keys), isLocated: true });

/** The type of records that come within others. */
export const part = <Shape extends z.ZodType>(name: string, schema: Shape, keys: Keys<z.input<Shape>>): ObjectRow => ({
  object: name,
  schema,
  keys,
});

/** An object without a record, to group fields. */
export const group = (name: string, description: string): ObjectRow => ({
  object: name,
  schema: null,
  description,
  keys: {},
});

/** Inputs that say where to act: arguments of their own. */
const places: Record<Scope, readonly string[]> = {
  public: [],
  organization: ['organization'],
  project: ['organization', 'project'],
};
const placeOfScope = ({ scope }: AnyOperation) => places[scope as Scope];
const placeDescriptions: Record<string, string> = {
  organization: 'Machine name of the organisation',
  project: 'Machine name of the project',
};
const pagingInputs = ['page', 'per_page', 'after'];

/** The arguments that say where an operation acts. */
export const placeArguments = (scope: Scope): Record<string, GraphQLArgumentConfig> =>
  Object.fromEntries(
    places[scope].map((name) => {
      const description = placeDescriptions[name] ?? '';
      return [name, { type: new GraphQLNonNull(GraphQLString), description }];
    }),
  );

/** `{ deployment: 'id' }`: the operation's input `deployment` is the argument `id`. */
type Names = { readonly [input: string]: string };

interface FieldOptions {
  description?: string;
  /** What it costs by itself, where that is more than reading a record. */
  cost?: number;
  /** Inputs that are no arguments: what the record or the selection of fields gives in their place. */
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own record
  given?: { readonly [input: string]: (record: any, selects: Selects) => unknown };
  names?: Names;
  /** Other schemas than the operation's for inputs, whose values go on as text: REST has numbers as parts of a path. */
  numbers?: { readonly [input: string]: AnySchema };
  /** What runs in place of the operation where nothing is selected of the record but what this has of it: it reads less. */
  locate?: AnyOperation;
  /** The type of the answer, where `resolve` makes another one of it. */
  type?: string;
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own arguments
  resolve?(input: any, context: GraphqlContext, selects: Selects): unknown;
}

const only = (values: Values, names: readonly string[]): Values =>
  Object.fromEntries(names.filter((name) => values[name] !== undefined).map((name) => [name, values[name]]));

/** Takes arguments back to the inputs they stand for. */
function inputsFrom(names: Names, numbers: object): (args: Values) => Values {
  const inputs = new Map(Object.entries(names).map(([input, argument]) => [argument, input]));
  if (inputs.size === 0 && Object.keys(numbers).length === 0) return (args) => args;
  return (args) =>
    Object.fromEntries(
      Object.entries(args).map(([argument, value]) => {
        const input = inputs.get(argument) ?? argument;
        return [input, input in numbers && typeof value === 'number' ? String(value) : value];
      }),
    );
}

const described = (description: string | undefined) => (description ? { description } : {});
const weighed = (cost: number | undefined) => (cost === undefined ? {} : { extensions: { cost } });

const membersOf = ({ output }: AnyOperation) => Object.keys(((pageItem(output) ?? output) as z.ZodObject).shape);

/** Which of two operations runs for what is selected: `less` where its answer has all of that. */
function reading(operation: AnyOperation, less: AnyOperation | undefined): (selects: Selects) => AnyOperation {
  if (!less) return () => operation;
  const known = membersOf(less);
  const beyond = membersOf(operation).filter((member) => !known.includes(member));
  return (selects) => (selects(...beyond) ? operation : less);
}

/** A read: a record, a list of records, or a connection where the operation answers with pages. */
export function field(
  on: string | readonly string[],
  name: string,
  operation: AnyOperation,
  {
    description = operation.summary,
    cost,
    given = {},
    names = {},
    numbers = {},
    locate,
    type,
    resolve,
  }: FieldOptions = {},
): FieldRow {
  const item = pageItem(operation.output);
  return {
    on: [on].flat(),
    name,
    build({ types, keysOf, placing }, parent) {
      const { shape } = operation.input as z.ZodObject;
      const above = [...placeOfScope(operation), ...keysOf(parent).filter((key) => Object.hasOwn(shape, key))];
      const hidden = new Set([...above, ...Object.keys(given), ...(item ? pagingInputs : [])]);
      const shown = Object.entries<AnySchema>({ ...shape, ...numbers })
        .filter(([input]) => !hidden.has(input))
        .map(([input, schema]) => [names[input] ?? input, schema]);
      const args = {
        ...types.inputs(Object.fromEntries(shown), pascal(verbOf(operation))),
        ...(item && listArguments),
      };
      const answer = answerOf(types, operation, item, type);
      const place = placing(answer);
      const toInput = inputsFrom(names, numbers);
      const read = reading(operation, locate);
      const call =
        resolve ??
        ((input: Values, context: GraphqlContext, selected: Selects) =>
          item ? context.list(read(selected), input) : context.run(read(selected), input));
      return {
        type: answer,
        args,
        ...described(description),
        ...weighed(cost),
        async resolve(record, values, context, info) {
          const input = { ...only(placeOf(record), above), ...toInput(values) };
          const selected: Selects = (...fields) => (item ? selectsInItems : selects)(info, ...fields);
          for (const [key, value] of Object.entries(given)) input[key] = value(record, selected);
          const output = await call(input, context, selected);
          place(output, input);
          return output;
        },
      };
    },
  };
}

function answerOf(types: Types, operation: AnyOperation, item: AnySchema | null, name?: string): GraphQLOutputType {
  if (name !== undefined) return types.get(name) as GraphQLObjectType;
  return item ? types.connection(types.record(item)) : types.answer(operation.output);
}

/**
 * A link to the record that another one names: `link('Execution', 'workflow', getWorkflow, { workflow: 'workflow_id' }, …)`. Null where it names
 * none, and when that is gone.
 * @param by inputs by the field of the record, or by what is made of it; null: it names none. What is not said comes from the record's place
 */
export function link(
  on: string | readonly string[],
  name: string,
  operation: AnyOperation,
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own record
  by: { readonly [input: string]: string | ((record: any) => unknown) },
  description: string,
  { locate }: Pick<FieldOptions, 'locate'> = {},
): FieldRow {
  const read = reading(operation, locate);
  const given = Object.fromEntries(
    Object.entries(by).map(([input, key]) => [input, typeof key === 'string' ? (record: Values) => record[key] : key]),
  );
  return field(on, name, operation, {
    description,
    cost: 5,
    given,
    async resolve(input: Values, context, selected) {
      if (Object.keys(by).some((key) => input[key] === null)) return null;
      try {
        return await context.run(read(selected), input);
      } catch (error) {
        if (error instanceof DomainError && error.code === 'not_found') return null;
        throw error;
      }
    },
  });
}

interface BatchOptions {
  description: string;
  cost?: number;
  /** A list of which the operation answers with all items, shown as a connection. */
  whole?: true;
  /** Inputs that the same operation answers differently for, by what is selected. */
  given?: Readonly<Record<string, (selects: Selects) => unknown>>;
  /** Names of what is found that are not its own nor those above it, but of the record. */
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own record
  at?: (record: any) => Place;
  /** What the record holds of it, null: nothing; it is fetched where one of `but` is selected, which are not in it. */
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own record
  known?: { of: (record: any) => object | null; but: readonly string[] };
}

/**
 * An edge of the records of a list, which one call of an operation follows for all of them.
 * @param by the input that takes a list of keys, and the key of one record; the answer is a list in the same order. A record without one: null
 */
export function batch(
  on: string | readonly string[],
  name: string,
  operation: AnyOperation,
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own record
  by: { readonly [input: string]: (record: any) => string | number | null },
  { description, cost, whole, given = {}, at: named, known }: BatchOptions,
): FieldRow {
  const [[input, keyOf] = ['', () => null]] = Object.entries(by);
  return {
    on: [on].flat(),
    name,
    build({ types, keysOf, placing }, parent) {
      const { shape } = operation.input as z.ZodObject;
      const above = [...placeOfScope(operation), ...keysOf(parent).filter((key) => Object.hasOwn(shape, key))];
      const { element } = operation.output as z.ZodArray<AnySchema>;
      const answer = whole
        ? types.connection(types.record((element as z.ZodArray<AnySchema>).element))
        : types.answer(element);
      const place = placing(answer);
      return {
        type: answer,
        ...(whole && { args: listArguments }),
        description,
        ...weighed(cost),
        async resolve(record, values: ListArguments, context, info) {
          const key = keyOf(record);
          if (key === null) return null;
          const at = { ...placeOf(record), ...named?.(record) };
          const held = known && !selects(info, ...known.but) ? known.of(record) : null;
          if (held) {
            place(held, at);
            return held;
          }
          const common = only(at, above);
          for (const [name, value] of Object.entries(given))
            common[name] = value((...fields) => selects(info, ...fields));
          const loader = context.loader(`${operation.name} ${JSON.stringify(common)}`, (keys) =>
            context.run(operation, { ...common, [input]: [...keys] }),
          );
          const found = await loader.load(key);
          const output = whole ? connectionOfWhole(found as unknown[], values) : found;
          place(output, at);
          return output;
        },
      };
    },
  };
}

interface EdgeOptions {
  description?: string;
  cost?: number;
  /** Arguments that say where it acts. */
  scope?: Scope;
  /** It is there whenever its parent is. */
  always?: true;
  args?: Record<string, AnySchema>;
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own record and arguments
  resolve(record: any, args: any, context: GraphqlContext, selects: Selects): unknown;
}

const named = (types: Types, type: string | AnySchema): GraphQLOutputType =>
  typeof type === 'string' ? (types.get(type) as GraphQLObjectType) : types.answer(type);

/** A field with logic of its own. @param type the name of an object, or the schema of the answer */
export function edge(
  on: string | readonly string[],
  name: string,
  type: string | AnySchema,
  { description, cost, scope = 'public', always, args = {}, resolve }: EdgeOptions,
): FieldRow {
  return {
    on: [on].flat(),
    name,
    build({ types, placing }, parent) {
      const answer = named(types, type);
      const place = placing(answer);
      return {
        type: always ? new GraphQLNonNull(answer) : answer,
        args: { ...placeArguments(scope), ...types.inputs(args, `${parent}${pascal(name)}`) },
        ...described(description),
        ...weighed(cost),
        async resolve(record, values: Values, context, info) {
          const output = await resolve(record, values, context, (...fields) => selects(info, ...fields));
          place(output, { ...placeOf(record), ...values });
          return output;
        },
      };
    },
  };
}

type Choice = (input: Values) => AnyOperation;

/** The conflicts a command met: in GraphQL they are an answer, for a client has to show them. Any other refusal is thrown again. */
export function conflictsIn(error: unknown): unknown[] {
  if (error instanceof DomainError && error.code === 'merge_conflict')
    return (error.details?.conflicts ?? []) as unknown[];
  throw error;
}

interface MutationOptions {
  description?: string;
  /** Fields of the input beside the operation's, or in place of its schemas. */
  input?: Record<string, AnySchema>;
  /** Chooses the operation by the input as it was sent. */
  choose?: Choice;
  numbers?: FieldOptions['numbers'];
  /** What the record of the output is called in an answer that holds it. */
  payload?: string;
  /** The answer to a refusal that a client has to show; others are thrown again. `input` has the place in it. */
  // biome-ignore lint/suspicious/noExplicitAny: each row names the fields of its own input
  refused?(error: unknown, input: any, context: GraphqlContext): unknown;
}

/** Whether a command can be repeated under a key: not one that answers with a secret, which must not be stored, nor a deletion. */
const isRepeatable = (operation: AnyOperation) => !operation.freshGrant && !operation.irreversible;

const conditions = {
  if_match: z.string().optional().describe('Only when the stored version has this object id or ETag'),
  idempotency_key: z.string().optional().describe('A repeat with the same key gets the first answer, for 24 hours'),
};

/** The input of a command: the operation's own without its place, and the conditions of the call. */
function inputShape(operation: AnyOperation, more: Record<string, AnySchema>): Record<string, AnySchema> {
  const own = Object.entries<AnySchema>({ ...operation.input.shape, ...more });
  return {
    ...Object.fromEntries(own.filter(([name]) => !places.project.includes(name))),
    ...(operation.comparesTag && { if_match: conditions.if_match }),
    ...(isRepeatable(operation) && { idempotency_key: conditions.idempotency_key }),
  };
}

/** The argument `input`; none where GraphQL would need a type without fields, and one that may be left out where all of them may. */
function inputArgument(
  types: Types,
  name: string,
  fields: Record<string, GraphQLInputFieldConfig>,
): Record<string, GraphQLArgumentConfig> {
  const all = Object.values(fields);
  if (all.length === 0) return {};
  const type = types.input(name, fields);
  return { input: { type: all.some((each) => isNonNullType(each.type)) ? new GraphQLNonNull(type) : type } };
}

/** A command. The field keeps which one: a request may be refused before its resolver is called. */
export function mutation(name: string, operation: AnyOperation, options: MutationOptions = {}): FieldRow {
  const { input: more = {}, choose, numbers = {}, payload, refused } = options;
  const { description = operation.summary } = options;
  const shape = inputShape(operation, { ...more, ...numbers });
  const own = [...Object.keys(shape).filter((key) => !Object.hasOwn(more, key)), ...placeOfScope(operation)];
  return {
    on: ['Mutation'],
    name,
    build({ types, placing }) {
      const verb = pascal(name);
      const fields = types.inputs(shape, verb);
      const output = types.answer(operation.output);
      const place = placing(output);
      const toInput = inputsFrom({}, numbers);
      return {
        type: payload === undefined ? output : types.payload(`${verb}Payload`, payload, output),
        args: { ...placeArguments(operation.scope), ...inputArgument(types, `${verb}Input`, fields) },
        ...described(description),
        extensions: { command: choose ?? operation },
        async resolve(_root, { input: sent, ...at }: Values & { input?: Values }, context) {
          const command = choose ? choose(sent ?? {}) : operation;
          const values = { ...at, ...toInput(only(sent ?? {}, own)) };
          try {
            const output = await context.run(command, values);
            place(output, values);
            return payload === undefined ? output : { [payload]: output };
          } catch (error) {
            if (!refused) throw error;
            const output = await refused(error, values, context);
            place(output, values);
            return output;
          }
        },
      };
    },
  };
}

/** The operation that a mutation runs. @throws Error for a field that no `mutation` made */
export function commandOf({ name, extensions }: GraphQLField<unknown, unknown>, input: Values): AnyOperation {
  const command = extensions.command as AnyOperation | Choice | undefined;
  if (!command) throw new Error(`The mutation ${name} says no command`);
  return typeof command === 'function' ? command(input) : command;
}

const after = z
  .string()
  .optional()
  .describe('Position (`id` of an event) to go on behind; the header Last-Event-ID counts more');

interface SubscriptionOptions<Args> {
  description: string;
  args: Record<string, AnySchema>;
  source(args: Args, context: GraphqlContext): Source<unknown>;
}

/** Something of a project that is watched. @param type the name of an object, or the schema of an event */
export function subscription<Args extends { organization: string; project: string }>(
  name: string,
  type: string | AnySchema,
  { description, args, source }: SubscriptionOptions<Args>,
): FieldRow {
  return {
    on: ['Subscription'],
    name,
    build({ types, placing }) {
      const answer = named(types, type);
      const place = placing(answer);
      return {
        type: answer,
        args: { ...placeArguments('project'), ...types.inputs({ after, ...args }, pascal(name)) },
        description,
        subscribe(_root, values: Args & { after?: string | null }, context) {
          // Begins at the client's last position.
          context.stream.after ??= values.after ?? null;
          return follow(context, source(values, context));
        },
        resolve(event: unknown, values: Args) {
          place(event, values);
          return event;
        },
      };
    },
  };
}
