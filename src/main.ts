import { enableCompileCache } from 'node:module';
import path from 'node:path';

// Most of a start is reading and compiling packages: what was compiled is kept beside them. Where nothing can be written nothing is kept.
enableCompileCache(path.resolve(import.meta.dirname, '../../node_modules/.cache/portico'));

// Libraries check themselves in development: GraphQL looks at the class of a type again wherever a field has another one.
process.env.NODE_ENV ??= 'production';

await import('./server/server.ts');
