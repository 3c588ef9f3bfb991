import { type EditName, editNames } from './checks/plan-edits.ts';
import { nothingSkipped, type Skipped } from './sources/source.ts';

/** Judged one by one; reasons are of what was refused and of what is wrong, with how often each was met. */
export interface Tally {
  exact: number;
  refused: number;
  wrong: number;
  refusals: Record<string, number>;
  faults: Record<string, number>;
}

/** The shapes a file is tried in: as it is, with CRLF line ends, and with its frontmatter turned into TOML and JSON. */
export const formNames = ['own', 'crlf', 'toml', 'json'] as const;
export type FormName = (typeof formNames)[number];
/** `read`: the engine and the format's library read the same. `no_op`: a save that changes nothing keeps every byte. */
export type CheckName = 'read' | 'no_op' | EditName;
export const checkNames: readonly CheckName[] = ['read', 'no_op', ...editNames];

/** Two sides that each changed one file, merged. */
export interface MergeTally {
  merged: number;
  conflicts: number;
  wrong: number;
  /** One of the two edits was refused, so there was nothing to merge. */
  not_tried: number;
  /** The same three files by `git merge-file`. */
  git_conflicts: number;
  reasons: Record<string, number>;
}

export const mergeNames = ['adjacent_keys', 'random_pairs', 'random_merges'] as const;
export type MergeName = (typeof mergeNames)[number];

export interface Timing {
  count: number;
  /** In all. */
  milliseconds: number;
}

export interface Unparsable {
  path: string;
  line: number;
  column: number;
  reason: string;
}

export interface CollectionReport {
  collection: string;
  source: string;
  path: string;
  inferred: boolean;
  fields: number;
  entries: number;
  /** Entries that can be read and hold what the schema says. */
  valid: number;
}

export interface SourceReport {
  source: string;
  kind: 'directory' | 'git' | 'total';
  commit: string | null;
  /** Entries looked at: Markdown, and the data files of collections. */
  files: number;
  /** Of a repository's files those an earlier branch has alike at the same path; they are not tried again. */
  repeated: number;
  skipped: Skipped;
  formats: Record<'yaml' | 'toml' | 'json' | 'none' | 'unparsable', number>;
  unparsable: Unparsable[];
  /** Files whose line ends are all CRLF, and how many of them are so after every edit, conversions included. */
  crlf: { files: number; stayed: number };
  checks: Record<FormName, Partial<Record<CheckName, Tally>>>;
  merges: Record<MergeName, MergeTally>;
  schema: { collections: CollectionReport[]; warnings: number };
  /** Where its pages would be published. */
  routes: {
    /** With its version, when that is known; null: none was found, and nothing is predicted. */
    framework: string | null;
    root: string;
    base: string;
    predicted: number;
    /** Files of a page's kind that get no address, such as parts and drafts. */
    no_page: number;
    /** Addresses that an earlier file has. */
    collisions: number;
    samples: { path: string; url: string }[];
    warnings: number;
  };
  times: Record<'parse' | 'edit' | 'merge' | 'routes', Timing>;
  /** Directories with what it takes to see a wrong result again. */
  reproductions: string[];
}

export const newTally = (): Tally => ({ exact: 0, refused: 0, wrong: 0, refusals: {}, faults: {} });
const newMerges = (): MergeTally => ({
  ...{ merged: 0, conflicts: 0, wrong: 0, not_tried: 0, git_conflicts: 0 },
  reasons: {},
});
const newTiming = (): Timing => ({ count: 0, milliseconds: 0 });

/** A report with nothing counted. */
export function newReport(
  source: string,
  kind: SourceReport['kind'],
  { commit, skipped }: Pick<SourceReport, 'commit' | 'skipped'>,
): SourceReport {
  return {
    ...{ source, kind, commit, files: 0, repeated: 0, skipped },
    formats: { yaml: 0, toml: 0, json: 0, none: 0, unparsable: 0 },
    unparsable: [],
    crlf: { files: 0, stayed: 0 },
    checks: { own: {}, crlf: {}, toml: {}, json: {} },
    merges: { adjacent_keys: newMerges(), random_pairs: newMerges(), random_merges: newMerges() },
    schema: { collections: [], warnings: 0 },
    routes: {
      ...{ framework: null, root: '', base: '', predicted: 0, no_page: 0, collisions: 0 },
      ...{ samples: [], warnings: 0 },
    },
    times: { parse: newTiming(), edit: newTiming(), merge: newTiming(), routes: newTiming() },
    reproductions: [],
  };
}

/** Counts one more of a kind. */
export function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** Wrong results of all kinds: any is a fault of the engine. */
export function wrongIn({ checks, merges }: SourceReport): number {
  const tallies = [...Object.values(checks).flatMap((form) => Object.values(form)), ...Object.values(merges)];
  return tallies.reduce((sum, { wrong }) => sum + wrong, 0);
}

/** All numbers of several reports added up; lists are joined, files of every source named by it. */
export function totalOf(reports: readonly SourceReport[]): SourceReport {
  const total = newReport('total', 'total', { commit: null, skipped: nothingSkipped() });
  for (const report of reports) {
    const named = report.unparsable.map((file) => ({ ...file, path: `${report.source}: ${file.path}` }));
    addNumbers(total as unknown as Numbers, { ...report, unparsable: named } as unknown as Numbers);
  }
  return total;
}

type Numbers = Record<string, unknown>;

function addNumbers(to: Numbers, from: Numbers): void {
  for (const [key, value] of Object.entries(from)) {
    if (typeof value === 'number') to[key] = ((to[key] as number | undefined) ?? 0) + value;
    else if (Array.isArray(value)) to[key] = [...((to[key] as unknown[] | undefined) ?? []), ...value];
    else if (typeof value === 'object' && value !== null) {
      to[key] ??= {};
      addNumbers(to[key] as Numbers, value as Numbers);
    }
  }
}

/** What the JSON document holds. */
export interface CorpusReport {
  seed: string;
  sources: SourceReport[];
  total: SourceReport;
  /** Where reproductions are; null: nothing was wrong. */
  fixtures: string | null;
}
