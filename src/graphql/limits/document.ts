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

const code = {
  newline: 0x0a,
  return: 0x0d,
  quote: 0x22,
  hash: 0x23,
  openRound: 0x28,
  closeRound: 0x29,
  open: 0x5b,
  backslash: 0x5c,
  close: 0x5d,
  openCurly: 0x7b,
  closeCurly: 0x7d,
};

const isBreak = (at: number) => at === code.newline || at === code.return;

/** The first offset at or behind `at` where a line ends. */
function lineEnd(source: string, at: number): number {
  let end = at;
  while (end < source.length && !isBreak(source.charCodeAt(end))) end += 1;
  return end;
}

/** The offset behind a text in quotes that begins at `at`; of one that is not closed, behind its line. */
function textEnd(source: string, at: number): number {
  if (source.startsWith('"""', at)) {
    for (let end = source.indexOf('"""', at + 3); end !== -1; end = source.indexOf('"""', end + 3))
      if (source.charCodeAt(end - 1) !== code.backslash) return end + 3;
    return source.length;
  }
  for (let end = at + 1; end < source.length; end += 1) {
    const here = source.charCodeAt(end);
    if (here === code.backslash) end += 1;
    else if (here === code.quote) return end + 1;
    else if (isBreak(here)) return end;
  }
  return source.length;
}

/** How deep the brackets of a document go, those in texts and comments aside. */
function nestingOf(source: string): number {
  let nesting = 0;
  let deepest = 0;
  for (let at = 0; at < source.length; at += 1) {
    const here = source.charCodeAt(at);
    if (here === code.quote) at = textEnd(source, at) - 1;
    else if (here === code.hash) at = lineEnd(source, at);
    else if (here === code.open || here === code.openCurly || here === code.openRound) {
      nesting += 1;
      deepest = Math.max(deepest, nesting);
    } else if (here === code.close || here === code.closeCurly || here === code.closeRound) nesting -= 1;
  }
  return deepest;
}

function linesOf(source: string): number {
  let lines = 1;
  for (let at = 0; at < source.length; at += 1) if (isBreak(source.charCodeAt(at))) lines += 1;
  return lines;
}

/**
 * Checks the text of a document before it is parsed: the parser, and all that walks what it gives, goes down into brackets by calls, and each
 * error of a document counts the lines before it.
 * @throws LimitError
 */
export function checkSource(source: string): void {
  check('characters', source.length);
  check('lines', linesOf(source));
  check('nesting', nestingOf(source));
}

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
