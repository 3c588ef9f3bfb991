/**
 * Builds the dashboard, `node scripts/dashboard.ts [documents]`: types and documents of its GraphQL (`src/dashboard/documents.ts`, from the
 * `.graphql` files beside the pages and `schema.graphql`), then `dist/dashboard`: files with hashed names, each beside its form in brotli,
 * and `.vite/manifest.json`, from which the server makes the page they are loaded by (`rest/site.ts`). With `documents` only the former.
 */
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import type { DefinitionNode } from 'graphql';

const root = path.resolve(import.meta.dirname, '..');
const sources = path.join(root, 'src/dashboard');

/** Writes a file when its text is another one, so that its time of change says when that was. */
function writeChanged(file: string, text: string): void {
  try {
    if (readFileSync(file, 'utf8') === text) return;
  } catch {
    // Not there yet.
  }
  writeFileSync(file, text);
}

/**
 * A constant for each operation: its text, which is a seventh of its tree, and is parsed when it is first sent. A fragment is written once.
 * @returns what a plugin of the generator returns
 */
function textsOf(
  graphql: typeof import('graphql'),
  definitions: DefinitionNode[],
): { prepend: string[]; content: string } {
  const { print, stripIgnoredCharacters, visit } = graphql;
  const textOf = (node: DefinitionNode) => JSON.stringify(stripIgnoredCharacters(print(node)));
  const fragments = new Map(
    definitions.flatMap((it) => (it.kind === 'FragmentDefinition' ? [[it.name.value, it]] : [])),
  );
  const spread = (node: DefinitionNode, found: Set<string>): Set<string> => {
    visit(node, {
      FragmentSpread({ name: { value } }) {
        const fragment = fragments.get(value);
        if (fragment && !found.has(value)) spread(fragment, found.add(value));
      },
    });
    return found;
  };
  const constants = [...fragments].map(([name, node]) => `const ${name}Text = ${textOf(node)};`);
  for (const node of definitions) {
    if (node.kind !== 'OperationDefinition' || !node.name) continue;
    const name = node.name.value;
    const type = name + node.operation[0]?.toUpperCase() + node.operation.slice(1);
    const text = [textOf(node), ...[...spread(node, new Set())].map((fragment) => `${fragment}Text`)].join(' + ');
    constants.push(`export const ${name} = (${text}) as unknown as TypedDocumentNode<${type}, ${type}Variables>;`);
  }
  return { prepend: ["import type { TypedDocumentNode } from '@urql/core';"], content: constants.join('\n') };
}

/** Types and documents of all operations of the dashboard; an operation that the schema does not know fails with its file and line. */
export async function writeDocuments(): Promise<void> {
  const [{ codegen }, operations, graphql] = await Promise.all([
    import('@graphql-codegen/core'),
    import('@graphql-codegen/typescript-operations'),
    import('graphql'),
  ]);
  const { buildSchema, parse, Source, validate } = graphql;
  const schema = buildSchema(readFileSync(path.join(root, 'schema.graphql'), 'utf8'), { noLocation: true });
  const documents = globSync('**/*.graphql', { cwd: sources })
    .sort()
    .map((name) => ({
      location: name,
      document: parse(new Source(readFileSync(path.join(sources, name), 'utf8'), name)),
    }));
  const all = { kind: 'Document' as const, definitions: documents.flatMap(({ document }) => document.definitions) };
  const faults = validate(schema, all as Parameters<typeof validate>[1]);
  if (faults.length > 0) throw new Error(faults.map(String).join('\n\n'));
  const text = await codegen({
    filename: 'documents.ts',
    schema: parse(readFileSync(path.join(root, 'schema.graphql'), 'utf8')),
    schemaAst: schema,
    documents,
    plugins: [{ operations: {} }, { texts: {} }],
    pluginMap: { operations: operations as never, texts: { plugin: () => textsOf(graphql, all.definitions) } },
    config: {
      useTypeImports: true,
      enumsAsTypes: true,
      dedupeOperationSuffix: true,
      skipTypename: true,
      avoidOptionals: { field: true, inputValue: false },
      scalars: { DateTime: 'string', JSON: 'unknown', Long: 'number', ID: 'string' },
    },
  });
  writeChanged(path.join(sources, 'documents.ts'), text);
}

/** Stores each file that can be compressed once more, by brotli at a level that takes too long for an answer. */
async function compress(directory: string, level: number): Promise<void> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(js|css|svg)$/.test(name),
  );
  await Promise.all(
    names.map(async (name) => {
      const file = path.join(directory, name);
      const text = await readFile(file);
      const params = { [constants.BROTLI_PARAM_QUALITY]: level, [constants.BROTLI_PARAM_SIZE_HINT]: text.length };
      await writeFile(`${file}.br`, await promisify(brotliCompress)(text, { params }));
    }),
  );
}

/** The dashboard, and two pages for work with the interface: programs of their own, loaded at their addresses alone. */
const programs = [
  { input: 'main.tsx', directory: '', level: constants.BROTLI_MAX_QUALITY },
  // Some megabytes that are seldom loaded: the highest level would take half a minute.
  { input: 'explorer.tsx', directory: 'explorer', level: 9 },
  { input: 'reference.ts', directory: 'reference', level: 9 },
  // One script without a page, which the preview origin puts into those that are edited.
  { input: 'in-page/in-page.ts', directory: 'in-page', level: 9, script: 'in-page.js' },
] as const;

/** @param output directory the files come to; what was in it goes */
export async function buildDashboard(output: string): Promise<void> {
  const [{ build }, { default: react }] = await Promise.all([import('vite'), import('@vitejs/plugin-react')]);
  await writeDocuments();
  for (const { input, directory, level, ...program } of programs) {
    const outDir = path.join(output, directory);
    await build({
      configFile: false,
      root: sources,
      base: path.posix.join('/dashboard', directory, '/'),
      logLevel: 'warn',
      publicDir: directory === '' ? 'public' : false,
      plugins: [react()],
      build: {
        outDir,
        emptyOutDir: true,
        manifest: true,
        target: 'es2023',
        chunkSizeWarningLimit: 4_000,
        rolldownOptions: {
          input: path.join(sources, input),
          // Directives of React's server components, which nothing here is.
          onwarn: (warning, warn) => warning.code === 'MODULE_LEVEL_DIRECTIVE' || warn(warning),
          output:
            'script' in program
              ? { format: 'iife', entryFileNames: program.script }
              : // Otherwise a file for each set of modules that the same pages share: fifty requests before the first page.
                { codeSplitting: { groups: [{ name: 'initial', tags: ['$initial'] }] } },
        },
      },
    });
    await compress(outDir, level);
  }
}

if (import.meta.main) {
  if (process.argv[2] === 'documents') await writeDocuments();
  else await buildDashboard(path.resolve(root, process.argv[2] ?? 'dist/dashboard'));
}
