/**
 * Outputs with long lists, such as the tree of a repository with 200,000 files, are shaped and written in steps between which the process serves
 * others. Lists are looked for at the top and in the members of the top object, where operations have them.
 */
import { z } from 'zod';
import { mapYielding, Pace } from './concurrency.ts';
import { isRecord } from './objects.ts';

/** Items of a list that are shaped or written without a pause. */
const atOnce = 500;

const isLong = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > atOnce;

/** What goes on the wire of an output, as `z.encode` makes it. */
export async function encodeOutput(schema: z.ZodType, output: unknown): Promise<unknown> {
  if (!(schema instanceof z.ZodObject) || !isRecord(output)) return z.encode(schema, output);
  const long = Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const items = output[name];
    return field instanceof z.ZodArray && isLong(items) ? [{ name, items, item: field.element as z.ZodType }] : [];
  });
  if (long.length === 0) return z.encode(schema, output);
  const none = Object.fromEntries(long.map(({ name }) => [name, []]));
  const encoded = z.encode(schema, { ...output, ...none }) as Record<string, unknown>;
  for (const { name, items, item } of long) encoded[name] = await mapYielding(items, (one) => z.encode(item, one));
  return encoded;
}

/** JSON of a list, so many items at a time. */
function* listPieces(items: readonly unknown[]): Generator<string> {
  yield '[';
  for (let at = 0; at < items.length; at += atOnce) {
    const text = JSON.stringify(items.slice(at, at + atOnce));
    yield `${at === 0 ? '' : ','}${text.slice(1, -1)}`;
  }
  yield ']';
}

function* pieces(value: unknown): Generator<string> {
  if (isLong(value)) return yield* listPieces(value);
  if (!isRecord(value) || !Object.values(value).some(isLong)) return yield JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  for (const [at, [name, member]] of members.entries()) {
    yield `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    if (isLong(member)) yield* listPieces(member);
    else yield JSON.stringify(member);
  }
  yield '}';
}

/** The bytes of a value as JSON, the same as of `JSON.stringify`. */
export async function jsonBytes(value: unknown): Promise<Buffer> {
  const pace = new Pace();
  const written: Buffer[] = [];
  for (const piece of pieces(value)) {
    written.push(Buffer.from(piece));
    if (pace.isDue) await pace.yield();
  }
  return written.length === 1 && written[0] ? written[0] : Buffer.concat(written);
}
