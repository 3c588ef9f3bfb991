import { expect, it } from 'vitest';
import { Parser } from 'yaml';
import { composeDocument } from '../../src/lib/yaml.ts';

const read = (source: string) => composeDocument(new Parser().parse(source), source.length);

it('makes no stack traces of the faults of a text, and leaves those of others', () => {
  const { stackTraceLimit } = Error;
  const { errors } = read(`a: [${','.repeat(1_000)}`);
  expect(errors.length).toBeGreaterThan(1_000);
  expect(errors.filter(({ stack }) => stack?.includes('\n    at '))).toEqual([]);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});

it('leaves the stack traces of others when reading fails', () => {
  const { stackTraceLimit } = Error;
  const failing = (function* () {
    yield* new Parser().parse('a: 1');
    throw new RangeError('too deep');
  })();
  expect(() => composeDocument(failing, 4)).toThrow('too deep');
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});

it('names a second document, and compares no keys', () => {
  expect(read('a: 1\n---\nb: 1\n').errors).toMatchObject([{ code: 'MULTIPLE_DOCS' }]);
  expect(read('{a: 1, a: 2}').errors).toEqual([]);
  expect(read('!!omap [a: 1, a: 2]').errors).toEqual([]);
});
