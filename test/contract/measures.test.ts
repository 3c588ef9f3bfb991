import { expect, test } from 'vitest';
import { measure } from '../../scripts/measures.ts';

const rowOf = (files: Record<string, string>, name: string) =>
  measure(new Map(Object.entries(files))).find((row) => row.name === name);

test('a file with one importer in its own folder counts as a fragment, one with two importers does not', () => {
  const files = {
    'src/a/one.ts': `import { two } from './two.ts';\nimport { three } from './three.ts';\n`,
    'src/a/two.ts': `import { three } from './three.ts';\n`,
    'src/a/three.ts': '',
    'src/b/four.ts': `import { one } from '../a/one.ts';\n`,
  };
  expect(rowOf(files, 'files with one importer, in their own folder')?.places).toEqual(['src/a/two.ts']);
});

test('imports of types close a circle too, and the largest circle is named', () => {
  const files = {
    'src/a.ts': `import type { B } from './b.ts';\n`,
    'src/b.ts': `import { c } from './c.ts';\n`,
    'src/c.ts': `import type { A } from './a.ts';\n`,
    'src/d.ts': `import { a } from './a.ts';\nimport type { E } from './e.ts';\n`,
    'src/e.ts': `import type { D } from './d.ts';\n`,
  };
  const circle = rowOf(files, 'files in the largest import circle');
  expect(circle?.value).toBe(3);
  expect(circle?.places.toSorted()).toEqual(['src/a.ts', 'src/b.ts', 'src/c.ts']);
});

test('words of our own are counted in comments and names, not in imports or in the calls of arrays', () => {
  const files = {
    'src/a.ts': `import { tellTurns } from './turns.ts';\n/** Whoever asked is told. */\nconst slice = list.slice(1);\nconst nextTurns = 1;\n`,
  };
  expect(rowOf(files, 'words of our own for terms of the field')?.value).toBe(5);
});
