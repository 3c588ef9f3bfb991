import { isAlias, isCollection, isMap, isScalar, isSeq, type Node, visit } from 'yaml';
import { DomainError } from '../../../../kernel/errors.ts';
import { parsePointer } from '../../../../lib/json-pointer.ts';

import { isDateText, type YamlStyle } from './emit.ts';
import { columnOf, type Entry, entriesOf, offsetOf } from './layout.ts';
import type { YamlDocument } from './read-yaml.ts';

/** Replaces the characters from `start` up to `end` of a source. */
export interface Splice {
  start: number;
  end: number;
  text: string;
}

/**
 * Applies splices to the source they were computed on. At one place, insertions come first and in the order they were made.
 * Undefined when two splices overlap: then they cannot all be meant.
 */
export function applySplices(source: string, splices: readonly Splice[]): string | undefined {
  const ordered = splices
    .map((splice, order) => ({ ...splice, order, width: Math.min(splice.end - splice.start, 1) }))
    .sort((a, b) => a.start - b.start || a.width - b.width || a.order - b.order);
  let result = '';
  let at = 0;
  for (const { start, end, text } of ordered) {
    if (start < at) return undefined;
    result += source.slice(at, start) + text;
    at = end;
  }
  return result + source.slice(at);
}

/** Where a value stands, which decides how it is written anew. */
export interface Place {
  role: 'root' | 'pair' | 'item' | 'flow';
  entry: Entry;
}

/** What the parts of one edit share. */
export interface Editing {
  source: string;
  splices: Splice[];
  manner: YamlStyle;
  /** Names of anchors that some alias uses. */
  aliased: ReadonlySet<string>;
  /** JSON is edited through the same nodes; only new text differs. `step` is the indentation of a level, empty on one line. */
  json: { step: string } | undefined;
  /** Pointers at which the value is written anew instead of edited inside. */
  coarse: ReadonlySet<string>;
  /** Makes the splices for a value inside a map or list. */
  editNode: (edit: Editing, place: Place, old: unknown, wanted: unknown, pointer: string) => void;
  /** Pointers at which something was changed. */
  touched: Set<string>;
}

/** @throws DomainError `not_editable`, naming the key and the reason. */
export function refuse(pointer: string, reason: string): never {
  const name = parsePointer(pointer)?.join('.') || 'frontmatter';
  throw new DomainError('not_editable', `${name}: ${reason}; write the file as raw text instead`, {
    details: { errors: [{ field: `/frontmatter${pointer}`, code: 'not_editable', message: reason }] },
  });
}

/** Reads the manner of a document: steps of indentation from its first nested map and list. */
export function styleOf(
  document: YamlDocument,
  source: string,
  { eol, isDate }: Pick<YamlStyle, 'eol' | 'isDate'>,
): YamlStyle {
  const manner: YamlStyle = { eol, mapStep: 0, listStep: -1, isDate };
  const plainDates = new Set<string>();
  visit(document, {
    Pair(_, pair) {
      const { key, value } = pair;
      if (!isCollection(value) || value.flow || value.items.length === 0) return;
      const entry = entriesOf(value as Parameters<typeof entriesOf>[0], source)[0];
      const step = columnOf(source, entry?.start ?? 0) - columnOf(source, offsetOf(key));
      if (isMap(value) && manner.mapStep === 0 && step > 0) manner.mapStep = step;
      if (isSeq(value) && manner.listStep < 0 && step >= 0) manner.listStep = step;
    },
    Scalar(_, { type, source: text = '' }) {
      if (type === 'PLAIN' && isDateText(text)) plainDates.add(text);
    },
  });
  if (manner.mapStep === 0) manner.mapStep = manner.listStep > 0 ? manner.listStep : 2;
  if (manner.listStep < 0) manner.listStep = manner.mapStep;
  // A date that stands plain somewhere stays so when its surroundings are written anew.
  manner.isDate = (pointer, value) => plainDates.has(value) || isDate(pointer, value);
  return manner;
}

export function aliasedAnchors(document: YamlDocument): Set<string> {
  const names = new Set<string>();
  visit(document, {
    Alias(_, alias) {
      names.add(alias.source);
    },
  });
  return names;
}

const plainTags = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/;

/** Refuses the nodes whose value is not theirs alone, or whose meaning only their reader knows. */
export function checkEditable(node: Node | null, pointer: string, aliased: ReadonlySet<string>): void {
  if (isAlias(node)) refuse(pointer, `is an alias of the anchor ${node.source}`);
  if (!isScalar(node) && !isCollection(node)) return;
  if (node.anchor !== undefined && aliased.has(node.anchor)) {
    refuse(pointer, `is the anchor ${node.anchor}, which other values use`);
  }
  if (node.tag !== undefined && !plainTags.test(node.tag)) refuse(pointer, `carries the tag ${node.tag}`);
}
