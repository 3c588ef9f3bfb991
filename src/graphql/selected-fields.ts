import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

/** The fields selected directly in a set, those of fragments included, whatever their conditions. */
function* fieldsOf(set: SelectionSetNode | undefined, info: GraphQLResolveInfo): Generator<FieldNode> {
  for (const selection of set?.selections ?? []) {
    if (selection.kind === Kind.FIELD) yield selection;
    else if (selection.kind === Kind.INLINE_FRAGMENT) yield* fieldsOf(selection.selectionSet, info);
    else yield* fieldsOf(info.fragments[selection.name.value]?.selectionSet, info);
  }
}

function reaches(nodes: readonly FieldNode[], path: readonly string[], info: GraphQLResolveInfo): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  return nodes.some((node) => {
    const below = [...fieldsOf(node.selectionSet, info)].filter((field) => field.name.value === name);
    return below.length > 0 && reaches(below, rest, info);
  });
}

/** Whether the document selects one of these fields of what a field answers with. */
export type Selects = (...names: string[]) => boolean;

/** Whether the document selects one of these fields of the object being resolved: expensive fields are fetched only then. */
export function selects(info: GraphQLResolveInfo, ...names: string[]): boolean {
  return names.some((name) => reaches(info.fieldNodes, [name], info));
}

/** The same for the items of a connection. */
export function selectsInItems(info: GraphQLResolveInfo, ...names: string[]): boolean {
  return names.some(
    (name) =>
      reaches(info.fieldNodes, ['nodes', name], info) || reaches(info.fieldNodes, ['edges', 'node', name], info),
  );
}
