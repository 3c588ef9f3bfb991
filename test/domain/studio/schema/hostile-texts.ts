const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 12 }, (_, at) => {
  const [name, before] = [String.fromCharCode(98 + at), String.fromCharCode(97 + at)];
  return `${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`;
}).join('\n')}\ncollections: [*m, { name: x, folder: x, fields: *m }]\ncontent: *m\ndefaults: *m\n`;
const junk = '\u0001{]:- &*'.repeat(150_000);
const deep = '['.repeat(60_000);
const bad = 'globalThis.__ran = true; process.exit(1);';
const code = `const a = b; const b = a; const o = { get collections() { ${bad} return []; } }; (() => { ${bad} })(); export default { ...o, schema: { collections: [a, a()] }, collections: a }; while (true) {}`;
const loop = 'const f = (n) => f(n); export default f(1);';

/** Texts of configurations that want to do harm: bombs, circles, nesting, and code that would be noticed if it ran. */
export const hostileConfigs = {
  data: [bomb, junk, deep, '- 1', 'collections: 5', '', '\ufeff{}'],
  code: [code, loop, junk, deep, '', 'module.exports = module'],
};
