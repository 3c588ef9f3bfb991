import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

/** The fields selected directly in a set by their names, those of fragments included, whatever their conditions. */
type Selected = ReadonlyMap<string, readonly SelectionSetNode[]>;

/** Documents are kept and executed again, so a set is walked once. */
const known = new WeakMap<SelectionSetNode, Selected>();

function fieldsOf(set: SelectionSetNode, info: GraphQLResolveInfo): Selected {
  const before = known.get(set);
  if (before) return before;
  const fields = new Map<string, SelectionSetNode[]>();
  const add = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) add(selection.selectionSet);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = info.fragments[selection.name.value];
        if (fragment) add(fragment.selectionSet);
      } else {
        const { name, selectionSet } = selection;
        fields.set(name.value, [...(fields.get(name.value) ?? []), ...(selectionSet ? [selectionSet] : [])]);
      }
    }
  };
  add(set);
  known.set(set, fields);
  return fields;
}

const setsOf = (nodes: readonly FieldNode[]): SelectionSetNode[] =>
  nodes.flatMap(({ selectionSet }) => (selectionSet ? [selectionSet] : []));

/** Whether one of the fields is selected at a path below the sets. */
function reaches(
  sets: readonly SelectionSetNode[],
  path: readonly string[],
  names: readonly string[],
  info: GraphQLResolveInfo,
): boolean {
  const [step, ...rest] = path;
  if (step !== undefined) return sets.some((set) => reaches(fieldsOf(set, info).get(step) ?? [], rest, names, info));
  return sets.some((set) => names.some((name) => fieldsOf(set, info).has(name)));
}

/** Whether the document selects one of these fields of what a field answers with. */
export type Selects = (...names: string[]) => boolean;

/** Whether the document selects one of these fields of the object being resolved: expensive fields are fetched only then. */
export const selects = (info: GraphQLResolveInfo, ...names: string[]): boolean =>
  reaches(setsOf(info.fieldNodes), [], names, info);

/** The same for the items of a connection. */
export function selectsInItems(info: GraphQLResolveInfo, ...names: string[]): boolean {
  const sets = setsOf(info.fieldNodes);
  return reaches(sets, ['nodes'], names, info) || reaches(sets, ['edges', 'node'], names, info);
}
