import { lexicographicSortSchema, printSchema } from 'graphql';
import { buildGraphqlSchema } from './schema.ts';

/** The schema as text, in an order that does not depend on that of our files: what `schema.graphql` holds. */
export function schemaText(): string {
  return `${printSchema(lexicographicSortSchema(buildGraphqlSchema()))}\n`;
}
