/**
 * Joins the compiled programs of `src` with their packages into a few files, `node scripts/bundle.ts dist`: `dist/src/main.js` becomes
 * `dist/bundle/main.js`. Node needs most of a second to find, read and link the 2,000 modules of the server one by one.
 *
 * The compiled modules stay: threads and other programs of a process of their own are started from them.
 */
import { readdirSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

/** Loaded by few, and large; or, as the log's, they start threads from files beside their own. */
const external = [/^pino$/, /^playwright-core$/, /^@aws-sdk\//, /^pg-native$/];

/** A module goes on to find files from where it lay itself: all bundles are in one directory, so its place seen from there is fixed. */
function keepPlaces(bundles: string): Plugin {
  return {
    name: 'keep-places',
    transform: {
      filter: { code: 'import.meta' },
      handler(code, id) {
        const file = path.relative(bundles, id).replaceAll(path.sep, '/');
        const places: Record<string, string> = {
          url: `new URL(${JSON.stringify(file)}, import.meta.url).href`,
          filename: `(import.meta.dirname + ${JSON.stringify(`/${file}`)})`,
          dirname: `(import.meta.dirname + ${JSON.stringify(`/${path.posix.dirname(file)}`)})`,
        };
        return {
          code: code.replace(/\bimport\.meta\.(url|filename|dirname)\b/g, (found, name) => places[name] ?? found),
        };
      },
    },
  };
}

/** Modules of node's that load more of it when their exports are listed, as an `import` of them has node do: the web socket and `fetch` with it. */
const listed: Record<string, object> = { http, https };

/** Takes exports of node's modules by name where an `import` would read all of them, which costs a start a twentieth of its processor time. */
const takeByName: Plugin = {
  name: 'take-by-name',
  resolveId(source, _importer, { kind }) {
    const name = source.replace(/^node:/, '');
    return kind !== 'require-call' && Object.hasOwn(listed, name) ? `\0${name}` : null;
  },
  load(id) {
    const found = listed[id.slice(1)];
    if (!id.startsWith('\0') || found === undefined) return null;
    const own = Object.entries(Object.getOwnPropertyDescriptors(found));
    const names = own.filter(([, { get }]) => get === undefined).map(([name]) => name);
    return [
      `const found = process.getBuiltinModule('node:${id.slice(1)}');`,
      'export default found;',
      `export const { ${names.join(', ')} } = found;`,
    ].join('\n');
  },
};

/** @param output directory that the compiler wrote to: each program directly in its `src` becomes one of its `bundle` */
export async function bundle(output: string): Promise<void> {
  const [compiled, bundles] = ['src', 'bundle'].map((name) => path.resolve(output, name)) as [string, string];
  const programs = readdirSync(compiled).filter((name) => name.endsWith('.js'));
  const bundled = await rolldown({
    input: Object.fromEntries(programs.map((name) => [path.basename(name, '.js'), path.join(compiled, name)])),
    platform: 'node',
    // What the mapper and others load only in some cases is found missing only then.
    external,
    plugins: [keepPlaces(bundles), takeByName],
    // As node resolves packages without a map of exports: GraphQL compares its types by identity.
    resolve: { mainFields: ['main'] },
    logLevel: 'silent',
  });
  const names = { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' };
  await bundled.write({ dir: bundles, format: 'esm', cleanDir: true, sourcemap: true, ...names });
}

if (import.meta.main) await bundle(process.argv[2] ?? 'dist');
