import type { Mode } from '../../ports/git-records.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { mergeEntry } from './entry/merge-entry.ts';
import { conflictOf, type FileMerge } from './merge-outcome.ts';
import type { FileStages, FoundStages, Sides } from './merge-sides.ts';
import type { Resolutions } from './resolutions.ts';
import { settleWhole } from './whole-file.ts';

interface FileToMerge extends FoundStages {
  path: string;
  /** git merged its lines without conflict. */
  byLines?: boolean;
}

/** Larger files than an entry can be are settled whole. */
const largest = 5 * 1024 * 1024;

/** Merges the three versions of one file key by key and line by line. */
export async function mergeFile(
  sides: Sides,
  { path, previous_path, stages, byLines = false }: FileToMerge,
  resolutions: Resolutions,
): Promise<FileMerge> {
  const { git, merged } = sides;
  const held = [stages.base, stages.current, stages.incoming].flatMap((side) => (side ? [side.oid] : []));
  const sizes = await git.sizes(held);
  if (sizes.some((size) => (size ?? 0) > largest)) {
    return byLines ? {} : settleWhole(sides, { path, kind: 'binary', stages, related: [] }, resolutions);
  }
  const [base, current, incoming] = await Promise.all(
    [stages.base, stages.current, stages.incoming].map((side) => (side ? merged.blob(side.oid) : null)),
  );
  const schema = sides.schemaAt(path);
  const input = {
    base: base ?? null,
    current: current ?? null,
    incoming: incoming ?? null,
    path,
    ...(schema && { schema }),
  };
  let result = mergeEntry(input);
  if (result.kind === 'conflict' && byLines && (await isReadable(sides, path))) return {};
  const isOpen = result.kind === 'conflict' || !byLines;
  const resolution = isOpen ? resolutions.take(sides, path, stages) : null;
  if (resolution) result = mergeEntry({ ...input, resolution });
  const entry = sides.entryAt(path);
  if (result.kind === 'clean') {
    const { bytes: content, resolved: fields } = result;
    const mode = modeOf(stages);
    if (byLines && content?.equals((await linesOf(sides, path)) ?? Buffer.alloc(0))) return {};
    return { change: { path, content, ...(mode && { mode }) }, resolved: { path, ...entry, fields } };
  }
  return { conflict: conflictOf(sides, path, stages, result.conflict, previous_path) };
}

/** The mode of the result: a side that changed it is followed, the current one first. */
function modeOf({ base, current, incoming }: FileStages): Mode | undefined {
  return (current && current.mode !== base?.mode ? current : (incoming ?? current))?.mode;
}

/** What git made of the file. */
async function linesOf({ merged }: Sides, path: string): Promise<Buffer | null> {
  const { entry } = await merged.lookup(path);
  return entry && merged.blob(entry.oid);
}

async function isReadable(sides: Sides, path: string): Promise<boolean> {
  const bytes = await linesOf(sides, path);
  return bytes !== null && parseFile(bytes, path).error === undefined;
}
