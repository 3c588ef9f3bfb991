import fc from '../../../support/properties.ts';

/** Difficult pairs of a block, by what makes them hard. `$` in keys is made a number of its own. */
const pieces = {
  anchors: [
    'a$: &base\n  x: 1 # one\n  y: two\n',
    'a$: &word plain\n',
    'a$: &list [a, b]\n',
    'a$: &list\n  - a\n  - &inner b\n',
    'a$: *base\n',
    'a$: *word\n',
    'a$: [*word, other]\n',
    'a$:\n  - *base\n  - own\n',
    'a$: !!str &word 12\n',
  ],
  mergeKeys: [
    'm$:\n  <<: *base\n  y: own\n',
    'm$:\n  z: 3\n  <<: *base # inherited\n',
    'm$: { <<: *base, q: 1 }\n',
    '<<: *base\n',
    'm$:\n  <<: [*base, { w: 1 }]\n',
    'm$:\n  "<<": text\n',
  ],
  blockScalars: [
    'b$: |\n  one\n  two\n',
    'b$: |+\n  kept\n\n\n',
    'b$: |2-\n    deep\n  less\n',
    'b$: >\n  folded\n  text\n\n  more\n    indented\n',
    'b$: >- # why\n   three\n   spaces\n',
    'b$: |\n  # no comment\n  - no item\n',
    'b$: |\n\n  after a blank\n',
    'b$:\n  - |\n    item\n  - >+\n    other\n\n',
    'b$: |-\n',
  ],
  duplicateKeys: ['d: 1\nd: 2\n', 'd$:\n  x: 1\n  x: 2\n', 'd$: { x: 1, x: 2 }\n', 'd$: 1\n"d$": 2\n'],
  tabs: [
    't$:\tvalue\n',
    't$: value\t# tabbed\n',
    't$:\n  -\titem\n  - other\t\n',
    't$: [a,\tb]\n',
    't$:\n\tx: 1\n',
    't$: "a\tb"\n',
    't$: |\n  a\tb\n\t\n',
    '\t\n',
  ],
  templates: [
    'p$: {{ site.title }}\n',
    'p$: "{{ site.title }}"\n',
    "p$: '{% if x %}y{% endif %}'\n",
    'p$: {% raw %}\n',
    'p$: <%= title %>\n',
    '{{ p }}: 1\n',
    'p$: a {{ b }} c\n',
    'p$: [{{ x }}]\n',
  ],
  tags: [
    'g$: !!str 12\n',
    'g$: !env HOME\n',
    'g$: !!timestamp 2001-12-14\n',
    'g$: !!binary aGVsbG8=\n',
    'g$: !custom\n  x: 1\n',
    'g$: !!omap\n  - x: 1\n  - y: 2\n',
    'g$: !!set { x, y }\n',
    'g$: !<tag:yaml.org,2002:str> 7\n',
  ],
  keys: [
    '"q $": 1\n',
    "'it''s $': x\n",
    'ключ$: да\n',
    '🎉$: [a]\n',
    '? k$\n: v\n',
    '? k$\n',
    '? |\n  long $\n: v\n',
    '$: number\n',
    'k$ with spaces: x\n',
    'k$:no: space\n',
    'k-$.x/~1: x\n',
    'true: x\n',
    'null: x\n',
    '__proto__: { x: 1 }\n',
    'constructor: x\n',
  ],
  comments: [
    '# alone\n',
    '\n# after a blank\n\n',
    '    # deep\n',
    'c$: # head\n  # first\n  x: 1 # one\n  # between\n\n  y: 2\n  # last\n    # deeper\n',
    'c$: # head\n# shallow\n- a # one\n# between\n- b\n  # below\n',
    'c$:\n  - x: 1\n    # inside\n    y: 2\n  # above\n  - x: 3\n',
    'c$: value#no comment\n',
    "c$: 'a # b' # c\n",
    'c$: [\n    a, # one\n    # two\n    b # three\n  ] # four\n',
    'c$: {\n    x: 1, # one\n    # two\n    y: 2 }\n',
  ],
  collections: [
    'l$:\n- a\n- b\n',
    'l$:\n    - a\n    -   b\n    -\n    - c\n',
    'l$:\n  - - a\n    - b\n  - - c\n',
    'l$:\n  - - - a\n',
    'l$:\n  -\n    x: 1\n    y: [1, 2]\n  -\n    x: 2\n',
    'l$:\n  - x:\n      - a\n      - b\n    y: 1\n  - x: []\n',
    'l$: [a: 1, b: 2]\n',
    'l$: [a, b,]\n',
    'l$: [ [a], [b, c], {} ]\n',
    'l$: {"a":1,"b":[2,3]}\n',
    'l$: { a, b: , c: x }\n',
    'l$: [\n  "a",\n  "b",\n]\n',
    'l$: {\n  a: 1,\n  b: 2,\n}\n',
    'l$: []\n',
    'l$: {}\n',
    'l$:\n   x:\n         y: 1\n         z: [ ]\n',
    'l$:\n  - id: one\n    v: 1\n  - id: two\n    v: 2\n',
  ],
  scalars: [
    's$:\n',
    's$: # empty\n',
    's$: ~\n',
    's$:   padded   \n',
    's$: first\n  second\n   third\n',
    's$: "first\n  second \\\n  third\\n"\n',
    "s$: 'first\n\n  second'\n",
    's$:\n  below\n',
    's$: 2024-01-01\n',
    's$: 2024-01-01T10:00:00+02:00\n',
    's$: 12:30:00\n',
    's$: 0o17\n',
    's$: 1_000\n',
    's$: 12345678901234567890\n',
    's$: .inf\n',
    's$: yes\n',
    's$: a\u2028b\n',
    's$: a\u0085b\n',
    's$: "\\u263A \\x41"\n',
    's$: http://a.b:80/c?d#e\n',
    's$: - dash\n',
    's$: -\n',
    's$: ---\n',
    's$: ...x\n',
  ],
} as const;

/** What the issue of hostile frontmatter names. */
export type Hardship = keyof typeof pieces;

const piece = fc.oneof(
  ...(Object.keys(pieces) as Hardship[]).map((name) =>
    fc.constantFrom(...pieces[name]).map((text) => ({ name, text })),
  ),
);

export interface HostileFile {
  path: string;
  text: string;
  hardships: ReadonlySet<string>;
}

/** Files whose YAML holds several of the hardships, some of them wrongly, in both line ends, with and without a BOM. */
export const hostileFile: fc.Arbitrary<HostileFile> = fc
  .record({
    pieces: fc.array(piece, { minLength: 1, maxLength: 6 }),
    crlf: fc.boolean(),
    bom: fc.boolean(),
    data: fc.boolean(),
    end: fc.constantFrom('', '# the end\n', '\n\n', '  # deep end\n'),
    body: fc.constantFrom('', 'Text', '\nText\n', '---\n\n{{ x }}\n'),
    cut: fc.boolean(),
  })
  .map(({ pieces, crlf, bom, data, end, body, cut }) => {
    const source = pieces.map(({ text }, at) => text.replaceAll('$', String(at))).join('') + end;
    const whole = data ? source.slice(0, cut ? -1 : undefined) : `---\n${source}---\n${body}`;
    const text = (bom ? '\ufeff' : '') + (crlf ? whole.replaceAll('\n', '\r\n') : whole);
    const hardships = new Set<string>([
      ...pieces.map(({ name }) => name),
      ...(crlf ? ['crlf'] : []),
      ...(bom ? ['bom'] : []),
    ]);
    return { path: data ? 'a.yml' : 'a.md', text, hardships };
  });
