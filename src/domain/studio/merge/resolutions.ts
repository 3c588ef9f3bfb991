import { DomainError, type FieldError } from '../../../kernel/errors.ts';
import { pointerTo } from '../../../lib/json-pointer.ts';
import { checkSize, maxEntryBytes } from '../entries/saved-entry.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { FoundConflicts, Resolution, ResolutionPermission } from './merge.schema.ts';
import type { MergeInput } from './merge-entry.ts';
import { type FileStages, type FoundStages, type Sides, sideAt } from './merge-sides.ts';

/** @throws DomainError `validation_failed`, naming the file. */
export function refuseResolution(path: string, problem: string): never {
  const message = `${path}: ${problem}`;
  throw new DomainError('validation_failed', `resolutions: ${message}`, {
    details: { errors: [{ field: '/resolutions', code: 'validation_failed', message }] },
  });
}

/**
 * Checks that a resolution makes one choice, and a possible one.
 * @returns whether it settles the file whole (`take`, `delete`, `raw`) and not piece by piece.
 */
export function settlesWhole({ resolution, base, path }: MergeInput): boolean {
  if (resolution === undefined) return false;
  const { take, delete: remove, raw, fields, hunks } = resolution;
  const pieces = fields ?? hunks;
  if ([take, remove, raw, pieces].filter((way) => way !== undefined).length !== 1) {
    refuseResolution(path, 'must have one of take, delete, raw, or fields and hunks');
  }
  const choices = [{ take }, ...Object.values(fields ?? {}), ...Object.values(hunks ?? {})];
  if (base === null && choices.some((choice) => choice.take === 'base')) {
    refuseResolution(path, 'base cannot be taken: the two sides have no common ancestor');
  }
  return pieces === undefined;
}

/**
 * The bytes of a file that is resolved as a whole; null: the file is deleted.
 * @throws DomainError `frontmatter_invalid` when `raw` cannot be read although one of the sides can.
 */
export function resolvedBytes(
  { path, current, incoming, ...input }: MergeInput,
  { take, raw }: Resolution,
): Buffer | null {
  if (take !== undefined) return { base: input.base, current, incoming }[take];
  if (raw === undefined) return null;
  const bytes = Buffer.from(raw, 'utf8');
  const { error } = parseFile(bytes, path);
  const readable = [current, incoming].some((side) => side !== null && parseFile(side, path).error === undefined);
  if (error === undefined || !readable) return bytes;
  const { message, line, column } = error;
  throw new DomainError('frontmatter_invalid', `resolutions: ${path}: ${message} (line ${line}, column ${column})`, {
    details: { errors: [{ field: '/resolutions', code: 'frontmatter_invalid', message, line, column }] },
  });
}

/** @throws DomainError `validation_failed` when a piece is settled that does not clash. */
export function checkPieces(
  { resolution: { fields = {}, hunks = {} } = { path: '' }, path }: MergeInput,
  clashes: { fields: readonly { field: string }[]; hunks: readonly { id: string }[] },
): void {
  const known = {
    fields: new Set(clashes.fields.map(({ field }) => field)),
    hunks: new Set(clashes.hunks.map(({ id }) => id)),
  };
  const field = Object.keys(fields).find((pointer) => !known.fields.has(pointer));
  if (field !== undefined) refuseResolution(path, `the field ${field} is not in conflict`);
  const hunk = Object.keys(hunks).find((id) => !known.hunks.has(id));
  if (hunk !== undefined) refuseResolution(path, `the hunk ${hunk} is not in conflict`);
}

type Stage = keyof FileStages;

/** What a resolution leaves at its path: the version of a side or of their ancestor, a text of its own, or nothing. */
function leftBy(
  { take, delete: remove }: Pick<Resolution, 'take' | 'delete'>,
  stages: Readonly<Record<Stage, unknown>>,
): Stage | 'text' | 'nothing' {
  if (remove) return 'nothing';
  if (take === undefined) return 'text';
  return stages[take] ? take : 'nothing';
}

/** Whether a resolution leaves nothing where one of the two sides has a file, or may do so: without stages that is not known. */
export function takesAway(
  { take, delete: remove, stages: shown }: Pick<Resolution, 'take' | 'delete' | 'stages'>,
  stages: Readonly<Record<Stage, unknown>> | undefined = shown,
): boolean {
  if (!stages) return remove === true || take !== undefined;
  return leftBy({ take, delete: remove }, stages) === 'nothing' && Boolean(stages.current || stages.incoming);
}

/** A conflict that is settled as a whole or in pieces. */
interface Settled {
  path: string;
  stages: FileStages;
  /** A file that both sides have renamed is left under another of its names. */
  isElsewhere?: boolean;
}

/** Whether one of the sides has deleted a file: there was one, here or under its former name, and that side has none at the path. */
async function isDeleted({ current, incoming }: Sides, { path, stages }: Settled): Promise<boolean> {
  if (!stages.base) return false;
  const missing = [stages.current ? [] : [current], stages.incoming ? [] : [incoming]].flat();
  const found = await Promise.all(missing.map((side) => sideAt(side, path)));
  return found.includes(null);
}

/**
 * What settling a conflict in this way needs beside edit_studio; null when nothing. It is judged by what it leaves. What the two branches hold was
 * admitted when it came there, and what one of them has deleted was deleted with the right to, so to choose between them brings nothing in and
 * takes nothing away. A side that has no file at a path need not have deleted one: both may have given it new names.
 */
async function neededFor(
  sides: Sides,
  conflict: Settled,
  resolution: Resolution,
): Promise<ResolutionPermission | null> {
  const { path, stages, isElsewhere = false } = conflict;
  const { current, incoming } = stages;
  const { take, raw } = resolution;
  const isChoice = take === 'current' || take === 'incoming';
  const isDeletion = takesAway(resolution, stages) && !isElsewhere && !(await isDeleted(sides, conflict));
  if (isChoice && !isDeletion) return null;
  const base = leftBy(resolution, stages) === 'base' ? stages.base : null;
  if (base && [current, incoming].some((side) => side?.oid === base.oid && side.mode === base.mode)) return null;
  const modes = [current, incoming, base].flatMap((side) => (side ? [side.mode] : []));
  if (!modes.every((mode) => sides.isContent(path, mode))) return 'manage_studio';
  // What their ancestor had neither side holds now: it comes in again.
  const written = base ? await sides.merged.blob(base.oid) : raw === undefined ? null : Buffer.from(raw, 'utf8');
  if (written && !sides.admits(path, written)) return 'manage_studio';
  return isDeletion ? 'delete_studio' : null;
}

/** Texts of an entry as the two sides have them; one that is too long for an entry is left out. */
async function textsOf({ merged }: Sides, { current, incoming }: FileStages): Promise<Buffer[]> {
  const oids = [current, incoming].flatMap((side) => (side ? [side.oid] : []));
  const sizes = await merged.sizes(oids);
  return Promise.all(
    oids.filter((_, at) => (sizes[at] ?? maxEntryBytes + 1) <= maxEntryBytes).map((oid) => merged.blob(oid)),
  );
}

/** Faults of a text by the schema of its collection that neither side has. */
async function newFaults(sides: Sides, { path, stages }: Settled, content: Buffer): Promise<FieldError[]> {
  const faults = await sides.faultsOf(path, content, null);
  if (faults.length === 0) return faults;
  let left = faults;
  for (const text of await textsOf(sides, stages)) {
    const known = new Set(
      (await sides.faultsOf(path, content, text)).map(({ field, message }) => `${field} ${message}`),
    );
    left = left.filter(({ field, message }) => known.has(`${field} ${message}`));
  }
  return left;
}

/** Where a resolution has brought a fault in: below the field it settles, or in what it settles otherwise. */
function placeOf({ fields = {}, hunks, raw }: Resolution, fault: string): { names: string[]; rest: string } {
  const isAbout = (field: string) => `${fault}/`.startsWith(`${field}/`) || field.startsWith(`${fault}/`);
  const field = Object.keys(fields).find(isAbout);
  if (field !== undefined) return { names: ['fields', field], rest: '' };
  const rest = `${fault.slice(1).replaceAll('/', '.')} `;
  return { names: raw !== undefined ? ['raw'] : hunks ? ['hunks'] : [], rest };
}

export interface ResolutionOptions {
  /** The caller named both heads, and they are the ones that are merged: resolutions need not repeat their stages. */
  pinned?: boolean;
  /** Asks for what a resolution needs beside the right to merge. Throws when the caller lacks it. */
  require?(permission: ResolutionPermission): void;
}

const oidsOf = ({ base, current, incoming }: FileStages) => [base?.oid, current?.oid, incoming?.oid];

/** Without a person to decide, no resolution may need more than the right to merge. */
const refuseAll = (permission: ResolutionPermission) => {
  throw new DomainError('forbidden', `Missing permission: ${permission}`);
};

/**
 * The resolutions of one merge, each used at most once. They hold only for the stages they were made for: a file that has changed since
 * would be settled unseen.
 */
export class Resolutions {
  readonly #given: ReadonlyMap<string, Resolution>;
  readonly #open: Map<string, Resolution>;
  readonly #require: NonNullable<ResolutionOptions['require']>;
  #stale = false;

  /** @throws DomainError `validation_failed` for two resolutions of one file, or one without stages when `pinned` is not set */
  constructor(given: readonly Resolution[], { pinned = false, require = refuseAll }: ResolutionOptions) {
    this.#require = require;
    this.#open = new Map();
    for (const resolution of given) {
      const { path, stages } = resolution;
      if (this.#open.has(path)) refuseResolution(path, 'is settled twice');
      if (!pinned && !stages) refuseResolution(path, 'must have the stages its conflict was shown with');
      this.#open.set(path, resolution);
    }
    this.#given = new Map(this.#open);
  }

  /** Whether a file has a resolution that was not taken yet. */
  has(path: string): boolean {
    return this.#open.has(path);
  }

  /** Whether a file that only one side has there is left at the path of a conflict, or what becomes of it is still open. */
  leavesFile(path: string, stages: FileStages): boolean {
    // What is left where both sides have one may be another file.
    if (stages.current && stages.incoming) return false;
    const given = this.#given.get(path);
    return given === undefined || leftBy(given, stages) !== 'nothing';
  }

  /** The resolution of a conflict that the caller may settle so; null without one, or when it is for other stages. */
  async settle(sides: Sides, conflict: Settled): Promise<Resolution | null> {
    const found = this.take(conflict.path, conflict.stages);
    const needed = found && (await neededFor(sides, conflict, found));
    if (needed) this.#require(needed);
    return found;
  }

  /**
   * Holds the text that a resolution makes of a file against what may be written there: that of an entry as a save is held.
   * @throws DomainError `too_large`, `validation_failed` with a fault per field
   */
  async checkText(sides: Sides, conflict: Settled, resolution: Resolution, content: Buffer): Promise<void> {
    const { path } = conflict;
    if (!sides.schemaAt(path)) {
      if (!sides.admits(path, content)) this.#require('manage_studio');
      return;
    }
    const names = ['resolutions', String([...this.#given.keys()].indexOf(path))];
    checkSize(content, names.join('.'));
    const errors = (await newFaults(sides, conflict, content)).map(({ field, message, ...fault }) => {
      const place = placeOf(resolution, field);
      const all = [...names, ...place.names];
      return { ...fault, field: all.reduce(pointerTo, ''), message: `${all.join('.')}: ${place.rest}${message}` };
    });
    if (errors[0]) throw new DomainError('validation_failed', errors[0].message, { details: { errors } });
  }

  /** The resolution of a file in conflict; null without one, or when it is for other stages. */
  take(path: string, stages: FileStages): Resolution | null {
    const found = this.#open.get(path);
    if (!found) return null;
    this.#open.delete(path);
    if (!this.#fits(found, stages)) {
      this.#stale = true;
      return null;
    }
    return found;
  }

  #fits({ stages }: Resolution, now: FileStages): boolean {
    if (!stages) return true;
    const found = oidsOf(now);
    return [stages.base, stages.current, stages.incoming].every((oid, at) => oid === (found[at] ?? null));
  }

  /**
   * Whether a resolution was made for another state of its file than the one that is merged.
   * @throws DomainError `validation_failed` for a file that was not in conflict then either.
   */
  async isStale(stagesAt: (path: string) => Promise<FoundStages | null>): Promise<boolean> {
    for (const [path, resolution] of this.#open) {
      const found = resolution.stages ? await stagesAt(path) : null;
      const now = found?.stages ?? { base: null, current: null, incoming: null };
      if (!resolution.stages || this.#fits(resolution, now)) refuseResolution(path, 'the file is not in conflict');
      this.#stale = true;
    }
    return this.#stale;
  }

  moved(found: FoundConflicts): DomainError {
    const message = 'resolutions: a file has changed since its conflict was shown';
    return new DomainError('branch_moved', message, { details: { ...found } });
  }
}
