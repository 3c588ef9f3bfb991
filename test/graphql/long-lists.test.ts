import { buildSchema, execute, parse } from 'graphql';
import { expect, it } from 'vitest';
import { readField } from '../../src/graphql/server.ts';

const schema = buildSchema('type Item { name: String! size: Int } type Query { items: [Item!]! names: [String!]! }');
const document = parse('{ items { name size } names }');

async function answerOf(count: number) {
  const items = Array.from({ length: count }, (_, at) => ({ name: `n${at}`, size: at }));
  let iterations = 0;
  let isDone = false;
  const count_ = () => {
    iterations += 1;
    if (!isDone) setImmediate(count_);
  };
  setImmediate(count_);
  const rootValue = { items, names: items.map(({ name }) => name) };
  const { data, errors } = await execute({ schema, document, rootValue, fieldResolver: readField });
  isDone = true;
  expect(errors).toBeUndefined();
  expect(data?.items).toEqual(items);
  expect(data?.names).toEqual(rootValue.names);
  return iterations;
}

it('completes a long list in batches, between which the event loop turns', async () => {
  expect(await answerOf(2_000)).toBeLessThanOrEqual(1);
  expect(await answerOf(20_000)).toBeGreaterThanOrEqual(9);
});
