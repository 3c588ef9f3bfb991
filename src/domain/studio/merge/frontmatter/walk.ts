import type { ConflictField, FieldChoice } from '../merge.schema.ts';
import type { ListKind } from './list-kind.ts';

export interface FieldRules {
  /** Overrides the names that are sets by themselves (`tags`, `categories`, `keywords`, `aliases`, `authors`). */
  listKind?: ListKind;
  /** Whether of two dates in `updated`, `lastmod` or `modified` the later one wins. Default true. */
  laterDates?: boolean;
  /** Settles clashes, by JSON Pointer. */
  choices?: ReadonlyMap<string, FieldChoice>;
}

/** The three values of one place; undefined is a place that is not there. */
export interface Stages {
  base: unknown;
  current: unknown;
  incoming: unknown;
}

/** What a merge of frontmatters knows and finds on its way from place to place. */
export interface Walk extends Required<FieldRules> {
  twoWay: boolean;
  clashes: ConflictField[];
  open: ConflictField[];
  resolved: string[];
  mergeValue: (walk: Walk, pointer: string, stages: Stages) => unknown;
}
