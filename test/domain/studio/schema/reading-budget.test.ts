import { describe, expect, it } from 'vitest';
import { detectFramework } from '../../../../src/domain/studio/frameworks/detect-framework.ts';
import { readRoutes } from '../../../../src/domain/studio/routes/routes-cache.ts';
import { readCodeConfig, readDataConfig } from '../../../../src/domain/studio/schema/config/config-file.ts';
import type { Warning } from '../../../../src/domain/studio/schema/schema.schema.ts';
import { mostFolded, mostSteps, ReadingBudget } from '../../../../src/domain/studio/schema/static/reading-budget.ts';
import { at, textAt } from '../../../../src/domain/studio/schema/static/values.ts';
import { siteOf } from './sites.ts';

/** Reads one configuration. @returns its setting `base`, what was warned of, and the steps it took */
async function reading(files: Record<string, string>, most: { steps?: number; folded?: number } = {}) {
  const budget = new ReadingBudget(most);
  const warnings: Warning[] = [];
  const context = { site: { ...siteOf(files), budget }, warnings, dependencies: new Set<string>() };
  const path = Object.keys(files)[0] ?? '';
  const isData = /\.(ya?ml|toml|json)$/.test(path);
  const value =
    (isData ? await readDataConfig(path, context) : (await readCodeConfig(path, context)).value) ?? undefined;
  const taken = { steps: mostSteps - budget.left.steps, folded: mostFolded - budget.left.folded };
  return { value, base: textAt(value, 'base'), warnings, taken };
}

const spent = 'Reading the configuration of this site takes more than 500000 steps';

describe('the steps that reading configurations may take', () => {
  const json = { 'a.json': '{"base": "/x", "list": [1, 2, 3]}' };
  const code = {
    'a.ts': "import { b } from './b.ts';\nexport default { base: `/${b}` };",
    'b.ts': "export const b = 'x';",
  };
  it.each<[string, Record<string, string>]>([
    ['YAML', { 'a.yml': 'base: /x\nlist: [1, 2, 3]\n' }],
    ['TOML', { 'a.toml': "base = '/x'\n" }],
    ['JSON', json],
    [
      'imported JSON',
      { 'a.js': "import b from './b.json';\nexport default { base: b.base };", 'b.json': '{"base":"/x"}' },
    ],
    ['code', code],
  ])('suffice for %s that takes as many, and not for what takes one more', async (_name, files) => {
    const { base, taken } = await reading(files);
    expect(base).toBe('/x');
    expect(await reading(files, { steps: taken.steps })).toMatchObject({ base: '/x', warnings: [] });
    const less = await reading(files, { steps: taken.steps - 1 });
    expect(less.base).toBeUndefined();
    expect(less.warnings).toMatchObject([{ code: 'config_unreadable', message: spent }]);
  });

  it.each([
    ['JSON', json, 'list'],
    ['code', code, 'base'],
  ])('suffice to fold %s of as many expressions, and leave what is beyond unknown', async (_name, files, last) => {
    const { taken } = await reading(files);
    expect(at((await reading(files, { folded: taken.folded })).value, last)?.kind).not.toBe('unknown');
    const less = at((await reading(files, { folded: taken.folded - 1 })).value, last);
    const found = less?.kind === 'list' ? less.items.at(-1) : less;
    expect(found).toMatchObject({ kind: 'unknown', reason: 'the code is too large to follow' });
  });

  it.each<[string, string, string]>([
    ['type assertions', 'a.ts', `export default ${'<a>('.repeat(40)}1${')'.repeat(40)}`],
    ['assignments after type parameters', 'a.ts', `${'<a>x='.repeat(40)}`],
    ['elements of JSX', 'a.tsx', `export default ${'<a>{['.repeat(40)}`],
  ])('end nested %s, which the parser tries in every way', async (_name, path, text) => {
    const { value, warnings, taken } = await reading({ [path]: text });
    expect(value).toBeUndefined();
    expect(warnings).toMatchObject([{ code: 'config_unreadable', message: spent, path }]);
    expect(taken.steps).toBe(mostSteps);
  });

  it('count a bracket of YAML twice, and end a text of nothing else', async () => {
    const ordinary = await reading({ 'a.yml': `base: ${'x'.repeat(120_000)}` });
    expect(ordinary).toMatchObject({ warnings: [], taken: { steps: 240_012 } });
    expect((await reading({ 'a.yml': `base: [${'x'.repeat(120_000)}]` })).taken.steps).toBe(240_018);
    const { value, warnings } = await reading({ 'a.yml': '['.repeat(125_001) });
    expect(value).toBeUndefined();
    expect(warnings).toMatchObject([{ code: 'config_unreadable', message: spent, path: 'a.yml' }]);
  });

  it('are shared by all files, of which the first ones are read', async () => {
    const large = `export const name = 'n'; export const list = [${'1,'.repeat(40_000)}];`;
    const names = ['a', 'b', 'c'];
    const imports = names.map((name) => `import { name as ${name} } from './${name}.js';`).join('\n');
    const files = Object.fromEntries(names.map((name) => [`${name}.js`, large]));
    const { value, warnings } = await reading({ 'x.js': `${imports}\nexport default { a, b, c };`, ...files });
    expect(warnings).toEqual([
      { code: 'config_unreadable', message: spent, path: 'b.js' },
      { code: 'config_unreadable', message: spent, path: 'c.js' },
    ]);
    expect(names.map((name) => at(value, name)?.kind)).toEqual(['scalar', 'unknown', 'unknown']);
  });

  it('are shared by all readers of a site, and each setting that is left over has a warning', async () => {
    const [base, slash] = ["'/' + 'docs'", "'al' + 'ways'"];
    const config = `export default { base: ${base}, trailingSlash: ${slash}, title: 't' };`;
    const site = siteOf({ 'astro.config.mjs': config, 'src/pages/a.md': '' });
    const plenty = new ReadingBudget();
    expect((await readRoutes({ ...site, budget: plenty })).warnings).toEqual([]);
    const folded = mostFolded - plenty.left.folded;
    const warned = async (most: number) => {
      const { warnings } = await readRoutes({ ...site, budget: new ReadingBudget({ folded: most }) });
      return warnings.map(({ message, path }) => `${path}: ${message}`);
    };
    const unknown = (name: string) =>
      `astro.config.mjs: "${name}" cannot be determined: the code is too large to follow`;
    expect(await warned(folded)).toEqual([]);
    // Left over, from the end: the title, which decides nothing; two texts and their sum; the same of the base.
    expect(await warned(folded - 1)).toEqual([]);
    expect(await warned(folded - 4)).toEqual([unknown('trailingSlash')]);
    expect(await warned(folded - 2)).toEqual([unknown('trailingSlash')]);
    expect((await warned(folded - 5)).sort()).toEqual([unknown('base'), unknown('trailingSlash')]);
  });

  it('end the reading of package manifests', async () => {
    const manifest = (name: string) => JSON.stringify({ dependencies: { [name]: '1.0.0' } });
    const site = siteOf({ 'package.json': manifest('x'), 'a/package.json': manifest('vitepress'), 'a/b.md': '' });
    expect((await detectFramework({ ...site, budget: new ReadingBudget() })).framework?.id).toBe('vitepress');
    expect((await detectFramework({ ...site, budget: new ReadingBudget({ steps: 4 }) })).framework).toBeNull();
  });
});
