/** Shows the schema as the server describes it: roots first, then from type to type. */
import { draftOf, typeName } from './explorer-draft.js';

const type = 'kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } }';
const value = `name description defaultValue type { ${type} }`;
const introspection = `query Introspection { __schema {
  queryType { name } mutationType { name } subscriptionType { name }
  types { kind name description
    fields { name description args { ${value} } type { ${type} } }
    inputFields { ${value} } enumValues { name description } possibleTypes { kind name } } } }`;

const panel = document.getElementById('schema');
const trail = document.getElementById('trail');
const find = document.getElementById('find');

/** An element with its children; text is text, so nothing of the schema becomes markup. */
function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null && child !== ''));
  return made;
}

let types = new Map();
let roots = [];
let insert = () => {};

const link = (text, go) => make('button', { type: 'button', className: 'link', onclick: go }, text);
const unwrap = (item) => (item.ofType ? unwrap(item.ofType) : item);
const typeLink = (item) => link(typeName(item), () => open(unwrap(item).name));
const text = (description) => (description ? make('p', {}, description) : '');

function fieldItem(field, keyword) {
  const args = (field.args ?? []).flatMap((arg, at) => [at === 0 ? '(' : ', ', `${arg.name}: `, typeLink(arg.type)]);
  const draft = () => {
    const { text: operation, variables } = draftOf(types, keyword, field);
    insert(operation, variables);
  };
  const button = { type: 'button', className: 'draft', onclick: draft, ariaLabel: `Draft ${field.name}` };
  return make(
    'li',
    {},
    keyword ? make('button', button, 'Draft') : '',
    make('code', {}, make('strong', {}, field.name), ...args, args.length > 0 ? ')' : '', ': ', typeLink(field.type)),
    text(field.description),
  );
}

const keywordOf = (name) => roots.find((root) => root.name === name)?.keyword;

function open(name, focus = true) {
  const { kind, description, fields, inputFields, enumValues, possibleTypes } = types.get(name);
  const heading = make('h3', { tabIndex: -1 }, name);
  const members = [...(fields ?? []), ...(inputFields ?? [])].map((field) => fieldItem(field, keywordOf(name)));
  const values = (enumValues ?? []).map((item) => make('li', {}, make('code', {}, item.name), text(item.description)));
  const cases = kind === 'UNION' ? possibleTypes.map((item) => make('li', {}, typeLink(item))) : [];
  trail.replaceChildren(link('All', () => overview()));
  panel.replaceChildren(heading, text(description), make('ul', {}, ...members, ...values, ...cases));
  panel.scrollTop = 0;
  if (focus) heading.focus();
}

const named = (names) =>
  make(
    'ul',
    {},
    ...names.map((name) =>
      make(
        'li',
        {},
        link(name, () => open(name)),
      ),
    ),
  );

function overview() {
  trail.replaceChildren();
  const rootNames = roots.map((root) => root.name);
  const others = [...types.keys()].filter((name) => !name.startsWith('__') && !rootNames.includes(name)).sort();
  panel.replaceChildren(make('h4', {}, 'Begin here'), named(rootNames), make('h4', {}, 'Types'), named(others));
}

const maxFound = 60;

function search() {
  const word = find.value.trim().toLowerCase();
  if (word === '') return overview();
  const found = [];
  for (const [name, { fields, inputFields }] of types) {
    if (name.startsWith('__')) continue;
    if (name.toLowerCase().includes(word)) found.push([name, name]);
    for (const field of fields ?? inputFields ?? []) {
      if (field.name.toLowerCase().includes(word)) found.push([`${name}.${field.name}`, name]);
    }
  }
  const items = found.slice(0, maxFound).map(([label, name]) =>
    make(
      'li',
      {},
      link(label, () => open(name)),
    ),
  );
  const count = `${found.length} found${found.length > maxFound ? `, the first ${maxFound} are shown` : ''}`;
  trail.replaceChildren(link('All', () => overview()));
  panel.replaceChildren(make('p', { className: 'note', role: 'status' }, count), make('ul', {}, ...items));
}

find.addEventListener('input', () => {
  if (types.size > 0) search();
});

const say = (message) => {
  types = new Map();
  trail.replaceChildren();
  panel.replaceChildren(make('p', { className: 'note' }, message));
};

/** Reads the schema with the caller's token and shows it; says why when it cannot be read. */
export async function showSchema({ ask, insert: into, hasToken }) {
  insert = into;
  if (!hasToken) return say('Give a token to read the schema.');
  try {
    const { answer } = await ask({ query: introspection });
    const schema = answer.data?.__schema;
    if (!schema) return say(answer.errors?.[0]?.message ?? answer.message ?? 'The schema cannot be read.');
    types = new Map(schema.types.map((item) => [item.name, item]));
    roots = ['query', 'mutation', 'subscription'].flatMap((keyword) => {
      const root = schema[`${keyword}Type`];
      return root ? [{ keyword, name: root.name }] : [];
    });
    if (find.value.trim() === '' && roots[0]) open(roots[0].name, false);
    else search();
  } catch (error) {
    say(`No answer: ${error.message}`);
  }
}
