import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkImports, readSources } from '../../scripts/check-imports.ts';

const check = (files: Record<string, string>) => checkImports(new Map(Object.entries(files)));
const house = {
  'src/server/app.ts': "import { router } from '../rest/router.ts';\nimport { store } from '../engines/git/store.ts';",
  'src/rest/router.ts': "import { run } from '../kernel/run.ts';\nexport const router = run;",
  'src/kernel/run.ts': "import { z } from 'zod';\nexport const run = z;",
  'src/engines/git/store.ts':
    "import type { Run } from '../../kernel/run.ts';\nimport { spawn } from 'node:child_process';",
  'src/db/orm.ts': "import { run } from '../kernel/run.ts';",
};

describe('the import rule', () => {
  it('holds for this repository', () => {
    const sources = readSources(path.join(import.meta.dirname, '../..'));
    expect(sources.size).toBeGreaterThan(100);
    expect(checkImports(sources)).toEqual([]);
  });

  it('finds nothing in a house that keeps it', () => {
    expect(check(house)).toEqual([]);
  });

  it.each<[string, string, string, RegExp]>([
    [
      'a protocol importing another',
      'src/graphql/a.ts',
      "import { router } from '../rest/router.ts';",
      /imports only itself/,
    ],
    [
      'a protocol importing an engine',
      'src/rest/a.ts',
      "import { s } from '../engines/git/store.ts';",
      /imports only itself/,
    ],
    [
      'a protocol importing the database',
      'src/jobs/a.ts',
      "export { orm } from '../db/orm.ts';",
      /imports only itself/,
    ],
    [
      'a protocol importing the wiring',
      'src/preview/a.ts',
      "import { x } from '../server/app.ts';",
      /imports only itself/,
    ],
    [
      'the domain importing an engine',
      'src/domain/a.ts',
      "import '../engines/git/store.ts';",
      /domain imports only itself, kernel, ports, lib/,
    ],
    [
      'the domain importing a type',
      'src/domain/a.ts',
      "import type { R } from '../rest/router.ts';",
      /domain imports only itself/,
    ],
    [
      'the domain importing the wiring',
      'src/domain/a.ts',
      "import { x } from '../server/app.ts';",
      /domain imports only itself, kernel, ports, lib/,
    ],
    [
      'the kernel importing a feature',
      'src/kernel/a.ts',
      "import type { U } from '../domain/studio/studio.ts';",
      /kernel imports only itself, ports, lib/,
    ],
    [
      'a port importing the kernel',
      'src/ports/a.ts',
      "import { run } from '../kernel/run.ts';",
      /ports imports only itself, lib/,
    ],
    [
      'the domain importing lazily',
      'src/domain/a.ts',
      "const m = await import('../rest/router.ts');",
      /domain imports only itself/,
    ],
    [
      'an engine importing another',
      'src/engines/http/a.ts',
      "import { s } from '../git/store.ts';",
      /imports only itself/,
    ],
    [
      'an engine importing the database',
      'src/engines/git/a.ts',
      "import { o } from '../../db/orm.ts';",
      /imports only itself/,
    ],
    [
      'the database importing a protocol',
      'src/db/a.ts',
      "import { r } from '../rest/router.ts';",
      /imports only itself/,
    ],
    ['something outside of src', 'src/domain/a.ts', "import { x } from '../../test/x.ts';", /outside of src/],
    ['a file that is not there', 'src/app2.ts', "import { x } from './gone.ts';", /no such file/],
    [
      'an import over several lines',
      'src/db/a.ts',
      "import {\n  a,\n  b,\n} from '../rest/router.ts';",
      /imports only itself/,
    ],
  ])('catches %s', (_what, file, text, fault) => {
    expect(check({ ...house, [file]: text })).toEqual([expect.stringMatching(fault)]);
  });

  it.each([
    ...['express', 'graphql', 'graphql/language', 'pg-boss', 'undici', '@apollo/server/plugin/disabled'],
    ...['node:http', 'http', 'node:https', 'node:child_process', 'child_process', 'node:net', 'node:worker_threads'],
  ])('keeps %s out of the domain', (specifier) => {
    const file = { 'src/domain/a.ts': `import type { A } from '${specifier}';` };
    expect(check(file)).toEqual([`src/domain/a.ts imports ${specifier}: the domain reaches it only through a port`]);
    expect(check({ 'src/jobs/a.ts': `import { A } from '${specifier}';` })).toEqual([]);
  });

  it('lets the command line, which starts the process as main does, import the wiring', () => {
    expect(check({ ...house, 'src/cli/portico.ts': "import { x } from '../server/app.ts';" })).toEqual([]);
  });

  it('names the whole of a cycle, once', () => {
    const files = {
      'src/domain/a.ts': "import { b } from './b.ts';",
      'src/domain/b.ts': "import { c } from './c.ts';",
      'src/domain/c.ts': "export * from './a.ts';",
      'src/domain/d.ts': "import { a } from './a.ts';",
    };
    expect(check(files)).toEqual(['src/domain/a.ts → src/domain/b.ts → src/domain/c.ts → src/domain/a.ts: a cycle']);
  });

  it('lets types go in a circle, because nothing is left of them at run time', () => {
    const files = {
      'src/domain/a.ts': "import type { b } from './b.ts';",
      'src/domain/b.ts': "import { a } from './a.ts';",
    };
    expect(check(files)).toEqual([]);
  });

  it('lets three files lead back to one another by types, and no more', () => {
    const ring = (names: string[]) =>
      Object.fromEntries(
        names.map((name, at) => {
          const next = names[(at + 1) % names.length];
          return [`src/domain/${name}.ts`, `import type { T } from './${next}.ts';`];
        }),
      );
    expect(check(ring(['a', 'b', 'c']))).toEqual([]);
    expect(check(ring(['a', 'b', 'c', 'd']))).toEqual([
      'src/domain/a.ts, src/domain/b.ts, src/domain/c.ts, src/domain/d.ts: a circle of 4 files, types counted; at most 3',
    ]);
  });

  it('does not take words in comments and strings for imports', () => {
    const text =
      "// import { x } from '../rest/router.ts';\n/* import { x } from '../server/app.ts'; */\nconst s = ` from '../server/app.ts'`;";
    expect(check({ ...house, 'src/domain/a.ts': text })).toEqual([]);
  });
});
