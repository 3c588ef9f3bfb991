import type { Resolution } from './merge.schema.ts';
import type { FileStages, Sides } from './merge-sides.ts';

/** What a resolution may need beside the right to merge. */
export type ResolutionPermission = 'delete_studio' | 'manage_studio';

/**
 * What settling a conflict in this way needs beside edit_studio; null when nothing. What the two branches hold was admitted when it came
 * there, so to choose between them brings nothing in; to write something else is a change like any other.
 */
export function neededFor(
  sides: Pick<Sides, 'isContent' | 'admits'>,
  { path, take, delete: remove, raw }: Resolution,
  { current, incoming }: FileStages,
): ResolutionPermission | null {
  if (take === 'current' || take === 'incoming') return null;
  const modes = [current, incoming].flatMap((side) => (side ? [side.mode] : []));
  const isContent = modes.every((mode) => sides.isContent(path, mode));
  if (!isContent || (raw !== undefined && !sides.admits(path, raw))) return 'manage_studio';
  return remove && current && incoming ? 'delete_studio' : null;
}
