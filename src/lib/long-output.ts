/**
 * Outputs with long lists, such as the tree of a repository with 200,000 files, are shaped and written in steps between which the process serves
 * others. Lists are shaped like this at the top and in the members of the top object, where operations have them.
 */
import { z } from 'zod';
import { mapYielding, Pace } from './concurrency.ts';
import { isLonger, isRecord, membersOf } from './objects.ts';

/** Items of a list that are shaped or written without a pause. */
const atOnce = 500;

const isLong = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > atOnce;

/** Schemas whose values go on the wire as they are, so that large ones need not be looked at: any JSON. */
export const goesAsItIs = new WeakSet<z.core.$ZodType>();

const isAsItIs = (field: z.core.$ZodType): boolean =>
  field instanceof z.ZodOptional || field instanceof z.ZodNullable ? isAsItIs(field.unwrap()) : goesAsItIs.has(field);

/** What goes on the wire of an output, as `z.encode` makes it. */
export async function encodeOutput(schema: z.ZodType, output: unknown): Promise<unknown> {
  if (!(schema instanceof z.ZodObject) || !isRecord(output)) return z.encode(schema, output);
  const long = Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const items = output[name];
    return field instanceof z.ZodArray && isLong(items) ? [{ name, items, item: field.element as z.ZodType }] : [];
  });
  const whole = Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) =>
    isRecord(output[name]) && isAsItIs(field) ? [[name, output[name]] as const] : [],
  );
  if (long.length === 0 && whole.length === 0) return z.encode(schema, output);
  const none = Object.fromEntries([...long.map(({ name }) => [name, []]), ...whole.map(([name]) => [name, null])]);
  const encoded = z.encode(schema, { ...output, ...none }) as Record<string, unknown>;
  for (const [name, value] of whole) encoded[name] = value;
  for (const { name, items, item } of long) encoded[name] = await mapYielding(items, (one) => z.encode(item, one));
  return encoded;
}

/** What is shorter is written without a pause; bytes of JSON, or characters of a string. */
const small = 256 * 1024;
/** Of a longer string so many characters are written at a time. */
const part = 64 * 1024;
/** Small members of an object are written together, characters. */
const gathered = 16 * 1024;

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The containers whose JSON is large, each with the numbers of those runs of `atOnce` items that are large by themselves. */
type Large = ReadonlyMap<object, ReadonlySet<number>>;

/** A container that is measured. */
class Measured {
  readonly container: object;
  readonly members: ReturnType<typeof membersOf>;
  readonly runs = new Set<number>();
  size = 0;
  #run = 0;
  #taken = 0;

  constructor(container: object) {
    this.container = container;
    this.members = membersOf(container);
  }

  begin(bytes: number): void {
    if (this.#taken % atOnce === 0) this.#run = 0;
    this.#taken += 1;
    this.add(bytes);
  }

  /** More bytes of the member that was begun last. */
  add(bytes: number): void {
    this.size += bytes;
    this.#run += bytes;
    if (this.#run > small) this.runs.add(Math.floor((this.#taken - 1) / atOnce));
  }
}

/** Members that are measured without a look at the time. */
const measuredAtOnce = 1_000;

/** Sees how long a text becomes, before and while it is written; throws to end that. @param bytes it has at least */
type Watch = (bytes: number) => void;

/** Measures everything once, however deep it is: large containers may hold each other a hundred levels deep. */
async function largeIn(top: object, pace: Pace, watch: Watch): Promise<Large> {
  const large = new Map<object, ReadonlySet<number>>();
  const open = [new Measured(top)];
  let seen = 0;
  let bytes = 0;
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const next = last.members.next();
    if (next.done) {
      open.pop();
      if (last.size > small) large.set(last.container, last.runs);
      open.at(-1)?.add(last.size);
      continue;
    }
    const [key, value] = next.value;
    const least = 2 + key.length + (typeof value === 'string' ? value.length : 0);
    last.begin(least);
    bytes += least;
    if (isContainer(value)) open.push(new Measured(value));
    seen += 1;
    if (seen % measuredAtOnce !== 0) continue;
    watch(bytes);
    if (pace.isDue) await pace.yield();
  }
  watch(bytes);
  return large;
}

function* stringPieces(text: string): Generator<string> {
  yield '"';
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(from + part, text.length);
    // The halves of a surrogate pair would each be written as an escape.
    if ((text.codePointAt(to - 1) ?? 0) > 0xffff) to += 1;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
  }
  yield '"';
}

/** JSON of a list, so many items at a time. */
function* listPieces(items: readonly unknown[], large: Large): Generator<string> {
  yield '[';
  for (let at = 0; at < items.length; at += atOnce) {
    const some = items.slice(at, at + atOnce);
    if (at > 0) yield ',';
    if (!large.get(items)?.has(at / atOnce)) yield JSON.stringify(some).slice(1, -1);
    else
      for (const [index, item] of some.entries()) {
        if (index > 0) yield ',';
        yield* pieces(item ?? null, large);
      }
  }
  yield ']';
}

function* pieces(value: unknown, large: Large): Generator<string> {
  if (typeof value === 'string' && value.length > small) return yield* stringPieces(value);
  if (!isContainer(value) || !large.has(value)) return yield JSON.stringify(value);
  if (Array.isArray(value)) return yield* listPieces(value, large);
  let text = '{';
  let isFirst = true;
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined) continue;
    text += `${isFirst ? '' : ','}${JSON.stringify(name)}:`;
    isFirst = false;
    for (const piece of pieces(member, large)) {
      text += piece;
      if (text.length < gathered) continue;
      yield text;
      text = '';
    }
  }
  yield `${text}}`;
}

/**
 * The bytes of a value as JSON, the same as of `JSON.stringify`.
 * @param watch of what is large
 */
export async function jsonBytes(value: unknown, watch: Watch = () => {}): Promise<Buffer> {
  const pace = new Pace();
  const large = isContainer(value) && isLonger(value, small) ? await largeIn(value, pace, watch) : new Map();
  const written: Buffer[] = [];
  let bytes = 0;
  for (const piece of pieces(value, large)) {
    const part = Buffer.from(piece);
    written.push(part);
    bytes += part.length;
    if (bytes > small) watch(bytes);
    if (pace.isDue) await pace.yield();
  }
  if (written.length === 1 && written[0]) return written[0];
  // Memory for all of it takes longest.
  const whole = Buffer.concat(written);
  if (pace.isDue) await pace.yield();
  return whole;
}
