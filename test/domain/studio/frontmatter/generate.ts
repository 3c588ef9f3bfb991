import fc from '../../../support/properties.ts';

/** Strings that readers of YAML are known to take for something else, among ordinary and hostile ones. */
const awkward = fc.constantFrom(
  ...[
    '',
    ' ',
    'yes',
    'No',
    'on',
    'null',
    '~',
    'true',
    '12:30:00',
    '1_000',
    '0x1F',
    '0o17',
    '017',
    '1e3',
    '.5',
    '.inf',
    '-.nan',
  ],
  ...[
    '2024-01-01',
    '2024-01-01T10:00:00Z',
    '<<',
    '=',
    '---',
    '...',
    '- a',
    '? a',
    ': a',
    'a:',
    'a: b',
    'a #b',
    '#a',
    '# a',
  ],
  ...[
    "it's",
    '"quoted"',
    `It's "x": y # z`,
    '{{ x }}',
    '[a, b]',
    '{a: b}',
    '*a',
    '&a',
    '!a',
    '|',
    '>',
    '%a',
    '@a',
    '`a`',
  ],
  ...[
    'a\nb',
    'a\n',
    '\na',
    'a\n\n',
    ' a\nb',
    'a\n  b\n\nc\n',
    '\t',
    'a\tb',
    'a\r\nb',
    '\u00a0a',
    '\u0085',
    '\u2028',
    '\ufeff',
  ],
  ...[
    '🎉',
    'é',
    'e\u0301',
    '日本語: ',
    '\ud800',
    '\u0000',
    '\x7f',
    'a,b',
    'http://x/y?z#w',
    'C:\\dir',
    '__proto__',
    '-',
    '-1',
    '1.0.0',
  ],
);

export const text = fc.oneof(
  awkward,
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number || 0),
  fc.boolean(),
  fc.constant(null),
);
const keyName = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z][a-z0-9_-]{0,6}$/) },
  { weight: 1, arbitrary: text },
);

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.dictionary(keyName, tie('value'), { maxKeys: 4 }) },
  ),
}));

export const frontmatter = fc.dictionary(keyName, value, { maxKeys: 5 }) as fc.Arbitrary<Record<string, unknown>>;

const plain = fc.constantFrom(
  'word',
  'two words',
  '42',
  '-1.5',
  'true',
  '2024-01-01',
  'a-b',
  'été',
  '🎉 party',
  'yes',
  '~',
  'http://a.b/c',
);
const quoted = fc.constantFrom(`"dou\\"ble: #1"`, `'sin''gle # x'`, '""', `"2024"`, `'a'`);
const flow = fc.constantFrom(
  '[]',
  '{}',
  '[a, "b", 3]',
  '{ k: v, n: [1, 2] }',
  '[a,b]',
  '{a: 1}',
  '[\n{pad}    x,\n{pad}    y # note\n{pad}  ]',
  '{\n{pad}    k: v,\n{pad}  }',
);
const multi = fc.constantFrom(
  '|\n{pad}  one\n{pad}  two',
  '>-\n{pad}  folded\n{pad}  text\n\n{pad}  more',
  '|+\n{pad}  kept\n',
  '|- # head\n{pad}   deep',
);
const wrapped = fc.constantFrom('first\n{pad}  second', '"first\n{pad}  second"');
const comment = fc.constantFrom('', '', '', ' # note', '   # it\'s "odd": {');
const above = fc.constantFrom('', '', '', '{pad}# above\n', '{pad}# one\n{pad}# two\n', '\n');

/** Source text of a YAML block as people write them: comments, styles, nesting, blank lines. No final line end is missing. */
export const yamlSource = fc
  .uniqueArray(fc.record({ key: fc.stringMatching(/^[a-z]{1,5}$/), lines: block(2) }), {
    selector: ({ key }) => key,
    maxLength: 6,
  })
  .map((pairs) => pairs.map(({ key, lines }) => lines(key, '')).join(''));

type Lines = (key: string, pad: string) => string;

function block(depth: number): fc.Arbitrary<Lines> {
  const inline = fc.record({ above, text: fc.oneof(plain, quoted, flow), comment }).map(
    ({ above: over, text: value, comment: end }): Lines =>
      (key, pad) =>
        fill(`${over}{pad}${key}: ${value}${end}\n`, pad),
  );
  const long = fc.record({ above, text: fc.oneof(multi, wrapped) }).map(
    ({ above: over, text: value }): Lines =>
      (key, pad) =>
        fill(`${over}{pad}${key}: ${value}\n`, pad),
  );
  const empty = comment.map(
    (end): Lines =>
      (key, pad) =>
        `${pad}${key}:${end}\n`,
  );
  if (depth === 0) return fc.oneof(inline, long, empty);
  const nested = fc
    .record({
      head: comment,
      step: fc.constantFrom('  ', '    '),
      pairs: fc.uniqueArray(fc.record({ key: fc.stringMatching(/^[a-z]{1,3}$/), lines: block(depth - 1) }), {
        selector: ({ key }) => key,
        minLength: 1,
        maxLength: 3,
      }),
    })
    .map(
      ({ head, step, pairs }): Lines =>
        (key, pad) =>
          `${pad}${key}:${head}\n${pairs.map((pair) => pair.lines(pair.key, pad + step)).join('')}`,
    );
  const list = fc
    .record({
      step: fc.constantFrom('', '  '),
      items: fc.array(fc.record({ text: fc.oneof(plain, quoted), comment, map: fc.boolean() }), {
        minLength: 1,
        maxLength: 5,
      }),
    })
    .map(
      ({ step, items }): Lines =>
        (key, pad) =>
          `${pad}${key}:\n${items
            .map((item) => {
              const dash = `${pad}${step}- `;
              return item.map
                ? `${dash}id: ${item.text}${item.comment}\n${pad}${step}  x: 1\n`
                : `${dash}${item.text}${item.comment}\n`;
            })
            .join('')}`,
    );
  return fc.oneof({ weight: 4, arbitrary: inline }, long, empty, nested, list);
}

function fill(template: string, pad: string): string {
  return template.replaceAll('{pad}', pad);
}

/** A change of one value somewhere in a JSON tree: set, add, remove, reorder. */
export function change(root: Record<string, unknown>): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .record({ seed: fc.infiniteStream(fc.nat(1000)), value, key: keyName })
    .map(({ seed, value: fresh, key }) => {
      const next = (limit: number) => (seed.next().value as number) % limit;
      return mutate(root, next, fresh, key, true) as Record<string, unknown>;
    });
}

function mutate(here: unknown, next: (limit: number) => number, fresh: unknown, key: string, top: boolean): unknown {
  const isMap = typeof here === 'object' && here !== null && !Array.isArray(here);
  if (!top && (next(3) === 0 || typeof here !== 'object' || here === null)) return fresh;
  if (Array.isArray(here)) {
    const at = next(Math.max(here.length, 1));
    const kind = next(5);
    if (kind === 0 || here.length === 0) return [...here.slice(0, at), fresh, ...here.slice(at)];
    if (kind === 1) return here.filter((_, index) => index !== at);
    if (kind === 2) return [...here].reverse();
    if (kind === 3) return [...here.slice(1), here[0]];
    return here.map((item, index) => (index === at ? mutate(item, next, fresh, key, false) : item));
  }
  if (!isMap) return fresh;
  const entries = Object.entries(here);
  const at = next(Math.max(entries.length, 1));
  const kind = next(4);
  if (kind === 0 || entries.length === 0)
    return Object.fromEntries([...entries.filter(([name]) => name !== key), [key, fresh]]);
  if (kind === 1) return Object.fromEntries(entries.filter((_, index) => index !== at));
  return Object.fromEntries(
    entries.map(([name, item], index) => [name, index === at ? mutate(item, next, fresh, key, false) : item]),
  );
}
