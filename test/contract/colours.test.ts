import { expect, test } from 'vitest';
import { checkColours } from '../../scripts/check-colours.ts';

const faultsOf = (file: string, text: string) => checkColours(new Map([[file, text]]));

test.each([
  ['a.module.css', '.a {\n  color: #0f5e5a;\n}', 2, '#0f5e5a'],
  ['a.module.css', '.a { border: 1px solid #abc }', 1, '#abc'],
  ['parts/a.tsx', "const look = { background: 'rgb(0 0 0 / 40%)' };", 1, 'rgb('],
  ['parts/a.tsx', "const look = { color: 'hsla(120, 50%, 50%, 1)' };", 1, 'hsla('],
])('names the place of a colour that %s writes itself', (file, text, line, found) => {
  expect(faultsOf(file, text)).toEqual([
    `src/dashboard/${file}:${line}: ${found} is a colour of its own; use a token of theme.ts, var(--p-…)`,
  ]);
});

test.each([
  ['theme.ts', "const paper = '#fbfaf5';"],
  ['a.module.css', '.a { color: var(--p-ink); background: color-mix(in srgb, var(--p-wash) 50%, transparent) }'],
  ['parts/a.tsx', '<a href="#page">#{number}</a>'],
])('lets %s use tokens, fragments and numbers: %s', (file, text) => {
  expect(faultsOf(file, text)).toEqual([]);
});
