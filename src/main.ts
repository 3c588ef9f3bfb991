import { enableCompileCache } from 'node:module';
import path from 'node:path';

// Most of a start is reading and compiling packages: what was compiled is kept beside them. Where nothing can be written nothing is kept.
enableCompileCache(path.resolve(import.meta.dirname, '../../node_modules/.cache/portico'));

await import('./server/server.ts');
