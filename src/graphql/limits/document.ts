import {
  type ASTVisitor,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type SelectionSetNode,
  type ValidationContext,
  visit,
} from 'graphql';
import { check, LimitError } from './limits.ts';

/** Fields by which a client reads the schema itself: any tool's introspection query is deeper than our data. */
const isIntrospection = (name: string) => name === '__schema' || name === '__type';

/** Fragments of a document by name. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

export function fragmentsOf(document: DocumentNode): Fragments {
  return new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  );
}

/**
 * Folds a selection set into one number, fragments in place. A fragment is folded once however often it is spread, so that fragments of
 * fragments cost nothing to count; one that contains itself counts as nothing, and is refused by validation.
 */
function fold(
  fragments: Fragments,
  leaf: (name: string, below: () => number) => number,
  join: (a: number, b: number) => number,
) {
  const known = new Map<SelectionSetNode, number>();
  const walk = (set: SelectionSetNode | undefined): number => {
    if (!set) return 0;
    const before = known.get(set);
    if (before !== undefined) return before;
    known.set(set, 0);
    const total = set.selections.reduce((sum, selection) => {
      if (selection.kind === Kind.FIELD)
        return join(
          sum,
          leaf(selection.name.value, () => walk(selection.selectionSet)),
        );
      if (selection.kind === Kind.INLINE_FRAGMENT) return join(sum, walk(selection.selectionSet));
      return join(sum, walk(fragments.get(selection.name.value)?.selectionSet));
    }, 0);
    known.set(set, total);
    return total;
  };
  return walk;
}

const larger = (a: number, b: number) => Math.max(a, b);
const sum = (a: number, b: number) => a + b;

/**
 * Checks what can be counted without types or variables.
 * @throws LimitError for the first limit that is passed.
 */
export function checkDocument(document: DocumentNode): void {
  const fragments = fragmentsOf(document);
  let aliases = 0;
  let directives = 0;
  visit(document, {
    Field: ({ alias }) => {
      if (alias) aliases += 1;
    },
    Directive: () => {
      directives += 1;
    },
  });
  check('aliases', aliases);
  check('directives', directives);
  const depth = fold(fragments, (name, below) => (isIntrospection(name) ? 1 : 1 + below()), larger);
  const rootFields = fold(fragments, () => 1, sum);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    check('depth', depth(definition.selectionSet));
    const roots = rootFields(definition.selectionSet);
    if (definition.operation === 'mutation') check('commands', roots);
    check('root_fields', roots);
  }
}

/** The same as a rule of validation, so that documents which passed need not be checked again. */
export function documentLimits(context: ValidationContext): ASTVisitor {
  return {
    Document(node) {
      try {
        checkDocument(node);
      } catch (error) {
        if (!(error instanceof LimitError)) throw error;
        context.reportError(new GraphQLError(error.message, { originalError: error }));
      }
    },
  };
}

/** Whether an operation reads the schema itself. */
export function asksForSchema(set: SelectionSetNode, fragments: Fragments): boolean {
  return fold(fragments, (name) => (isIntrospection(name) ? 1 : 0), sum)(set) > 0;
}
