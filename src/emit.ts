import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { schemaText } from './graphql/schema.ts';
import { openapiText } from './rest/openapi/openapi.ts';
import { routes } from './rest/routes.ts';

/** Root of the package, seen from `dist/src`. */
const packageRoot = path.resolve(import.meta.dirname, '../..');

await writeFile(path.join(packageRoot, 'openapi.json'), openapiText(routes));
await writeFile(path.join(packageRoot, 'schema.graphql'), schemaText());
