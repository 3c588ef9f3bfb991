const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 12 }, (_, at) => {
  const [name, before] = [String.fromCharCode(98 + at), String.fromCharCode(97 + at)];
  return `${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`;
}).join('\n')}\ncollections: [*m, { name: x, folder: x, fields: *m }]\ncontent: *m\ndefaults: *m\n`;
const junk = '\u0001{]:- &*'.repeat(150_000);
const deep = '['.repeat(60_000);
const nested = (levels: number) => `${'['.repeat(levels)}0${']'.repeat(levels)}`;
const objects = (levels: number) => `${'{"fields":'.repeat(levels)}0${'}'.repeat(levels)}`;
/** Valid, and deeper than what walks them by calls may go. */
const deepData = [3_000, 10_000].flatMap((levels) => [
  `{"collections": ${nested(levels)}, "content": ${nested(levels)}}`,
  `{"collections": ${objects(levels)}, "frontMatter": ${objects(levels)}}`,
]);
const deepCode = [300, 3_000, 10_000].map((levels) => `export default ${nested(levels)};`);
const bad = 'globalThis.__ran = true; process.exit(1);';
const code = `const a = b; const b = a; const o = { get collections() { ${bad} return []; } }; (() => { ${bad} })(); export default { ...o, schema: { collections: [a, a()] }, collections: a }; while (true) {}`;
const loop = 'const f = (n) => f(n); export default f(1);';

/** Texts of configurations that want to do harm: bombs, circles, nesting, and code that would be noticed if it ran. */
export const hostileConfigs = {
  data: [bomb, junk, deep, '- 1', 'collections: 5', '', '\ufeff{}', ...deepData],
  code: [code, loop, junk, deep, '', 'module.exports = module', ...deepCode],
};
