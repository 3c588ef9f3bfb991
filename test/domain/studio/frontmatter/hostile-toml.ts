import fc from '../../../support/properties.ts';
import type { HostileFile } from './hostile.ts';

/** Statements of the root table. `$` is made a number of its own. */
const statements = [
  'k$ = 1\n',
  'k$=1 # tight\n',
  '  k$   =   "padded"   # c\n',
  "'q $' = 'lit'\n",
  '"q\\u0041 $" = "esc \\" # no comment"\n',
  '"" = "empty"\n',
  'ʎ$ = 1\n',
  '"ключ$" = "да"\n',
  'd$ = 2024-01-01\n',
  'd$ = 2024-01-01T10:00:00+02:00\n',
  'd$ = 2024-01-01 10:00:00.500\n',
  'd$ = 07:32:00\n',
  'n$ = 1_000\n',
  'n$ = 0xDEAD_beef\n',
  'n$ = +1.5e3\n',
  'n$ = inf\n',
  'n$ = 9223372036854775807\n',
  'b$ = true\n',
  's$ = """\nmulti\n  line \\\n     joined # no comment\n"""\n',
  "s$ = '''\nliteral ''two''\n[not.a.table]\n'''\n",
  's$ = """a""""\n',
  'l$ = []\n',
  'l$ = [1, 2, 3,]\n',
  'l$ = [ "a", \'b\', """c""" ] # end\n',
  'l$ = [\n  "a", # one\n  # between\n  "b" # two\n  , # odd\n]\n',
  'l$ = [\n  1,\n  2, # two\n]\n',
  'l$ = [[1], [2, 3], []]\n',
  'l$ = [{ x = 1 }, { x = 2, y.z = 3 }]\n',
  't$ = { x = 1, "y z" = [1, 2] }\n',
  't$ = {}\n',
  't$ = { a.b = 1, a.c = 2 }\n',
  'p$.a = 1\np$.b.c = 2\n',
  'p$ . a = 1\n',
  '# alone\n',
  '\n\t\n',
  '   # deep\n',
];

/** What begins with a header and takes all that follows it. */
const tables = [
  '[t$]\nx = 1\ny = 2\n',
  '# about\n[t$] # head\n  x = [1, 2] # in\n\n  # last\n',
  '[t$.a.b]\nx = 1\n[t$]\ny = 2\n',
  '[ t$ . "q r" ]\nx = 1\n',
  '[[e$]]\nname = "a"\n\n[[e$]]\nname = "b" # two\n',
  '# first\n[[e$]]\nid = 1\n[e$.sub]\nx = 1\n# second\n[[e$]]\nid = 2\n[[e$.more]]\ny = 1\n[[e$.more]]\ny = 2\n',
  '[t$]\n[t$.in]\nx = { a = 1 }\n',
  '[e$]\n\n\n',
];

/** Files whose TOML is hard to edit, all of it valid but for what clashes by chance. */
export const hostileToml: fc.Arbitrary<HostileFile> = fc
  .record({
    head: fc.array(fc.constantFrom(...statements), { maxLength: 4 }),
    tail: fc.array(fc.constantFrom(...tables), { maxLength: 2 }),
    crlf: fc.boolean(),
    bom: fc.boolean(),
    data: fc.boolean(),
    cut: fc.boolean(),
    end: fc.constantFrom('', '# the end\n', '\n\n'),
  })
  .map(({ head, tail, crlf, bom, data, cut, end }) => {
    const source = [...head, ...tail].map((text, at) => text.replaceAll('$', String(at))).join('') + end;
    const whole = data ? source.slice(0, cut ? -1 : undefined) : `+++\n${source}+++\n\nText\n`;
    const text = (bom ? '\ufeff' : '') + (crlf ? whole.replaceAll('\n', '\r\n') : whole);
    return { path: data ? 'a.toml' : 'a.md', text, hardships: new Set(['toml']) };
  });
