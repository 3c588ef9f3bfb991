/** Drafts of operations for a root field: its required arguments as variables, and the plain fields of its answer. */

const unwrap = (type) => (type.ofType ? unwrap(type.ofType) : type);

/** A type as GraphQL writes it. */
export function typeName(type) {
  if (type.kind === 'NON_NULL') return `${typeName(type.ofType)}!`;
  return type.kind === 'LIST' ? `[${typeName(type.ofType)}]` : type.name;
}

const isNeeded = ({ type, defaultValue }) => type.kind === 'NON_NULL' && defaultValue === null;

function sampleOf(types, type, depth = 0) {
  if (type.kind === 'NON_NULL') return sampleOf(types, type.ofType, depth);
  if (type.kind === 'LIST') return [];
  const { kind, inputFields, enumValues } = types.get(type.name);
  if (kind === 'ENUM') return enumValues[0].name;
  if (kind === 'INPUT_OBJECT' && depth < 3) {
    return Object.fromEntries(
      inputFields.filter(isNeeded).map((field) => [field.name, sampleOf(types, field.type, depth + 1)]),
    );
  }
  return { Int: 0, Float: 0, Boolean: false, JSON: {} }[type.name] ?? '';
}

/** Lines of a selection: scalars and enums, and below them one or two levels of what has no required arguments. */
function selection(types, type, indent, depth) {
  const { kind, fields, possibleTypes } = types.get(unwrap(type).name);
  if (kind === 'UNION') {
    return [
      `${indent}__typename`,
      ...possibleTypes.flatMap((possible) => [
        `${indent}... on ${possible.name} {`,
        ...selection(types, possible, `${indent}  `, 0),
        `${indent}}`,
      ]),
    ];
  }
  const plain = fields.filter((field) => !field.args.some(isNeeded));
  const leaf = (field) => ['SCALAR', 'ENUM'].includes(unwrap(field.type).kind);
  const lines = plain.filter(leaf).map((field) => `${indent}${field.name}`);
  // A connection is read by its nodes; its edges would say the same again.
  const isConnection = plain.some((field) => field.name === 'nodes');
  for (const field of plain.filter((item) => !leaf(item) && depth > 0)) {
    if (isConnection ? field.name === 'edges' : field.args.length > 0) continue;
    lines.push(`${indent}${field.name} {`, ...selection(types, field.type, `${indent}  `, depth - 1), `${indent}}`);
  }
  return lines.length > 0 ? lines : [`${indent}__typename`];
}

/** @returns the text of an operation and values for its variables. */
export function draftOf(types, keyword, field) {
  const args = field.args.filter(isNeeded);
  const name = field.name.charAt(0).toUpperCase() + field.name.slice(1);
  const declared = args.map((arg) => `$${arg.name}: ${typeName(arg.type)}`).join(', ');
  const passed = args.map((arg) => `${arg.name}: $${arg.name}`).join(', ');
  const isLeaf = ['SCALAR', 'ENUM'].includes(unwrap(field.type).kind);
  const body = isLeaf ? [] : selection(types, field.type, '    ', 1);
  const head = `  ${field.name}${passed && `(${passed})`}`;
  const text = [
    `${keyword} ${name}${declared && `(${declared})`} {`,
    ...(isLeaf ? [head] : [`${head} {`, ...body, '  }']),
    '}',
    '',
  ].join('\n');
  return { text, variables: Object.fromEntries(args.map((arg) => [arg.name, sampleOf(types, arg.type)])) };
}
