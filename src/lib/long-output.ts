/**
 * Outputs with long lists, such as the tree of a repository with 200,000 files, are shaped and written in steps between which the process serves
 * others. Lists are shaped like this at the top and in the members of the top object, where operations have them.
 */
import { z } from 'zod';
import { mapYielding, Pace } from './concurrency.ts';
import { isLonger, isRecord } from './objects.ts';

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

const isLarge = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && (isLong(value) || isLonger(value, small));

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
function* listPieces(items: readonly unknown[]): Generator<string> {
  yield '[';
  for (let at = 0; at < items.length; at += atOnce) {
    const some = items.slice(at, at + atOnce);
    if (at > 0) yield ',';
    if (!isLonger(some, small)) yield JSON.stringify(some).slice(1, -1);
    else
      for (const [index, item] of some.entries()) {
        if (index > 0) yield ',';
        yield* pieces(item ?? null);
      }
  }
  yield ']';
}

function* pieces(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > small) return yield* stringPieces(value);
  if (!isLarge(value)) return yield JSON.stringify(value);
  // To look at an object of 200,000 members takes long enough for a pause of its own.
  yield '';
  if (Array.isArray(value)) return yield* listPieces(value);
  let text = '{';
  let isFirst = true;
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined) continue;
    text += `${isFirst ? '' : ','}${JSON.stringify(name)}:`;
    isFirst = false;
    for (const piece of pieces(member)) {
      text += piece;
      if (piece !== '' && text.length < gathered) continue;
      yield text;
      text = '';
    }
  }
  yield `${text}}`;
}

/** The bytes of a value as JSON, the same as of `JSON.stringify`. */
export async function jsonBytes(value: unknown): Promise<Buffer> {
  const pace = new Pace();
  const written: Buffer[] = [];
  for (const piece of pieces(value)) {
    written.push(Buffer.from(piece));
    if (pace.isDue) await pace.yield();
  }
  if (written.length === 1 && written[0]) return written[0];
  // Memory for all of it takes longest.
  const bytes = Buffer.concat(written);
  if (pace.isDue) await pace.yield();
  return bytes;
}
