import { expect, it } from 'vitest';
import { candidatePaths } from '../../src/dashboard/lib/media.ts';

it.each([
  ['/a.png', ['public/a.png', 'static/a.png', 'source/a.png', 'src/a.png', 'a.png']],
  [
    '/assets/a%20b.png?x#y',
    ['public', 'static', 'source', 'src'].map((root) => `${root}/assets/a b.png`).concat('assets/a b.png'),
  ],
  ['a.png', ['posts/a.png', 'a.png']],
  ['../img/a.png', ['img/a.png']],
  ['../../a.png', []],
  ['/../../a.png', []],
  ['https://example.org/a.png', []],
  ['//example.org/a.png', []],
  ['100%.png', ['posts/100%.png', '100%.png']],
])('an entry that names %s may mean these files', (link, paths) => {
  expect(candidatePaths('posts/one.md', link)).toEqual(paths);
});
