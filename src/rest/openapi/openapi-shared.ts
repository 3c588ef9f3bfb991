import { createHash } from 'node:crypto';
import type { JsonSchema } from './openapi-schemas.ts';
import type { Document, OperationObject, Parameter, Reference } from './openapi-types.ts';

type Shared<T> = Map<string, { name: string; value: T }>;

const pascal = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/**
 * Names what occurs more than once. The most frequent value of a wish gets the wished name, others one that says what they hold: names stay as
 * they are when operations are added.
 */
function namesOf<T>(all: readonly { wish: string; value: T }[], taken: Iterable<string>): Shared<T> {
  const counts = new Map<string, { wish: string; value: T; count: number }>();
  for (const { wish, value } of all) {
    const key = JSON.stringify(value);
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { wish, value, count: 1 });
  }
  const used = new Set(taken);
  const shared: Shared<T> = new Map();
  for (const [key, { wish, value }] of [...counts]
    .filter(([, { count }]) => count > 1)
    .sort(([, a], [, b]) => b.count - a.count)) {
    const name = used.has(wish) ? `${wish}-${createHash('sha1').update(key).digest('hex').slice(0, 4)}` : wish;
    used.add(name);
    shared.set(key, { name, value });
  }
  return shared;
}

const componentsOf = <T>(shared: Shared<T>): Record<string, T> =>
  Object.fromEntries([...shared.values()].map(({ name, value }) => [name, value]));

/** Replaces parameters and JSON bodies that occur more than once by references to components. */
export function shareRepeated({ paths, components, ...document }: Document): Document {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const inline = (item: Parameter | Reference): item is Parameter => !('$ref' in item);
  const parameters = namesOf(
    operations.flatMap(({ parameters: own = [] }) => own.filter(inline).map((value) => ({ wish: value.name, value }))),
    Object.keys(components.parameters),
  );
  const bodyOf = ({ requestBody }: OperationObject) => requestBody?.content['application/json']?.schema;
  const bodies = namesOf(
    operations.flatMap((operation) => {
      const value = bodyOf(operation);
      return value?.properties ? [{ wish: `${pascal(operation.operationId)}Body`, value }] : [];
    }),
    Object.keys(components.schemas),
  );
  const reference = <T>(shared: Shared<T>, place: string, value: T): Reference | T => {
    const name = shared.get(JSON.stringify(value))?.name;
    return name === undefined ? value : { $ref: `#/components/${place}/${name}` };
  };
  for (const operation of operations) {
    operation.parameters &&= operation.parameters.map((item) => reference(parameters, 'parameters', item as Parameter));
    const json = operation.requestBody?.content['application/json'];
    if (json) json.schema = reference<JsonSchema>(bodies, 'schemas', json.schema);
  }
  return {
    ...document,
    paths,
    components: {
      ...components,
      parameters: { ...componentsOf(parameters), ...components.parameters },
      schemas: { ...components.schemas, ...componentsOf(bodies) },
    },
  };
}
