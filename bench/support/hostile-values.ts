/** A value made to cost its reader as much as its size allows: so many bytes at most, and so many values. */
export interface HostileValue {
  name: string;
  /** JSON text. */
  make(bytes: number, values: number): string;
}

const filled = (piece: string, count: number, between = ',') =>
  count < 1 ? '' : (piece + between).repeat(count - 1) + piece;

/** As many pieces as fit into the bytes and the values. */
const list =
  (piece: string, valuesEach = 1) =>
  (bytes: number, values: number) =>
    `[${filled(piece, Math.floor(Math.min((values - 2) / valuesEach, (bytes - 2) / (piece.length + 1))))}]`;

/** An object of many names. */
const object = (member: (at: number) => string) => (bytes: number, values: number) => {
  const most = Math.floor(Math.min(values - 2, bytes / (member(values).length + 1)));
  return `{${Array.from({ length: most }, (_, at) => member(at)).join(',')}}`;
};

/** A text of so many bytes out of one piece; the piece stands in JSON as it is. */
const text =
  (piece: string, end = '', start = '') =>
  (bytes: number) =>
    `"${start}${piece.repeat(Math.max(1, Math.floor((bytes - 2 - start.length - end.length) / Buffer.byteLength(piece))))}${end}"`;

const nested = (open: string, close: string, levels: number) => () => open.repeat(levels) + close.repeat(levels);

/** YAML whose aliases double at each line. */
const aliases = (lines: number) =>
  ['a0: &a0 [x, x]', ...Array.from({ length: lines }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`)].join(
    '\n',
  );

const yaml = (source: (bytes: number) => string) => (bytes: number) => JSON.stringify(source(bytes));

/** What stands in the fields of a request: each costs another part of what reads it. */
export const hostileValues: readonly HostileValue[] = [
  { name: 'lists 90 deep', make: nested('[', ']', 90) },
  { name: 'lists a million deep', make: (bytes) => nested('[', ']', Math.floor(bytes / 2))() },
  { name: 'objects a million deep', make: (bytes) => nested('{"a":', '1}', Math.floor(bytes / 7))() },
  { name: 'many lists', make: list('[]') },
  { name: 'many objects of one kind', make: list('{"a":1}', 2) },
  { name: 'many numbers', make: list('0') },
  { name: 'many nulls', make: list('null') },
  { name: 'many wrong types', make: list('{"name":[true]}', 3) },
  { name: 'many equal texts', make: list('"a"') },
  { name: 'many texts of 100 bytes', make: list(`"${'a/'.repeat(49)}"`) },
  { name: 'many names', make: object((at) => `"k${at}":0`) },
  { name: 'many names with spaces', make: object((at) => `"é ${at}":0`) },
  { name: 'many numeric names', make: object((at) => `"${(at * 2_654_435_761) % 4_294_967_296}":0`) },
  { name: 'many names with texts', make: object((at) => `"x-${at}":"${'v'.repeat(80)}"`) },
  {
    name: 'one name many times',
    make: (bytes, values) => list('"a":0')(bytes, values).replace('[', '{').replace(/]$/, '}'),
  },
  {
    name: 'names of a prototype',
    make: object((at) => `"${['__proto__', 'constructor', 'toString'][at % 3]}${at < 3 ? '' : at}":{}`),
  },
  { name: 'kinds of objects', make: (bytes, values) => object((at) => `"k${at}":{"q${at}":0}`)(bytes, values / 2) },
  { name: 'lists 90 deep, many', make: (bytes, values) => list(nested('[', ']', 90)(), 90)(bytes, values) },
  { name: 'a long name', make: (bytes) => `{${text('k')(bytes - 8)}:0}` },
  { name: 'a number of many digits', make: (bytes) => '9'.repeat(bytes) },
  { name: 'a fraction of many digits', make: (bytes) => `0.${'9'.repeat(bytes - 8)}e300` },
  { name: 'huge exponents', make: list('1e99999') },
  { name: 'a long text', make: text('x') },
  { name: 'a long text of spaces', make: text(' ') },
  { name: 'spaces before a letter', make: text(' ', 'x') },
  { name: 'escapes', make: text('\\u00e9') },
  { name: 'lone surrogates', make: text('\\ud800') },
  { name: 'controls and NUL', make: text('\\u0000') },
  { name: 'text beyond Latin', make: text('漢🂡') },
  { name: 'combining marks', make: text('à́̂') },
  { name: 'slashes', make: text('/') },
  { name: 'dots and slashes', make: text('../') },
  { name: 'stars', make: text('**/') },
  { name: 'brackets', make: text('((((a+)+)+)+', '!') },
  { name: 'an email that goes on', make: text('a.', '@', 'a@') },
  { name: 'a time that goes on', make: text('0', 'Z', '2026-01-01T00:00:00.') },
  { name: 'a cron expression that goes on', make: text('1,', '1 * * * *') },
  { name: 'an address that goes on', make: text('a:b@', '', 'https://') },
  { name: 'lines', make: text('- a\\n') },
  { name: 'a YAML bomb of aliases', make: yaml(() => `portico: workflow/1\n${aliases(40)}\nsteps: *a40\n`) },
  { name: 'YAML brackets', make: yaml((bytes) => `portico: ${'['.repeat(Math.min(bytes, 200_000))}`) },
  {
    name: 'YAML keys',
    make: yaml((bytes) => Array.from({ length: Math.min(bytes / 8, 30_000) }, (_, at) => `k${at}: 0`).join('\n')),
  },
  { name: 'a faulty YAML list', make: yaml((bytes) => `---\na: [${','.repeat(Math.min(bytes, 120_000))}\n---\n`) },
  { name: 'frontmatter in text', make: yaml((bytes) => `---\n${'a: &a [*a]\n? b\n'.repeat(bytes / 20)}---\n`) },
  { name: 'templates', make: text('${{ a & ') },
  { name: 'JSONata brackets', make: text('$f(', '1') },
];
